//! JSON Schemas of requests and answers, in a simple form that every MCP client can read.
//!
//! Clients differ in what they support, so schemas use a minimum of JSON Schema 2020-12: no references, no
//! Rust-specific formats, words as `enum`, and an optional argument is simply not required instead of
//! nullable.

use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

/// The schema of an operation's request.
pub(crate) fn of_request<T: JsonSchema>() -> Value {
    root::<T>(Contract::Deserialize)
}

/// The schema of an operation's answer.
pub(crate) fn of_response<T: JsonSchema>() -> Value {
    root::<T>(Contract::Serialize)
}

/// A generator that keeps shapes as separate definitions, for pages that describe each of them once.
pub(crate) fn shapes() -> SchemaGenerator {
    settings(Contract::Serialize).into_generator()
}

/// The same for requests.
pub(crate) fn request_shapes() -> SchemaGenerator {
    settings(Contract::Deserialize).into_generator()
}

fn settings(contract: Contract) -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.contract = contract;
        settings.meta_schema = None;
    })
}

fn root<T: JsonSchema>(contract: Contract) -> Value {
    let settings = settings(contract).with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    let Value::Object(mut root) = schema else {
        return json!({"type": "object"});
    };
    root.remove("title");
    root.remove("description");
    // MCP requires it of every root, even if the alternatives below state it.
    let mut ordered = Map::from_iter([("type".to_owned(), json!("object"))]);
    ordered.extend(root);
    Value::Object(ordered)
}

/// Converts a schema and everything in it to the simple form.
pub(crate) fn simplify(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Object(members) => {
            members.values_mut().for_each(simplify);
            simplify_object(members);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn simplify_object(members: &mut Map<String, Value>) {
    // `uint64` and the like are Rust-specific; validators warn of unknown formats.
    if members.get("format").and_then(Value::as_str).is_some_and(|format| format.contains("int")) {
        members.remove("format");
    }
    if let Some(Value::String(text)) = members.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    if let Some(words) = members.get("oneOf").and_then(words_of) {
        members.remove("oneOf");
        members.insert("type".to_owned(), json!("string"));
        members.insert("enum".to_owned(), words);
    }
    join_null(members);
    let required: Vec<String> = match members.get("required").and_then(Value::as_array) {
        Some(names) => names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect(),
        None => Vec::new(),
    };
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            if let (false, Value::Object(property)) = (required.contains(name), property) {
                forbid_null(property);
            }
        }
    }
}

/// The words of an enum with documented variants, which schemars writes as one alternative for each.
fn words_of(alternatives: &Value) -> Option<Value> {
    let words = alternatives.as_array()?.iter().map(|one| one.get("const").filter(|word| word.is_string()));
    words.map(Option::<&Value>::cloned).collect::<Option<Vec<_>>>().map(Value::Array)
}

/// `anyOf` of one type and null becomes that type or null.
fn join_null(members: &mut Map<String, Value>) {
    let null = json!({"type": "null"});
    let Some([Value::Object(some), other]) =
        members.get("anyOf").and_then(Value::as_array).map(Vec::as_slice)
    else {
        return;
    };
    let Some(kind) = some.get("type").filter(|kind| kind.is_string() && *other == null).cloned() else {
        return;
    };
    let mut joined = some.clone();
    joined.insert("type".to_owned(), json!([kind, "null"]));
    if let Some(Value::Array(words)) = joined.get_mut("enum") {
        words.push(Value::Null);
    }
    members.remove("anyOf");
    for (name, value) in joined {
        // The description of the member takes precedence over that of its type.
        members.entry(name).or_insert(value);
    }
}

/// An optional member need not be nullable as well.
fn forbid_null(property: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = property.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(words)) = property.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if property.get("default").is_some_and(Value::is_null) {
        property.remove("default");
    }
}
