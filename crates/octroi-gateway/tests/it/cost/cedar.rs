//! Cedar policies: loaded for some tools, and asked about a call.

use octroi_cedar::{Agent, CallToJudge, Policies, Schema, SessionState, Tool, ToolShape};
use octroi_core::PrincipalKind;
use octroi_core::arguments;
use octroi_core::facts::Facts;
use octroi_core::tool::Risk;
use octroi_core::trust::Trust;
use serde_json::{Value, json};

use super::choices::Choices;
use super::{Meter, generate, template};

/// A text `policies === schema === arguments`, or choices from which all are generated.
pub(crate) fn run(input: &[u8], meter: &mut Meter<'_>) {
    let (text, input_schema, arguments) = if input.starts_with(b"T\n") {
        let parts = template::parts(input);
        let [text, rest @ ..] = parts.as_slice() else { return };
        let Ok(text) = String::from_utf8(text.clone()) else { return };
        let json = |index: usize, none: Value| match rest.get(index) {
            Some(part) => serde_json::from_slice(part).unwrap_or(none),
            None => none,
        };
        (text, json(0, usual_schema()), json(1, json!({})))
    } else {
        let middle = input.len() / 2;
        let text = generate::cedar(&mut Choices::new(&input[..middle], 6_000));
        (text, usual_schema(), generate::object(&mut Choices::new(&input[middle..], 20_000)))
    };
    let n_schema = input_schema.to_string().len();
    let shapes: Vec<(String, Value)> =
        (0..3).map(|index| (format!("tool{index}"), input_schema.clone())).collect();
    let shapes: Vec<ToolShape<'_>> = shapes
        .iter()
        .map(|(tool, input_schema)| ToolShape {
            server: "files",
            tool,
            risk: Risk::Low,
            side_effects: &[],
            input_schema,
        })
        .collect();
    let mut schema = None;
    // The schema is written three times.
    meter("make a Cedar schema", 3 * n_schema, &mut || schema = Schema::new(&shapes).ok());
    let Some(schema) = schema else { return };
    let mut policies = None;
    meter("load Cedar policies", text.len(), &mut || policies = Policies::load(&text, &schema).ok());
    let Some(policies) = policies else { return };
    let body = arguments.to_string();
    let Ok((value, exactness)) = arguments::read_exactly(body.as_bytes()) else { return };
    let facts = || Facts::of(&value, body.len() as u64, Some("/project"));
    meter("ask Cedar policies", text.len() + body.len(), &mut || {
        let judgement = policies.judge(&CallToJudge {
            agent: Agent { id: "a", kind: PrincipalKind::Agent, profile: "guarded" },
            tool: Tool {
                server: "files",
                name: "tool0",
                risk: Risk::Low,
                side_effects: &[],
                trust: Trust::Medium,
                is_read_only: false,
            },
            arguments: &value,
            exactness,
            facts: &facts,
            session: SessionState {
                mode: "execution",
                project: None,
                is_spec_frozen: false,
                spec_hash: None,
            },
        });
        drop(judgement);
    });
}

fn usual_schema() -> Value {
    json!({"type": "object", "required": ["s", "n", "t"], "properties": {
        "s": {"type": "string"}, "n": {"type": "integer"}, "b": {"type": "boolean"},
        "t": {"type": "array", "items": {"type": "string"}},
        "o": {"type": "object", "properties": {"s": {"type": "string"}, "o": {"type": "object",
            "properties": {"n": {"type": "integer"}}}}},
    }})
}
