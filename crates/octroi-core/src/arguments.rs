//! The arguments of a call: parsed strictly, and validated against the tool's schema.

use std::fmt;

use jsonschema::{PatternOptions, Validator};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Limits backtracking of patterns in a schema: servers write schemas, and a slow pattern must not block
/// other calls.
const BACKTRACKING_MAX: usize = 10_000;
/// At most this many validation errors are reported.
const COMPLAINTS_MAX: usize = 5;

/// Parses arguments. Duplicate member names are refused: the server might read the other one.
pub fn read(json: &[u8]) -> Result<Value, String> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let value = Unambiguous.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    match value {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("arguments must be an object".to_owned()),
        Err(error) => Err(format!("arguments cannot be read: {error}")),
    }
}

/// A compiled schema for validating arguments. JSON Schema 2020-12 unless it says otherwise; remote
/// references are never fetched.
#[derive(Debug)]
pub struct ArgumentSchema {
    validator: Validator,
}

impl ArgumentSchema {
    /// Compiles a schema, or returns why it cannot be used.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKING_MAX);
        let built = jsonschema::options().offline().with_pattern_options(patterns).build(schema);
        match built {
            Ok(validator) => Ok(Self { validator }),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Many clients send `null` for an omitted member. Where it may be omitted, `null` is accepted too.
    fn is_valid_without_nulls(&self, arguments: &Value) -> bool {
        let Some(members) = arguments.as_object().filter(|members| members.values().any(Value::is_null))
        else {
            return false;
        };
        let kept = members.iter().filter(|(_, value)| !value.is_null());
        self.validator
            .is_valid(&Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect()))
    }

    /// The validation errors, if any. Values are not repeated: they may be secret.
    pub fn complaint(&self, arguments: &Value) -> Option<String> {
        if self.validator.is_valid(arguments) || self.is_valid_without_nulls(arguments) {
            return None;
        }
        let complaints: Vec<String> = self
            .validator
            .iter_errors(arguments)
            .take(COMPLAINTS_MAX)
            .map(|error| {
                let path = error.instance_path().to_string();
                let place = if path.is_empty() { "arguments".to_owned() } else { format!("`{path}`") };
                format!("{place}: {}", error.masked_with("the value"))
            })
            .collect();
        Some(complaints.join("; "))
    }
}

/// Builds a value and refuses duplicate member names.
struct Unambiguous;

impl<'de> DeserializeSeed<'de> for Unambiguous {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unambiguous {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("a number is too large"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(Self)?;
            if map.contains_key(&name) {
                return Err(A::Error::custom(format!("`{name}` is given twice")));
            }
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_read_in_one_way_only() {
        for (text, expected) in [
            ("{}", Ok(json!({}))),
            (r#"{"a":[1,-2,0.5,true,null,"x",{}]}"#, Ok(json!({"a": [1, -2, 0.5, true, null, "x", {}]}))),
            (r#"{"a":1,"a":2}"#, Err("`a` is given twice")),
            (r#"{"x":[{"a":1,"\u0061":2}]}"#, Err("`a` is given twice")),
            ("[]", Err("arguments must be an object")),
            ("{} {}", Err("arguments cannot be read")),
            (r#"{"a":1e999}"#, Err("arguments cannot be read")),
            ("", Err("arguments cannot be read")),
        ] {
            match (read(text.as_bytes()), expected) {
                (Ok(value), Ok(expected)) => assert_eq!(value, expected),
                (Err(error), Err(expected)) => assert!(error.contains(expected), "{text}: {error}"),
                (read, _) => panic!("{text}: {read:?}"),
            }
        }
    }

    #[test]
    fn arguments_are_checked_as_the_schema_says() {
        let schema = ArgumentSchema::new(&json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "count": {"type": "integer", "maximum": 5}},
            "required": ["path"],
        }))
        .unwrap();
        assert_eq!(schema.complaint(&json!({"path": "x"})), None);
        assert_eq!(schema.complaint(&json!({"path": "x", "other": 1})), None, "only what the schema forbids");
        assert_eq!(schema.complaint(&json!({"path": "x", "count": null})), None, "as if it were left out");
        assert!(schema.complaint(&json!({"path": null})).is_some(), "what is required cannot be left out");
        let missing = schema.complaint(&json!({"count": 1})).unwrap();
        assert!(missing.contains("path") && missing.contains("required"), "{missing}");
        let secret = schema.complaint(&json!({"path": 5, "count": "hunter2"})).unwrap();
        assert!(secret.contains("`/count`") && !secret.contains("hunter2"), "{secret}");
    }

    #[test]
    fn a_schema_that_cannot_be_used_says_why() {
        for schema in [
            json!({"type": "nonsense"}),
            json!({"$ref": "https://example.com/schema.json"}),
            json!({"$ref": "file:///etc/passwd"}),
            json!({"properties": {"a": {"pattern": "("}}}),
            json!([]),
        ] {
            assert!(ArgumentSchema::new(&schema).is_err(), "{schema}");
        }
        assert!(ArgumentSchema::new(&json!({})).is_ok());
        assert!(ArgumentSchema::new(&json!({"$schema": "http://json-schema.org/draft-07/schema#"})).is_ok());
    }

    #[test]
    fn a_pattern_that_backtracks_for_ever_refuses_instead() {
        let schema = json!({"properties": {"a": {"pattern": "^(?=(a+)+$)(a|aa)+$"}}});
        let schema = ArgumentSchema::new(&schema).unwrap();
        let hard = format!("{}b", "a".repeat(50));
        assert!(schema.complaint(&json!({"a": hard})).is_some());
    }
}
