//! Lists of tables that restrict or record. An entry that is wrong is never just left out: without it a door would
//! be open.

use std::collections::HashSet;

use super::keys::{Key, Need};
use super::node::{Node, Origin};
use super::problem::{Notes, Problem};
use super::reader::Reader;
use super::settings::Context;
use super::show::Shown;

/// A kind of entry.
pub(super) struct Listed {
    /// What messages call one of them.
    pub(super) what: &'static str,
    /// The key that holds its name, which no two share.
    pub(super) name: Option<&'static str>,
    pub(super) keys: &'static [Key],
}

/// Entries that were read.
pub(super) struct Entries<T> {
    pub(super) usable: Vec<T>,
    pub(super) shown: Vec<Vec<Shown>>,
    pub(super) problems: Vec<Problem>,
}

impl Context<'_> {
    /// Reads every entry; `read` gets the number of each, from 1.
    pub(super) fn each<T>(
        &self,
        written: &[Node],
        listed: &Listed,
        read: impl Fn(&mut Reader<'_>, &Origin, usize) -> Option<T>,
    ) -> Entries<T> {
        let mut found = Entries { usable: Vec::new(), shown: Vec::new(), problems: Vec::new() };
        let mut names = HashSet::new();
        for (node, number) in written.iter().zip(1..) {
            let map = node.as_map();
            let name = listed.name.and_then(|key| map?.get(key)?.as_text());
            let subject = match name {
                Some(name) => format!("{} `{name}`", listed.what),
                None => format!("{} {number}", listed.what),
            };
            let mut notes = Notes::of_restriction(Some(subject));
            let Some(map) = map else {
                notes.error(&node.origin, format!("it must be a table, not {}", node.value.kind()));
                found.problems.extend(notes.problems);
                continue;
            };
            if name.is_some_and(|name| !names.insert(name)) {
                notes.error(&node.origin, "an entry before it has the same name");
            }
            let mut reader = self.reader(map, listed.keys, notes);
            need(&mut reader, listed.keys, &node.origin);
            let entry = read(&mut reader, &node.origin, number);
            if let Some(entry) = entry.filter(|_| !reader.notes.has_errors()) {
                found.usable.push(entry);
                found.shown.push(reader.shown);
            }
            found.problems.extend(reader.notes.problems);
        }
        found
    }
}

/// Notes what an entry cannot do without and does not have.
fn need(reader: &mut Reader<'_>, keys: &'static [Key], origin: &Origin) {
    let mut missing = Vec::new();
    for key in keys.iter().filter(|key| !reader.has(key.name)) {
        let message = match key.need {
            Need::Optional => continue,
            Need::Required => format!("it needs `{}`", key.name),
            Need::OneOf(group) => {
                let is_same = |other: &&Key| other.need == key.need;
                if keys.iter().filter(is_same).any(|other| reader.has(other.name)) {
                    continue;
                }
                format!("it needs {group}")
            }
        };
        if !missing.contains(&message) {
            missing.push(message);
        }
    }
    for message in missing {
        reader.notes.error(origin, message);
    }
}
