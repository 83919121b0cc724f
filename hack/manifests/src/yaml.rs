//! Writes an object as a YAML document in controller-gen's style. Pure.

use serde::Serialize;
use serde_json::{Map, Number, Value};

/// Why a manifest could not be written as YAML. Each is a defect of the type, not of anything a user did.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The object has no JSON form.
    #[error("cannot turn a generated object into JSON")]
    Json(#[from] serde_json::Error),
    /// The JSON form has no YAML form.
    #[error("cannot write a generated object as YAML")]
    Yaml(#[from] serde_saphyr::ser::Error),
}

/// The document of `object`, with its `---` line; keys are sorted.
pub(crate) fn document<T: Serialize>(object: &T) -> Result<String, Error> {
    let value = whole_numbers(serde_json::to_value(object)?);
    Ok(format!("---\n{}", serde_saphyr::to_string(&value)?))
}

/// Writes `0.0` as `0`: bounds are floating-point numbers in the Rust types, and Go prints whole ones without a
/// fraction.
fn whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(whole_number(number)),
        Value::Array(items) => Value::Array(items.into_iter().map(whole_numbers).collect()),
        Value::Object(fields) => {
            let fields: Map<_, _> =
                fields.into_iter().map(|(key, field)| (key, whole_numbers(field))).collect();
            Value::Object(fields)
        }
        other @ (Value::Null | Value::Bool(_) | Value::String(_)) => other,
    }
}

/// The same number, as an integer if it is one.
fn whole_number(number: Number) -> Number {
    let text = number.as_f64().filter(|_| number.is_f64()).map(|float| float.to_string());
    text.and_then(|text| text.parse::<i64>().ok()).map_or(number, Number::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_numbers_have_no_fraction_and_others_keep_theirs() {
        let value = whole_numbers(json!({ "a": 0.0, "b": [-3.0, 1.5], "c": 7, "d": "2.0" }));
        assert_eq!(value.to_string(), r#"{"a":0,"b":[-3,1.5],"c":7,"d":"2.0"}"#);
    }

    #[test]
    fn document_reads_back_as_what_was_written() {
        let long = "word ".repeat(40).trim_end().to_owned();
        let value = json!({
            "yes": "no", "on": "1_000", "empty": "", "list": ["", "True", { "a": [] }], "number": -1,
            "long": long, "paragraphs": format!("{long}\n\nlast: 'quoted' # no comment"), "pattern": r"^[!-~]*$",
        });
        let text = document(&value).unwrap();
        assert!(text.starts_with("---\n"), "{text}");
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), value, "{text}");
    }

    #[test]
    fn keys_are_sorted_and_text_of_several_lines_is_a_block() {
        let text = document(&json!({ "b": "x\ny", "a": { "d": 1, "c": 2 } })).unwrap();
        assert_eq!(text, "---\na:\n  c: 2\n  d: 1\nb: |-\n  x\n  y\n");
    }
}
