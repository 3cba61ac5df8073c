//! Names of arguments that a lenient reader may take for one another.
//!
//! Some servers find members whatever their case, cut names at a NUL, or ignore invisible characters. Such a server
//! would read another argument than the one that was decided about. So a name that folds to one that is known
//! without being it is refused, and so are two names of one object that fold to the same.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::fold::fold;

/// Names that somebody reads: the properties anywhere in a schema, or the arguments that rules test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
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
                    properties.keys().for_each(|name| self.insert(name));
                }
                members.values().for_each(|part| self.collect(part));
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    pub(crate) fn insert(&mut self, name: &str) {
        self.exact.insert(name.to_owned());
        self.folded.insert(fold(name).into_owned(), name.to_owned());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.exact.is_empty()
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.exact.contains(name)
    }

    /// What is wrong with names in the arguments, if anything is. `is_meant` says whether a name, as it is written,
    /// may not stand beside the known one.
    pub(crate) fn complaint(
        &self,
        arguments: &Value,
        is_meant: &dyn Fn(&str, &str) -> bool,
    ) -> Option<String> {
        match arguments {
            Value::Object(members) => members.iter().find_map(|(name, value)| {
                let taken_for = if self.exact.contains(name) { None } else { self.folded.get(&*fold(name)) };
                match taken_for.filter(|known| is_meant(name, known)) {
                    Some(known) => Some(format!(
                        "arguments: `{}` can be taken for `{known}`; write it exactly so",
                        name.escape_debug()
                    )),
                    None => self.complaint(value, is_meant),
                }
            }),
            Value::Array(items) => items.iter().find_map(|item| self.complaint(item, is_meant)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    }
}
