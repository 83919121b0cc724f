//! The generated files in the repository are those that the types give.

use std::fs;
use std::path::Path;

use manifests::{files, manifests};

#[test]
fn files_of_the_repository_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for manifest in manifests().unwrap() {
        let committed = fs::read_to_string(root.join(manifest.path)).unwrap_or_default();
        assert!(committed == manifest.text, "{} is stale: run `make manifests`", manifest.path);
    }
}

#[test]
fn written_files_no_longer_differ() {
    let root = tempfile::tempdir().unwrap();
    for manifest in manifests().unwrap() {
        assert!(files::differs(root.path(), &manifest).unwrap(), "{} does not exist yet", manifest.path);
        files::write(root.path(), &manifest).unwrap();
        assert!(!files::differs(root.path(), &manifest).unwrap(), "{}", manifest.path);
        fs::write(root.path().join(manifest.path), "edited by hand").unwrap();
        assert!(files::differs(root.path(), &manifest).unwrap(), "{}", manifest.path);
    }
}

#[test]
fn unreadable_file_is_named() {
    let root = tempfile::tempdir().unwrap();
    let manifest = manifests().unwrap().remove(0);
    fs::create_dir_all(root.path().join(manifest.path)).unwrap();
    let error = files::differs(root.path(), &manifest).unwrap_err().to_string();
    assert!(error.starts_with("cannot read ") && error.ends_with(manifest.path), "{error}");
}
