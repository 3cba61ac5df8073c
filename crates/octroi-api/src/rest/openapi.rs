//! The description of the REST interface in `OpenAPI` 3.1, generated from the tables.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{DESCRIPTION_PATH, Method, Place, Route, routes};
use crate::access::Face;
use crate::error::ErrorCode;
use crate::operation::{Effect, OperationEntry};
use crate::operations::OPERATIONS;
use crate::problem::{PROBLEM_TYPE, Problem};
use crate::schema;

/// What every route can answer, whatever it is about.
const OF_EVERY_REQUEST: [ErrorCode; 7] = [
    ErrorCode::Unauthenticated,
    ErrorCode::Forbidden,
    ErrorCode::InvalidRequest,
    ErrorCode::InvalidParams,
    ErrorCode::InvalidArguments,
    ErrorCode::LimitExceeded,
    ErrorCode::TooManyConnections,
];

/// What every route with a body can answer as well.
const OF_EVERY_BODY: [ErrorCode; 4] = [
    ErrorCode::ParseError,
    ErrorCode::UnsupportedMediaType,
    ErrorCode::RequestTooLarge,
    ErrorCode::RequestTooSlow,
];

/// The whole description.
pub fn openapi() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    let mut shared: Vec<(&Route, Vec<&OperationEntry>)> = Vec::new();
    for (operation, route) in routes() {
        let same = |known: &Route| known.method == route.method && known.path == route.path;
        match shared.iter_mut().find(|(known, _)| same(known)) {
            Some((_, operations)) => operations.push(operation),
            None => shared.push((route, vec![operation])),
        }
    }
    for (route, operations) in &shared {
        let at_path = paths.entry(route.path).or_insert_with(|| json!({}));
        at_path[route.method.as_str().to_lowercase()] = describe(route, operations);
    }
    paths.insert(DESCRIPTION_PATH.to_owned(), json!({"get": of_itself()}));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Octroi",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "The REST interface of the gateway",
            "description": "Servers, templates, sessions, tools, health and the audit log for scripts. \
                Agents, approvals and policies are managed over MCP, at /mcp. Errors are problem details \
                (RFC 9457), in English or Chinese as `Accept-Language` says.",
        },
        "servers": [{"url": "/"}],
        "tags": tags(),
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A person's token; for calls and tools also an agent's.",
                },
            },
            "schemas": {"Problem": schema::of_response::<Problem>()},
        },
    })
}

/// The groups with routes.
fn tags() -> Vec<Value> {
    let with_routes =
        OPERATIONS.iter().filter(|group| group.operations.iter().any(|one| !one.rest.is_empty()));
    with_routes.map(|group| json!({"name": group.title})).collect()
}

fn group_of(operation: &OperationEntry) -> &'static str {
    let of = OPERATIONS.iter().find(|group| group.operations.iter().any(|one| one.name == operation.name));
    of.map_or("", |group| group.title)
}

/// One route: its operation for people, and the one for agents if there is one.
fn describe(route: &Route, operations: &[&OperationEntry]) -> Value {
    let mut operations = operations.to_vec();
    operations.sort_by_key(|one| !one.has_face(Face::Management));
    let Some(first) = operations.first() else {
        return json!({});
    };
    let is_for_agents = operations.iter().any(|one| one.has_face(Face::Agent));
    let whose = if is_for_agents { "" } else { " Only with a person's token." };
    let id = match route.fixed {
        Some((_, text)) => format!("{}_{text}", first.name),
        None => first.name.to_owned(),
    };
    let schema = request_schema(route, &operations);
    let mut described = json!({
        "operationId": id,
        "tags": [group_of(first)],
        "summary": first.title,
        "description": format!("{}{whose}", first.description),
        "parameters": parameters(route, &schema),
        "responses": responses(route, &operations),
    });
    if route.place == Place::Body {
        let has_required = schema["required"].as_array().is_some_and(|names| !names.is_empty());
        described["requestBody"] =
            json!({"required": has_required, "content": {"application/json": {"schema": schema}}});
    }
    described
}

/// The arguments, without those that the path has: what one of the operations does not need is not required.
fn request_schema(route: &Route, operations: &[&OperationEntry]) -> Value {
    let mut schema = operations.first().map(|one| one.input_schema()).unwrap_or_default();
    for other in operations.iter().skip(1).map(|one| one.input_schema()) {
        let needed = |name: &Value| other["required"].as_array().is_some_and(|names| names.contains(name));
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(needed);
        }
    }
    let in_path = route.id.filter(|_| route.place == Place::Body);
    for member in route.fixed.map(|(member, _)| member).into_iter().chain(in_path) {
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.remove(member);
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| name != member);
        }
    }
    schema
}

fn parameters(route: &Route, schema: &Value) -> Vec<Value> {
    let mut parameters = Vec::new();
    if let Some(member) = route.id {
        let about = match schema["properties"][member]["description"].as_str() {
            Some(about) => about.to_owned(),
            None => format!("The `{member}` of what the request is about"),
        };
        parameters.push(json!({
            "name": "id", "in": "path", "required": true, "description": about,
            "schema": {"type": "string", "minLength": 1},
        }));
    }
    let Place::Query(names) = route.place else {
        return parameters;
    };
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (member, property) in schema["properties"].as_object().into_iter().flatten() {
        if route.id == Some(member.as_str()) {
            continue;
        }
        let name = names.iter().find(|(_, known)| known == member).map_or(member.as_str(), |(name, _)| *name);
        let mut shape = property.clone();
        let about = shape.as_object_mut().and_then(|shape| shape.remove("description"));
        parameters.push(json!({
            "name": name,
            "in": "query",
            "required": required.iter().any(|one| one == member),
            "description": about,
            "schema": shape,
        }));
    }
    parameters
}

fn responses(route: &Route, operations: &[&OperationEntry]) -> Value {
    let mut codes: Vec<ErrorCode> = OF_EVERY_REQUEST.to_vec();
    if route.place == Place::Body {
        codes.extend(OF_EVERY_BODY);
    }
    if !operations.iter().any(|one| one.has_face(Face::Agent)) {
        codes.push(ErrorCode::PeopleOnly);
    }
    let mut may_wait = false;
    for operation in operations {
        codes.extend(operation.all_errors());
        if let Some(outcome) = operation.rest_outcome {
            codes.extend(outcome.errors);
            may_wait |= outcome.may_wait;
        }
    }
    let schema = operations.first().map(|one| one.output_schema()).unwrap_or_default();
    let answer = |about: &str| {
        json!({
            "description": about,
            "headers": {"X-Request-Id": {
                "description": "The id of the request", "schema": {"type": "string"},
            }},
            "content": {"application/json": {"schema": schema}},
        })
    };
    let calls = operations.first().is_some_and(|one| matches!(one.effect, Effect::Calls));
    let about = match (calls, route.status) {
        (true, _) => "The tool answered; `success` says whether it did what it was asked to",
        (false, 201) => "It was made",
        (false, _) if route.method == Method::Delete => "It was removed",
        (false, _) => "The answer",
    };
    let mut responses = Map::from_iter([(route.status.to_string(), answer(about))]);
    if may_wait {
        let about = "Nothing was done yet: a person has to decide, and `hint` says how to go on";
        responses.insert("202".to_owned(), answer(about));
    }
    let mut by_status: BTreeMap<u16, Vec<ErrorCode>> = BTreeMap::new();
    codes.sort_unstable();
    codes.dedup();
    for code in codes {
        by_status.entry(code.spec().http).or_default().push(code);
    }
    // A failure that is an answer is described with the answers.
    by_status.remove(&route.status);
    for (status, codes) in by_status {
        responses.insert(status.to_string(), failure(status, &codes));
    }
    Value::Object(responses)
}

fn failure(status: u16, codes: &[ErrorCode]) -> Value {
    let words: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    let mut described = json!({
        "description": words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        "content": {PROBLEM_TYPE: {"schema": {
            "allOf": [{"$ref": "#/components/schemas/Problem"}],
            "type": "object",
            "properties": {"status": {"const": status}, "code": {"enum": words}},
        }}},
    });
    if status == 401 {
        described["headers"] = json!({"WWW-Authenticate": {"schema": {"type": "string"}, "required": true}});
    }
    described
}

fn of_itself() -> Value {
    json!({
        "operationId": "openapi",
        "summary": "This description",
        "description": "The description of this interface in OpenAPI 3.1. It needs no token.",
        "security": [],
        "responses": {
            "200": {
                "description": "The description",
                "content": {"application/json": {"schema": {"type": "object"}}},
            },
            "400": failure(400, &[ErrorCode::InvalidRequest]),
            "403": failure(403, &[ErrorCode::Forbidden]),
        },
    })
}
