//! The JSON Schema of the configuration.

use std::path::Path;

use serde_json::{Value, json};

use super::{GOOD, run};

#[test]
fn the_schema_is_the_one_that_is_kept() {
    let output = run(&[], &["config", "schema"]);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/octroi.schema.json");
    let kept = std::fs::read_to_string(file).expect("the schema is kept");
    assert_eq!(output, format!("exit: 0\n----- out\n{kept}----- err\n"));
}

#[test]
fn the_schema_accepts_the_printed_settings_and_the_example() {
    let schema = octroi_core::config::schema::schema();
    let output = run(&[("octroi.toml", GOOD), ("mcpservers/a/server.py", "")], &["config", "show", "--json"]);
    let json = output.split("----- out").nth(1).and_then(|rest| rest.split("----- err").next());
    let mut settings: Value = serde_json::from_str(json.unwrap_or_default()).expect("it is JSON");
    let problems = settings.as_object_mut().and_then(|settings| settings.shift_remove("problems"));
    assert_eq!(problems, Some(json!([])));
    assert_eq!(objection(&schema, &settings), None);
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/octroi.toml");
    let example = std::fs::read_to_string(example).expect("the example is there");
    assert_eq!(objection(&schema, &toml::from_str(&example).expect("the example is TOML")), None);
    for wrong in [
        json!({ "mcp": { "servers": [{ "name": "a", "comand": "x" }] } }),
        json!({ "mcp": { "servers": [{ "name": "a", "trust": "total" }] } }),
        json!({ "mcp": { "servers": [{ "command": "x" }] } }),
        json!({ "mcp": { "enabled": "yes" } }),
    ] {
        assert!(objection(&schema, &wrong).is_some(), "{wrong}");
    }
}

/// Why a value does not match a schema, for the few keywords that ours uses.
fn objection(schema: &Value, value: &Value) -> Option<String> {
    let is_type = |name: &Value| match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64(),
        Some("boolean") => value.is_boolean(),
        _ => panic!("{name}"),
    };
    let is_right_type = match &schema["type"] {
        Value::Null => true,
        Value::Array(names) => names.iter().any(is_type),
        name => is_type(name),
    };
    let has_choice = |word: &str| {
        schema[word].as_array().is_none_or(|choices| match word {
            "enum" => choices.contains(value),
            _ => choices.iter().any(|choice| objection(choice, value).is_none()),
        })
    };
    if !is_right_type
        || !has_choice("enum")
        || !has_choice("anyOf")
        || schema.get("const").is_some_and(|only| only != value)
    {
        return Some(format!("{value} is not {schema}"));
    }
    let missing = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|name| name.as_str().is_some_and(|name| value.get(name).is_none()));
    if let Some(missing) = missing {
        return Some(format!("{missing} is missing"));
    }
    let members = value.as_object().into_iter().flatten().find_map(|(name, member)| {
        let schema = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
        if schema == false { Some(format!("{name} is unknown")) } else { objection(schema, member) }
    });
    members
        .or_else(|| value.as_array().into_iter().flatten().find_map(|item| objection(&schema["items"], item)))
}
