//! Reads the platform file. File I/O.

use std::path::{Path, PathBuf};
use std::{fs, io};

use thiserror::Error;

use super::Platform;
use super::finding::Finding;
use super::mend::decode_and_check;

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
    /// All findings, in the order of the text.
    pub fn from_yaml(text: &str) -> Result<Self, Vec<Finding>> {
        decode_and_check(text).map(Self::new)
    }
}

/// So many findings are told; the file shows the rest.
const MOST_TOLD: usize = 20;

/// Characters of a finding that are told. One may quote a value of any length.
const LONGEST: usize = 400;

/// One finding as it is, several numbered, all in one line.
fn list(path: &Path, findings: &[Finding]) -> String {
    let file = path.display();
    let told = |finding: &Finding| {
        let text = finding.to_string();
        match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{file}:{}…", text.get(..end).unwrap_or_default()),
            None => format!("{file}:{text}"),
        }
    };
    if let [finding] = findings {
        return format!(": {}", told(finding));
    }
    let numbered = findings.iter().take(MOST_TOLD).enumerate();
    let numbered: Vec<_> = numbered.map(|(i, finding)| format!(" ({}) {}", i + 1, told(finding))).collect();
    let rest = match findings.len().saturating_sub(MOST_TOLD) {
        0 => String::new(),
        rest => format!("; and {rest} more"),
    };
    format!(", {} errors:{}{rest}", findings.len(), numbered.join(";"))
}
