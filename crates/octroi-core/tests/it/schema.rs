//! The schema says the same as the reader, as far as a schema can.

use octroi_core::config::Format::Toml;
use octroi_core::config::schema::schema;
use serde_json::{Value, json};

use crate::governance::{EVERYTHING, refused};
use crate::harness::load;

#[test]
fn the_schema_takes_what_is_read_and_what_is_shown() {
    assert_eq!(objection(&schema(), &json(EVERYTHING)), None);
    let config = load(Toml, EVERYTHING);
    let mut shown = config.shown.to_json(octroi_core::config::Origins::Left, &[]);
    shown.as_object_mut().expect("it is a table").remove("problems");
    assert_eq!(objection(&schema(), &shown), None);
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
        toml::Value::Float(_) | toml::Value::Datetime(_) => panic!("{value}"),
    }
}

/// What a schema has against a value, for the words that ours uses. An unknown word fails the test.
fn objection(schema: &Value, value: &Value) -> Option<String> {
    let Value::Object(words) = schema else {
        panic!("{schema}");
    };
    for (word, said) in words {
        let is_fine = match word.as_str() {
            "$schema" | "title" | "description" => true,
            "type" => said
                .as_array()
                .map_or_else(|| is_type(said, value), |all| all.iter().any(|one| is_type(one, value))),
            "enum" => said.as_array().is_some_and(|all| all.contains(value)),
            "const" => said == value,
            "minimum" => value.as_i64() >= said.as_i64(),
            "pattern" => fits(said.as_str().unwrap_or_default(), value.as_str().unwrap_or_default()),
            "required" => said
                .as_array()
                .into_iter()
                .flatten()
                .all(|key| value.get(key.as_str().unwrap_or_default()).is_some()),
            "anyOf" => said.as_array().into_iter().flatten().any(|one| objection(one, value).is_none()),
            "allOf" => said.as_array().into_iter().flatten().all(|one| objection(one, value).is_none()),
            "items" => {
                let inner = value.as_array().into_iter().flatten().find_map(|item| objection(said, item));
                if inner.is_some() {
                    return inner;
                }
                true
            }
            "properties" | "additionalProperties" => true,
            _ => panic!("{word}"),
        };
        if !is_fine {
            return Some(format!("{value} is not {word} {said}"));
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

/// The two patterns there are, by hand.
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
