//! Schemas that other schemas apply to the same value, such as the parts of `allOf`.
//!
//! References may lead back to where they are only by way of a part of the value: every part is smaller, so that it
//! ends. A schema that leads back to itself in place is refused; nobody needs it, and what it costs depends on the
//! order in which a validator looks at it.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::pointer::{References, address, is_reference};

/// So many schemas may apply the next one to the same value.
const DEPTH_MAX: usize = 384;

/// How a schema is applied to the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Application {
    /// As one of its parts.
    Part,
    /// By a reference.
    Reference,
}

/// The schemas that a schema applies to the same value and whose evaluated members count as its own.
pub(super) fn schemas<'a>(
    schema: &'a Map<String, Value>,
    root: &'a Value,
    references: &References,
) -> Vec<(&'a Value, Application)> {
    let mut parts = Vec::new();
    for (keyword, part) in schema {
        match (keyword.as_str(), part) {
            ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => {
                parts.extend(all.iter().map(|part| (part, Application::Part)));
            }
            ("if" | "then" | "else", part) => parts.push((part, Application::Part)),
            ("dependentSchemas" | "dependencies", Value::Object(all)) => {
                parts.extend(all.values().map(|part| (part, Application::Part)));
            }
            (keyword, reference) if is_reference(keyword) => {
                let target = references.target(root, reference);
                parts.extend(target.map(|target| (target, Application::Reference)));
            }
            _ => {}
        }
    }
    parts
}

/// Refuses a schema in which references lead back to themselves in place.
pub(super) fn check(root: &Value, references: &References) -> Result<(), String> {
    let mut search = Search { root, references, is_done: HashMap::new() };
    search.all(root)
}

struct Search<'a> {
    root: &'a Value,
    references: &'a References,
    /// Whether a schema was looked at completely; `false` while it is.
    is_done: HashMap<usize, bool>,
}

impl<'a> Search<'a> {
    fn all(&mut self, value: &'a Value) -> Result<(), String> {
        match value {
            Value::Object(members) => {
                // Only a reference can lead back.
                if members.keys().any(|keyword| is_reference(keyword)) {
                    self.from(value, 0)?;
                }
                members.values().try_for_each(|part| self.all(part))
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.all(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn from(&mut self, schema: &'a Value, depth: usize) -> Result<(), String> {
        let Value::Object(members) = schema else { return Ok(()) };
        match self.is_done.insert(address(schema), false) {
            Some(true) => {
                self.is_done.insert(address(schema), true);
                return Ok(());
            }
            Some(false) => {
                return Err("a reference leads back to itself without going into the value".to_owned());
            }
            None => {}
        }
        if depth > DEPTH_MAX {
            return Err(format!("more than {DEPTH_MAX} schemas apply to the same value, each to the next"));
        }
        for (part, _) in schemas(members, self.root, self.references) {
            self.from(part, depth + 1)?;
        }
        if let Some(part) = members.get("not") {
            self.from(part, depth + 1)?;
        }
        self.is_done.insert(address(schema), true);
        Ok(())
    }
}
