//! For arbitrary definitions and arguments, nothing panics and nothing is allowed by accident.

use octroi_core::PrincipalKind;
use octroi_core::facts::Facts;
use octroi_core::tool::Risk;
use octroi_core::trust::Trust;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::support::{judge, load};
use crate::{Agent, CallToJudge, CedarVerdict, Policies, Schema, SessionState, Tool, ToolShape};

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((property_name(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Few names, so that arguments often match their definitions, and some arbitrary ones.
fn property_name() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-c]", 1 => any::<String>(), 1 => "(if|Set|__cedar|\\$ref|\"|\\\\|\n|Long)"]
}

fn json_schema() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("string"),
        Just("boolean"),
        Just("integer"),
        Just("number"),
        Just("null"),
        Just("array"),
        Just("object"),
        Just("what"),
    ];
    let leaf = prop_oneof![
        word.clone().prop_map(|word| json!({"type": word})),
        prop::collection::vec(word, 0..3).prop_map(|words| json!({"type": words})),
        prop::collection::vec(json_value(), 0..3).prop_map(|values| json!({"enum": values})),
        "#/\\$defs/[a-c]".prop_map(|reference| json!({"$ref": reference})),
        json_value(),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            3 => object_schema(inner.clone()),
            1 => inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            1 => prop::collection::vec(inner, 0..3).prop_map(|all| json!({"anyOf": all})),
        ]
    })
}

fn object_schema(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((property_name(), inner, any::<bool>()), 0..4).prop_map(|properties| {
        let required: Vec<String> = properties
            .iter()
            .filter(|(.., is_required)| *is_required)
            .map(|(name, ..)| name.clone())
            .collect();
        let properties: Map<String, Value> =
            properties.into_iter().map(|(name, property, _)| (name, property)).collect();
        json!({"type": "object", "properties": properties, "required": required})
    })
}

fn judge_any(policies: &Policies, tool: &str, arguments: &Value) -> CedarVerdict {
    let request = CallToJudge {
        agent: Agent { id: "bot", kind: PrincipalKind::Agent, profile: "" },
        tool: Tool {
            server: "s",
            name: tool,
            risk: Risk::Low,
            side_effects: &[],
            trust: Trust::Low,
            is_read_only: false,
        },
        arguments,
        exactness: octroi_core::arguments::Exactness::Exact,
        facts: &Facts::default,
        session: SessionState { mode: "", project: None, is_spec_frozen: false, spec_hash: None },
    };
    policies.judge(&request).verdict
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn every_definition_makes_a_schema_and_every_argument_a_verdict(
        tool in any::<String>(),
        root in object_schema(json_schema()),
        definitions in prop::collection::vec(("[a-c]", json_schema()), 0..3),
        calls in prop::collection::vec(json_value(), 0..6),
    ) {
        let mut root = root;
        root["$defs"] = Value::Object(definitions.into_iter().collect());
        let shape = ToolShape { server: "s", tool: &tool, risk: Risk::Low, side_effects: &[], input_schema: &root };
        let schema = Schema::new(&[shape]).unwrap();
        prop_assert!(cedar_policy::Schema::from_cedarschema_str(schema.to_text()).is_ok());
        if tool == "*" {
            return Ok(());
        }
        // Uses all arguments, so that all are converted.
        let looking = "permit(principal, action, resource);
                       forbid(principal, action, resource) when { {a: context.args} == {a: context.args} };";
        let looking = Policies::load(looking, &schema).map_err(|problems| {
            TestCaseError::fail(super::support::lines(&problems))
        })?;
        for arguments in &calls {
            prop_assert_eq!(judge_any(&looking, &tool, arguments), CedarVerdict::Deny);
        }
    }

    #[test]
    fn a_further_forbid_never_makes_a_verdict_milder(
        chosen in prop::collection::vec(0..POLICIES.len(), 0..6),
        added in 0..POLICIES.len(),
        call in 0..CALLS.len(),
    ) {
        prop_assume!(!POLICIES[added].contains("permit"));
        let before: String = chosen.iter().map(|index| POLICIES[*index]).collect();
        let after = format!("{before}{}", POLICIES[added]);
        let verdict = |text: &str| judge(&load(text), CALLS[call]).verdict;
        let (before, after) = (verdict(&before), verdict(&after));
        prop_assert!(after >= before, "{before:?} became {after:?}");
    }
}

const POLICIES: [&str; 9] = [
    "permit(principal, action, resource);",
    "permit(principal, action in Action::\"files.*\", resource);",
    "permit(principal, action, resource) when { principal.role == \"human\" };",
    "forbid(principal, action, resource) when { resource.risk > 1 };",
    "@decision(\"ask\") forbid(principal, action, resource);",
    "@decision(\"ask\") forbid(principal, action in Action::\"files.*\", resource) when { context.facts.is_first_use };",
    "@decision(\"abort\") forbid(principal, action == Action::\"shell.run\", resource);",
    "@decision(\"deny\") forbid(principal == Agent::\"eve\", action, resource);",
    "forbid(principal, action == Action::\"files.read_file\", resource)
        when { context.args has head && context.args.head + 9223372036854775807 > 0 };",
];

const CALLS: [&str; 6] = [
    r#"bot calls files.read_file {"path": "/x"}"#,
    r#"bot calls files.read_file {"path": "/x", "head": 2} with is_first_use=true"#,
    r#"eve calls files.read_file {"path": "/x"} with role=human"#,
    r#"bot calls shell.run {"command": "ls"}"#,
    r#"bot calls shell.run {"command": 7} with role=human"#,
    "bot calls shell.list {}",
];
