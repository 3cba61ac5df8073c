//! A table of the file under canonical names: synonyms resolved, unknown and duplicate keys reported.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::keys::{Key, NESTED};
use super::problem::ProblemLog;
use crate::syntax::{Map, Member, Node, Value};

/// A value, the spelling of its key, and the directory that relative paths in it start from.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) spelled: String,
    pub(super) node: Node,
    pub(super) base: Arc<Path>,
}

/// Values by canonical name.
pub(super) type Fields = BTreeMap<&'static str, Field>;

/// One source of an entry's settings: a file, a directory's own file, or the defaults of a directory.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The settings.
    pub map: Map,
    /// The directory that relative paths in them start from.
    pub base: Arc<Path>,
}

/// Reads a table with these keys.
pub(super) fn read(map: &Map, keys: &'static [Key], base: &Arc<Path>, log: &mut ProblemLog) -> Fields {
    let mut fields = Fields::new();
    for member in map {
        take(&mut fields, member, &member.key, keys, base, log);
    }
    fields
}

/// Reads an entry, some of whose keys may be nested one level deeper.
pub(super) fn read_entry(layer: &Layer, keys: &'static [Key], log: &mut ProblemLog) -> Fields {
    let (nested, nested_keys) = NESTED;
    let mut fields = Fields::new();
    for member in &layer.map {
        let Some(inner) = member.node.as_map().filter(|_| member.key == nested) else {
            if member.key == nested {
                log.error(&member.origin, format!("`{nested}` must be a table"));
            } else {
                take(&mut fields, member, &member.key, keys, &layer.base, log);
            }
            continue;
        };
        for member in inner {
            if nested_keys.contains(&member.key.as_str()) {
                take(&mut fields, member, &format!("{nested}.{}", member.key), keys, &layer.base, log);
            } else {
                log.unknown_key(&member.origin, &member.key, nested_keys.iter().copied());
            }
        }
    }
    fields
}

fn take(
    fields: &mut Fields,
    member: &Member,
    spelled: &str,
    keys: &'static [Key],
    base: &Arc<Path>,
    log: &mut ProblemLog,
) {
    if member.node.value == Value::Null {
        return;
    }
    let Some(key) = keys.iter().find(|key| key.is(&member.key)) else {
        let known = keys.iter().flat_map(|key| std::iter::once(key.name).chain(key.synonyms.iter().copied()));
        log.unknown_key(&member.origin, &member.key, known);
        return;
    };
    if let Some(first) = fields.get(key.name) {
        let message = format!("`{}` and `{spelled}` mean the same; write one of them", first.spelled);
        log.error(&member.origin, message);
        return;
    }
    let field = Field { spelled: spelled.to_owned(), node: member.node.clone(), base: Arc::clone(base) };
    fields.insert(key.name, field);
}

/// The keys of a server's address. A source that has an address replaces all of these in weaker sources.
const PLACE: [&str; 5] = ["transport", "command", "args", "cwd", "url"];
const TABLES: [&str; 2] = ["env", "headers"];

/// Merges `upper` over `lower`, field by field; string maps are merged.
pub(super) fn lay_over(mut lower: Fields, upper: Fields) -> Fields {
    if upper.contains_key("command") || upper.contains_key("url") {
        lower.retain(|name, _| !PLACE.contains(name));
    }
    for (name, mut field) in upper {
        let below = lower.get(name).filter(|_| TABLES.contains(&name)).and_then(|field| field.node.as_map());
        if let (Value::Map(map), Some(below)) = (&mut field.node.value, below) {
            for member in below {
                // `upper` wins: its keys are there already.
                map.insert(member.clone());
            }
        }
        lower.insert(name, field);
    }
    lower
}
