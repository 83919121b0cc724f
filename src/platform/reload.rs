//! The platform file while the process runs. File I/O.
//!
//! It is read again and compared, not watched: a mounted ConfigMap is swapped by a symbolic link, an editor writes a new
//! file over the old one, and some file systems tell of neither.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use super::{Platform, PlatformError};

/// More than eight times what a `ConfigMap` holds.
const MOST_BYTES: u64 = 1 << 23;

/// A platform file that has been good once.
pub struct PlatformFile {
    path: PathBuf,
    platform: Arc<Platform>,
    /// What was read when it was judged last: the text, or what became of the try to read it.
    judged: Contents,
    /// What was read last, if that is something else.
    awaited: Option<Contents>,
}

type Contents = Result<String, String>;

/// What a look at the file found.
#[derive(Debug)]
pub enum Look {
    /// Nothing that is not known, or what may be half of a change.
    Nothing,
    /// Another text that says the same as the platform that holds.
    Same,
    /// Another platform, which holds from now on.
    Changed(Arc<Platform>),
    /// Something that cannot be used: the platform that holds stays.
    Refused(PlatformError),
}

impl PlatformFile {
    /// Reads the file for the first time.
    ///
    /// # Errors
    /// As [`Platform::load`].
    pub fn open(path: &Path) -> Result<Self, PlatformError> {
        let text = read(path).map_err(|source| unreadable(path, source))?;
        let platform = Arc::new(Platform::from_file(path, &text)?);
        Ok(Self { path: path.to_owned(), platform, judged: Ok(text), awaited: None })
    }

    /// The platform that holds: that of the last good text.
    #[must_use]
    pub fn platform(&self) -> &Arc<Platform> {
        &self.platform
    }

    /// Reads the file again. What is new is judged when it is read the second time: a file that is being written is
    /// not yet what its author means.
    pub fn look(&mut self) -> Look {
        let read = read(&self.path);
        let contents = read.as_ref().map(String::clone).map_err(ToString::to_string);
        if contents == self.judged {
            self.awaited = None;
            return Look::Nothing;
        }
        if self.awaited.as_ref() != Some(&contents) {
            self.awaited = Some(contents);
            return Look::Nothing;
        }
        self.judged = contents;
        self.awaited = None;
        let platform = match read {
            Ok(text) => Platform::from_file(&self.path, &text),
            Err(source) => Err(unreadable(&self.path, source)),
        };
        match platform {
            Ok(platform) if platform == *self.platform => Look::Same,
            Ok(platform) => {
                self.platform = Arc::new(platform);
                Look::Changed(Arc::clone(&self.platform))
            }
            Err(error) => Look::Refused(error),
        }
    }
}

/// A pipe or a device would hold up the whole process, and a file without end use up its memory.
fn read(path: &Path) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    if metadata.len() > MOST_BYTES {
        let problem = format!("it has {} bytes, and {MOST_BYTES} are the most", metadata.len());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    fs::read_to_string(path)
}

fn unreadable(path: &Path, source: io::Error) -> PlatformError {
    PlatformError::Read { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "apiVersion: config.platform.evillgenius.com/v1alpha1\nkind: PlatformConfig\n";

    fn labelled(label: &str) -> String {
        format!("{HEAD}catalogLabel: {label}\n")
    }

    /// A file in a folder of its own, and how to write it.
    fn file(text: &str) -> (PlatformFile, impl Fn(Option<&str>) + use<>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("platform.yaml");
        fs::write(&path, text).unwrap();
        let file = PlatformFile::open(&path).unwrap();
        let write = move |text: Option<&str>| match text {
            Some(text) => fs::write(folder.path().join("platform.yaml"), text).unwrap(),
            None => fs::remove_file(folder.path().join("platform.yaml")).unwrap(),
        };
        (file, write)
    }

    #[test]
    fn a_change_holds_when_it_is_read_the_second_time() {
        let (mut file, write) = file(&labelled("example.com/one"));
        assert!(matches!(file.look(), Look::Nothing));
        write(Some(&labelled("example.com/two")));
        assert!(matches!(file.look(), Look::Nothing), "it may be half written");
        assert!(matches!(file.look(), Look::Changed(now) if now.catalog_label() == Some("example.com/two")));
        assert!(matches!(file.look(), Look::Nothing));
        assert_eq!(file.platform().catalog_label(), Some("example.com/two"));
    }

    #[test]
    fn a_bad_file_is_refused_once_and_the_last_good_one_stays() {
        let (mut file, write) = file(&labelled("example.com/one"));
        write(Some(&format!("{HEAD}sizes: 3\n")));
        file.look();
        let refused = file.look();
        assert!(
            matches!(&refused, Look::Refused(error) if error.to_string().contains("sizes")),
            "{refused:?}"
        );
        assert!(matches!(file.look(), Look::Nothing));
        assert_eq!(file.platform().catalog_label(), Some("example.com/one"));
        write(Some(&format!("# back again\n{}", labelled("example.com/one"))));
        file.look();
        assert!(matches!(file.look(), Look::Same));
    }

    #[test]
    fn what_cannot_be_a_mounted_file_is_refused_unread() {
        let folder = tempfile::tempdir().unwrap();
        let refusal = |path: &Path| {
            let error = PlatformFile::open(path).err().unwrap();
            crate::telemetry::Chain(&error).to_string()
        };
        assert!(refusal(folder.path()).ends_with("it is no regular file"), "{}", refusal(folder.path()));
        let path = folder.path().join("platform.yaml");
        fs::File::create(&path).unwrap().set_len(MOST_BYTES + 1).unwrap();
        assert!(refusal(&path).ends_with("it has 8388609 bytes, and 8388608 are the most"));
    }

    #[test]
    fn a_file_that_is_gone_is_refused_and_taken_when_it_is_back() {
        let (mut file, write) = file(HEAD);
        write(None);
        file.look();
        assert!(matches!(file.look(), Look::Refused(PlatformError::Read { .. })));
        write(Some(&labelled("example.com/new")));
        file.look();
        assert!(matches!(file.look(), Look::Changed(_)));
    }
}
