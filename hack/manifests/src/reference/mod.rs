//! The reference page of a kind, in Markdown: every field of its CRD with type, default, bounds and description. Pure.
//!
//! One section for each object; objects of the same form, such as three probes, share one.

mod cells;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};

/// An object that has fields.
struct Section<'a> {
    /// Where it stands, from the root; `[]` behind a list. The root's is empty.
    path: String,
    schema: &'a JSONSchemaProps,
    /// Where else the same form stands.
    also: Vec<String>,
}

/// The page of the version that is stored.
pub(crate) fn page(crd: &CustomResourceDefinition) -> String {
    let (kind, group) = (&crd.spec.names.kind, &crd.spec.group);
    let mut blocks = vec![
        "<!-- Made by `make manifests` from the types in api/: do not edit. -->".to_owned(),
        format!("# {kind}"),
    ];
    for version in crd.spec.versions.iter().filter(|version| version.storage) {
        blocks.push(format!("`apiVersion: {group}/{}`, `kind: {kind}`", version.name));
        if let Some(root) = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref()) {
            let mut sections = vec![Section { path: String::new(), schema: root, also: Vec::new() }];
            collect(&mut sections, "", root);
            blocks.extend(sections.iter().flat_map(|section| render(section, &sections)));
        }
    }
    blocks.join("\n\n") + "\n"
}

/// Adds the objects below `schema`, each before those below it.
fn collect<'a>(sections: &mut Vec<Section<'a>>, path: &str, schema: &'a JSONSchemaProps) {
    for (name, field) in schema.properties.iter().flatten() {
        let (path, inner) = below(path, name, field);
        if inner.properties.is_none() {
            continue;
        }
        if let Some(known) = sections.iter_mut().find(|known| known.schema.properties == inner.properties) {
            known.also.push(path);
        } else {
            sections.push(Section { path: path.clone(), schema: inner, also: Vec::new() });
            collect(sections, &path, inner);
        }
    }
}

/// Path and schema of a field, or of its entries where it is a list.
fn below<'a>(path: &str, name: &str, field: &'a JSONSchemaProps) -> (String, &'a JSONSchemaProps) {
    let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match &field.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => (format!("{path}[]"), items),
        Some(JSONSchemaPropsOrArray::Schemas(_)) | None => (path, field),
    }
}

/// The section of an object, block by block: heading, text and the table of its fields.
fn render(section: &Section<'_>, sections: &[Section<'_>]) -> Vec<String> {
    let Section { path, schema, also } = section;
    let mut blocks = Vec::new();
    if !path.is_empty() {
        blocks.push(format!("## `{path}`"));
    }
    if !also.is_empty() {
        blocks.push(format!("Likewise `{}`.", also.join("`, `")));
    }
    // Text and rules of a field stand in the table that it is a row of.
    if path.is_empty() || path.ends_with("[]") {
        blocks.extend(cells::lines(schema));
    }
    let fields = schema.properties.iter().flatten();
    let rows = fields.map(|(name, field)| {
        let name_cell = link(name, below(path, name, field).1, sections);
        let default_cell = cells::default(schema, name, field);
        format!("| {name_cell} | {} | {default_cell} | {} |", cells::kind(field), cells::description(field))
    });
    let head = ["| Field | Type | Default | Description |", "|---|---|---|---|"].map(ToOwned::to_owned);
    blocks.push(head.into_iter().chain(rows).collect::<Vec<_>>().join("\n"));
    blocks
}

/// The name of a field, with a link where its form has a section.
fn link(name: &str, inner: &JSONSchemaProps, sections: &[Section<'_>]) -> String {
    let target = sections
        .iter()
        .find(|known| inner.properties.is_some() && known.schema.properties == inner.properties);
    target.map_or_else(
        || format!("`{name}`"),
        |target| {
            // The anchor that GitHub makes of a heading.
            let anchor = target.path.replace(|c: char| !c.is_ascii_alphanumeric(), "").to_lowercase();
            format!("[`{name}`](#{anchor})")
        },
    )
}

#[cfg(test)]
mod tests;
