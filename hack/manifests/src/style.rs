//! Rewrites a CRD of kube-derive into what controller-gen writes for the same type. Pure.
//!
//! More than looks: without `nullable` the API server drops a null before it defaults the field, so `null` means
//! "unset"; and the declared metadata lets a CEL rule name `.metadata.name` as the field at fault.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// Where a CEL rule of the root schema points that is about the object's name.
const NAME_PATH: &str = ".metadata.name";

/// Columns of a description: `kubectl explain` keeps every line break and has so many columns of its own.
const TEXT_WIDTH: usize = 76;

/// The same CRD in controller-gen's style.
pub(crate) fn controller_gen(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let names = &mut crd.spec.names;
    names.list_kind.get_or_insert_with(|| format!("{}List", names.kind));
    let schemas = crd.spec.versions.iter_mut().filter_map(|version| version.schema.as_mut());
    for root in schemas.filter_map(|schema| schema.open_api_v3_schema.as_mut()) {
        restyle(root);
        complete_root(root);
    }
    crd
}

/// Rewrites one schema and all below it.
fn restyle(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    schema.title = None;
    if let Some(values) = &mut schema.enum_ {
        values.retain(|value| !value.0.is_null());
    }
    if let Some(text) = &mut schema.description {
        *text = wrap(text);
    }
    if let Some(properties) = &mut schema.properties {
        properties.values_mut().for_each(restyle);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        restyle(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        restyle(values);
    }
}

/// Gives the root what the derive leaves to the API server: the type fields and the metadata.
fn complete_root(root: &mut JSONSchemaProps) {
    let rules = root.x_kubernetes_validations.iter().flatten();
    let names_name = rules.filter_map(|rule| rule.field_path.as_deref()).any(|path| path == NAME_PATH);
    let mut metadata = of_type("object");
    if names_name {
        metadata.properties = Some([("name".to_owned(), of_type("string"))].into());
    }
    let properties = root.properties.get_or_insert_default();
    properties.insert("metadata".to_owned(), metadata);
    properties.insert("apiVersion".to_owned(), described("API group and version of this object."));
    properties.insert("kind".to_owned(), described("Kind of this object."));
    // The API server would admit an object without a spec, and default nothing in it.
    root.required = Some(vec!["spec".to_owned()]);
}

/// A schema that says only the type.
fn of_type(name: &str) -> JSONSchemaProps {
    JSONSchemaProps { type_: Some(name.to_owned()), ..JSONSchemaProps::default() }
}

/// A text field with a description.
fn described(text: &str) -> JSONSchemaProps {
    JSONSchemaProps { description: Some(text.to_owned()), ..of_type("string") }
}

/// Wraps each paragraph at [`TEXT_WIDTH`].
fn wrap(text: &str) -> String {
    text.split("\n\n").map(wrap_paragraph).collect::<Vec<_>>().join("\n\n")
}

/// Breaks the words of a paragraph into lines; a word that is too long has a line of its own.
fn wrap_paragraph(text: &str) -> String {
    let mut wrapped = String::new();
    let mut width = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        let breaks = width + 1 + length > TEXT_WIDTH;
        if width > 0 {
            wrapped.push(if breaks { '\n' } else { ' ' });
        }
        width = if width == 0 || breaks { length } else { width + 1 + length };
        wrapped.push_str(word);
    }
    wrapped
}

#[cfg(test)]
#[path = "style_tests.rs"]
mod tests;
