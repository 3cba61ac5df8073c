//! Parses the arguments of a call as an operation's request.

use serde::Deserialize as _;
use serde_json::{Map, Value};

use crate::error::{ApiError, ErrorCode};
use crate::operation::Operation;
use crate::schema;

/// Parses the arguments of a call. Missing arguments are the same as an empty object.
pub fn read_request<O: Operation>(arguments: Value) -> Result<O::Request, ApiError> {
    let arguments = match arguments {
        Value::Null => Value::Object(Map::new()),
        object @ Value::Object(_) => object,
        _ => return Err(ApiError::new(ErrorCode::InvalidParams, "arguments must be an object")),
    };
    O::Request::deserialize(&arguments).map_err(|error| {
        // The schema is only built after an error, to name the argument.
        let complaint = complaint(O::NAME, &schema::of_request::<O::Request>(), &arguments);
        let (code, message) =
            complaint.unwrap_or_else(|| (ErrorCode::InvalidParams, format!("`{}`: {error}", O::NAME)));
        ApiError::new(code, message)
    })
}

/// The error for the first argument that is invalid. An unknown word is reported as a result, to whoever
/// chose it; everything else is an error of the calling program.
fn complaint(operation: &str, schema: &Value, arguments: &Value) -> Option<(ErrorCode, String)> {
    let given = arguments.as_object()?;
    let known = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for (name, property) in &known {
        let is_required = required.iter().any(|one| one == name);
        let fits = given.get(name).map_or(!is_required, |value| fits(property, value));
        if fits {
            continue;
        }
        let message = format!("`{operation}` needs `{name}` as {}", kind(property));
        return Some(match given.get(name).and_then(|value| wrong_word(property, value)) {
            Some((words, word)) => {
                (ErrorCode::InvalidArguments, format!("`{name}` must be {words}, not `{word}`"))
            }
            None => (ErrorCode::InvalidParams, message),
        });
    }
    let unknown = given.keys().find(|name| !known.contains_key(*name))?;
    Some((ErrorCode::InvalidParams, format!("`{operation}` does not take `{unknown}`")))
}

/// The known words, and the unknown one.
fn wrong_word<'a>(schema: &Value, value: &'a Value) -> Option<(String, &'a str)> {
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        return values.iter().find_map(|value| wrong_word(items, value));
    }
    let words: Vec<&str> = schema.get("enum")?.as_array()?.iter().filter_map(Value::as_str).collect();
    let word = value.as_str().filter(|word| !words.contains(word))?;
    let listed = match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => return None,
    };
    Some((listed, word))
}

fn fits(schema: &Value, value: &Value) -> bool {
    if schema.get("enum").and_then(Value::as_array).is_some_and(|words| !words.contains(value)) {
        return false;
    }
    match kind(schema) {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64(),
        "object" => value.is_object(),
        "array" => value.as_array().is_some_and(|items| {
            items.iter().all(|item| schema.get("items").is_none_or(|schema| fits(schema, item)))
        }),
        _ => true,
    }
}

fn kind(schema: &Value) -> &str {
    schema.get("type").and_then(Value::as_str).unwrap_or_default()
}
