//! The directory of a cluster in the background: whose it is, whether one runs in it. Reads, locks and removes it.
//!
//! The process in the background holds a lock as long as it lives, which the system releases however it ends. So
//! the recorded process id is that of the holder, and never of a stranger that got the number later.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use super::error::CliError;

/// A directory that `up` was or will be told to use.
#[derive(Debug)]
pub(super) struct Home {
    dir: PathBuf,
}

/// What is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// Nothing.
    Empty,
    /// A cluster whose process lives.
    Running,
    /// What a cluster left that was killed or failed.
    Leftovers,
    /// Something else.
    Foreign,
}

impl Home {
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf() }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    fn lock_file(&self) -> PathBuf {
        self.dir.join("cluster.lock")
    }

    fn pid_file(&self) -> PathBuf {
        self.dir.join("cluster.pid")
    }

    fn ready_file(&self) -> PathBuf {
        self.dir.join("cluster.ready")
    }

    /// Log of the process in the background.
    pub(super) fn log(&self) -> PathBuf {
        self.dir.join("cluster.log")
    }

    pub(super) fn kubeconfig(&self) -> Result<PathBuf, CliError> {
        let path = self.dir.join("admin.kubeconfig");
        path.canonicalize().map_err(CliError::file("find", path))
    }

    pub(super) fn status(&self) -> Result<Status, CliError> {
        match File::open(self.lock_file()) {
            Ok(file) => match file.try_lock_shared() {
                Ok(()) => Ok(Status::Leftovers),
                Err(TryLockError::WouldBlock) => Ok(Status::Running),
                Err(TryLockError::Error(source)) => Err(CliError::file("lock", self.lock_file())(source)),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => self.status_without_lock_file(),
            Err(source) => Err(CliError::file("open", self.lock_file())(source)),
        }
    }

    fn status_without_lock_file(&self) -> Result<Status, CliError> {
        match fs::read_dir(&self.dir) {
            Ok(entries) => Ok(if entries.count() == 0 { Status::Empty } else { Status::Foreign }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Status::Empty),
            Err(source) => Err(CliError::file("read", &self.dir)(source)),
        }
    }

    /// Makes the directory, and the lock file as the sign that it is ours.
    pub(super) fn create(&self) -> Result<(), CliError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.dir)
            .and_then(|()| File::create(self.lock_file()))
            .map(drop)
            .map_err(CliError::file("create", &self.dir))
    }

    /// Takes the directory for this process, until the returned file is closed.
    pub(super) fn occupy(&self) -> Result<File, CliError> {
        let file = OpenOptions::new()
            .write(true)
            .open(self.lock_file())
            .map_err(CliError::file("open", self.lock_file()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(CliError::AlreadyRunning { dir: self.dir.clone() });
            }
            Err(TryLockError::Error(source)) => {
                return Err(CliError::file("lock", self.lock_file())(source));
            }
        }
        let pid = std::process::id().to_string();
        fs::write(self.pid_file(), pid).map_err(CliError::file("write", self.pid_file()))?;
        Ok(file)
    }

    /// Process id of the holder, to be asked for only while one runs.
    pub(super) fn pid(&self) -> Result<i32, CliError> {
        let text = fs::read_to_string(self.pid_file()).map_err(CliError::file("read", self.pid_file()))?;
        let invalid = |_| CliError::file("read", self.pid_file())(io::Error::from(ErrorKind::InvalidData));
        text.trim().parse().map_err(invalid)
    }

    pub(super) fn mark_ready(&self) -> Result<(), CliError> {
        File::create(self.ready_file()).map(drop).map_err(CliError::file("create", self.ready_file()))
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready_file().exists()
    }

    /// Removes the directory, if it is ours.
    pub(super) fn remove(&self) -> Result<(), CliError> {
        if !self.lock_file().exists() {
            return Ok(());
        }
        fs::remove_dir_all(&self.dir).map_err(CliError::file("remove", &self.dir))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_other_content_is_foreign_and_not_removed() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path());
        assert_eq!(home.status().unwrap(), Status::Empty);
        fs::write(dir.path().join("thesis.tex"), "").unwrap();
        assert_eq!(home.status().unwrap(), Status::Foreign);
        home.remove().unwrap();
        assert!(dir.path().join("thesis.tex").exists());
    }

    #[test]
    fn a_cluster_runs_as_long_as_the_lock_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(&dir.path().join("new"));
        home.create().unwrap();
        let lock = home.occupy().unwrap();
        assert_eq!(home.status().unwrap(), Status::Running);
        assert!(matches!(home.occupy(), Err(CliError::AlreadyRunning { .. })));
        drop(lock);
        assert_eq!(home.status().unwrap(), Status::Leftovers);
        home.remove().unwrap();
        assert_eq!(home.status().unwrap(), Status::Empty);
    }
}
