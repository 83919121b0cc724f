//! The JSON Schema of the platform file, and its reference page. Pure.

use pe_app::platform::PlatformConfig;
use schemars::schema_for;
use serde_json::{Map, Value};

use crate::Error;

/// Beside the shipped file, whose first line names it for editors.
pub(crate) const SCHEMA_PATH: &str = "config/manager/platform.schema.json";

/// What the tables cannot say.
const INTRODUCTION: &str = include_str!("platform_introduction.md");

/// The schema, as JSON.
pub(crate) fn schema() -> Result<String, Error> {
    Ok(format!("{}\n", serde_json::to_string_pretty(&schema_for!(PlatformConfig))?))
}

/// The reference, as Markdown: one table for each mapping of the file, from the schema's own descriptions.
pub(crate) fn reference() -> String {
    let root = schema_for!(PlatformConfig).to_value();
    let mut page =
        Page { text: INTRODUCTION.to_owned(), definitions: root.get("$defs").unwrap_or(&Value::Null) };
    page.section("", &root);
    page.text
}

struct Page<'a> {
    text: String,
    definitions: &'a Value,
}

impl<'a> Page<'a> {
    /// The table of one mapping, then those of the mappings in it.
    fn section(&mut self, path: &str, schema: &Value) {
        let Some(Value::Object(properties)) = schema.get("properties") else { return };
        if !path.is_empty() {
            self.add(&format!("\n## `{path}`\n\n{}\n", description(schema)));
        }
        self.add("\n| Key | Value | Default | Meaning |\n|---|---|---|---|\n");
        for (key, property) in properties {
            let default = default(key, property, schema);
            let row = [&format!("`{key}`"), &value(property), &default, &description(property)]
                .map(|cell| cell.replace('|', "\\|"));
            self.add(&format!("| {} |\n", row.join(" | ")));
        }
        self.subsections(path, properties);
    }

    /// Entries of one kind, such as the sizes, share a section.
    fn subsections(&mut self, path: &str, properties: &Map<String, Value>) {
        let mut entries: Vec<_> = properties
            .iter()
            .filter_map(|(key, property)| Some((key.as_str(), self.definition(property)?)))
            .collect();
        let is_one_kind =
            entries.len() > 1 && entries.windows(2).all(|pair| matches!(pair, [a, b] if a.1 == b.1));
        if is_one_kind {
            entries.truncate(1);
        }
        for (key, definition) in entries {
            let name = if is_one_kind { "*" } else { key };
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let is_free =
                properties.get(key).is_some_and(|property| property.get("additionalProperties").is_some());
            self.section(&if is_free { format!("{path}.*") } else { path }, definition);
        }
    }

    /// The mapping that a property holds: itself, or as a value under free keys.
    fn definition(&self, property: &Value) -> Option<&'a Value> {
        let alternatives = property.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        let candidates = [Some(property), property.get("additionalProperties")].into_iter().flatten();
        let reference = candidates.chain(alternatives).find_map(|schema| schema.get("$ref")?.as_str())?;
        self.definitions.get(reference.rsplit_once('/')?.1)
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }
}

/// A description as one line.
fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a key may hold.
fn value(property: &Value) -> String {
    if let Some(words) = property.get("oneOf").and_then(Value::as_array) {
        return words.iter().filter_map(|word| word.get("const")).map(code).collect::<Vec<_>>().join(", ");
    }
    match type_of(property) {
        Some("boolean") => "`true` or `false`".to_owned(),
        Some("integer") => match (property.get("minimum"), property.get("maximum")) {
            (Some(least), Some(most)) => format!("whole number, {least} to {most}"),
            _ => "whole number".to_owned(),
        },
        Some("string") => "text".to_owned(),
        Some("array") => list(property),
        Some("object") if property.pointer("/additionalProperties/type").is_some() => {
            "mapping of names to texts".to_owned()
        }
        _ if is_int_or_percent(property) => "whole number, or `0%` to `100%`".to_owned(),
        _ => "mapping".to_owned(),
    }
}

fn list(property: &Value) -> String {
    match property.pointer("/items/enum").and_then(Value::as_array) {
        Some(words) => format!("list of {}", words.iter().map(code).collect::<Vec<_>>().join(", ")),
        None => "list of texts".to_owned(),
    }
}

/// The one type besides `null`, by which schemars says that a key may be left out.
fn type_of(property: &Value) -> Option<&str> {
    let kind = property.get("type")?;
    kind.as_str().or_else(|| kind.as_array()?.first()?.as_str())
}

fn is_int_or_percent(property: &Value) -> bool {
    let alternatives = property.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let types: Vec<_> = alternatives.filter_map(type_of).collect();
    types == ["integer", "string"]
}

/// What holds where the key is left out.
fn default(key: &str, property: &Value, schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    match property.get("default") {
        _ if required.into_iter().any(|name| name == key) => "required".to_owned(),
        None => "unset".to_owned(),
        Some(Value::Object(fields)) if !fields.is_empty() => "built in".to_owned(),
        Some(value) => code(value),
    }
}

fn code(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "empty".to_owned(),
        Value::String(text) => format!("`{text}`"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            format!("`{value}`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_schema_has_a_row_with_a_meaning() {
        let root = schema_for!(PlatformConfig).to_value();
        let page = reference();
        let definitions = root["$defs"].as_object().unwrap().values();
        for schema in definitions.chain([&root]) {
            for (key, property) in schema["properties"].as_object().unwrap() {
                let meaning = description(property);
                assert!(!meaning.is_empty(), "{key} has no description");
                let has_row = page.lines().any(|line| {
                    line.starts_with(&format!("| `{key}` | ")) && line.ends_with(&format!(" | {meaning} |"))
                });
                assert!(has_row, "{key} is not in:\n{page}");
            }
        }
    }

    #[test]
    fn entries_of_one_kind_share_a_section() {
        let page = reference();
        let headings: Vec<_> = page.lines().filter(|line| line.starts_with("## `")).collect();
        for heading in
            ["## `sizes`", "## `sizes.*`", "## `images.apps.*.environments`", "## `images.starters.*`"]
        {
            assert_eq!(
                headings.iter().filter(|line| **line == heading).count(),
                1,
                "{heading} in {headings:?}"
            );
        }
    }
}
