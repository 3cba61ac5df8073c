//! The arguments of an operation from the path, the query and the body of a request.

use serde_json::{Map, Number, Value};

use super::{FoundRoute, Place};
use crate::error::{ApiError, ErrorCode};

/// What a request has besides its path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// The decoded parameters of the query, in their order.
    pub query: Vec<(String, String)>,
    /// The decoded text of `{id}` in the path.
    pub id: String,
    /// The body; `None` if the request has none.
    pub body: Option<Value>,
}

impl FoundRoute<'_> {
    /// The arguments that a request has for the operation. Whether they are valid is for the operation to say.
    pub fn arguments(&self, given: Given) -> Result<Value, ApiError> {
        let Given { query, id, body } = given;
        let mut arguments = match (self.route.place, body) {
            (Place::Body, Some(Value::Object(members))) => members,
            (Place::Body, Some(_)) => {
                return Err(ApiError::new(ErrorCode::InvalidParams, "the body must be a JSON object"));
            }
            (Place::Body, None) | (Place::Query(_), _) => Map::new(),
        };
        let schema = self.operation.input_schema();
        for (name, value) in query {
            self.take(&mut arguments, &schema, &name, value)?;
        }
        let path = self.route.id.map(|member| (member, id));
        let fixed = self.route.fixed.map(|(member, text)| (member, text.to_owned()));
        for (member, text) in path.into_iter().chain(fixed) {
            if arguments.contains_key(member) {
                let message = format!("`{member}` follows from the path, so it cannot be given");
                return Err(ApiError::new(ErrorCode::InvalidParams, message));
            }
            arguments.insert(member.to_owned(), Value::String(text));
        }
        Ok(Value::Object(arguments))
    }

    /// Adds a parameter of the query.
    fn take(
        &self,
        arguments: &mut Map<String, Value>,
        schema: &Value,
        name: &str,
        text: String,
    ) -> Result<(), ApiError> {
        let unknown = || {
            ApiError::new(ErrorCode::InvalidParams, format!("there is no parameter `{name}` in this query"))
        };
        let Place::Query(names) = self.route.place else {
            return Err(unknown());
        };
        let member = match names.iter().find(|(in_query, _)| *in_query == name) {
            Some((_, member)) => *member,
            None if names.iter().any(|(_, member)| *member == name) => return Err(unknown()),
            None => name,
        };
        let property = &schema["properties"][member];
        if property.is_null() || self.route.id == Some(member) {
            return Err(unknown());
        }
        if property["type"] == "array" {
            let item = value(&property["items"], text);
            match arguments.entry(member).or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(items) => items.push(item),
                other => *other = Value::Array(vec![item]),
            }
            return Ok(());
        }
        if arguments.insert(member.to_owned(), value(property, text)).is_some() {
            let message = format!("the parameter `{name}` is given more than once");
            return Err(ApiError::new(ErrorCode::InvalidParams, message));
        }
        Ok(())
    }
}

/// A text as a value of the type that the schema declares; as text if it is none, which the operation refuses.
fn value(schema: &Value, text: String) -> Value {
    match schema["type"].as_str() {
        Some("boolean") => match text.as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::String(text),
        },
        Some("integer") => match text.parse::<u64>() {
            // `+1` and `01` are not how JSON writes a number.
            Ok(number) if number.to_string() == text => Value::Number(Number::from(number)),
            _ => Value::String(text),
        },
        _ => Value::String(text),
    }
}
