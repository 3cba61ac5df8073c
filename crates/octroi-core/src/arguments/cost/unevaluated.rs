//! What `unevaluatedProperties` and `unevaluatedItems` cost: to find out what is evaluated, every schema that applies to
//! the same value is looked at again.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::super::in_place::{self, Application};
use super::super::pointer::{References, address};
use super::{CostWalk, Steps, TooCostly};

/// So many schemas may be looked at again when a schema is compiled; each takes four kilobytes.
const COMPILED_MAX: u64 = 2_000;

/// With references, each of these keywords may look at the whole schema again, one after the other in any order: so many
/// schemas may be looked at then.
const REACHED_MAX: u64 = 10_000;

/// Whether a schema with these keywords can be compiled in a bounded number of steps.
pub(in super::super) fn check(root: &Value, references: &References) -> Result<(), String> {
    let mut compiling = Compiling { root, references, known: HashMap::new() };
    let n_objects = if references.has_any { n_reached(root) } else { 0 };
    if n_objects > REACHED_MAX || compiling.all(root, 1) > COMPILED_MAX {
        return Err("its `unevaluatedProperties` or `unevaluatedItems` refer to too many schemas".to_owned());
    }
    Ok(())
}

/// How many schemas all of these keywords reach in all orders.
fn n_reached(root: &Value) -> u64 {
    let (mut n_keywords, mut n_objects, mut left) = (0_u64, 0_u64, vec![root]);
    while let Some(value) = left.pop() {
        match value {
            Value::Object(members) => {
                n_objects += 1;
                n_keywords += u64::from(members.contains_key("unevaluatedProperties"))
                    + u64::from(members.contains_key("unevaluatedItems"));
                left.extend(members.values());
            }
            Value::Array(items) => left.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    if n_keywords == 0 {
        return 0;
    }
    (1..=n_keywords).fold(n_objects, u64::saturating_mul)
}

struct Compiling<'a> {
    root: &'a Value,
    references: &'a References,
    known: HashMap<usize, u64>,
}

impl<'a> Compiling<'a> {
    /// What is looked at again in a schema that is itself compiled this many times.
    fn all(&mut self, value: &'a Value, n_times: u64) -> u64 {
        match value {
            Value::Object(members) => {
                let is_one =
                    members.contains_key("unevaluatedProperties") || members.contains_key("unevaluatedItems");
                let own = if is_one { self.again(value).saturating_mul(n_times) } else { n_times - 1 };
                members.iter().fold(own, |sum, (keyword, part)| {
                    // The members of an object are only named again, other parts are compiled again.
                    let is_again = is_one && keyword != "properties";
                    let n_times = if is_again { n_times.saturating_mul(2) } else { n_times };
                    sum.saturating_add(self.all(part, n_times))
                })
            }
            Value::Array(items) => {
                items.iter().fold(0, |sum: u64, item| sum.saturating_add(self.all(item, n_times)))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        }
    }

    fn again(&mut self, schema: &'a Value) -> u64 {
        let Value::Object(members) = schema else { return 1 };
        if let Some(steps) = self.known.get(&address(schema)) {
            return *steps;
        }
        // Nothing leads back to itself here, so that this ends.
        let parts = in_place::schemas(members, self.root, self.references);
        let steps = parts.into_iter().fold(1, |sum: u64, (part, _)| sum.saturating_add(self.again(part)));
        self.known.insert(address(schema), steps);
        steps
    }
}

impl<'a> CostWalk<'a> {
    /// The steps of finding out what a schema evaluates of a value.
    pub(super) fn marking(
        &mut self,
        schema: &'a Map<String, Value>,
        value: &'a Value,
        depth: usize,
    ) -> Result<Steps, TooCostly> {
        let key = (std::ptr::from_ref(schema) as usize, address(value));
        if let Some(steps) = self.marked.get(&key) {
            return Ok(steps.again());
        }
        if depth > super::DEPTH_MAX {
            return Err(self.too_costly());
        }
        let n_children = match value {
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        };
        let mut steps = self.found(1 + 2 * n_children as u64)?;
        for (part, application) in in_place::schemas(schema, self.root, self.references) {
            if application == Application::Part {
                // It was looked at before, so that what can be remembered is.
                steps.add(self.shared_pair(part, value, depth + 1)?);
            }
            if let Value::Object(part) = part {
                steps.add(self.marking(part, value, depth + 1)?);
            }
        }
        for keyword in ["unevaluatedProperties", "unevaluatedItems", "contains", "prefixItems", "items"] {
            if let Some(part @ Value::Object(_)) = schema.get(keyword) {
                steps.add(self.children(part, value, depth + 1)?);
            }
        }
        if let Some(Value::Object(patterns)) = schema.get("patternProperties")
            && let Value::Object(members) = value
        {
            let length = members.keys().map(String::len).max().unwrap_or_default() as u64;
            for pattern in patterns.keys() {
                let of_name = self.pattern(pattern, length);
                steps.add(self.found(of_name.saturating_mul(members.len() as u64))?);
            }
        }
        self.marked.insert(key, steps);
        Ok(steps)
    }
}
