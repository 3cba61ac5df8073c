//! What the names of a tool's arguments say of its effect.
//!
//! A tool that reads by its name may still write when it is asked to: `mark_as_read`, `output_path`, or an `action` that
//! is one of several.

use serde_json::Value;

use super::infer::{EXECUTES, meanings};
use super::verbs::look_up;
use super::words;

/// First words of arguments that make a tool write although they are no verbs, or have one only in part.
const WRITES: &str = "ack consumer dry inplace trigger";
/// Words before a verb that say that the tool does it: `auto_merge`, `and_archive`.
const DOES: &str = "also and auto do must should then will";
/// Verbs that in arguments say what is answered: `start_date`, `exclude`, `select`.
const ONLY_SELECTS: &str = "\
    accept add begin clean click compact complete disable empty enable exclude follow init join login make normalize \
    pair raise reduce refresh reload retry reverse scale select skip split start stop strip switch sync trim truncate \
    zero zip";
/// Last words of arguments that name a thing by what is done to it: `payment_id`, `update_time`, `sync_token`.
const THINGS: &str = "\
    after at before by count date history id ids intent key name number on option options ref sid since start status \
    time timestamp to token tokens type types until url";
/// Arguments that choose among several things to do.
const CHOICES: &str = "action actions operation operations op command subcommand";
/// Arguments that choose how something is done, which may change something.
const WAYS: &str = "behavior behaviour effect mode strategy verb";
/// Arguments that a tool executes.
const PROGRAMS: &str = "sql cypher script javascript statement shell bash python cmd graphql mutation";
/// Words of arguments that name a file, and words that say that it is written.
const FILES: &str = "path file dir directory folder filename";
const WRITTEN: &str = "output out save download local destination export";
/// Words of arguments that take messages from a queue, all of which a name has.
const TAKES: [&str; 3] = ["max messages", "visibility timeout", "wait seconds"];
/// Schemas are looked into this deep, and so many arguments are looked at. What more there is counts as writing.
const DEPTH_MAX: usize = 32;
const ARGUMENTS_MAX: usize = 1000;
/// Members of a schema that hold values, not schemas.
const VALUES: [&str; 9] =
    ["const", "default", "description", "enum", "example", "examples", "required", "title", "type"];

/// An argument, as far as it says what a tool does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolArgument {
    /// Its name, in which words are looked for.
    pub name: String,
    /// The values it may have, if the schema lists them and it chooses among things to do; for the ways to do one
    /// thing, those that say that something is changed.
    pub values: Vec<String>,
}

impl ToolArgument {
    /// The arguments that a schema names, nested ones included.
    pub fn of_schema(schema: &Value) -> Vec<Self> {
        let mut arguments = Vec::new();
        collect(schema, 0, &mut arguments);
        arguments
    }

    /// Stands for arguments that were not looked at.
    fn unread() -> Self {
        Self::default()
    }

    /// Whether it is the body of a request that the tool makes.
    pub(super) fn is_body(&self) -> bool {
        matches!(self.name.to_ascii_lowercase().as_str(), "body" | "payload")
    }

    /// Whether it may make a tool write that otherwise reads. Where a download is stored is no such thing; the method of
    /// a request is, if the tool downloads or sends a body.
    pub(super) fn may_write(&self, is_download: bool, has_body: bool) -> bool {
        let words = words::of_name(&self.name);
        let has = |list: &str| words.iter().any(|word| contains(list, word));
        if words.is_empty() || contains(PROGRAMS, &self.name.to_ascii_lowercase()) {
            return true;
        }
        if is_choice(&self.name) || (is_download || has_body) && is_method(&self.name) {
            return self.values.is_empty() || !self.values.iter().all(|value| reads(value));
        }
        let names_written_file = has(FILES) && has(WRITTEN);
        if is_download && names_written_file {
            return false;
        }
        let takes = TAKES.iter().any(|words| words.split_whitespace().all(&has));
        let is_way_to_change = !self.values.is_empty() && !is_method(&self.name);
        names_written_file || takes || is_way_to_change || says_to_change(&words)
    }
}

/// Whether the words of an argument tell the tool to change something: `mark_as_read`, `should_delete`, `autofix`.
fn says_to_change(words: &[String]) -> bool {
    if words.first().is_some_and(|word| contains(WRITES, word)) || words.join(" ").contains("in place") {
        return true;
    }
    let is_thing = words.len() > 1 && words.last().is_some_and(|word| contains(THINGS, word));
    !is_thing
        && words.iter().enumerate().any(|(index, word)| {
            let glued = word.strip_prefix("auto").filter(|rest| rest.len() > 2);
            let is_done = glued.is_some() || index > 0 && contains(DOES, &words[index - 1]);
            changes(glued.unwrap_or(word), is_done)
        })
}

/// Whether a word is a verb that changes or executes something. Words that are also things are verbs only if they are
/// said to be done.
fn changes(word: &str, is_done: bool) -> bool {
    look_up(word).is_some_and(|known| {
        let is_change = known.changes_something() || EXECUTES.contains(&known.stem);
        is_change && known.stem == word && (is_done || !known.is_noun && !contains(ONLY_SELECTS, known.stem))
    })
}

fn contains(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

fn is_choice(name: &str) -> bool {
    contains(CHOICES, &name.to_ascii_lowercase())
}

/// Whether it is the method of an HTTP request.
fn is_method(name: &str) -> bool {
    matches!(name.to_ascii_lowercase().as_str(), "method" | "http_method" | "httpmethod")
}

/// Whether a choice only reads.
fn reads(choice: &str) -> bool {
    let found = meanings(&words::of_name(choice), false);
    !found.is_empty() && found.iter().all(|word| word.meaning.is_reading())
}

/// Collects arguments from every part of a schema, whatever keyword holds it: an argument behind `$ref` or `then` is one
/// too.
fn collect(schema: &Value, depth: usize, arguments: &mut Vec<ToolArgument>) {
    if arguments.len() > ARGUMENTS_MAX {
        return;
    }
    if depth > DEPTH_MAX || arguments.len() == ARGUMENTS_MAX {
        arguments.push(ToolArgument::unread());
        return;
    }
    match schema {
        Value::Object(members) => {
            for (keyword, part) in members {
                match (keyword.as_str(), part) {
                    ("properties" | "patternProperties", Value::Object(properties)) => {
                        for (name, property) in properties {
                            arguments
                                .push(ToolArgument { name: name.clone(), values: values(name, property) });
                            collect(property, depth + 1, arguments);
                        }
                    }
                    ("$defs" | "definitions" | "dependentSchemas", Value::Object(definitions)) => {
                        definitions.values().for_each(|definition| collect(definition, depth + 1, arguments));
                    }
                    // It is elsewhere, and is never fetched.
                    ("$ref" | "$dynamicRef", Value::String(target)) if !target.starts_with('#') => {
                        arguments.push(ToolArgument::unread());
                    }
                    (keyword, _) if VALUES.contains(&keyword) => {}
                    (_, part) => collect(part, depth + 1, arguments),
                }
            }
        }
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, depth + 1, arguments)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn values(name: &str, property: &Value) -> Vec<String> {
    let alternatives =
        ["anyOf", "oneOf"].into_iter().flat_map(|keyword| property[keyword].as_array().into_iter().flatten());
    let schemas = [property, &property["items"]].into_iter().chain(alternatives);
    let listed = schemas.flat_map(|schema| {
        let constant = std::iter::once(&schema["const"]);
        schema["enum"].as_array().into_iter().flatten().chain(constant).filter_map(Value::as_str)
    });
    let chooses = is_choice(name) || is_method(name);
    if !chooses && !contains(WAYS, &name.to_ascii_lowercase()) {
        return Vec::new();
    }
    let says_change = |value: &&str| words::of_name(value).first().is_some_and(|word| changes(word, false));
    listed.filter(|value| chooses || says_change(value)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_that_make_a_tool_write() {
        for (schema, expected) in [
            (json!({"path": {}, "created_after": {}, "start_date": {}}), false),
            (json!({"mark_as_read": {}}), true),
            (json!({"output_path": {}}), true),
            (json!({"outputFile": {}}), true),
            (json!({"options": {"properties": {"saveChanges": {}}}}), true),
            (json!({"action": {}}), true),
            (json!({"maxNumberOfMessages": {}}), true),
            (json!({"max_results": {}, "messages": {}}), false),
            (json!({"sql": {}}), true),
            (json!({"action": {"enum": ["list", "get_details"]}}), false),
            (json!({"action": {"enum": ["list", "reorder"]}}), true),
            (json!({"operation": {"anyOf": [{"const": "list"}, {"const": "deleteAll"}]}}), true),
        ] {
            let arguments = ToolArgument::of_schema(&json!({"properties": schema}));
            assert_eq!(
                arguments.iter().any(|argument| argument.may_write(false, false)),
                expected,
                "{schema}"
            );
        }
        let save = ToolArgument { name: "savePath".to_owned(), values: Vec::new() };
        assert!(save.may_write(false, false) && !save.may_write(true, false));
        let method = |values: &[&str]| ToolArgument {
            name: "method".to_owned(),
            values: values.iter().map(ToString::to_string).collect(),
        };
        assert!(method(&["GET", "POST"]).may_write(true, false) && method(&[]).may_write(false, true));
        assert!(
            !method(&["GET", "HEAD"]).may_write(true, true) && !method(&["POST"]).may_write(false, false)
        );
    }
}
