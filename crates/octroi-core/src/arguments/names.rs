//! Names of arguments that a lenient reader may take for one another.
//!
//! Some servers find members whatever their case, cut names at a NUL, or ignore invisible characters. Such a server
//! would read another argument than the one that was decided about. So a name that folds to one that is known
//! without being it is refused, and so are two names of one object that fold to the same.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::fold::fold;

/// The names of properties anywhere in a schema.
#[derive(Debug, Default)]
pub(super) struct Names {
    exact: HashSet<String>,
    folded: HashMap<String, String>,
}

impl Names {
    pub(super) fn of(schema: &Value) -> Self {
        let mut names = Self::default();
        names.collect(schema);
        names
    }

    fn collect(&mut self, schema: &Value) {
        match schema {
            Value::Object(members) => {
                if let Some(Value::Object(properties)) = members.get("properties") {
                    for name in properties.keys() {
                        self.exact.insert(name.clone());
                        self.folded.insert(fold(name).into_owned(), name.clone());
                    }
                }
                members.values().for_each(|part| self.collect(part));
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// What is wrong with names in the arguments, if anything is.
    pub(super) fn complaint(&self, arguments: &Value) -> Option<String> {
        match arguments {
            Value::Object(members) => members.iter().find_map(|(name, value)| {
                let taken_for = if self.exact.contains(name) { None } else { self.folded.get(&*fold(name)) };
                match taken_for {
                    Some(known) => Some(format!(
                        "arguments: `{}` can be taken for `{known}`; write it exactly so",
                        name.escape_debug()
                    )),
                    None => self.complaint(value),
                }
            }),
            Value::Array(items) => items.iter().find_map(|item| self.complaint(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    }
}
