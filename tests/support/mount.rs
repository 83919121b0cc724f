//! A folder as the kubelet mounts a ConfigMap: the file is a link through `..data`, which is swapped as a whole.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// A mounted platform file.
pub struct Mount(tempfile::TempDir);

impl Mount {
    /// With that text.
    pub fn new(text: &str) -> Self {
        let mount = Self(tempfile::tempdir().unwrap());
        mount.put(text);
        symlink("..data/platform.yaml", mount.file()).unwrap();
        mount
    }

    /// The file.
    pub fn file(&self) -> PathBuf {
        self.0.path().join("platform.yaml")
    }

    /// Swaps the text for another.
    pub fn put(&self, text: &str) {
        let version = tempfile::tempdir_in(self.0.path()).unwrap().keep();
        fs::write(version.join("platform.yaml"), text).unwrap();
        let next = self.0.path().join("..data_tmp");
        symlink(&version, &next).unwrap();
        fs::rename(next, self.0.path().join("..data")).unwrap();
    }

    /// Takes the file away, as a ConfigMap without that key would.
    pub fn remove(&self) {
        let empty = tempfile::tempdir_in(self.0.path()).unwrap().keep();
        let next = self.0.path().join("..data_tmp");
        symlink(&empty, &next).unwrap();
        fs::rename(next, self.0.path().join("..data")).unwrap();
    }
}
