//! `docs/troubleshooting.md` has every reason, none that is no more, and for each the tests that show it.

#![cfg(test)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use egapp_api::v1alpha1::Reason;

#[test]
fn every_reason_has_a_row_of_its_own_and_every_row_a_reason() {
    let rows = rows();
    let mut told: Vec<_> = rows.iter().map(|cells| cells[0].trim_matches('`').to_owned()).collect();
    let mut known: Vec<_> = Reason::ALL.iter().map(ToString::to_string).collect();
    told.sort();
    known.sort();
    assert_eq!(told, known);
    for cells in &rows {
        assert!(cells.len() == 4 && cells.iter().all(|cell| cell.len() > 5), "an empty cell: {cells:?}");
    }
}

#[test]
fn every_test_that_is_named_exists() {
    let tests = tests();
    for cells in rows() {
        for name in cells[3].split(", ").map(|name| name.trim_matches('`')) {
            assert!(tests.contains(name), "{}: there is no test {name}", cells[0]);
        }
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The cells of the table of reasons, without its head.
fn rows() -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let (_, table) = text.split_once("## Reasons").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")).skip(1);
    rows.map(|row| row.split(" | ").map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// The names of all tests that run on a control plane.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    collect(&root().join("tests"), &mut names);
    names
}

fn collect(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let after_mark = text.split("#[tokio::test]").skip(1);
            names.extend(after_mark.filter_map(|rest| {
                let (name, _) = rest.split_once("fn ")?.1.split_once('(')?;
                Some(name.to_owned())
            }));
        }
    }
}
