//! JSON Schemas of requests and answers, in the plain form that every MCP client reads.
//!
//! Clients differ in what they understand, so schemas are written with the least of JSON Schema 2020-12: no
//! references, no formats that only Rust knows, words as `enum`, and an argument that may be left out is simply
//! not required instead of nullable.

use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

/// The schema of what an operation takes.
pub(crate) fn of_request<T: JsonSchema>() -> Value {
    root::<T>(Contract::Deserialize)
}

/// The schema of what an operation answers.
pub(crate) fn of_response<T: JsonSchema>() -> Value {
    root::<T>(Contract::Serialize)
}

/// A generator that keeps shapes apart, for pages that describe each of them once.
pub(crate) fn shapes() -> SchemaGenerator {
    settings(Contract::Serialize).into_generator()
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
    // MCP wants it said of every root, also where the alternatives below say it.
    let mut ordered = Map::from_iter([("type".to_owned(), json!("object"))]);
    ordered.extend(root);
    Value::Object(ordered)
}

/// Brings a schema and everything in it into the plain form.
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
    // `uint64` and the like are names of Rust; validators warn of formats that they do not know.
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

/// The words of an enum whose variants are documented, which comes as one alternative for each word.
fn words_of(alternatives: &Value) -> Option<Value> {
    let words = alternatives.as_array()?.iter().map(|one| one.get("const").filter(|word| word.is_string()));
    words.map(Option::<&Value>::cloned).collect::<Option<Vec<_>>>().map(Value::Array)
}

/// `anyOf` of something with one type and null becomes that type or null.
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
        // What is said of the member counts more than what is said of its type.
        members.entry(name).or_insert(value);
    }
}

/// What may be left out need not be null as well.
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
