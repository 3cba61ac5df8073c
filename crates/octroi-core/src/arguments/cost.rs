//! What checking arguments against a schema would cost, before it is done.
//!
//! A few hundred bytes against a small schema can take for ever: alternatives multiply where references lead to the
//! same place twice. The walk here goes the way the validator goes, over pairs of a schema and a value, but looks at
//! each pair once. Its sum is an upper bound of the validator's steps.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::pointer;

/// A check may take this many steps, and some more for each byte of the arguments. A step is a tenth of a microsecond
/// or less.
const STEPS_MAX: u64 = 100_000;
const STEPS_FOR_BYTE: u64 = 8;
/// So deep may a schema apply other schemas, at all depths of the arguments together.
const DEPTH_MAX: usize = 384;
/// A pattern that looks around may go back and forth this often.
const PATTERN_STEPS: u64 = 50;

/// Why arguments are not checked: it would take more steps than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooCostly {
    pub(super) steps_max: u64,
}

/// The walk over one schema and one value.
struct Walk<'a> {
    root: &'a Value,
    recurring: &'a Recurring,
    /// The steps of pairs that were looked at, by address.
    seen: HashMap<(*const Value, *const Value), u64>,
    n_pairs: u64,
    steps_max: u64,
}

/// The targets of references that lead back to themselves, by address within the schema.
#[derive(Debug, Default)]
pub(super) struct Recurring(HashSet<usize>);

impl Recurring {
    /// Finds them. The schema must not be moved afterwards.
    pub(super) fn of(root: &Value) -> Self {
        let mut targets = Vec::new();
        references(root, &mut |reference| targets.extend(pointer::target(root, reference)));
        targets.sort_by_key(|target| address(target));
        targets.dedup_by_key(|target| address(target));
        // Within the limits of a schema this is a few thousand steps for each of a few hundred references.
        Self(targets.into_iter().filter(|target| leads_back(root, target)).map(address).collect())
    }
}

fn address(value: &Value) -> usize {
    std::ptr::from_ref(value) as usize
}

fn references<'a>(value: &'a Value, found: &mut impl FnMut(&'a Value)) {
    match value {
        Value::Object(members) => {
            for (keyword, part) in members {
                if matches!(keyword.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef") {
                    found(part);
                }
                references(part, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn leads_back(root: &Value, start: &Value) -> bool {
    let mut seen = HashSet::new();
    let mut left = vec![start];
    while let Some(value) = left.pop() {
        let mut next = Vec::new();
        references(value, &mut |reference| next.extend(pointer::target(root, reference)));
        for target in next {
            if std::ptr::eq(target, start) {
                return true;
            }
            if seen.insert(address(target)) {
                left.push(target);
            }
        }
    }
    false
}

/// Whether checking arguments of this length is within its limits.
pub(super) fn check(
    root: &Value,
    recurring: &Recurring,
    arguments: &Value,
    n_bytes: u64,
) -> Result<(), TooCostly> {
    let steps_max = STEPS_MAX.saturating_add(n_bytes.saturating_mul(STEPS_FOR_BYTE));
    let mut walk = Walk { root, recurring, seen: HashMap::new(), n_pairs: 0, steps_max };
    let steps = walk.pair(root, arguments, 0)?;
    if steps > steps_max { Err(TooCostly { steps_max }) } else { Ok(()) }
}

impl<'a> Walk<'a> {
    fn pair(&mut self, schema: &'a Value, value: &'a Value, depth: usize) -> Result<u64, TooCostly> {
        let Value::Object(members) = schema else { return Ok(1) };
        let key = (std::ptr::from_ref(schema), std::ptr::from_ref(value));
        if let Some(steps) = self.seen.get(&key) {
            // The validator remembers the results of containers at references that recur. The rest it does again.
            let is_remembered =
                self.recurring.0.contains(&address(schema)) && (value.is_object() || value.is_array());
            return Ok(if is_remembered { 1 } else { *steps });
        }
        self.n_pairs += 1;
        if depth > DEPTH_MAX || self.n_pairs > self.steps_max {
            return Err(TooCostly { steps_max: self.steps_max });
        }
        // While it is being looked at it costs one: the validator ends a reference that leads back to itself.
        self.seen.insert(key, 1);
        let steps = if excludes(members, value) { 1 } else { self.members(members, value, depth + 1)? };
        self.seen.insert(key, steps);
        Ok(steps)
    }

    fn members(
        &mut self,
        schema: &'a Map<String, Value>,
        value: &'a Value,
        depth: usize,
    ) -> Result<u64, TooCostly> {
        let mut steps: u64 = 1;
        for (keyword, part) in schema {
            let more = match keyword.as_str() {
                "allOf" | "anyOf" | "oneOf" => {
                    self.each(part.as_array().into_iter().flatten(), value, depth)?
                }
                "not" | "if" | "then" | "else" => self.pair(part, value, depth)?,
                "$ref" | "$dynamicRef" | "$recursiveRef" => match pointer::target(self.root, part) {
                    Some(target) => self.pair(target, value, depth)?,
                    None => 1,
                },
                "dependentSchemas" | "dependencies" => {
                    self.each(part.as_object().into_iter().flat_map(Map::values), value, depth)?
                }
                "properties" => self.properties(part, value, depth)?,
                "patternProperties" => {
                    let schemas = part.as_object().into_iter().flat_map(Map::values);
                    let n_names = value.as_object().map_or(0, Map::len) as u64;
                    let n_patterns = part.as_object().map_or(0, Map::len) as u64;
                    let patterns = n_names.saturating_mul(n_patterns).saturating_mul(PATTERN_STEPS);
                    self.children(schemas, value, depth)?.saturating_add(patterns)
                }
                "additionalProperties" | "unevaluatedProperties" if value.is_object() => {
                    self.children(std::iter::once(part), value, depth)?
                }
                "items" | "additionalItems" | "contains" | "unevaluatedItems" | "prefixItems"
                    if value.is_array() =>
                {
                    match part {
                        Value::Array(schemas) => self.children(schemas.iter(), value, depth)?,
                        part => self.children(std::iter::once(part), value, depth)?,
                    }
                }
                "propertyNames" => {
                    (value.as_object().map_or(0, Map::len) as u64).saturating_mul(PATTERN_STEPS)
                }
                "enum" => part.as_array().map_or(1, Vec::len) as u64,
                "uniqueItems" => value.as_array().map_or(1, |items| (items.len() as u64).saturating_mul(16)),
                "pattern" | "format" => {
                    value.as_str().map_or(1, |text| PATTERN_STEPS + text.len() as u64 / 16)
                }
                _ => 0,
            };
            steps = steps.saturating_add(more);
        }
        Ok(steps)
    }

    fn each(
        &mut self,
        schemas: impl Iterator<Item = &'a Value>,
        value: &'a Value,
        depth: usize,
    ) -> Result<u64, TooCostly> {
        let mut steps: u64 = 0;
        for schema in schemas {
            steps = steps.saturating_add(self.pair(schema, value, depth)?);
        }
        Ok(steps)
    }

    fn properties(&mut self, schemas: &'a Value, value: &'a Value, depth: usize) -> Result<u64, TooCostly> {
        let (Value::Object(schemas), Value::Object(members)) = (schemas, value) else { return Ok(1) };
        let mut steps: u64 = 1;
        for (name, value) in members {
            if let Some(schema) = schemas.get(name) {
                steps = steps.saturating_add(self.pair(schema, value, depth)?);
            }
        }
        Ok(steps)
    }

    /// Every one of these schemas with every child of the value.
    fn children(
        &mut self,
        schemas: impl Iterator<Item = &'a Value>,
        value: &'a Value,
        depth: usize,
    ) -> Result<u64, TooCostly> {
        let mut steps: u64 = 0;
        for schema in schemas {
            match value {
                Value::Array(items) => {
                    for item in items {
                        steps = steps.saturating_add(self.pair(schema, item, depth)?);
                    }
                }
                Value::Object(members) => {
                    for item in members.values() {
                        steps = steps.saturating_add(self.pair(schema, item, depth)?);
                    }
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        Ok(steps)
    }
}

/// Whether the schema's `type` excludes the value. The validator looks at it first.
fn excludes(schema: &Map<String, Value>, value: &Value) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => value.is_number(),
    };
    match schema.get("type") {
        Some(Value::String(name)) => !is(name),
        Some(Value::Array(names)) => !names.iter().filter_map(Value::as_str).any(is),
        _ => false,
    }
}
