//! The reference page of operations.

use std::fmt::Write as _;

use serde_json::Value;

use super::shapes::{Shapes, kind_of};
use super::{NOTICE, cell};
use crate::access::Face;
use crate::operation::{Effect, OperationEntry};
use crate::operations::OPERATIONS;

/// `docs/reference-operations.md`.
pub fn operations() -> String {
    let mut page = String::from("# Operations\n\n");
    page.push_str(NOTICE);
    page.push_str(
        "\nEvery operation is an MCP tool at `/mcp`, unless it says that it is only in [REST](rest.md). A person's token gives access to those for people, an agent's \
         token to those for agents; the command line and every other interface use the same operations. An answer is \
         the tool's `structuredContent`. Members that an answer may omit are marked *optional*; members with the type \
         *or null* are always present. [Errors](errors.md) and [resources](reference-resources.md) have their own \
         pages.\n",
    );
    let mut shapes = Shapes::new();
    for group in &OPERATIONS {
        let _ = writeln!(page, "\n## {}", group.title);
        for operation in group.operations {
            describe(&mut page, operation, &mut shapes);
        }
    }
    page.push_str("\n## Shapes\n");
    page.push_str(&shapes.describe());
    page
}

fn describe(page: &mut String, operation: &OperationEntry, shapes: &mut Shapes) {
    let face = if operation.has_face(Face::Management) { "" } else { " (agents)" };
    let _ = writeln!(
        page,
        "\n### {}{face}\n\n**{}.** {}\n",
        operation.name, operation.title, operation.description
    );
    let effect = match operation.effect {
        Effect::Reads => "changes nothing".to_owned(),
        Effect::Changes { audit } => format!("changes something, recorded as `{}`", audit.as_str()),
        Effect::Calls => "calls a tool, recorded as that call".to_owned(),
    };
    let setting = match operation.agent_setting {
        Some(setting) => format!(", with `{}`", setting.as_str()),
        None => String::new(),
    };
    let _ = writeln!(page, "- Access: {}{setting}", operation.access.sentence());
    let _ = writeln!(page, "- Effect: {effect}");
    let answer = kind_of(operation.response_shape(shapes.generator()).as_value());
    let _ = writeln!(page, "- Answer: {answer}");
    let routes: Vec<String> =
        operation.rest.iter().map(|route| format!("`{} {}`", route.method.as_str(), route.path)).collect();
    let only = if operation.is_tool() { "" } else { ", and only there" };
    if !routes.is_empty() {
        let _ = writeln!(page, "- REST: {}{only}", routes.join(", "));
    }
    let errors: Vec<String> = operation.all_errors().iter().map(|code| format!("`{code}`")).collect();
    let _ = writeln!(page, "- Errors: {}", errors.join(", "));
    let schema = operation.input_schema();
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let arguments: Vec<_> = schema["properties"].as_object().into_iter().flatten().collect();
    if arguments.is_empty() {
        return;
    }
    page.push_str("\n| Argument | Type | Required | Description |\n|---|---|---|---|\n");
    for (name, argument) in arguments {
        let needed = if required.contains(&name.as_str()) { "yes" } else { "" };
        let about = cell(argument["description"].as_str().unwrap_or_default());
        let _ = writeln!(page, "| `{name}` | {} | {needed} | {about} |", kind_of(argument));
    }
}
