//! Reads the platform file. File I/O.

use std::path::{Path, PathBuf};
use std::{fs, io};

use thiserror::Error;

use super::Platform;
use super::check::check;
use super::decode::decode;
use super::finding::Finding;
use super::positions::Positions;

/// Why a platform file cannot be used.
#[derive(Debug, Error)]
pub enum PlatformError {
    /// It cannot be read.
    #[error("cannot read the platform file {} given by --platform-config", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It says what cannot be.
    #[error("cannot use the platform file{}", list(path, findings))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Everything that is wrong with it.
        findings: Vec<Finding>,
    },
}

impl Platform {
    /// What the file says, or the built-in answers where there is none.
    ///
    /// # Errors
    /// [`PlatformError`] where the file cannot be read, or anything in it is wrong: a platform is never half of what
    /// its file says.
    pub fn load(file: Option<&Path>) -> Result<Self, PlatformError> {
        let Some(path) = file else { return Ok(Self::built_in()) };
        let text = fs::read_to_string(path)
            .map_err(|source| PlatformError::Read { path: path.to_owned(), source })?;
        Self::from_file(path, &text)
    }

    /// What the text of that file says.
    pub(super) fn from_file(path: &Path, text: &str) -> Result<Self, PlatformError> {
        Self::from_yaml(text).map_err(|findings| PlatformError::Invalid { path: path.to_owned(), findings })
    }

    /// What the text of a platform file says.
    ///
    /// # Errors
    /// The first finding where the structure is at fault; all of them where the values are.
    pub fn from_yaml(text: &str) -> Result<Self, Vec<Finding>> {
        let config = decode(text).map_err(|finding| vec![finding])?;
        let mut findings = check(&config);
        if findings.is_empty() {
            return Ok(Self::new(config));
        }
        let positions = Positions::in_text(text);
        for finding in &mut findings {
            finding.position = positions.nearest(&finding.key);
        }
        findings.sort_by_key(|finding| finding.position);
        Err(findings)
    }
}

/// One finding as it is, several numbered, all in one line.
fn list(path: &Path, findings: &[Finding]) -> String {
    let file = path.display();
    if let [finding] = findings {
        return format!(": {file}:{finding}");
    }
    let numbered = findings.iter().enumerate().map(|(i, finding)| format!(" ({}) {file}:{finding}", i + 1));
    format!(", {} errors:{}", findings.len(), numbered.collect::<Vec<_>>().join(";"))
}
