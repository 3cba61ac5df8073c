//! JSON Schemas as TypeScript types.
//!
//! The same Rust type can have two shapes: what a request may omit, an answer always has. Where they differ, the
//! request's has `Input` behind its name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::operation::OperationEntry;
use crate::schema;

/// Collects the shapes that are referred to.
pub(super) struct Shapes {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
    /// The shapes of requests that differ from those of answers.
    inputs: BTreeSet<String>,
}

impl Shapes {
    pub(super) fn new() -> Self {
        let mut shapes =
            Self { requests: schema::request_shapes(), answers: schema::shapes(), inputs: BTreeSet::new() };
        for operation in crate::operations::all() {
            operation.request_shape(&mut shapes.requests);
            operation.response_shape(&mut shapes.answers);
        }
        for resource in &crate::resource::RESOURCES {
            match resource.content {
                crate::resource::Content::Json(shape) | crate::resource::Content::JsonItems(shape) => {
                    shape(&mut shapes.answers);
                }
                crate::resource::Content::Toml => {}
            }
        }
        shapes.inputs = differing(&definitions(&mut shapes.requests), &definitions(&mut shapes.answers));
        shapes
    }

    /// The type of an operation's request.
    pub(super) fn request(&mut self, operation: &OperationEntry) -> String {
        let mut shape = operation.request_shape(&mut self.requests).to_value();
        schema::simplify(&mut shape);
        type_of(&shape, &self.inputs)
    }

    /// The type of an operation's answer.
    pub(super) fn response(&mut self, operation: &OperationEntry) -> String {
        let shape = operation.response_shape(&mut self.answers);
        answered(shape)
    }

    /// The type of a resource.
    pub(super) fn answer(&mut self, shape: fn(&mut SchemaGenerator) -> Schema) -> String {
        answered(shape(&mut self.answers))
    }

    /// All shapes, by name.
    pub(super) fn declarations(mut self) -> String {
        let requests = definitions(&mut self.requests);
        let answers = definitions(&mut self.answers);
        let mut named: BTreeMap<String, String> = BTreeMap::new();
        let none = BTreeSet::new();
        for (name, shape) in &answers {
            named.insert(name.clone(), declare(name, shape, &none));
        }
        for (name, shape) in &requests {
            if self.inputs.contains(name) || !answers.contains_key(name) {
                let name = input_name(name, &self.inputs);
                named.insert(name.clone(), declare(&name, shape, &self.inputs));
            }
        }
        named.into_values().collect()
    }
}

fn answered(shape: Schema) -> String {
    let mut shape = shape.to_value();
    schema::simplify(&mut shape);
    type_of(&shape, &BTreeSet::new())
}

fn definitions(generator: &mut SchemaGenerator) -> BTreeMap<String, Value> {
    let definitions = generator.definitions().clone();
    definitions
        .into_iter()
        .map(|(name, mut shape)| {
            schema::simplify(&mut shape);
            (name, shape)
        })
        .collect()
}

/// The shapes that are not the same in both, or refer to one that is not.
fn differing(requests: &BTreeMap<String, Value>, answers: &BTreeMap<String, Value>) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = requests
        .iter()
        .filter(|(name, shape)| answers.get(*name).is_some_and(|other| other != *shape))
        .map(|(name, _)| name.clone())
        .collect();
    loop {
        let n_before = found.len();
        for (name, shape) in requests {
            let refers = found.iter().any(|other| shape.to_string().contains(&format!("/{other}\"")));
            if refers && answers.contains_key(name) {
                found.insert(name.clone());
            }
        }
        if found.len() == n_before {
            return found;
        }
    }
}

fn input_name(name: &str, inputs: &BTreeSet<String>) -> String {
    if inputs.contains(name) { format!("{name}Input") } else { name.to_owned() }
}

fn declare(name: &str, shape: &Value, inputs: &BTreeSet<String>) -> String {
    let about = comment(shape, "");
    let is_plain = shape["properties"].is_object() && shape.get("anyOf").is_none();
    if is_plain {
        let members = members(shape, inputs, "  ");
        return format!("\n{about}export interface {name} {{\n{members}}}\n");
    }
    format!("\n{about}export type {name} = {};\n", type_of(shape, inputs))
}

fn comment(shape: &Value, indent: &str) -> String {
    match shape["description"].as_str() {
        Some(about) => format!("{indent}/** {} */\n", about.replace("*/", "*\\/")),
        None => String::new(),
    }
}

fn members(shape: &Value, inputs: &BTreeSet<String>, indent: &str) -> String {
    let required: BTreeSet<&str> =
        shape["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text = String::new();
    for (name, member) in shape["properties"].as_object().unwrap_or(&Map::new()) {
        text.push_str(&comment(member, indent));
        let mark = if required.contains(name.as_str()) { "" } else { "?" };
        let _ = writeln!(text, "{indent}{name}{mark}: {};", type_of(member, inputs));
    }
    text
}

/// A schema as a type expression.
fn type_of(shape: &Value, inputs: &BTreeSet<String>) -> String {
    if let Some(name) = shape["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return input_name(name, inputs);
    }
    if let Some(word) = shape.get("const") {
        return word.to_string();
    }
    for (member, separator) in [("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")] {
        if let Some(alternatives) = shape[member].as_array() {
            let types: Vec<String> = alternatives.iter().map(|one| grouped(type_of(one, inputs))).collect();
            let joined = types.join(separator);
            let has_members = shape["properties"].as_object().is_some_and(|members| !members.is_empty());
            return if has_members { format!("{} & ({joined})", object(shape, inputs)) } else { joined };
        }
    }
    if let Some(words) = shape["enum"].as_array() {
        return words.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    match &shape["type"] {
        Value::Array(kinds) => {
            let types: Vec<String> = kinds.iter().map(|kind| of_kind(kind, shape, inputs)).collect();
            types.join(" | ")
        }
        kind => of_kind(kind, shape, inputs),
    }
}

fn grouped(text: String) -> String {
    if text.contains(" | ") || text.contains(" & ") { format!("({text})") } else { text }
}

fn of_kind(kind: &Value, shape: &Value, inputs: &BTreeSet<String>) -> String {
    match kind.as_str() {
        Some("string") => "string".to_owned(),
        Some("integer" | "number") => "number".to_owned(),
        Some("boolean") => "boolean".to_owned(),
        Some("null") => "null".to_owned(),
        Some("array") if shape["items"].is_object() => {
            format!("{}[]", grouped(type_of(&shape["items"], inputs)))
        }
        Some("array") => "unknown[]".to_owned(),
        Some("object") => object(shape, inputs),
        _ => "unknown".to_owned(),
    }
}

fn object(shape: &Value, inputs: &BTreeSet<String>) -> String {
    let has_members = shape["properties"].as_object().is_some_and(|members| !members.is_empty());
    if has_members {
        let members = members(shape, inputs, "");
        return format!(
            "{{ {} }}",
            members.lines().filter(|line| !line.starts_with("/**")).collect::<Vec<_>>().join(" ")
        );
    }
    match &shape["additionalProperties"] {
        values @ Value::Object(_) => format!("Record<string, {}>", type_of(values, inputs)),
        Value::Bool(false) => "Record<string, never>".to_owned(),
        _ => "Record<string, unknown>".to_owned(),
    }
}
