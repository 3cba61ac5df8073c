//! Tools that ask the client one question and return the answer.

use rmcp::ErrorData;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::super::asking::{Round, Step, ask_one, form, sample};
use super::AskingTool;

pub(super) const TOOLS: &[AskingTool] = &[
    AskingTool {
        name: "test_sampling",
        description: "Asks the client's model and repeats its answer",
        argument: Some("prompt"),
        step: sampling,
    },
    AskingTool {
        name: "test_elicitation",
        description: "Asks the user and repeats the answer",
        argument: Some("message"),
        step: elicitation,
    },
    AskingTool {
        name: "test_elicitation_sep1034_defaults",
        description: "Asks the user with a form that has a default for each kind of field",
        argument: None,
        step: elicitation_with_defaults,
    },
    AskingTool {
        name: "test_elicitation_sep1330_enums",
        description: "Asks the user with a form that has each kind of choice",
        argument: None,
        step: elicitation_with_choices,
    },
];

fn sampling(round: &Round) -> Result<Step<String>, ErrorData> {
    match round.answer("completion") {
        Some(answer) => Ok(Step::Done(format!("LLM response: {}", sampled_text(answer)))),
        None => Ok(ask_one("completion", sample(text_argument(round, "prompt")?))),
    }
}

/// The text of a sampling answer, whose content is one block or a list of blocks.
pub(super) fn sampled_text(answer: &JsonObject) -> &str {
    let content = answer.get("content");
    content
        .and_then(|content| content.get("text").or_else(|| content.get(0)?.get("text")))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn elicitation(round: &Round) -> Result<Step<String>, ErrorData> {
    let schema = json!({
        "type": "object",
        "properties": { "response": { "type": "string", "description": "What the user says" } },
        "required": ["response"],
    });
    fill_in(round, text_argument(round, "message")?, schema)
}

fn elicitation_with_defaults(round: &Round) -> Result<Step<String>, ErrorData> {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": {
                "type": "string",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": { "type": "boolean", "default": true },
        },
    });
    fill_in(round, "Please check what is filled in", schema)
}

fn elicitation_with_choices(round: &Round) -> Result<Step<String>, ErrorData> {
    let options = json!(["option1", "option2", "option3"]);
    let titled = json!([
        { "const": "value1", "title": "First" },
        { "const": "value2", "title": "Second" },
        { "const": "value3", "title": "Third" },
    ]);
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": titled },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "items": { "type": "string", "enum": options },
            },
            "titledMulti": { "type": "array", "items": { "anyOf": titled } },
        },
    });
    fill_in(round, "Please choose", schema)
}

fn fill_in(round: &Round, message: &str, schema: Value) -> Result<Step<String>, ErrorData> {
    match round.answer("form") {
        Some(answer) => Ok(Step::Done(describe(answer))),
        None => Ok(ask_one("form", form(message, schema)?)),
    }
}

fn describe(answer: &JsonObject) -> String {
    let action = answer.get("action").and_then(Value::as_str).unwrap_or("none");
    let content = answer.get("content").cloned().unwrap_or_else(|| json!({}));
    format!("User response: action={action}, content={content}")
}

fn text_argument<'a>(round: &Round<'a>, name: &str) -> Result<&'a str, ErrorData> {
    round
        .arguments
        .get(name)
        .and_then(Value::as_str)
        .ok_or_else(|| ErrorData::invalid_params(format!("the argument {name} is missing"), None))
}
