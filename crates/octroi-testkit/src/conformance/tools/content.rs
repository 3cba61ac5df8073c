//! Tools that answer immediately, with each kind of content that a result can have.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ResourceContents, Tool};
use serde_json::{Value, json};

use super::super::resources::PNG_BASE64;
use super::{no_arguments, text_result, tool};

/// A millisecond of silence.
const WAV_BASE64: &str = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("test_simple_text", "Answers with a text", no_arguments()),
        tool("test_image_content", "Answers with a picture", no_arguments()),
        tool("test_audio_content", "Answers with a sound", no_arguments()),
        tool("test_embedded_resource", "Answers with a resource", no_arguments()),
        tool("test_multiple_content_types", "Answers with a text, a picture and a resource", no_arguments()),
        tool("test_error_handling", "Always fails", no_arguments()),
        tool(
            "test_custom_header",
            "Repeats a value that the client also sends as an HTTP header",
            json!({
                "type": "object",
                "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
                "required": ["region"],
            }),
        ),
        tool(
            "json_schema_2020_12_tool",
            "Has a schema with the keywords that are easily lost on the way",
            contact_schema(),
        ),
    ]
}

pub(super) fn call(name: &str, arguments: Option<&JsonObject>) -> Option<Result<CallToolResult, ErrorData>> {
    let result = match name {
        "test_simple_text" => text_result("This is a simple text response for testing."),
        "test_image_content" => CallToolResult::success(vec![image()]),
        "test_audio_content" => CallToolResult::success(vec![ContentBlock::audio(WAV_BASE64, "audio/wav")]),
        "test_embedded_resource" => CallToolResult::success(vec![ContentBlock::resource(
            ResourceContents::text("This is an embedded resource.", "test://embedded-resource"),
        )]),
        "test_multiple_content_types" => CallToolResult::success(vec![
            ContentBlock::text("A text, a picture and a resource:"),
            image(),
            ContentBlock::resource(
                ResourceContents::text(
                    json!({ "test": "data", "value": 123 }).to_string(),
                    "test://mixed-content-resource",
                )
                .with_mime_type("application/json"),
            ),
        ]),
        "test_error_handling" => CallToolResult::error(vec![ContentBlock::text(
            "This tool intentionally returns an error for testing",
        )]),
        "test_custom_header" => return Some(repeat_region(arguments)),
        "json_schema_2020_12_tool" => {
            text_result(Value::Object(arguments.cloned().unwrap_or_default()).to_string())
        }
        _ => return None,
    };
    Some(Ok(result))
}

fn repeat_region(arguments: Option<&JsonObject>) -> Result<CallToolResult, ErrorData> {
    arguments
        .and_then(|arguments| arguments.get("region"))
        .and_then(Value::as_str)
        .map(text_result)
        .ok_or_else(|| ErrorData::invalid_params("the argument region must be a text", None))
}

fn image() -> ContentBlock {
    ContentBlock::image(PNG_BASE64, "image/png")
}

fn contact_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "postalAddress",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "reachBy": { "enum": ["post", "phone"] },
            "phone": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["address"] }, { "required": ["phone"] }] }],
        "if": { "properties": { "reachBy": { "const": "post" } }, "required": ["reachBy"] },
        "then": { "required": ["address"] },
        "else": { "required": ["phone"] },
        "additionalProperties": false,
    })
}
