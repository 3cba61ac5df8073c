//! What the names of a tool's arguments say of its effect.
//!
//! A tool that reads by its name may still write when it is asked to: `mark_as_read`, `output_path`, or an `action` that
//! is one of several.

use serde_json::Value;

use super::infer::meanings;
use super::verbs::Meaning;
use super::words;

/// First words of arguments that make a tool write.
const WRITES: &str = "ack acknowledge apply clear consumer create delete mark modify overwrite persist purge remove reset save send \
    update write";
/// Arguments that choose among several things to do.
const CHOICES: &str = "action actions operation operations op command subcommand";
/// Arguments that a tool executes.
const PROGRAMS: &str = "sql cypher script javascript statement shell bash python cmd graphql mutation";
/// Words of arguments that name a file, and words that say that it is written.
const FILES: &str = "path file dir directory folder filename";
const WRITTEN: &str = "output out save download local destination export";
/// Words of arguments that take messages from a queue, all of which a name has.
const TAKES: [&str; 3] = ["max messages", "visibility timeout", "wait seconds"];
/// Objects are looked into this deep, and so many arguments are looked at.
const DEPTH_MAX: usize = 5;
const ARGUMENTS_MAX: usize = 200;

/// An argument, as far as it says what a tool does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolArgument {
    /// Its name.
    pub name: String,
    /// The values it may have, if the schema lists them and it chooses among things to do.
    pub values: Vec<String>,
}

impl ToolArgument {
    /// The arguments that a schema names, nested ones included.
    pub fn of_schema(schema: &Value) -> Vec<Self> {
        let mut arguments = Vec::new();
        collect(schema, 0, &mut arguments);
        arguments
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
        let is_first = |list: &str| words.first().is_some_and(|word| contains(list, word));
        if contains(PROGRAMS, &self.name.to_ascii_lowercase()) {
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
        is_first(WRITES) || names_written_file || takes
    }
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
    !found.is_empty() && found.iter().all(|word| matches!(word.meaning, Meaning::Reads | Meaning::Fetches))
}

fn collect(schema: &Value, depth: usize, arguments: &mut Vec<ToolArgument>) {
    if depth > DEPTH_MAX || arguments.len() >= ARGUMENTS_MAX {
        return;
    }
    match schema {
        Value::Object(members) => {
            for (keyword, part) in members {
                match (keyword.as_str(), part) {
                    ("properties", Value::Object(properties)) => {
                        for (name, property) in properties {
                            arguments
                                .push(ToolArgument { name: name.clone(), values: values(name, property) });
                            collect(property, depth + 1, arguments);
                        }
                    }
                    ("$defs" | "definitions", Value::Object(definitions)) => {
                        definitions.values().for_each(|definition| collect(definition, depth + 1, arguments));
                    }
                    ("items" | "anyOf" | "oneOf" | "allOf" | "additionalProperties", part) => {
                        collect(part, depth + 1, arguments);
                    }
                    _ => {}
                }
            }
        }
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, depth + 1, arguments)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn values(name: &str, property: &Value) -> Vec<String> {
    if !is_choice(name) && !is_method(name) {
        return Vec::new();
    }
    let alternatives =
        ["anyOf", "oneOf"].into_iter().flat_map(|keyword| property[keyword].as_array().into_iter().flatten());
    let schemas = std::iter::once(property).chain(alternatives);
    let listed = schemas.flat_map(|schema| {
        let constant = std::iter::once(&schema["const"]);
        schema["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .chain(constant)
            .filter_map(Value::as_str)
            .map(str::to_owned)
    });
    listed.collect()
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
