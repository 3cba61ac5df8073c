//! The changes between two definitions, for the person who reviews them.

mod schema;
#[cfg(test)]
mod tests;
mod walk;

use std::fmt;

use super::characters::{escaped, escaped_in_line};
use crate::json::{Doubles, Node};

/// The length limit of a member name in a path.
const NAME_LENGTH_MAX: usize = 80;
/// Longer paths are cut: there may be one for every value of a definition.
const PATH_LENGTH_MAX: usize = 1_000;
/// With more changes than this, the definitions are shown as a whole.
const CHANGES_MAX: usize = 1_000;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionChange {
    /// Its path in readable form: `inputSchema.properties.path.type`. Empty for the whole definition.
    pub path: String,
    /// The old value, with hidden characters escaped; `None` if there was none.
    pub old: Option<String>,
    /// The new value, in the same form.
    pub new: Option<String>,
    /// The class of the change.
    pub class: ChangeClass,
}

/// The class of a change, for those who call the tool.
///
/// Schemas are judged as a model reads them: a newly described property is one more thing that it may be
/// talked into sending, so it widens the schema, even where the old schema accepted the property unnamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeClass {
    /// Text that a model or a person reads.
    Text,
    /// The schema accepts more than before.
    SchemaWidened,
    /// The schema accepts less than before.
    SchemaNarrowed,
    /// The schema differs, and the direction is unclear.
    SchemaChanged,
    /// A claim of the server about the effects of a tool.
    Annotation,
    /// Anything else.
    Other,
}

impl ChangeClass {
    /// Its name in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::SchemaWidened => "schema widened",
            Self::SchemaNarrowed => "schema narrowed",
            Self::SchemaChanged => "schema changed",
            Self::Annotation => "annotation",
            Self::Other => "other",
        }
    }
}

/// All changes between two definitions, in the order of the new one; empty if they are equal.
///
/// A text that is not JSON, or that has duplicate member names, is compared as a whole.
pub fn difference(old: &[u8], new: &[u8]) -> Vec<DefinitionChange> {
    match (Node::parse(old, Doubles::Refused), Node::parse(new, Doubles::Refused)) {
        (Ok(old_node), Ok(new_node)) => {
            walk::changes(&old_node, &new_node).unwrap_or_else(|walk::TooMany| as_a_whole(old, new))
        }
        (Err(_), _) | (_, Err(_)) if old == new => Vec::new(),
        (Err(_), _) | (_, Err(_)) => as_a_whole(old, new),
    }
}

fn as_a_whole(old: &[u8], new: &[u8]) -> Vec<DefinitionChange> {
    let text = |bytes: &[u8]| Some(escaped(&String::from_utf8_lossy(bytes)));
    vec![DefinitionChange { path: String::new(), old: text(old), new: text(new), class: ChangeClass::Other }]
}

impl fmt::Display for DefinitionChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() { "(the whole definition)" } else { &self.path };
        writeln!(formatter, "{place} ({})", self.class.as_str())?;
        let old: Vec<_> = self.old.iter().flat_map(|text| text.split('\n')).collect();
        let new: Vec<_> = self.new.iter().flat_map(|text| text.split('\n')).collect();
        let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
        let n_before = old.iter().zip(&new).take_while(same).count();
        let left = old.len().min(new.len()) - n_before;
        let n_after = old.iter().rev().zip(new.iter().rev()).take_while(same).count().min(left);
        // One line of context, which helps to find the position in a long text.
        if let Some(line) = n_before.checked_sub(1).and_then(|index| old.get(index)) {
            writeln!(formatter, "    {line}")?;
        }
        for line in &old[n_before..old.len() - n_after] {
            writeln!(formatter, "  - {line}")?;
        }
        for line in &new[n_before..new.len() - n_after] {
            writeln!(formatter, "  + {line}")?;
        }
        match old.get(old.len() - n_after) {
            Some(line) if n_after > 0 => writeln!(formatter, "    {line}"),
            Some(_) | None => Ok(()),
        }
    }
}

/// A path in a definition.
#[derive(Clone, Debug, Default)]
pub(super) struct JsonPath(String);

impl JsonPath {
    /// The member of this name.
    pub(super) fn member(&self, name: &str) -> Self {
        // Every step copies the path, so a server must not make it arbitrarily long.
        if self.0.len() > PATH_LENGTH_MAX {
            return self.cut();
        }
        let start = name.char_indices().nth(NAME_LENGTH_MAX).map_or(name, |(end, _)| &name[..end]);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-$".contains(&byte);
        let mut path = self.0.clone();
        if name.is_empty() || start.len() < name.len() || !name.bytes().all(is_plain) {
            path.push_str("[\"");
            path.push_str(&escaped_in_line(start));
            path.push_str(if start.len() < name.len() { "…\"]" } else { "\"]" });
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name);
        }
        Self(path)
    }

    /// The item at this index.
    pub(super) fn item(&self, index: usize) -> Self {
        if self.0.len() > PATH_LENGTH_MAX {
            return self.cut();
        }
        Self(format!("{}[{index}]", self.0))
    }

    fn cut(&self) -> Self {
        Self(if self.0.ends_with('…') { self.0.clone() } else { format!("{}…", self.0) })
    }

    /// The path as a string.
    pub(super) fn into_text(self) -> String {
        self.0
    }
}
