//! Why arguments do not fit a schema, in words and in few steps.
//!
//! The validator decides; this only explains. It follows properties, items and references, and names alternatives
//! without going into them: their errors multiply. Values are not repeated, because they may be secret.

use serde_json::{Map, Value};

use super::pointer;

/// At most this many errors are reported.
const COMPLAINTS_MAX: usize = 5;
/// At most this many places are looked at.
const PLACES_MAX: usize = 2_000;
/// Lists of names are cut to this many.
const NAMES_MAX: usize = 8;

struct Explainer<'a> {
    root: &'a Value,
    complaints: Vec<String>,
    places_left: usize,
}

/// The errors that can be named.
pub(super) fn explain(root: &Value, arguments: &Value) -> String {
    let mut explainer = Explainer { root, complaints: Vec::new(), places_left: PLACES_MAX };
    explainer.place(root, arguments, "", 0);
    if explainer.complaints.is_empty() {
        return "arguments: they do not fit the tool's input schema".to_owned();
    }
    explainer.complaints.join("; ")
}

/// Which arguments the schema does not name, if any; those that match its patterns are named.
pub(super) fn unnamed(root: &Value, arguments: &Value) -> Option<String> {
    let arguments = arguments.as_object()?;
    let mut named = Vec::new();
    let has_patterns = collect_named(root, root, &mut named, 0);
    let unnamed: Vec<&str> =
        arguments.keys().map(String::as_str).filter(|name| !has_patterns && !named.contains(name)).collect();
    if unnamed.is_empty() {
        return None;
    }
    let shown = unnamed.iter().take(NAMES_MAX).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Some(format!("arguments: the tool's input schema does not name {shown} (`strict_arguments` is on)"))
}

/// The names of arguments anywhere in place; whether there are patterns for more.
fn collect_named<'a>(root: &'a Value, schema: &'a Value, named: &mut Vec<&'a str>, depth: usize) -> bool {
    let Value::Object(members) = schema else { return false };
    if depth > 16 {
        return false;
    }
    let mut has_patterns = members.contains_key("patternProperties");
    for (keyword, part) in members {
        match (keyword.as_str(), part) {
            ("properties", Value::Object(properties)) => named.extend(properties.keys().map(String::as_str)),
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                for part in parts {
                    has_patterns |= collect_named(root, part, named, depth + 1);
                }
            }
            ("if" | "then" | "else", part) => has_patterns |= collect_named(root, part, named, depth + 1),
            ("$ref", reference) => {
                if let Some(target) = pointer::target(root, reference) {
                    has_patterns |= collect_named(root, target, named, depth + 1);
                }
            }
            _ => {}
        }
    }
    has_patterns
}

impl<'a> Explainer<'a> {
    fn complain(&mut self, path: &str, message: &str) {
        if self.complaints.len() < COMPLAINTS_MAX {
            let place = if path.is_empty() { "arguments".to_owned() } else { format!("`{path}`") };
            self.complaints.push(format!("{place}: {message}"));
        }
    }

    fn place(&mut self, schema: &'a Value, value: &'a Value, path: &str, depth: usize) {
        if self.places_left == 0 || depth > 64 || self.complaints.len() == COMPLAINTS_MAX {
            return;
        }
        self.places_left -= 1;
        let members = match schema {
            Value::Object(members) => members,
            Value::Bool(false) => return self.complain(path, "no value is allowed here"),
            _ => return,
        };
        if let Some(target) = members.get("$ref").and_then(|reference| pointer::target(self.root, reference))
        {
            self.place(target, value, path, depth + 1);
        }
        if let Some(types) = members.get("type").filter(|types| !has_type(types, value)) {
            return self.complain(path, &format!("the value is not of type {}", listed(types)));
        }
        self.limits(members, value, path);
        for part in members.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.place(part, value, path, depth + 1);
        }
        match value {
            Value::Object(object) => self.object(members, object, path, depth),
            Value::Array(items) => {
                if let Some(schema) = members.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        self.place(schema, item, &format!("{path}/{index}"), depth + 1);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(alternatives)) = members.get(keyword)
                && self.complaints.is_empty()
            {
                let n = alternatives.len();
                self.complain(
                    path,
                    &format!("the value may not fit any of the {n} alternatives of `{keyword}`"),
                );
            }
        }
    }

    fn object(
        &mut self,
        schema: &'a Map<String, Value>,
        object: &'a Map<String, Value>,
        path: &str,
        depth: usize,
    ) {
        for name in
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            if !object.contains_key(name) {
                self.complain(path, &format!("\"{name}\" is a required property"));
            }
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, value) in object {
            let path = format!("{path}/{name}");
            let has_patterns = schema.contains_key("patternProperties");
            let other = schema.get("additionalProperties").filter(|_| !has_patterns);
            let named = properties.and_then(|properties| properties.get(name));
            match named.or(other) {
                Some(Value::Bool(false)) if named.is_none() && !has_patterns => {
                    self.complain(&path, "the schema does not name it and allows no other properties");
                }
                Some(schema) => self.place(schema, value, &path, depth + 1),
                None => {}
            }
        }
    }

    /// What can be said of a value by itself.
    fn limits(&mut self, schema: &Map<String, Value>, value: &Value, path: &str) {
        for (keyword, limit) in schema {
            let number = |value: &Value| value.as_f64();
            let length = match value {
                Value::String(text) => Some(text.chars().count() as u64),
                Value::Array(items) => Some(items.len() as u64),
                Value::Object(members) => Some(members.len() as u64),
                Value::Null | Value::Bool(_) | Value::Number(_) => None,
            };
            let is_beyond = match keyword.as_str() {
                "minimum" => number(value).zip(number(limit)).is_some_and(|(value, limit)| value < limit),
                "maximum" => number(value).zip(number(limit)).is_some_and(|(value, limit)| value > limit),
                "exclusiveMinimum" => {
                    number(value).zip(number(limit)).is_some_and(|(value, limit)| value <= limit)
                }
                "exclusiveMaximum" => {
                    number(value).zip(number(limit)).is_some_and(|(value, limit)| value >= limit)
                }
                "minLength" if value.is_string() => length < limit.as_u64(),
                "maxLength" if value.is_string() => length > limit.as_u64(),
                "minItems" if value.is_array() => length < limit.as_u64(),
                "maxItems" if value.is_array() => length > limit.as_u64(),
                "enum" => !limit.as_array().is_some_and(|allowed| allowed.contains(value)),
                "const" => limit != value,
                _ => false,
            };
            if is_beyond {
                self.complain(path, &format!("the value does not fit `{keyword}`: {}", listed(limit)));
            }
        }
    }
}

fn has_type(types: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        _ => true,
    };
    match types {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

/// A value of the schema in a few words.
fn listed(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let shown: Vec<String> = items.iter().take(NAMES_MAX).map(listed).collect();
            let more = if items.len() > NAMES_MAX { ", …" } else { "" };
            format!("{}{more}", shown.join(", "))
        }
        other => {
            let text = other.to_string();
            if text.len() > 100 { format!("{}…", &text[..text.floor_char_boundary(100)]) } else { text }
        }
    }
}
