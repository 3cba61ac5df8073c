//! How large values are, for keywords that compare them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use super::super::pointer::address;

/// Comparing or hashing this many bytes of a text is one step.
const TEXT_BYTES: u64 = 64;
/// Up to this many items the validator compares all pairs.
const PAIRS_MAX: usize = 15;

/// The sizes that were looked at, by address.
#[derive(Default)]
pub(super) struct Weights {
    of_values: HashMap<usize, u64>,
    of_lists: HashMap<usize, u64>,
}

impl Weights {
    /// The steps of comparing a whole value.
    pub(super) fn of(&mut self, value: &Value) -> u64 {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 1,
            Value::String(text) => 1 + text.len() as u64 / TEXT_BYTES,
            Value::Array(_) | Value::Object(_) => {
                if let Some(weight) = self.of_values.get(&address(value)) {
                    return *weight;
                }
                let weight = match value {
                    Value::Object(members) => {
                        of_names(members) + members.values().map(|value| self.of(value)).sum::<u64>()
                    }
                    Value::Array(items) => items.iter().map(|item| self.of(item)).sum(),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
                };
                self.of_values.insert(address(value), weight + 1);
                weight + 1
            }
        }
    }

    /// The steps of comparing items with each other that the validator puts into the same place of its set. Its hash
    /// does not tell `[[1],2]` from `[1,[2]]`.
    pub(super) fn of_collisions(&mut self, items: &[Value]) -> u64 {
        let Some(first) = items.first() else { return 0 };
        if let Some(steps) = self.of_lists.get(&address(first)) {
            return *steps;
        }
        let steps = if items.len() <= PAIRS_MAX {
            let all: u64 = items.iter().map(|item| self.of(item)).sum();
            all.saturating_mul(items.len() as u64)
        } else {
            let mut groups: HashMap<u64, (u64, u64)> = HashMap::new();
            for item in items {
                let mut hasher = DefaultHasher::new();
                hash(item, &mut hasher);
                let (n_items, weight) = groups.entry(hasher.finish()).or_default();
                *n_items += 1;
                *weight = weight.saturating_add(self.of(item));
            }
            groups.values().map(|(n_items, weight)| (n_items - 1).saturating_mul(*weight)).sum()
        };
        self.of_lists.insert(address(first), steps);
        steps
    }
}

/// Equal for all values that have equal hashes in the validator.
fn hash(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Null => 0.hash(hasher),
        Value::Bool(flag) => flag.hash(hasher),
        // Integers beyond 2^53 that round to the same double are one.
        Value::Number(number) => number.as_f64().map(|double| (double + 0.0).to_bits()).hash(hasher),
        Value::String(text) => text.hash(hasher),
        Value::Array(items) => items.iter().for_each(|item| hash(item, hasher)),
        Value::Object(members) => {
            let mut all = 0;
            for (name, value) in members {
                let mut inner = DefaultHasher::new();
                name.hash(&mut inner);
                hash(value, &mut inner);
                all ^= inner.finish();
            }
            hasher.write_u64(all);
        }
    }
}

/// The steps of looking up all names of an object.
pub(super) fn of_names(members: &Map<String, Value>) -> u64 {
    members.keys().map(|name| 1 + name.len() as u64 / TEXT_BYTES).sum()
}

/// The longest name of any member; empty if there is none.
pub(super) fn longest_name(value: &Value) -> &str {
    match value {
        Value::Object(members) => {
            let inner = members.values().map(longest_name);
            members.keys().map(String::as_str).chain(inner).max_by_key(|name| name.len()).unwrap_or_default()
        }
        Value::Array(items) => {
            items.iter().map(longest_name).max_by_key(|name| name.len()).unwrap_or_default()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => "",
    }
}
