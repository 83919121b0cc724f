//! Runs kubectl as one identity. Starts processes.

use std::{
    ffi::{OsStr, OsString},
    io::{Seek, Write},
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::Value;
use tokio::process::Command;

use crate::{Error, Result};

/// kubectl with the kubeconfig of one identity, untouched by the caller's own settings.
#[derive(Clone, Debug)]
pub struct Kubectl {
    pub(crate) program: PathBuf,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) cache: PathBuf,
}

impl Kubectl {
    /// The kubeconfig it uses, for other clients with the same identity.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Runs kubectl and returns what it wrote to stdout.
    ///
    /// # Errors
    /// It cannot be started, or ends with another code than 0; the error then holds what it wrote to stderr.
    pub async fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Result<String> {
        self.output(collect(arguments), Stdio::null()).await
    }

    /// The same with `input` on its stdin, for `-f -`.
    ///
    /// # Errors
    /// As [`Kubectl::run`].
    pub async fn run_with_input<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: &str,
    ) -> Result<String> {
        // A file and not a pipe: no second task has to feed it.
        let file = tempfile::tempfile()
            .and_then(|mut file| {
                file.write_all(input.as_bytes())?;
                file.rewind()?;
                Ok(file)
            })
            .map_err(|source| Error::Spawn { program: self.program.clone(), source })?;
        self.output(collect(arguments), file.into()).await
    }

    /// Runs kubectl with `-o json` and parses the answer.
    ///
    /// # Errors
    /// As [`Kubectl::run`]; or the answer is not JSON.
    pub async fn json<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Result<Value> {
        let mut arguments = collect(arguments);
        arguments.extend(["-o", "json"].map(OsString::from));
        let origin = format!("the answer of kubectl {}", display(&arguments));
        let text = self.output(arguments, Stdio::null()).await?;
        serde_json::from_str(&text).map_err(|source| Error::Json { origin, source })
    }

    async fn output(&self, arguments: Vec<OsString>, input: Stdio) -> Result<String> {
        let output = Command::new(&self.program)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(&arguments)
            .env("KUBECACHEDIR", &self.cache)
            .env("KUBERC", "off")
            .env_remove("KUBECONFIG")
            .stdin(input)
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|source| Error::Spawn { program: self.program.clone(), source })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(Error::Kubectl {
            arguments: display(&arguments),
            stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }
}

fn collect<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Vec<OsString> {
    arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect()
}

fn display(arguments: &[OsString]) -> String {
    arguments.join(OsStr::new(" ")).to_string_lossy().into_owned()
}
