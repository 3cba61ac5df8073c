//! Names of arguments that a lenient reader may take for one another.
//!
//! Some servers find members whatever their case, cut names at a NUL, or ignore invisible characters. Such a server
//! would read another argument than the one that was decided about. So a name that folds to one that is known
//! without being it is refused, and so are two names of one object that fold to the same.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::fold::{fold, fold_name};

/// Names that somebody reads: the properties anywhere in a schema, or the arguments that rules test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    exact: HashSet<String>,
    folded: HashMap<String, String>,
    likeness: Likeness,
}

/// Which names are taken for one another.
#[derive(Clone, Copy, Debug, Default)]
enum Likeness {
    /// Those that differ in case and in what nobody sees. A member of free content such as `Content-Type` may stand in
    /// a call of a tool that has a `contentType`.
    #[default]
    Case,
    /// Those with the same letters and digits: a rule on `filePath` must not be passed by `file_path`.
    Letters,
}

impl Likeness {
    fn fold(self, name: &str) -> Cow<'_, str> {
        match self {
            Self::Case => fold(name),
            Self::Letters => fold_name(name),
        }
    }
}

impl Names {
    pub(super) fn of(schema: &Value) -> Self {
        let mut names = Self::default();
        names.collect(schema);
        names
    }

    /// No names yet; those that will be added are the arguments that rules test.
    pub(crate) fn of_rules() -> Self {
        Self { likeness: Likeness::Letters, ..Self::default() }
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
        self.folded.insert(self.likeness.fold(name).into_owned(), name.to_owned());
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
                let is_known = self.exact.contains(name);
                let taken_for = if is_known { None } else { self.folded.get(&*self.likeness.fold(name)) };
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
