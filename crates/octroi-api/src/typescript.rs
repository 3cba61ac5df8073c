//! The tables as TypeScript, for the web interface: `web/src/api/`. A test keeps the files current.

mod shapes;

use std::fmt::Write as _;

use serde_json::json;

use crate::access::{Access, Face};
use crate::error::ErrorCode;
use crate::operation::Effect;
use crate::operations;
use crate::resource::{Content, RESOURCES, ResourceEntry};
use shapes::Shapes;

const NOTICE: &str =
    "// Generated from the tables of crates/octroi-api by `cargo xtask codegen`; do not edit.\n";

/// `web/src/api/types.ts`: the shapes of requests, answers and resources.
pub fn types() -> String {
    let mut shapes = Shapes::new();
    let mut operations = String::new();
    let (mut contents, mut forms) = (String::new(), String::new());
    for operation in operations::all().filter(|operation| operation.has_face(Face::Management)) {
        let request = shapes.request(operation);
        let response = shapes.response(operation);
        let _ = writeln!(operations, "  {}: {{ request: {request}; response: {response} }};", operation.name);
    }
    for resource in people_resources() {
        let content = match resource.content {
            Content::Json(shape) => shapes.answer(shape),
            Content::JsonItems(shape) => format!("{}[]", shapes.answer(shape)),
            Content::Toml => "string".to_owned(),
        };
        let _ = writeln!(contents, "  {}: {content};", key_of(resource));
        let names: Vec<String> =
            variables(resource.uri).iter().map(|name| format!("{name}: string")).collect();
        let variables = if names.is_empty() {
            "Record<string, never>".to_owned()
        } else {
            format!("{{ {} }}", names.join("; "))
        };
        let _ = writeln!(forms, "  {}: {variables};", key_of(resource));
    }
    format!(
        "{NOTICE}\n/** Every operation that people have. */\nexport interface Operations {{\n{operations}}}\n\n\
         /** What is read from each kind of resource. */\nexport interface ResourceContents {{\n{contents}}}\n\n\
         /** The variables in the URI of each kind of resource. */\nexport interface ResourceVariables {{\n{forms}}}\n\
         {}",
        shapes.declarations()
    )
}

/// `web/src/api/tables.ts`: what the interface knows of operations, resources and errors while it runs.
pub fn tables() -> String {
    let mut text =
        format!("{NOTICE}\n/** Every operation that people have. */\nexport const operations = {{\n");
    for operation in operations::all().filter(|operation| operation.has_face(Face::Management)) {
        let effect = match operation.effect {
            Effect::Reads => "reads",
            Effect::Changes { .. } => "changes",
            Effect::Calls => "calls",
        };
        let entry = json!({
            "title": operation.title,
            "effect": effect,
            "access": access(operation.access),
            "isDestructive": operation.tool_definition()["annotations"]["destructiveHint"],
        });
        let _ = writeln!(text, "  {}: {entry},", operation.name);
    }
    text.push_str(
        "} as const;\n\n/** Every kind of resource that people can read. */\nexport const resources = {\n",
    );
    for resource in people_resources() {
        let topics: Vec<String> =
            resource.changed_by.iter().map(|topic| format!("{topic:?}").to_lowercase()).collect();
        let form = match resource.content {
            Content::Json(_) => "json",
            Content::JsonItems(_) => "items",
            Content::Toml => "text",
        };
        let entry = json!({
            "uri": resource.uri,
            "title": resource.title,
            "access": access(resource.access),
            "form": form,
            "changedBy": topics,
        });
        let _ = writeln!(text, "  {}: {entry},", key_of(resource));
    }
    text.push_str("} as const;\n\n/** Every error code. */\nexport const errorCodes = [\n");
    for code in ErrorCode::ALL {
        let _ = writeln!(text, "  {},", json!(code.as_str()));
    }
    text.push_str("] as const;\n");
    text
}

fn people_resources() -> impl Iterator<Item = &'static ResourceEntry> {
    RESOURCES.iter().filter(|resource| resource.has_face(Face::Management))
}

/// `AgentInfo` is `agentInfo`.
fn key_of(resource: &ResourceEntry) -> String {
    let name = format!("{:?}", resource.kind);
    let (first, rest) = name.split_at(1);
    format!("{}{rest}", first.to_lowercase())
}

/// The names of the variables of a URI template.
fn variables(uri: &str) -> Vec<&str> {
    uri.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Admins => "admins",
        Access::People | Access::OwnAgent | Access::PeopleAndOwnAgent => "people",
    }
}
