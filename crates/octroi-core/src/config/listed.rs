//! Lists of tables that restrict or record. An invalid entry is never left out, because that would remove a
//! protection.

use std::collections::HashSet;

use super::keys::{Key, Need};
use super::problem::{Problem, ProblemLog};
use super::reader::TableReader;
use super::settings::Context;
use super::show::Setting;
use crate::syntax::{Node, Origin};

/// A kind of entry.
pub(super) struct Listed {
    /// What messages call such an entry.
    pub(super) what: &'static str,
    /// The key with its unique name.
    pub(super) name: Option<&'static str>,
    pub(super) keys: &'static [Key],
}

/// The entries that were read.
pub(super) struct Entries<T> {
    pub(super) usable: Vec<T>,
    pub(super) settings: Vec<Vec<Setting>>,
    pub(super) problems: Vec<Problem>,
}

impl Context<'_> {
    /// Reads every entry; `read` gets its number, from 1.
    pub(super) fn each<T>(
        &self,
        written: &[Node],
        listed: &Listed,
        read: impl Fn(&mut TableReader<'_>, &Origin, usize) -> Option<T>,
    ) -> Entries<T> {
        let mut found = Entries { usable: Vec::new(), settings: Vec::new(), problems: Vec::new() };
        let mut names = HashSet::new();
        for (node, number) in written.iter().zip(1..) {
            let map = node.as_map();
            let name = listed.name.and_then(|key| map?.get(key)?.as_text());
            let subject = match name {
                Some(name) => format!("{} `{name}`", listed.what),
                None => format!("{} {number}", listed.what),
            };
            let mut log = ProblemLog::of_restriction(Some(subject));
            let Some(map) = map else {
                log.error(&node.origin, format!("it must be a table, not {}", node.value.kind()));
                found.problems.extend(log.problems);
                continue;
            };
            if name.is_some_and(|name| !names.insert(name)) {
                log.error(&node.origin, "an earlier entry has the same name");
            }
            let mut reader = self.reader(map, listed.keys, log);
            need(&mut reader, listed.keys, &node.origin);
            let entry = read(&mut reader, &node.origin, number);
            if let Some(entry) = entry.filter(|_| !reader.log.has_errors()) {
                found.usable.push(entry);
                found.settings.push(reader.settings);
            }
            found.problems.extend(reader.log.problems);
        }
        found
    }
}

/// Reports required keys that are missing.
fn need(reader: &mut TableReader<'_>, keys: &'static [Key], origin: &Origin) {
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
        reader.log.error(origin, message);
    }
}
