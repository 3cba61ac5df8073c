//! Finds arguments that a schema does not name, for tools that accept no others.
//!
//! An object is checked where a schema that applies to it lists properties; an object of which none is listed is free
//! content. All alternatives (`anyOf`, `then` and the like) count, whichever holds.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::cost::TooCostly;
use super::pointer::{References, address, is_reference};

/// Lists of names are cut to this many, and names to this length.
const NAMES_MAX: usize = 8;
const NAME_LENGTH_MAX: usize = 100;
/// So many schemas may be looked at, and some more for each byte of the arguments.
const STEPS_MAX: u64 = 50_000;
const STEPS_FOR_BYTE: u64 = 4;

/// Which arguments the schema does not name, if any; those that match its patterns are named.
pub(super) fn complaint(
    root: &Value,
    references: &References,
    arguments: &Value,
    n_bytes: u64,
) -> Result<Option<String>, TooCostly> {
    let steps_max = STEPS_MAX.saturating_add(n_bytes.saturating_mul(STEPS_FOR_BYTE));
    let mut walk = Walk { root, references, n_left: steps_max, steps_max };
    let Some((place, names)) = walk.unnamed(&[root], arguments, "arguments", Level::Top)? else {
        return Ok(None);
    };
    let names: Vec<String> = names.iter().map(|name| format!("`{}`", cut(name))).collect();
    let names = names.join(", ");
    Ok(Some(format!("{place}: the tool's input schema does not name {names} (`strict_arguments` is on)")))
}

/// The arguments as a whole are checked even if the schema names none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Top,
    Inner,
}

struct Walk<'a> {
    root: &'a Value,
    references: &'a References,
    n_left: u64,
    steps_max: u64,
}

/// Where unnamed members are, and their names.
type Unnamed<'a> = (String, Vec<&'a str>);

impl<'a> Walk<'a> {
    fn take(&mut self, n_steps: usize) -> Result<(), TooCostly> {
        self.n_left = self.n_left.saturating_sub(n_steps as u64);
        if self.n_left == 0 { Err(TooCostly { steps_max: self.steps_max }) } else { Ok(()) }
    }

    fn unnamed<'v>(
        &mut self,
        schemas: &[&'a Value],
        value: &'v Value,
        place: &str,
        level: Level,
    ) -> Result<Option<Unnamed<'v>>, TooCostly> {
        match value {
            _ if schemas.is_empty() => Ok(None),
            Value::Object(members) => {
                let schemas = self.in_place(schemas)?;
                let lists = |schema: &&&Map<String, Value>| {
                    schema.get("properties").is_some_and(|properties| !is_empty(properties))
                };
                let is_listed = level == Level::Top || schemas.iter().any(|schema| lists(&schema));
                let has_patterns = schemas.iter().any(|schema| schema.contains_key("patternProperties"));
                let mut names = Vec::new();
                for (name, value) in members {
                    self.take(schemas.len())?;
                    let properties: Vec<&Value> =
                        schemas.iter().filter_map(|schema| schema.get("properties")?.get(name)).collect();
                    if properties.is_empty() && is_listed && !has_patterns {
                        names.push(name.as_str());
                        continue;
                    }
                    let rest =
                        || schemas.iter().filter_map(|schema| schema.get("additionalProperties")).collect();
                    let of_member = if properties.is_empty() { rest() } else { properties };
                    let found = self.unnamed(&of_member, value, cut(name), Level::Inner)?;
                    if found.is_some() {
                        return Ok(found);
                    }
                }
                names.truncate(NAMES_MAX);
                Ok((!names.is_empty()).then(|| (place.to_owned(), names)))
            }
            Value::Array(items) => {
                let schemas = self.in_place(schemas)?;
                self.take(schemas.len())?;
                let of_items: Vec<&Value> = schemas.iter().flat_map(|schema| of_items(schema)).collect();
                for item in items {
                    self.take(1)?;
                    let found = self.unnamed(&of_items, item, place, Level::Inner)?;
                    if found.is_some() {
                        return Ok(found);
                    }
                }
                Ok(None)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(None),
        }
    }

    /// The schemas and all that apply to the same value. Alternatives may refer to each other, so each is taken once.
    fn in_place(&mut self, schemas: &[&'a Value]) -> Result<Vec<&'a Map<String, Value>>, TooCostly> {
        let (mut seen, mut left, mut found) = (HashSet::new(), schemas.to_vec(), Vec::new());
        while let Some(schema) = left.pop() {
            self.take(1)?;
            let Value::Object(members) = schema else { continue };
            if !seen.insert(address(schema)) {
                continue;
            }
            found.push(members);
            for (keyword, part) in members {
                match (keyword.as_str(), part) {
                    ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => left.extend(parts),
                    ("if" | "then" | "else", part) => left.push(part),
                    ("dependentSchemas", Value::Object(parts)) => left.extend(parts.values()),
                    (keyword, reference) if is_reference(keyword) => {
                        left.extend(self.references.target(self.root, reference));
                    }
                    _ => {}
                }
            }
        }
        Ok(found)
    }
}

/// The schemas of any item, wherever it stands.
fn of_items(schema: &Map<String, Value>) -> Vec<&Value> {
    ["items", "prefixItems", "additionalItems", "contains"]
        .into_iter()
        .filter_map(|keyword| schema.get(keyword))
        .flat_map(|part| match part {
            Value::Array(parts) => parts.iter().collect(),
            part => vec![part],
        })
        .collect()
}

fn is_empty(properties: &Value) -> bool {
    properties.as_object().is_none_or(Map::is_empty)
}

/// A name as it is shown in a message.
pub(super) fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_LENGTH_MAX)]
}
