//! Tools as an honest server would define them: name, description and arguments. What writes needs approval and is
//! refused in planning mode, however it is said; what reads is allowed.
//!
//! A line is `name|description|arguments`; an argument may have values: `mode=read,reset`.

use octroi_core::tool::arguments::ToolArgument;
use serde_json::{Map, Value, json};

use crate::tool_lists::{descriptor, is_allowed};

const WRITING: &str = include_str!("../fixtures/tools_that_write.txt");
const READING: &str = include_str!("../fixtures/tools_that_read.txt");

fn schema(arguments: &str) -> Value {
    let properties: Map<String, Value> = arguments
        .split_whitespace()
        .map(|argument| match argument.split_once('=') {
            None => (argument.to_owned(), json!({})),
            Some((name, values)) => (name.to_owned(), json!({"enum": values.split(',').collect::<Vec<_>>()})),
        })
        .collect();
    json!({"type": "object", "properties": properties})
}

/// The lines whose tools are allowed under `guarded`, and those whose tools planning mode lets through.
fn passing(table: &str) -> (Vec<&str>, Vec<&str>) {
    let mut passing = (Vec::new(), Vec::new());
    for line in table.lines() {
        let mut fields = line.split('|');
        let mut next = || fields.next().expect("three fields");
        let (name, description, arguments) = (next(), next(), ToolArgument::of_schema(&schema(next())));
        let tool = descriptor(name, description, &arguments, octroi_core::tool::Annotations::default());
        if is_allowed(&tool) {
            passing.0.push(line);
        }
        if tool.side_effects.is_empty() {
            passing.1.push(line);
        }
    }
    passing
}

#[test]
fn what_writes_is_never_known_to_read() {
    assert!(WRITING.lines().count() >= 80);
    let nothing = Vec::<&str>::new();
    assert_eq!(passing(WRITING), (nothing.clone(), nothing));
}

#[test]
fn what_reads_is_known_to_read() {
    assert!(READING.lines().count() >= 40);
    let asked: Vec<&str> = READING.lines().filter(|line| !passing(line).0.contains(line)).collect();
    assert_eq!(asked, Vec::<&str>::new());
}

/// An argument is one wherever a schema holds it, and what was not looked at counts as writing.
#[test]
fn no_place_in_a_schema_hides_an_argument() {
    let deletes = json!({"properties": {"delete": {}}});
    let deep = (0..100).fold(deletes.clone(), |inner, _| json!({"properties": {"part": inner}}));
    let many: Map<String, Value> = (0..5000).map(|index| (format!("a{index}"), json!({}))).collect();
    for (schema, may_write) in [
        (json!({"properties": {"path": {}}}), false),
        (json!({"properties": {"path": {"default": {"properties": {"delete": {}}}}}}), false),
        (json!({"properties": {"path": {"$ref": "#/$defs/path"}}, "$defs": {"path": {}}}), false),
        (json!({"patternProperties": {"^delete$": {}}}), true),
        (json!({"if": {}, "then": deletes}), true),
        (json!({"if": {}, "else": deletes}), true),
        (json!({"not": deletes}), true),
        (json!({"dependentSchemas": {"path": deletes}}), true),
        (json!({"prefixItems": [deletes]}), true),
        (json!({"allOf": [{"$ref": "#/parts/a"}], "parts": {"a": deletes}}), true),
        (json!({"$ref": "https://schemas.example/path"}), true),
        (deep, true),
        (json!({"properties": many}), true),
    ] {
        let arguments = ToolArgument::of_schema(&schema);
        let tool =
            descriptor("read_file", "Read a file.", &arguments, octroi_core::tool::Annotations::default());
        assert_eq!(
            !is_allowed(&tool),
            may_write,
            "{}",
            schema.to_string().chars().take(200).collect::<String>()
        );
    }
}
