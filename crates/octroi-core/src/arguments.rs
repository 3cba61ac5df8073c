//! The arguments of a call: parsed strictly, and validated against the tool's schema.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

use jsonschema::{PatternOptions, Validator};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

mod cost;
mod exact;
mod explain;
mod in_place;
mod limits;
mod names;
mod pattern;
mod pointer;
mod unnamed;

use cost::TooCostly;
use limits::SchemaShape;
pub(crate) use names::Names;
use pointer::References;

pub use exact::{Exactness, canonical};

use crate::fold::fold;

/// Limits backtracking of patterns in a schema: servers write schemas, and a slow pattern must not block
/// other calls.
const BACKTRACKING_MAX: usize = 2_000;
/// So large may a compiled pattern be.
const PATTERN_BYTES_MAX: usize = 200_000;
/// So long may an argument be that is a pattern by its format.
const REGEX_LENGTH_MAX: usize = 10_000;
/// So much of a message of the validator is kept: it repeats the schema.
const MESSAGE_MAX: usize = 500;

/// Parses arguments. Duplicate member names are refused: the server might read the other one.
pub fn read(json: &[u8]) -> Result<Value, String> {
    read_exactly(json).map(|(value, _)| value)
}

/// The same, and whether the value shows how its numbers are written.
pub fn read_exactly(json: &[u8]) -> Result<(Value, Exactness), String> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let has_double = Cell::new(false);
    let seed = Unambiguous { has_double: &has_double };
    let value = seed.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    match value {
        Ok(value @ Value::Object(_)) => {
            // Integers show their digits, so that most calls need no second look.
            let exactness = if has_double.get() { Exactness::of(json) } else { Exactness::Exact };
            Ok((value, exactness))
        }
        Ok(_) => Err("arguments must be an object".to_owned()),
        Err(error) => Err(format!("arguments cannot be read: {error}")),
    }
}

/// A compiled schema for validating arguments. JSON Schema 2020-12 unless it says otherwise; remote
/// references are never fetched. Neither compiling nor validating takes more than a bounded number of steps.
#[derive(Debug)]
pub struct ArgumentSchema {
    validator: Validator,
    /// Boxed, because addresses within it are remembered.
    schema: Box<Value>,
    references: References,
    /// Whether validation costs no more than the arguments are long.
    is_plain: bool,
    names: Names,
}

/// Whether arguments that the schema does not name are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strictness {
    /// As the schema says.
    #[default]
    Schema,
    /// They are refused, unless the schema names patterns for them.
    Strict,
}

impl ArgumentSchema {
    /// Compiles a schema, or returns why it cannot be used.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let SchemaShape { is_plain } = limits::check(schema)?;
        let schema = Box::new(schema.clone());
        let references = References::of(&schema)?;
        in_place::check(&schema, &references)?;
        cost::check_unevaluated(&schema, &references)?;
        let patterns =
            PatternOptions::fancy_regex().backtrack_limit(BACKTRACKING_MAX).size_limit(PATTERN_BYTES_MAX);
        let options = jsonschema::options().offline().with_pattern_options(patterns);
        // A text that is compiled as a pattern could cost as much as a pattern in a schema.
        let options = options.with_format("regex", |text: &str| text.len() <= REGEX_LENGTH_MAX);
        let validator = options.build(&schema).map_err(|error| shortened(&error.to_string()))?;
        let names = Names::of(&schema);
        Ok(Self { validator, schema, references, is_plain, names })
    }

    /// Whether the schema names this property, at any level.
    pub fn has_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether the arguments are valid. Many clients send `null` for an omitted member; where it may be omitted,
    /// `null` is accepted too.
    fn is_valid(&self, arguments: &Value) -> bool {
        if self.validator.is_valid(arguments) {
            return true;
        }
        let Some(members) = arguments.as_object().filter(|members| members.values().any(Value::is_null))
        else {
            return false;
        };
        let kept = members.iter().filter(|(_, value)| !value.is_null());
        self.validator
            .is_valid(&Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect()))
    }

    /// The validation errors of arguments of this length, if any. Values are not repeated: they may be secret.
    pub fn complaint(&self, arguments: &Value, n_bytes: u64, strictness: Strictness) -> Option<String> {
        if let Some(complaint) = self.names.complaint(arguments, &|_, _| true) {
            return Some(complaint);
        }
        let too_costly = |TooCostly { steps_max }| {
            Some(format!(
                "arguments: checking them against the tool's input schema would take more than {steps_max} steps"
            ))
        };
        if !self.is_plain
            && let Err(error) = cost::check(&self.schema, &self.references, arguments, n_bytes)
        {
            return too_costly(error);
        }
        if !self.is_valid(arguments) {
            return Some(explain::explain(&self.schema, &self.references, arguments));
        }
        match strictness {
            Strictness::Schema => None,
            Strictness::Strict => unnamed::complaint(&self.schema, &self.references, arguments, n_bytes)
                .unwrap_or_else(too_costly),
        }
    }
}

fn shortened(message: &str) -> String {
    if message.len() <= MESSAGE_MAX {
        return message.to_owned();
    }
    format!("{}…", &message[..message.floor_char_boundary(MESSAGE_MAX)])
}

/// Builds a value and refuses duplicate member names.
#[derive(Clone, Copy)]
struct Unambiguous<'a> {
    /// Set if any number is kept as a double.
    has_double: &'a Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Unambiguous<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unambiguous<'_> {
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
        self.has_double.set(true);
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
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        let mut is_plain = true;
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(self)?;
            is_plain &= matches!(fold(&name), Cow::Borrowed(_));
            if map.contains_key(&name) {
                return Err(A::Error::custom(format!("`{name}` is given twice")));
            }
            map.insert(name, value);
        }
        if !is_plain {
            let mut seen = HashSet::with_capacity(map.len());
            if let Some(name) = map.keys().find(|name| !seen.insert(fold(name))) {
                let name = name.escape_debug();
                return Err(A::Error::custom(format!("`{name}` can be taken for another name beside it")));
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests;
