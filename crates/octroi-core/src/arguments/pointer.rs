//! References within a schema.
//!
//! The cost of a check is only known if this finds the same target as the validator. So a schema is refused in which
//! the two could differ: with nested `$id`, with an anchor that is there twice, with a target that is not found.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// A longer reference is refused: it is looked up at every value that it applies to.
const REFERENCE_LENGTH_MAX: usize = 1_000;

/// The keywords that refer to another schema.
pub(super) fn is_reference(keyword: &str) -> bool {
    matches!(keyword, "$ref" | "$dynamicRef" | "$recursiveRef")
}

/// Whether the value of a keyword is data, in which nothing is a schema.
fn is_data(keyword: &str) -> bool {
    matches!(keyword, "const" | "enum" | "default" | "examples")
}

/// The references of one schema, which must not be moved afterwards.
#[derive(Debug, Default)]
pub(super) struct References {
    /// JSON pointers of the schemas with a name.
    anchors: HashMap<Box<str>, Box<str>>,
    /// Addresses of references that are inside their own target.
    looping: HashSet<usize>,
    /// Whether there is any reference.
    pub(super) has_any: bool,
    /// Whether some schema asks what others evaluated, so that all of them are looked at twice.
    pub(super) has_unevaluated: bool,
}

impl References {
    /// Finds them, or says why the schema is refused.
    pub(super) fn of(root: &Value) -> Result<Self, String> {
        let mut references = Self::default();
        references.find_anchors(root, &mut String::new())?;
        references.follow(root, root, &mut Vec::new())?;
        Ok(references)
    }

    /// What a reference leads to.
    pub(super) fn target<'a>(&self, root: &'a Value, reference: &Value) -> Option<&'a Value> {
        let fragment = reference.as_str()?.strip_prefix('#')?;
        if fragment.len() > REFERENCE_LENGTH_MAX {
            return None;
        }
        let fragment: Cow<'_, str> = percent_decode_str(fragment).decode_utf8().ok()?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return root.pointer(&fragment);
        }
        root.pointer(self.anchors.get(&*fragment)?)
    }

    /// Whether a reference is inside its own target. Of these the validator remembers results.
    pub(super) fn is_looping(&self, reference: &Value) -> bool {
        self.looping.contains(&address(reference))
    }

    fn find_anchors(&mut self, value: &Value, path: &mut String) -> Result<(), String> {
        let length = path.len();
        match value {
            Value::Object(members) => {
                for key in ["$anchor", "$dynamicAnchor"] {
                    if let Some(Value::String(name)) = members.get(key)
                        && self.anchors.insert(name.as_str().into(), path.as_str().into()).is_some()
                    {
                        return Err(format!("the anchor `{name}` is there twice"));
                    }
                }
                for (name, part) in members.iter().filter(|(name, _)| !is_data(name)) {
                    path.push('/');
                    path.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    self.find_anchors(part, path)?;
                    path.truncate(length);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let _ = write!(path, "/{index}");
                    self.find_anchors(item, path)?;
                    path.truncate(length);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        Ok(())
    }

    fn follow(&mut self, root: &Value, value: &Value, enclosing: &mut Vec<usize>) -> Result<(), String> {
        enclosing.push(address(value));
        match value {
            Value::Object(members) => {
                for (keyword, part) in members.iter().filter(|(name, _)| !is_data(name)) {
                    self.has_unevaluated |=
                        matches!(keyword.as_str(), "unevaluatedProperties" | "unevaluatedItems");
                    if let (true, Value::String(text)) = (is_reference(keyword), part) {
                        let target = self.target(root, part).ok_or_else(|| unknown(text))?;
                        self.has_any = true;
                        if enclosing.contains(&address(target)) {
                            self.looping.insert(address(part));
                        }
                    }
                    self.follow(root, part, enclosing)?;
                }
            }
            Value::Array(items) => {
                items.iter().try_for_each(|item| self.follow(root, item, enclosing))?;
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        enclosing.pop();
        Ok(())
    }
}

fn unknown(reference: &str) -> String {
    let shown = &reference[..reference.floor_char_boundary(100)];
    format!("the reference `{shown}` leads nowhere")
}

pub(super) fn address(value: &Value) -> usize {
    std::ptr::from_ref(value) as usize
}
