//! Compares generated files with a checkout, and writes them. Does file I/O.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::Manifest;

/// Why a file could not be compared or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {verb} {}", path.display())]
pub struct Error {
    verb: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// Whether the file under `root` has other bytes than `manifest`, or does not exist.
///
/// # Errors
/// Where the file exists and cannot be read.
pub fn differs(root: &Path, manifest: &Manifest) -> Result<bool, Error> {
    let path = root.join(manifest.path);
    match fs::read(&path) {
        Ok(bytes) => Ok(bytes != manifest.text.as_bytes()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(source) => Err(Error { verb: "read", path, source }),
    }
}

/// Writes `manifest` under `root`, and the folders above it where they are missing.
///
/// # Errors
/// Where the file or a folder cannot be written.
pub fn write(root: &Path, manifest: &Manifest) -> Result<(), Error> {
    let path = root.join(manifest.path);
    let folders = path.parent().map_or(Ok(()), fs::create_dir_all);
    folders.and_then(|()| fs::write(&path, &manifest.text)).map_err(|source| Error {
        verb: "write",
        path,
        source,
    })
}
