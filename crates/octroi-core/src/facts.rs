//! What can be told from a call's arguments, so that policies need neither regular expressions nor loops.
//!
//! The finders would rather say too much than too little: a path that is not one costs a question, a path that is
//! missed costs the policy. Where readers differ (what a shell quotes, where a URL's host ends) every reading
//! counts. They work in one pass each, in time that grows with the length of the arguments only.

mod hosts;
pub(crate) mod keys;
mod paths;
mod percent;
pub(crate) mod secrets;
mod shell;
mod sql;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::Value;

/// Stands in a set of facts that is not complete: too many entries, or one that only running the call would tell,
/// such as the program `$X`. A policy that allows by what a set holds must not allow this.
pub const INCOMPLETE: &str = "*";

/// So many entries has a set at most, beside the mark that it is not complete.
pub const ENTRIES_MAX: usize = 64;
const ENTRY_LENGTH_MAX: usize = 4_096;
/// So deep is JSON looked into that stands in a string.
const NESTED_MAX: usize = 2;

/// Facts about one call, found by looking at every text among its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Absolute paths, after `.` and `..` are resolved.
    pub paths: BTreeSet<String>,
    /// Those of them that lie outside the agent's project; all of them if it has none.
    pub paths_outside_project: BTreeSet<String>,
    /// Hosts named by URLs, in lower case, without port.
    pub hosts: BTreeSet<String>,
    /// Verbs of SQL statements, in capitals.
    pub sql_verbs: BTreeSet<String>,
    /// The programs that command lines would run.
    pub shell_heads: BTreeSet<String>,
    /// Kinds of secrets that seem to be among the arguments.
    pub secrets: BTreeSet<String>,
    /// How long the arguments are as JSON.
    pub payload_bytes: u64,
    /// Whether this agent has never called this tool before.
    pub is_first_use: bool,
    /// How many calls this agent made within the last minute.
    pub calls_last_minute: u32,
}

impl Facts {
    /// Finds what the arguments tell. What the past tells (`is_first_use`, `calls_last_minute`) is left to the caller.
    ///
    /// Relative paths are taken to start at the project's root. Without one they stay relative.
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
    /// Items of a list go by the name of the list.
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
                    // One word of a command is no command; a list may be one of words or of commands.
                    let is_word = item.as_str().is_some_and(|text| !text.contains(shell::is_cut));
                    self.value(item, if is_command && is_word { "args" } else { key }, nested_left);
                }
            }
            Value::Object(members) => {
                self.command_object(members);
                for (name, value) in members {
                    // Some tools take an object whose names are files, queries or addresses.
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
        // What is encoded as in URLs is decoded by many servers before use.
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

    /// `{"command": "sudo", "args": ["rm"]}`: the words of both make one command.
    fn command_object(&mut self, members: &serde_json::Map<String, Value>) {
        let command =
            members.iter().find(|(name, value)| keys::Use::of(name).is_command && value.is_string());
        let command = command.and_then(|(_, value)| value.as_str()).unwrap_or_default();
        for (_, value) in members.iter().filter(|(name, _)| keys::Use::of(name).is_arguments) {
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            self.command(command.split_whitespace().chain(items.iter().filter_map(Value::as_str)).collect());
        }
    }

    fn command(&mut self, words: Vec<&str>) {
        shell::arguments(&words, &mut |head| insert(&mut self.facts.shell_heads, head));
    }
}

/// Keeps sets small without letting what does not fit look harmless.
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
