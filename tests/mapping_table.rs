//! `docs/mapping.md` has every field of the EGApp and every key of the platform file, and none that is no more.

#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// What the first cell of a row names, and the text of its rows.
type Rows = BTreeMap<String, String>;

#[test]
fn every_field_of_the_egapp_has_a_row_that_names_the_fields_in_it() {
    let text = read("config/crd/bases/egplatform.platform.evillgenius.com_egapps.yaml");
    let crd: Value = serde_saphyr::from_str(&text).unwrap();
    let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let rows = rows("## Fields of the EGApp");
    assert_eq!(keys(spec), rows.keys().cloned().collect());
    for (field, row) in &rows {
        let schema = &spec["properties"][field];
        for inner in keys(schema).into_iter().chain(keys(&schema["items"])) {
            assert!(row.contains(&format!("`{inner}`")), "the row of {field} does not name `{inner}`: {row}");
        }
    }
}

#[test]
fn every_key_of_the_platform_file_has_a_row_that_names_the_keys_in_it() {
    let schema: Value = serde_json::from_str(&read("config/manager/platform.schema.json")).unwrap();
    let definition = |property: &Value| -> Value {
        let name = property["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
        name.map(|name| schema["$defs"][name].clone()).unwrap_or_default()
    };
    let mut known = BTreeMap::new();
    for key in keys(&schema) {
        let section = definition(&schema["properties"][&key]);
        for entry in keys(&section) {
            known.insert(format!("{key}.{entry}"), definition(&section["properties"][&entry]));
        }
        if keys(&section).is_empty() {
            known.insert(key, section);
        }
    }
    let rows = rows("## Keys of the platform file");
    assert_eq!(known.keys().collect::<Vec<_>>(), rows.keys().collect::<Vec<_>>());
    // What is in `images` is the reference page's to say: those keys name images, and nothing of an object.
    for (key, entry) in known.iter().filter(|(key, _)| !key.starts_with("images.")) {
        for inner in keys(entry) {
            let row = &rows[key];
            assert!(row.contains(&format!("`{inner}`")), "the row of {key} does not name `{inner}`: {row}");
        }
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn keys(schema: &Value) -> BTreeSet<String> {
    schema["properties"].as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
}

/// The rows of a section's table. A row with an empty first cell belongs to the one above.
fn rows(section: &str) -> Rows {
    let text = read("docs/mapping.md");
    let (_, rest) = text.split_once(section).unwrap();
    let table = rest.split("\n## ").next().unwrap();
    let (mut rows, mut names) = (Rows::new(), Vec::new());
    for row in table.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let (first, rest) = row.strip_prefix("| ").unwrap().split_once('|').unwrap();
        if !first.trim().is_empty() {
            names = first.split(", ").map(|name| name.trim().trim_matches('`').to_owned()).collect();
            for name in &names {
                assert!(!rows.contains_key(name), "two rows start with `{name}`");
            }
        }
        for name in &names {
            rows.entry(name.clone()).or_default().push_str(rest);
        }
    }
    rows
}
