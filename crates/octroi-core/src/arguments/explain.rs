//! Why arguments do not fit a schema, in words and in few steps.
//!
//! The validator decides; this only explains. It follows properties, items and references, and names alternatives
//! without going into them: their errors multiply. Values are not repeated, because they may be secret.

use std::fmt;

use serde_json::{Map, Value};

use super::pointer::References;
use super::unnamed::cut;

/// At most this many errors are reported.
const COMPLAINTS_MAX: usize = 5;
/// At most this many keywords and children are looked at.
const STEPS_MAX: usize = 20_000;
/// Lists of names are cut to this many.
const NAMES_MAX: usize = 8;

struct Explainer<'a> {
    root: &'a Value,
    references: &'a References,
    complaints: Vec<String>,
    steps_left: usize,
}

/// Where a value is. Names may be long, so the text is only written for a complaint.
#[derive(Clone, Copy)]
enum Place<'p> {
    Root,
    Member(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(place, name) => write!(formatter, "{place}/{}", cut(name)),
            Self::Item(place, index) => write!(formatter, "{place}/{index}"),
        }
    }
}

/// The errors that can be named.
pub(super) fn explain(root: &Value, references: &References, arguments: &Value) -> String {
    let mut explainer = Explainer { root, references, complaints: Vec::new(), steps_left: STEPS_MAX };
    explainer.value(root, arguments, Place::Root, 0);
    if explainer.complaints.is_empty() {
        return "arguments: they do not fit the tool's input schema".to_owned();
    }
    explainer.complaints.join("; ")
}

impl<'a> Explainer<'a> {
    fn complain(&mut self, place: Place<'_>, message: &str) {
        if self.complaints.len() < COMPLAINTS_MAX {
            let place = match place {
                Place::Root => "arguments".to_owned(),
                Place::Member(..) | Place::Item(..) => format!("`{place}`"),
            };
            self.complaints.push(format!("{place}: {message}"));
        }
    }

    /// Whether enough was said or looked at.
    fn is_over(&self) -> bool {
        self.steps_left == 0 || self.complaints.len() == COMPLAINTS_MAX
    }

    fn value(&mut self, schema: &'a Value, value: &'a Value, path: Place<'_>, depth: usize) {
        let n_keywords = schema.as_object().map_or(0, Map::len);
        if self.is_over() || depth > 64 {
            return;
        }
        self.steps_left = self.steps_left.saturating_sub(1 + n_keywords);
        let members = match schema {
            Value::Object(members) => members,
            Value::Bool(false) => return self.complain(path, "no value is allowed here"),
            _ => return,
        };
        if let Some(target) =
            members.get("$ref").and_then(|reference| self.references.target(self.root, reference))
        {
            self.value(target, value, path, depth + 1);
        }
        if let Some(types) = members.get("type").filter(|types| !has_type(types, value)) {
            return self.complain(path, &format!("the value is not of type {}", listed(types)));
        }
        self.limits(members, value, path);
        for part in members.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.value(part, value, path, depth + 1);
        }
        match value {
            Value::Object(object) => self.object(members, object, path, depth),
            Value::Array(items) => {
                if let Some(schema) = members.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        if self.is_over() {
                            return;
                        }
                        self.value(schema, item, Place::Item(&path, index), depth + 1);
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
        path: Place<'_>,
        depth: usize,
    ) {
        for name in
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            if !object.contains_key(name) {
                self.complain(path, &format!("\"{}\" is a required property", cut(name)));
            }
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let has_patterns = schema.contains_key("patternProperties");
        for (name, value) in object {
            if self.is_over() {
                return;
            }
            self.steps_left -= 1;
            let path = Place::Member(&path, name);
            let other = schema.get("additionalProperties").filter(|_| !has_patterns);
            let named = properties.and_then(|properties| properties.get(name));
            match named.or(other) {
                Some(Value::Bool(false)) if named.is_none() && !has_patterns => {
                    self.complain(path, "the schema does not name it and allows no other properties");
                }
                Some(schema) => self.value(schema, value, path, depth + 1),
                None => {}
            }
        }
    }

    /// What can be said of a value by itself.
    fn limits(&mut self, schema: &Map<String, Value>, value: &Value, path: Place<'_>) {
        let number = |value: &Value| value.as_f64();
        // Counting the letters of a text takes as long as it is, so it is only done for those that limit it.
        let length = || match value {
            Value::String(text) => Some(text.chars().count() as u64),
            Value::Array(items) => Some(items.len() as u64),
            Value::Object(members) => Some(members.len() as u64),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        };
        for (keyword, limit) in schema {
            let is_beyond = match keyword.as_str() {
                "minimum" => number(value).zip(number(limit)).is_some_and(|(value, limit)| value < limit),
                "maximum" => number(value).zip(number(limit)).is_some_and(|(value, limit)| value > limit),
                "exclusiveMinimum" => {
                    number(value).zip(number(limit)).is_some_and(|(value, limit)| value <= limit)
                }
                "exclusiveMaximum" => {
                    number(value).zip(number(limit)).is_some_and(|(value, limit)| value >= limit)
                }
                "minLength" if value.is_string() => length() < limit.as_u64(),
                "maxLength" if value.is_string() => length() > limit.as_u64(),
                "minItems" if value.is_array() => length() < limit.as_u64(),
                "maxItems" if value.is_array() => length() > limit.as_u64(),
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
