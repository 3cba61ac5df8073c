//! What checking arguments against a schema would cost, before it is done.
//!
//! A few hundred bytes against a small schema can take for ever: alternatives multiply where references lead to the
//! same place twice. The walk here goes the way the validator goes, over pairs of a schema and a value, but looks at
//! each pair once. Its sum is an upper bound of the validator's steps.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::pattern;
use super::pointer::{References, address, is_reference};

mod unevaluated;
mod weight;

pub(super) use unevaluated::check as check_unevaluated;
use weight::Weights;

/// A check may take this many steps, and some more for each byte of the arguments. A step is a tenth of a microsecond
/// or less.
const STEPS_MAX: u64 = 100_000;
const STEPS_FOR_BYTE: u64 = 8;
/// So deep may a schema apply other schemas, at all depths of the arguments together.
const DEPTH_MAX: usize = 384;
/// What matching a pattern costs besides the length of the text.
const PATTERN_STEPS: u64 = 50;
/// The same for a pattern that goes back and forth, which also costs this much for each byte of the text.
const BACKTRACKING_STEPS: u64 = 500;
const BACKTRACKING_STEPS_FOR_BYTE: u64 = 8;
/// The validator runs again for each outcome of patterns that it could not finish, but not more often than this.
const RUNS_MAX: u64 = 64;
/// The validator remembers a result if this many references were followed to find it.
const REMEMBERED_VISITS: u64 = 16;

/// So many pairs are remembered, and one more for so many bytes of the arguments: it takes memory.
const REMEMBERED_MAX: usize = 100_000;
const BYTES_FOR_REMEMBERED: usize = 8;

/// Why arguments are not checked: it would take more steps than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooCostly {
    pub(super) steps_max: u64,
}

/// The steps of one pair.
#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    n: u64,
    /// The same when it is done again: the validator remembers some results.
    n_again: u64,
    /// How many references it follows that lead back to where they are.
    n_visits: u64,
    n_visits_again: u64,
}

impl Steps {
    const ONE: Self = Self::of(1);

    const fn of(n: u64) -> Self {
        Self { n, n_again: n, n_visits: 0, n_visits_again: 0 }
    }

    fn add(&mut self, other: Self) {
        self.n = self.n.saturating_add(other.n);
        self.n_again = self.n_again.saturating_add(other.n_again);
        self.n_visits = self.n_visits.saturating_add(other.n_visits);
        self.n_visits_again = self.n_visits_again.saturating_add(other.n_visits_again);
    }

    fn times(self, n: usize) -> Self {
        let times = |steps: u64| steps.saturating_mul(n as u64);
        Self { n: times(self.n), n_again: times(self.n_again), ..self }
    }

    /// Doing the same once more.
    fn again(self) -> Self {
        let Self { n_again, n_visits_again, .. } = self;
        Self { n: n_again, n_again, n_visits: n_visits_again, n_visits_again }
    }
}

/// The walk over one schema and one value.
struct CostWalk<'a> {
    root: &'a Value,
    references: &'a References,
    /// Stands for all names of members: the longest of them.
    name: &'a Value,
    /// The steps of pairs that may be looked at again, by address.
    seen: HashMap<(usize, usize), Steps>,
    /// The steps of finding out what a schema evaluates of a value.
    marked: HashMap<(usize, usize), Steps>,
    n_remembered_max: usize,
    weights: Weights,
    /// How often a pattern is matched that may not come to an end.
    n_backtracking: u32,
    /// The steps that were found so far, without those that are done again.
    n_found: u64,
    steps_max: u64,
}

/// Whether checking arguments of this length is within its limits.
pub(super) fn check(
    root: &Value,
    references: &References,
    arguments: &Value,
    n_bytes: u64,
) -> Result<(), TooCostly> {
    let steps_max = STEPS_MAX.saturating_add(n_bytes.saturating_mul(STEPS_FOR_BYTE));
    let n_bytes = usize::try_from(n_bytes).unwrap_or(usize::MAX);
    let name = Value::String(weight::longest_name(arguments).to_owned());
    let mut walk = CostWalk {
        root,
        references,
        name: &name,
        seen: HashMap::new(),
        marked: HashMap::new(),
        n_remembered_max: REMEMBERED_MAX.saturating_add(n_bytes / BYTES_FOR_REMEMBERED),
        weights: Weights::default(),
        n_backtracking: 0,
        n_found: 0,
        steps_max,
    };
    let steps = walk.pair(root, arguments, 0)?;
    let n_runs = 2_u64.saturating_pow(walk.n_backtracking).min(RUNS_MAX);
    if steps.n.saturating_mul(n_runs) > steps_max { Err(TooCostly { steps_max }) } else { Ok(()) }
}

impl<'a> CostWalk<'a> {
    /// Counts steps as soon as they are found, so that the walk itself ends when there are too many.
    fn found(&mut self, n: u64) -> Result<Steps, TooCostly> {
        self.n_found = self.n_found.saturating_add(n);
        if self.n_found > self.steps_max { Err(self.too_costly()) } else { Ok(Steps::of(n)) }
    }

    fn too_costly(&self) -> TooCostly {
        TooCostly { steps_max: self.steps_max }
    }

    /// Keeps the steps of a pair that may be looked at again.
    fn remember(&mut self, key: (usize, usize), steps: Steps) -> Result<(), TooCostly> {
        self.seen.insert(key, steps);
        let n_remembered = self.seen.len() + self.marked.len();
        if n_remembered > self.n_remembered_max { Err(self.too_costly()) } else { Ok(()) }
    }

    fn pair(&mut self, schema: &'a Value, value: &'a Value, depth: usize) -> Result<Steps, TooCostly> {
        let mut steps = self.found(1)?;
        let Value::Object(members) = schema else { return Ok(steps) };
        if depth > DEPTH_MAX {
            return Err(self.too_costly());
        }
        if excludes(members, value) {
            return Ok(steps);
        }
        for (keyword, part) in members {
            steps.add(self.keyword(keyword, part, members, value, depth + 1)?);
        }
        if steps.n > self.steps_max { Err(self.too_costly()) } else { Ok(steps) }
    }

    /// A pair that may be looked at more than once: what a reference leads to.
    fn shared_pair(&mut self, schema: &'a Value, value: &'a Value, depth: usize) -> Result<Steps, TooCostly> {
        let is_container = value.is_object() || value.is_array();
        if !is_container && schema.as_object().is_none_or(applies_nothing) {
            return self.pair(schema, value, depth);
        }
        let key = (address(schema), address(value));
        if let Some(steps) = self.seen.get(&key) {
            return Ok(steps.again());
        }
        let steps = self.pair(schema, value, depth)?;
        self.remember(key, steps)?;
        Ok(steps)
    }

    fn reference(&mut self, part: &Value, value: &'a Value, depth: usize) -> Result<Steps, TooCostly> {
        let Some(target) = self.references.target(self.root, part) else { return Err(self.too_costly()) };
        if !self.references.is_looping(part) {
            return self.shared_pair(target, value, depth);
        }
        let is_container = value.is_object() || value.is_array();
        let is_remembered = |steps: &Steps| is_container && steps.n_visits >= REMEMBERED_VISITS;
        let known = self.seen.get(&(address(target), address(value))).copied();
        if known.as_ref().is_some_and(is_remembered) {
            return self.found(1);
        }
        let mut steps = self.shared_pair(target, value, depth)?;
        steps.n_visits = steps.n_visits.saturating_add(1);
        if is_remembered(&steps) {
            (steps.n_again, steps.n_visits_again) = (1, 0);
        } else {
            steps.n_visits_again = steps.n_visits_again.saturating_add(1);
        }
        Ok(steps)
    }

    fn keyword(
        &mut self,
        keyword: &str,
        part: &'a Value,
        schema: &'a Map<String, Value>,
        value: &'a Value,
        depth: usize,
    ) -> Result<Steps, TooCostly> {
        if is_reference(keyword) {
            return self.reference(part, value, depth);
        }
        Ok(match (keyword, value) {
            ("allOf" | "anyOf" | "oneOf", _) => {
                self.each(part.as_array().into_iter().flatten(), value, depth)?
            }
            ("not" | "if" | "then" | "else", _) => self.in_place(part, value, depth)?,
            ("dependentSchemas" | "dependencies", Value::Object(_)) => {
                self.each(part.as_object().into_iter().flat_map(Map::values), value, depth)?
            }
            ("properties", Value::Object(members)) => self.properties(part, members, depth)?,
            ("patternProperties", Value::Object(members)) => {
                self.pattern_properties(part, members, value, depth)?
            }
            ("additionalProperties", Value::Object(_)) => self.children(part, value, depth)?,
            ("unevaluatedProperties", Value::Object(_)) | ("unevaluatedItems", Value::Array(_)) => {
                let mut steps = self.children(part, value, depth)?;
                steps.add(self.marking(schema, value, depth)?);
                steps
            }
            ("items" | "additionalItems" | "contains" | "prefixItems", Value::Array(_)) => match part {
                Value::Array(schemas) => {
                    let mut steps = Steps::ONE;
                    for schema in schemas {
                        steps.add(self.children(schema, value, depth)?);
                    }
                    steps
                }
                part => self.children(part, value, depth)?,
            },
            ("propertyNames", Value::Object(members)) => {
                let of_name = self.shared_pair(part, self.name, depth)?;
                of_name.times(members.len())
            }
            _ => {
                let n = self.by_itself(keyword, part, value);
                self.found(n)?
            }
        })
    }

    /// Keywords that apply no other schema.
    fn by_itself(&mut self, keyword: &str, part: &Value, value: &Value) -> u64 {
        let n_parts = match part {
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        };
        let length = value.as_str().map_or(0, str::len) as u64;
        match (keyword, value) {
            ("required", Value::Object(members)) => n_parts.min(members.len() + 1) as u64,
            ("dependentRequired", Value::Object(_)) | ("enum", _) => self.weights.of(part),
            ("const", _) => self.weights.of(part).min(self.weights.of(value)),
            ("uniqueItems", Value::Array(items)) => {
                self.weights.of(value).saturating_mul(4).saturating_add(self.weights.of_collisions(items))
            }
            ("pattern", Value::String(_)) => self.pattern(part.as_str().unwrap_or_default(), length),
            ("format" | "contentEncoding" | "contentMediaType", Value::String(_)) => {
                PATTERN_STEPS + length / 4
            }
            ("minLength" | "maxLength", Value::String(_)) => length / 64,
            _ => 0,
        }
    }

    /// What matching a pattern costs for a text of this length.
    fn pattern(&mut self, text: &str, length: u64) -> u64 {
        let by_size = pattern::size(text).saturating_mul(length) / 16;
        if !pattern::goes_back(text) {
            return PATTERN_STEPS.saturating_add(by_size);
        }
        self.n_backtracking = self.n_backtracking.saturating_add(1);
        let by_length = length.saturating_mul(BACKTRACKING_STEPS_FOR_BYTE);
        BACKTRACKING_STEPS.saturating_add(by_size).saturating_add(by_length)
    }

    fn each(
        &mut self,
        schemas: impl Iterator<Item = &'a Value>,
        value: &'a Value,
        depth: usize,
    ) -> Result<Steps, TooCostly> {
        let mut steps = Steps::default();
        for schema in schemas {
            steps.add(self.in_place(schema, value, depth)?);
        }
        Ok(steps)
    }

    /// A schema that another one applies to the same value.
    fn in_place(&mut self, schema: &'a Value, value: &'a Value, depth: usize) -> Result<Steps, TooCostly> {
        if self.references.has_unevaluated {
            self.shared_pair(schema, value, depth)
        } else {
            self.pair(schema, value, depth)
        }
    }

    /// The validator walks over the shorter of the two lists.
    fn properties(
        &mut self,
        schemas: &'a Value,
        members: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<Steps, TooCostly> {
        let Value::Object(schemas) = schemas else { return Ok(Steps::ONE) };
        let shorter = if members.len() <= schemas.len() { members } else { schemas };
        let mut steps = self.found(1 + weight::of_names(shorter))?;
        let pairs: Vec<(&'a Value, &'a Value)> = if members.len() <= schemas.len() {
            members.iter().filter_map(|(name, value)| Some((schemas.get(name)?, value))).collect()
        } else {
            schemas.iter().filter_map(|(name, schema)| Some((schema, members.get(name)?))).collect()
        };
        for (schema, value) in pairs {
            steps.add(self.pair(schema, value, depth)?);
        }
        Ok(steps)
    }

    fn pattern_properties(
        &mut self,
        patterns: &'a Value,
        members: &'a Map<String, Value>,
        value: &'a Value,
        depth: usize,
    ) -> Result<Steps, TooCostly> {
        let Value::Object(patterns) = patterns else { return Ok(Steps::ONE) };
        let length = members.keys().map(String::len).max().unwrap_or_default() as u64;
        let mut steps = Steps::ONE;
        for (pattern, schema) in patterns {
            let before = self.n_backtracking;
            let of_name = self.pattern(pattern, length);
            if self.n_backtracking > before {
                let n_names = u32::try_from(members.len()).unwrap_or(u32::MAX);
                self.n_backtracking = before.saturating_add(n_names);
            }
            steps.add(self.found(of_name.saturating_mul(members.len() as u64))?);
            steps.add(self.children(schema, value, depth)?);
        }
        Ok(steps)
    }

    /// A schema with every child of the value.
    fn children(&mut self, schema: &'a Value, value: &'a Value, depth: usize) -> Result<Steps, TooCostly> {
        let mut steps = Steps::default();
        match value {
            Value::Array(items) => {
                for item in items {
                    steps.add(self.pair(schema, item, depth)?);
                }
            }
            Value::Object(members) => {
                steps.add(self.found(weight::of_names(members))?);
                for item in members.values() {
                    steps.add(self.pair(schema, item, depth)?);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
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

/// Whether a schema applies no other one to the same value.
fn applies_nothing(schema: &Map<String, Value>) -> bool {
    !schema.keys().any(|keyword| {
        is_reference(keyword)
            || matches!(keyword.as_str(), "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else")
    })
}
