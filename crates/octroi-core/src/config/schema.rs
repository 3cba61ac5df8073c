//! The JSON Schema of the canonical file, generated from the table of keys.

use serde_json::{Map, Value, json};

use super::keys::{Key, Kind, Need, ROOT};

/// The complete schema.
pub fn schema() -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!("Octroi configuration"));
    schema.extend(table(ROOT));
    Value::Object(schema)
}

fn table(keys: &[Key]) -> Map<String, Value> {
    let properties: Map<String, Value> =
        keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    let required: Vec<&str> =
        keys.iter().filter(|key| key.need == Need::Required).map(|key| key.name).collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    let choices = choices(keys);
    if !choices.is_empty() {
        schema.insert("allOf".to_owned(), json!(choices));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// For each group of keys, the condition that one of them is present.
fn choices(keys: &[Key]) -> Vec<Value> {
    let mut groups: Vec<(&str, Vec<Value>)> = Vec::new();
    for key in keys {
        let Need::OneOf(group) = key.need else {
            continue;
        };
        let choice = json!({ "required": [key.name] });
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, choices)) => choices.push(choice),
            None => groups.push((group, vec![choice])),
        }
    }
    groups.into_iter().map(|(_, choices)| json!({ "anyOf": choices })).collect()
}

fn property(key: &Key) -> Value {
    let mut schema = Map::new();
    let mut about = key.about.to_owned();
    if !key.default.is_empty() {
        about = format!("{about} Default: {}.", key.default);
    }
    schema.insert("description".to_owned(), json!(about));
    schema.extend(kind(key.kind));
    Value::Object(schema)
}

fn kind(kind: Kind) -> Map<String, Value> {
    const DURATION: &str = "^[0-9]+ *(ms|s|m|min|h|d)$";
    let text_or_reference =
        |pattern: &str| json!({ "type": "string", "pattern": format!("{pattern}|\\$\\{{") });
    let duration = json!([{ "type": "integer", "minimum": 0 }, text_or_reference(DURATION)]);
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let schema = match kind {
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::FlagOr(word) => json!({ "enum": [true, false, word] }),
        Kind::Text => json!({ "type": "string" }),
        Kind::Identifier => json!({ "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$" }),
        Kind::Texts => texts,
        Kind::TextMap => json!({
            "type": "object",
            "additionalProperties": { "type": ["string", "integer", "boolean"] },
        }),
        Kind::Command => json!({ "anyOf": [{ "type": "string" }, texts] }),
        Kind::Duration => json!({ "anyOf": duration }),
        Kind::DurationOrOff => json!({ "anyOf": [{ "anyOf": duration }, { "const": false }] }),
        Kind::Count(least) => json!({ "type": "integer", "minimum": least }),
        Kind::Words(words) => json!({ "enum": words() }),
        Kind::WordMap(words) => json!({ "type": "object", "additionalProperties": { "enum": words() } }),
        Kind::Table(keys) => Value::Object(table(keys)),
        Kind::Tables(keys) => json!({ "type": "array", "items": table(keys) }),
        Kind::TableMap(keys) => json!({ "type": "object", "additionalProperties": table(keys) }),
        Kind::TableOrOff(keys) => json!({ "anyOf": [table(keys), { "const": false }] }),
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}
