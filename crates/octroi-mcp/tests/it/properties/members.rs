//! An object's members as `serde_json` finds them: the independent reference.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Decoded names with their original values, in order, with duplicates.
pub(crate) type Members = Vec<(String, String)>;

struct Object(Members);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reading).map(Self)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Members;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
            members.push((name, value.get().to_owned()));
        }
        Ok(members)
    }
}

/// `None` if the text is not an object, or a name in it is not Unicode (`"\ud800"`).
pub(crate) fn read(json: &[u8]) -> Option<Members> {
    serde_json::from_slice::<Object>(json).ok().map(|object| object.0)
}

/// The value of a member; of duplicates, the last one.
pub(crate) fn value<'a>(members: &'a Members, name: &str) -> Option<&'a str> {
    members.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
}

/// The members except these.
pub(crate) fn without(members: &Members, names: &[&str]) -> Members {
    members.iter().filter(|(name, _)| !names.contains(&name.as_str())).cloned().collect()
}

/// The members with this one set, or appended if missing.
pub(crate) fn with(members: &Members, name: &str, value: &str) -> Members {
    let mut changed = members.clone();
    let mut is_missing = true;
    for (_, found) in changed.iter_mut().filter(|(found, _)| found == name) {
        value.clone_into(found);
        is_missing = false;
    }
    if is_missing {
        changed.push((name.to_owned(), value.to_owned()));
    }
    changed
}

/// Whether the text is one JSON value.
pub(crate) fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(text).is_ok()
}
