//! The cells of a row of the reference page: what a schema says about one field, in words. Pure.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// What a value of the field is, and its bounds.
pub(super) fn kind(field: &JSONSchemaProps) -> String {
    let mut parts = vec![type_name(field)];
    if let Some(values) = &field.enum_ {
        let mut values: Vec<_> = values.iter().map(literal).collect();
        values.dedup();
        parts.push(format!("one of {}", values.join(" ")));
    }
    parts.extend(range(field.minimum, field.maximum, ""));
    parts.extend(range(field.min_length, field.max_length, " characters"));
    parts.extend(range(field.min_items, field.max_items, " entries"));
    parts.extend(range(field.min_properties, field.max_properties, " entries"));
    if let Some(keys) = &field.x_kubernetes_list_map_keys {
        parts.push(format!("unique by `{}`", keys.join("`, `")));
    }
    if let Some(entry) = entry(field) {
        parts.push(format!("each entry: {}", kind(entry)));
    }
    cell(&parts.join(", "))
}

/// What an unset field is.
pub(super) fn default(parent: &JSONSchemaProps, name: &str, field: &JSONSchemaProps) -> String {
    let is_required = parent.required.iter().flatten().any(|required| required == name);
    match &field.default {
        Some(default) => cell(&literal(default)),
        None if is_required => "**required**".to_owned(),
        None => String::new(),
    }
}

/// The text of the field, its rules and those of its entries. Entries with a section of their own have their text
/// and rules there.
pub(super) fn description(field: &JSONSchemaProps) -> String {
    let entry = entry(field).filter(|entry| entry.properties.is_none());
    let of_entries = entry.into_iter().flat_map(messages).map(|message| format!("• each entry {message}"));
    let lines: Vec<_> = lines(field).into_iter().chain(of_entries).collect();
    cell(&lines.join("<br>"))
}

/// One line for each paragraph and each rule.
pub(super) fn lines(field: &JSONSchemaProps) -> Vec<String> {
    let text = field.description.iter().flat_map(|text| text.split("\n\n"));
    let rules = messages(field).map(|message| format!("• {message}"));
    text.map(|paragraph| paragraph.replace('\n', " ")).chain(rules).collect()
}

/// A value as one would type it.
fn literal(value: &JSON) -> String {
    value.0.as_str().map_or_else(|| format!("`{}`", value.0), |text| format!("`{text}`"))
}

fn type_name(field: &JSONSchemaProps) -> String {
    let name = match (field.x_kubernetes_int_or_string, field.type_.as_deref()) {
        (Some(true), _) => "integer or string",
        (_, Some("array")) => "list",
        (_, Some("object")) if field.additional_properties.is_some() => "map",
        (_, type_) => type_.unwrap_or("any"),
    };
    field.format.as_ref().map_or_else(|| name.to_owned(), |format| format!("{name} ({format})"))
}

/// The bounds of a number, or of how many there are of a thing.
fn range<T: ToString>(least: Option<T>, most: Option<T>, of: &str) -> Option<String> {
    match (least.map(|least| least.to_string()), most.map(|most| most.to_string())) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}{of}")),
        (Some(least), None) => Some(format!("at least {least}{of}")),
        (None, Some(most)) => Some(format!("at most {most}{of}")),
        (None, None) => None,
    }
}

/// What a list or a map consists of.
fn entry(field: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    let items = match &field.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => Some(&**items),
        Some(JSONSchemaPropsOrArray::Schemas(_)) | None => None,
    };
    let values = match &field.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(values)) => Some(&**values),
        Some(JSONSchemaPropsOrBool::Bool(_)) | None => None,
    };
    items.or(values)
}

/// What the API server answers where a rule does not hold, with the field at fault.
fn messages(field: &JSONSchemaProps) -> impl Iterator<Item = String> {
    field.x_kubernetes_validations.iter().flatten().map(|rule| {
        let message = rule.message.as_deref().unwrap_or(&rule.rule);
        rule.field_path.as_deref().map_or_else(
            || message.to_owned(),
            |path| format!("`{}` {message}", path.trim_start_matches('.')),
        )
    })
}

/// The text as the content of a cell: one line, and no bar that would end it.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}
