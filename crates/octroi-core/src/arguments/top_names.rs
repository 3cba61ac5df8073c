//! The arguments that a schema names, for tools that accept no others.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::pointer::{References, address, is_reference};

/// Lists of names are cut to this many, and names to this length.
const NAMES_MAX: usize = 8;
const NAME_LENGTH_MAX: usize = 100;

/// The names of arguments in all schemas that apply to the arguments as a whole.
#[derive(Debug, Default)]
pub(super) struct TopNames {
    names: HashSet<Box<str>>,
    /// Whether there are patterns for more.
    has_patterns: bool,
}

impl TopNames {
    pub(super) fn of(root: &Value, references: &References) -> Self {
        let mut names = Self::default();
        // Alternatives may refer to each other, so each schema is looked at once.
        let (mut seen, mut left) = (HashSet::new(), vec![root]);
        while let Some(schema) = left.pop() {
            let Value::Object(members) = schema else { continue };
            if seen.insert(address(schema)) {
                names.add(members, &mut left);
                let targets = members.iter().filter(|(keyword, _)| is_reference(keyword));
                left.extend(targets.filter_map(|(_, reference)| references.target(root, reference)));
            }
        }
        names
    }

    fn add<'a>(&mut self, schema: &'a Map<String, Value>, left: &mut Vec<&'a Value>) {
        self.has_patterns |= schema.contains_key("patternProperties");
        for (keyword, part) in schema {
            match (keyword.as_str(), part) {
                ("properties", Value::Object(properties)) => {
                    self.names.extend(properties.keys().map(|name| name.as_str().into()));
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => left.extend(parts),
                ("if" | "then" | "else", part) => left.push(part),
                _ => {}
            }
        }
    }

    /// Which arguments the schema does not name, if any; those that match its patterns are named.
    pub(super) fn complaint(&self, arguments: &Value) -> Option<String> {
        if self.has_patterns {
            return None;
        }
        let unnamed = arguments.as_object()?.keys().filter(|name| !self.names.contains(name.as_str()));
        let shown: Vec<String> = unnamed.take(NAMES_MAX).map(|name| format!("`{}`", cut(name))).collect();
        if shown.is_empty() {
            return None;
        }
        let shown = shown.join(", ");
        Some(format!("arguments: the tool's input schema does not name {shown} (`strict_arguments` is on)"))
    }
}

/// A name as it is shown in a message.
pub(super) fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_LENGTH_MAX)]
}
