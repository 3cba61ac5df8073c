//! The schema agrees with the reader, as far as a schema can express it.

use octroi_core::config::keys::governance::{AGENT, GATE, HANDLER, INFERENCE, QUOTA};
use octroi_core::config::keys::{Key, Kind, Need};
use octroi_core::config::schema::schema;
use octroi_core::config::{Origins, Severity};
use octroi_core::syntax::Format::Toml;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::governance::EVERYTHING;
use crate::harness::load;
use crate::refusals::refused;

#[test]
fn the_schema_takes_what_is_read_and_what_is_shown() {
    assert_eq!(objection(&schema(), &json(EVERYTHING)), None);
    let config = load(Toml, EVERYTHING);
    let mut displayed = config.effective.to_json(Origins::Omitted, &[]);
    displayed.as_object_mut().expect("it is a table").remove("problems");
    assert_eq!(objection(&schema(), &displayed), None);
}

#[test]
fn the_schema_refuses_what_is_refused() {
    for wrong in [
        "other = 1",
        "policy = 1",
        "agents = {}",
        "agents = [\"coder\"]",
        "[policy]\nprofile = \"lax\"",
        "[policy]\nflor = \"x\"",
        "[policy]\nfloor = 1",
        "[[agents]]\nprofile = \"open\"",
        "[[agents]]\nid = \"with blank\"",
        "[[agents]]\nid = \"\"",
        "[[agents]]\nid = \"a\"\nmode = \"plan\"",
        "[[agents]]\nid = \"a\"\nblacklist = \"payments\"",
        "[approvals]\nwait = true",
        "[approvals]\nwait = \"soon\"",
        "[approvals]\nexpires = false",
        "[approvals]\nform = \"no\"",
        "[pins]\nmode = \"trust\"",
        "[audit]\nretention = \"1y\"",
        "[audit]\nmax_argument_bytes = -1",
        "[audit]\nresults = \"full\"",
        "[[audit.handlers]]\nname = \"a\"",
        "[[audit.handlers]]\nkind = \"jsonl\"\npath = \"x\"",
        "[[audit.handlers]]\nname = \"a\"\nkind = \"kafka\"",
        "[[quotas]]",
        "[[quotas]]\ncalls_per_minute = 1",
        "[[quotas]]\nagent = \"*\"",
        "[[quotas]]\nagent = \"*\"\ncalls_per_minute = 0",
        "[[gates]]\nname = \"a\"",
        "[[gates]]\ncommand = \"a\"",
        "[[inference]]\ntools = \"*\"",
        "[[inference]]\nrisk = \"huge\"",
    ] {
        refused(wrong);
        assert!(objection(&schema(), &json(wrong)).is_some(), "{wrong}");
    }
}

const LISTS: [(&str, &[Key]); 5] = [
    ("agents", AGENT),
    ("audit.handlers", HANDLER),
    ("quotas", QUOTA),
    ("gates", GATE),
    ("inference", INFERENCE),
];

/// Values for a key; most of them are valid.
fn value(key: &'static Key) -> impl Strategy<Value = String> {
    let fitting: Vec<&str> = match (key.name, key.kind) {
        ("url", _) => vec!["https://a/b", "udp://a:1", "unix:///a"],
        ("tool" | "tools", Kind::Text) => vec!["*", "a.b", "a.*"],
        ("tools", _) => vec!["[]", "[\"*\"]", "[\"a.b\", \"a:b\"]"],
        (_, Kind::Text | Kind::Command) => vec!["a", "b*", "${API_KEY}", "./a"],
        (_, Kind::Identifier) => vec!["a", "b", "A.b-c_1"],
        (_, Kind::Texts) => vec!["[]", "[\"a\"]", "[\"a\", \"b\"]"],
        (_, Kind::TextMap) => vec!["{}", "{ a = \"b\", b = 1 }"],
        (_, Kind::Flag) => vec!["true", "false"],
        (_, Kind::FlagOr(word)) => vec!["true", "false", word],
        (_, Kind::Duration) => vec!["1s", "2 d", "1"],
        (_, Kind::Count(_)) => vec!["1", "9"],
        (_, Kind::Words(words)) => words(),
        (
            _,
            Kind::DurationOrOff
            | Kind::WordMap(_)
            | Kind::TableMap(_)
            | Kind::Table(_)
            | Kind::Tables(_)
            | Kind::TableOrOff(_),
        ) => panic!("no list has `{}` yet", key.name),
    };
    let wrong = vec![
        "",
        "a b",
        "1y",
        "delete",
        "${NOT_SET}",
        "0",
        "-1",
        "1.5",
        "true",
        "[]",
        "[1]",
        "[\"\"]",
        "{}",
        "{ a = [] }",
        "ftp://a",
    ];
    let written = |text: &str| {
        let is_literal = text.starts_with(['[', '{', '-']) || text.parse::<f64>().is_ok();
        if is_literal || matches!(text, "true" | "false") { text.to_owned() } else { format!("\"{text}\"") }
    };
    let member = prop_oneof![20 => prop::sample::select(fitting), 1 => prop::sample::select(wrong)];
    let likely = if key.need == Need::Required { 0.98 } else { 0.4 };
    prop::option::weighted(likely, member).prop_map(move |value| {
        value.map(|value| format!("{} = {}\n", key.name, written(value))).unwrap_or_default()
    })
}

fn entry() -> impl Strategy<Value = String> {
    prop::sample::select(LISTS.to_vec()).prop_flat_map(|(head, keys)| {
        let members: Vec<_> = keys.iter().map(value).collect();
        members.prop_map(move |members| format!("[[{head}]]\n{}", members.concat()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, max_global_rejects: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_restriction_is_left_out_without_a_word(entries in prop::collection::vec(entry(), 1..3)) {
        let text = entries.concat();
        let config = load(Toml, &text);
        if config.problems.iter().any(|problem| problem.severity == Severity::Fatal) {
            return Err(TestCaseError::reject("it is refused"));
        }
        let effective = &config.effective;
        let lists =
            [&effective.agents, &effective.handlers, &effective.quotas, &effective.gates, &effective.inference];
        prop_assert_eq!(lists.iter().map(|list| list.len()).sum::<usize>(), entries.len(), "{}", text);
        // An editor with the schema must not report false errors.
        prop_assert_eq!(objection(&schema(), &json(&text)), None, "{}", text);
    }
}

fn json(text: &str) -> Value {
    let table: toml::Value = toml::from_str(text).expect("it is TOML");
    json_of(&table)
}

fn json_of(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => json!(text),
        toml::Value::Integer(number) => json!(number),
        toml::Value::Boolean(flag) => json!(flag),
        toml::Value::Array(items) => items.iter().map(json_of).collect(),
        toml::Value::Table(members) => {
            Value::Object(members.iter().map(|(key, value)| (key.clone(), json_of(value))).collect())
        }
        toml::Value::Float(number) => json!(number),
        toml::Value::Datetime(_) => panic!("{value}"),
    }
}

/// The objection of a schema to a value, for the keywords in use. An unknown keyword fails the test.
fn objection(schema: &Value, value: &Value) -> Option<String> {
    let Value::Object(words) = schema else {
        panic!("{schema}");
    };
    for (word, constraint) in words {
        let is_fine = match word.as_str() {
            "type" => constraint
                .as_array()
                .map_or_else(|| is_type(constraint, value), |all| all.iter().any(|one| is_type(one, value))),
            "enum" => constraint.as_array().is_some_and(|all| all.contains(value)),
            "const" => constraint == value,
            "minimum" => value.as_i64() >= constraint.as_i64(),
            "pattern" => fits(constraint.as_str().unwrap_or_default(), value.as_str().unwrap_or_default()),
            "required" => constraint
                .as_array()
                .into_iter()
                .flatten()
                .all(|key| value.get(key.as_str().unwrap_or_default()).is_some()),
            "anyOf" => constraint.as_array().into_iter().flatten().any(|one| objection(one, value).is_none()),
            "allOf" => constraint.as_array().into_iter().flatten().all(|one| objection(one, value).is_none()),
            "items" => {
                let inner =
                    value.as_array().into_iter().flatten().find_map(|item| objection(constraint, item));
                if inner.is_some() {
                    return inner;
                }
                true
            }
            // The last two are checked below.
            "$schema" | "title" | "description" | "properties" | "additionalProperties" => true,
            _ => panic!("{word}"),
        };
        if !is_fine {
            return Some(format!("{value} is not {word} {constraint}"));
        }
    }
    value.as_object().into_iter().flatten().find_map(|(key, value)| {
        match (schema["properties"].get(key), schema.get("additionalProperties")) {
            (Some(property), _) => objection(property, value),
            (None, Some(Value::Bool(false))) => Some(format!("{key} is unknown")),
            (None, Some(other)) => objection(other, value),
            (None, None) => None,
        }
    })
}

fn is_type(name: &Value, value: &Value) -> bool {
    match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64(),
        Some("boolean") => value.is_boolean(),
        _ => panic!("{name}"),
    }
}

/// The two patterns in use, matched by hand.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern {
        "^[A-Za-z0-9._-]{1,64}$" => {
            (1..=64).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        }
        "^[0-9]+ *(ms|s|m|min|h|d)$|\\$\\{" => {
            let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
            text.contains("${")
                || (unit.len() < text.len()
                    && ["ms", "s", "m", "min", "h", "d"].contains(&unit.trim_start_matches(' ')))
        }
        _ => panic!("{pattern}"),
    }
}
