//! Facts derived from a call's arguments, so that policies need neither regular expressions nor loops.
//!
//! The finders prefer false positives: a false path costs an approval, a missed path bypasses the policy.
//! Where parsers differ (shell quoting, the end of a URL's host) every interpretation counts. Each finder
//! works in one pass, in time linear in the length of the arguments.

pub(crate) mod hosts;
pub(crate) mod keys;
pub(crate) mod paths;
pub(crate) mod percent;
pub(crate) mod secrets;
mod shell;
mod sql;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::Value;

/// Marks a set of facts as incomplete: too many entries, or one that is only known at run time, such as the
/// program `$X`. A policy that allows by the content of a set must not allow this.
pub const INCOMPLETE: &str = "*";

/// The maximum number of entries in a set, besides the mark that it is incomplete.
pub const ENTRIES_MAX: usize = 64;
const ENTRY_LENGTH_MAX: usize = 4_096;
/// How many lists of arguments one command may have.
const ARGUMENT_LISTS_MAX: usize = 8;
/// How deep JSON inside of strings is parsed.
const NESTED_MAX: usize = 2;

/// Facts about one call, derived from every text in its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Absolute paths, after `.` and `..` are resolved.
    pub paths: BTreeSet<String>,
    /// The paths outside the agent's project; all paths if it has none.
    pub paths_outside_project: BTreeSet<String>,
    /// Hosts in URLs, in lower case and without port.
    pub hosts: BTreeSet<String>,
    /// Verbs of SQL statements, in upper case.
    pub sql_verbs: BTreeSet<String>,
    /// The programs that command lines would run.
    pub shell_heads: BTreeSet<String>,
    /// Kinds of possible secrets in the arguments.
    pub secrets: BTreeSet<String>,
    /// The size of the arguments as JSON.
    pub payload_bytes: u64,
    /// Whether this is the agent's first call of this tool.
    pub is_first_use: bool,
    /// How many calls this agent made within the last minute.
    pub calls_last_minute: u32,
}

impl Facts {
    /// Derives facts from the arguments. The caller fills in the history (`is_first_use`,
    /// `calls_last_minute`).
    ///
    /// Relative paths start at the project's root. Without one they stay relative.
    pub fn of(arguments: &Value, payload_bytes: u64, project_root: Option<&str>) -> Self {
        let mut finder = Finder {
            facts: Self { payload_bytes, ..Self::default() },
            project: project_root.map(paths::Project::new),
        };
        finder.value(arguments, "", NESTED_MAX);
        finder.facts
    }
}

struct Finder {
    facts: Facts,
    project: Option<paths::Project>,
}

impl Finder {
    /// Items of a list take the name of the list.
    fn value(&mut self, value: &Value, key: &str, nested_left: usize) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => self.text(text, key, nested_left),
            Value::Array(items) => {
                let is_command = keys::Use::of(key).is_command;
                if is_command {
                    self.command(items.iter().filter_map(Value::as_str).collect());
                }
                for item in items {
                    // A single word is a part of a command; a list may contain words or whole commands.
                    let is_word = item.as_str().is_some_and(|text| !text.contains(shell::is_cut));
                    self.value(item, if is_command && is_word { "args" } else { key }, nested_left);
                }
            }
            Value::Object(members) => {
                self.command_object(members);
                for (name, value) in members {
                    // Some tools take an object whose member names are files, queries or addresses.
                    self.text(name, key, 0);
                    if keys::is_secret(name) && value.as_str().is_some_and(secrets::may_be_secret) {
                        insert(&mut self.facts.secrets, secrets::kind_of_name(name));
                    }
                    self.value(value, name, nested_left);
                }
            }
        }
    }

    fn text(&mut self, text: &str, key: &str, nested_left: usize) {
        let use_of_text = keys::Use::of(key);
        if nested_left > 0
            && text.trim_start().starts_with(['{', '['])
            && let Ok(nested @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
        {
            self.value(&nested, key, nested_left - 1);
            if use_of_text == keys::Use::default() {
                return;
            }
        }
        self.plain_text(text, use_of_text);
    }

    fn plain_text(&mut self, text: &str, use_of_text: keys::Use) {
        self.paths(text, use_of_text);
        hosts::find(text, use_of_text, &mut |host| insert(&mut self.facts.hosts, host));
        sql::find(text, use_of_text, &mut |verb| insert(&mut self.facts.sql_verbs, verb));
        if use_of_text.is_command {
            shell::script(text, &mut |head| insert(&mut self.facts.shell_heads, head));
        }
        for found in secrets::Secrets::of(text) {
            insert(&mut self.facts.secrets, found.kind);
        }
        // Many servers decode percent-encoded text before use.
        if let Some(decoded) = percent::decoded(text) {
            self.paths(&decoded, use_of_text);
            hosts::find(&decoded, use_of_text, &mut |host| insert(&mut self.facts.hosts, host));
        }
    }

    fn paths(&mut self, text: &str, use_of_text: keys::Use) {
        let project = self.project.as_ref();
        paths::find(text, use_of_text, project, &mut |path| {
            if project.is_none_or(|project| !project.holds(&path)) {
                insert(&mut self.facts.paths_outside_project, &path.text);
            }
            insert(&mut self.facts.paths, &path.text);
        });
    }

    /// `{"command": "sudo", "args": ["rm"]}`: the words of both form one command.
    fn command_object(&mut self, members: &serde_json::Map<String, Value>) {
        let command =
            members.iter().find(|(name, value)| keys::Use::of(name).is_command && value.is_string());
        let command = command.and_then(|(_, value)| value.as_str()).unwrap_or_default();
        let lists = members.iter().filter(|(name, _)| keys::Use::of(name).is_arguments);
        for (index, (_, value)) in lists.enumerate() {
            // Each of them is read together with the whole command.
            if index >= ARGUMENT_LISTS_MAX {
                return insert(&mut self.facts.shell_heads, INCOMPLETE);
            }
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            self.command(command.split_whitespace().chain(items.iter().filter_map(Value::as_str)).collect());
        }
    }

    fn command(&mut self, words: Vec<&str>) {
        shell::arguments(&words, &mut |head| insert(&mut self.facts.shell_heads, head));
    }
}

/// Limits the size of a set and marks it as incomplete when an entry does not fit.
fn insert(set: &mut BTreeSet<String>, entry: &str) {
    if entry.is_empty() || set.contains(entry) {
        return;
    }
    if entry != INCOMPLETE && set.len() >= ENTRIES_MAX + usize::from(set.contains(INCOMPLETE)) {
        set.insert(INCOMPLETE.to_owned());
        return;
    }
    let end = entry.floor_char_boundary(ENTRY_LENGTH_MAX);
    if end < entry.len() {
        set.insert(INCOMPLETE.to_owned());
    }
    set.insert(entry[..end].to_owned());
}
