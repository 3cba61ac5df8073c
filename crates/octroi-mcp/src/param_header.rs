//! `x-mcp-header`: tool arguments that are mirrored into HTTP headers.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::Value;

use crate::code::RpcError;
use crate::header;
use crate::json::{self, Span};

/// The largest integer that every peer represents exactly.
const SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// The arguments of one tool that are mirrored into headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParamHeaders {
    entries: Vec<DeclaredHeader>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct DeclaredHeader {
    /// Full header name, in lower case.
    header: String,
    /// The property path of the value.
    path: Vec<String>,
}

impl ParamHeaders {
    /// Collects the annotations of an input schema, or returns why the tool's definition is invalid.
    pub fn from_schema(schema: &Value) -> Result<Self, String> {
        let mut found = Self::default();
        collect(schema, &mut Vec::new(), &mut found)?;
        let reachable = found.entries.len();
        if count(schema) != reachable {
            return Err("x-mcp-header is at a position that property names alone cannot reach".to_owned());
        }
        Ok(found)
    }

    /// Whether no argument is mirrored.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The headers for these arguments.
    pub fn of_arguments(&self, arguments: Option<&Bytes>) -> Vec<(String, String)> {
        let headers = self.entries.iter().filter_map(|entry| {
            let value = entry.value_in(arguments?)?;
            Some((entry.header.clone(), header::encode(&value)))
        });
        headers.collect()
    }

    /// Checks the headers of a request against its arguments.
    pub fn check<'h>(
        &self,
        arguments: Option<&Bytes>,
        header_of: impl Fn(&str) -> Option<&'h [u8]>,
    ) -> Result<(), RpcError> {
        for entry in &self.entries {
            let found = header_of(&entry.header);
            let expected = arguments.and_then(|arguments| entry.value_in(arguments));
            match (found, expected) {
                (None, None) => {}
                (found, Some(expected)) if same_number(found, &expected) => {}
                (found, Some(expected)) => header::check(&entry.header, found, &expected)?,
                (Some(_), None) => {
                    return Err(header::mismatch(format!(
                        "the {} header is given, but the argument `{}` is not",
                        entry.header,
                        entry.path.join(".")
                    )));
                }
            }
        }
        Ok(())
    }
}

impl DeclaredHeader {
    /// The value in header form; `None` if it is absent, `null`, or cannot be mirrored. Located by position,
    /// so that arguments which no decoder can represent (`1e400`) still work.
    fn value_in(&self, arguments: &[u8]) -> Option<String> {
        let mut value = Span { start: 0, end: arguments.len() };
        for key in &self.path {
            value = json::member(arguments, value, key)?;
        }
        let value = value.of(arguments);
        match value.first()? {
            b'"' => json::text(value).map(Cow::into_owned),
            b't' | b'f' | b'-' | b'0'..=b'9' => std::str::from_utf8(value).ok().map(str::to_owned),
            _ => None,
        }
    }
}

/// Numbers are compared as numbers: `42.0` and `42` are equal.
fn same_number(found: Option<&[u8]>, expected: &str) -> bool {
    let found = found.and_then(header::decode).and_then(|text| text.parse::<f64>().ok());
    let expected = expected.parse::<f64>().ok().filter(|number| number.abs() <= SAFE_INTEGER);
    match (found, expected) {
        (Some(found), Some(expected)) => (found - expected).abs() == 0.0,
        (None, _) | (_, None) => false,
    }
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut ParamHeaders) -> Result<(), String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    for (key, property) in properties {
        path.push(key.clone());
        if let Some(annotation) = property.get("x-mcp-header") {
            let name = annotation.as_str().unwrap_or_default();
            check_annotation(name, property, &path.join("."))?;
            let header = format!("{}{}", header::PARAM_PREFIX, name.to_ascii_lowercase());
            if found.entries.iter().any(|entry| entry.header == header) {
                return Err(format!("x-mcp-header `{name}` is used twice"));
            }
            found.entries.push(DeclaredHeader { header, path: path.clone() });
        }
        collect(property, path, found)?;
        path.pop();
    }
    Ok(())
}

fn check_annotation(name: &str, property: &Value, path: &str) -> Result<(), String> {
    let is_token = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
    if !is_token {
        return Err(format!("x-mcp-header of `{path}` is not a header name"));
    }
    match property.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => Ok(()),
        Some(_) | None => Err(format!("x-mcp-header of `{path}` needs the type string, integer or boolean")),
    }
}

/// How often the annotation occurs in a schema. A property of this name inside `properties` is not an
/// annotation, and neither is one inside example data.
fn count(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| match key.as_str() {
                "x-mcp-header" => 1,
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                    value.as_object().map_or(0, |schemas| schemas.values().map(count).sum())
                }
                "enum" | "const" | "default" | "examples" => 0,
                _ => count(value),
            })
            .sum(),
        Value::Array(schemas) => schemas.iter().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn annotations_are_found_along_properties_only() {
        let schema = json!({"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}});
        let headers = ParamHeaders::from_schema(&schema).unwrap();
        let arguments = Bytes::from(r#"{"other":1e400,"region":"eu","deep":{"n":42}}"#);
        assert_eq!(
            headers.of_arguments(Some(&arguments)),
            [("mcp-param-region".to_owned(), "eu".to_owned()), ("mcp-param-n".to_owned(), "42".to_owned())]
        );
        assert!(headers.of_arguments(Some(&Bytes::from(r#"{"region":null}"#))).is_empty());
    }

    #[test]
    fn a_wrong_annotation_makes_the_tool_invalid() {
        for schema in [
            json!({"properties":{"a":{"type":"string","x-mcp-header":""}}}),
            json!({"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}),
            json!({"properties":{"a":{"type":"string","x-mcp-header":"a\r\nb"}}}),
            json!({"properties":{"a":{"type":"number","x-mcp-header":"A"}}}),
            json!({"properties":{"a":{"type":"object","x-mcp-header":"A"}}}),
            json!({"properties":{"a":{"x-mcp-header":"A"}}}),
            json!({"properties":{"a":{"type":"string","x-mcp-header":"X"},"b":{"type":"string","x-mcp-header":"x"}}}),
            json!({"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}),
            json!({"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}),
        ] {
            assert!(ParamHeaders::from_schema(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn headers_must_say_what_the_arguments_say() {
        let schema = json!({"properties":{"a":{"type":"string","x-mcp-header":"A"},"n":{"type":"integer","x-mcp-header":"N"}}});
        let headers = ParamHeaders::from_schema(&schema).unwrap();
        for (arguments, a, n, fits) in [
            (r#"{"a":"x"}"#, Some("x"), None, true),
            (r#"{"a":"x"}"#, None, None, false),
            (r#"{"a":"x"}"#, Some("y"), None, false),
            (r#"{"a":"é"}"#, Some("=?base64?w6k=?="), None, true),
            (r#"{"n":42}"#, None, Some("42.0"), true),
            (r#"{"n":42}"#, None, Some("43"), false),
            (r#"{"a":null}"#, None, None, true),
            ("{}", Some("x"), None, false),
        ] {
            let outcome = headers.check(Some(&Bytes::from(arguments)), |name| {
                match name {
                    "mcp-param-a" => a,
                    _ => n,
                }
                .map(str::as_bytes)
            });
            assert_eq!(outcome.is_ok(), fits, "{arguments} {a:?} {n:?}");
        }
    }
}
