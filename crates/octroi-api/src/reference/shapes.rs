//! Shapes of answers, each described once.

use std::fmt::Write as _;

use schemars::SchemaGenerator;
use serde_json::{Map, Value};

use super::cell;
use crate::resource::{Content, RESOURCES};
use crate::schema;

/// Collects the shapes that a page refers to.
pub(super) struct Shapes {
    generator: SchemaGenerator,
}

impl Shapes {
    pub(super) fn new() -> Self {
        Self { generator: schema::shapes() }
    }

    /// The generator for schemas; it records the shapes they refer to.
    pub(super) fn generator(&mut self) -> &mut SchemaGenerator {
        &mut self.generator
    }

    /// All shapes, by name: those of the page, and those of resources.
    pub(super) fn describe(mut self) -> String {
        for resource in &RESOURCES {
            match resource.content {
                Content::Json(shape) | Content::JsonItems(shape) => drop(shape(&mut self.generator)),
                Content::Toml => {}
            }
        }
        let mut definitions: Vec<(String, Value)> =
            self.generator.take_definitions(true).into_iter().collect();
        definitions.sort_by(|one, other| one.0.cmp(&other.0));
        let mut text = String::new();
        for (name, mut definition) in definitions {
            schema::simplify(&mut definition);
            let about = definition["description"].as_str().unwrap_or_default();
            let _ = writeln!(text, "\n### {name}\n\n{about}");
            members(&mut text, &definition);
        }
        text
    }
}

/// A table of the members of a shape, and its alternatives if it has some.
fn members(text: &mut String, shape: &Value) {
    if let Some(properties) = shape["properties"].as_object() {
        table(text, properties, &shape["required"]);
    }
    let alternatives = shape["anyOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    if alternatives.is_empty() {
        return;
    }
    let also = if shape["properties"].is_object() { "And the members of one of" } else { "One of" };
    let _ = writeln!(text, "\n{also}:");
    for alternative in alternatives {
        let about = alternative["description"].as_str().unwrap_or_default();
        match alternative["properties"].as_object() {
            Some(properties) => {
                let _ = writeln!(text, "\n{about}");
                table(text, properties, &alternative["required"]);
            }
            None => {
                let _ = writeln!(text, "\n- {}", kind_of(alternative));
            }
        }
    }
}

fn table(text: &mut String, properties: &Map<String, Value>, required: &Value) {
    text.push_str("\n| Member | Type | Description |\n|---|---|---|\n");
    for (name, member) in properties {
        let is_required = required.as_array().is_some_and(|names| names.iter().any(|one| one == name));
        let optional = if is_required { "" } else { ", optional" };
        let about = cell(member["description"].as_str().unwrap_or_default());
        let _ = writeln!(text, "| `{name}` | {}{optional} | {about} |", kind_of(member));
    }
}

/// The type of a schema, in words.
pub(super) fn kind_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(alternatives) = schema["anyOf"].as_array() {
        return alternatives.iter().map(kind_of).collect::<Vec<_>>().join(" or ");
    }
    let (kind, or_null) = match &schema["type"] {
        Value::Array(kinds) => {
            (kinds.first().and_then(Value::as_str), kinds.iter().any(|kind| kind == "null"))
        }
        kind => (kind.as_str(), false),
    };
    let or_null = if or_null { " or null" } else { "" };
    let words: Vec<String> = schema["enum"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|word| format!("`{word}`"))
        .collect();
    let kind = match kind {
        _ if !words.is_empty() => words.join(", "),
        Some("array") => format!("list of {}", kind_of(&schema["items"])),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("object, by name: {}", kind_of(&schema["additionalProperties"]))
        }
        Some(kind) => kind.to_owned(),
        None => "any".to_owned(),
    };
    format!("{kind}{or_null}")
}
