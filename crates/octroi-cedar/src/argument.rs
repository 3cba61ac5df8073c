//! Arguments of a call as Cedar values, by the types that its tool declared.

use std::collections::BTreeSet;

use cedar_policy::RestrictedExpression as Expression;
use octroi_core::arguments::Exactness;
use serde_json::{Map, Value};

use crate::needs::UsedParts;
use crate::shape::{Record, Scalar, Type};

/// Integers up to here are exact in a floating point number.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Arguments that do not match the tool's declaration. The message names the argument, never its value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Misfit {
    #[error("the arguments are not an object")]
    NoObject,
    #[error("argument `{0}` is missing")]
    Missing(String),
    #[error("argument `{0}` is not {1}")]
    Type(String, &'static str),
    #[error("argument `{0}` is too large for an integer of Cedar")]
    TooLarge(String),
    #[error(
        "an integer of the arguments is written with a fraction or an exponent, so that it may be another one"
    )]
    Rounded,
}

/// The arguments that policies use. Undeclared ones are left out.
pub(crate) fn arguments(
    record: &Record,
    arguments: &Value,
    used: &UsedParts,
    exactness: Exactness,
) -> Result<Expression, Misfit> {
    // A policy must not see 3 where a server reads 2.99999999999999999999.
    if exactness == Exactness::Rounded && has_whole_double(arguments) {
        return Err(Misfit::Rounded);
    }
    let none = Map::new();
    let members = match arguments {
        Value::Object(members) => members,
        Value::Null => &none,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(Misfit::NoObject);
        }
    };
    express_record(record, members, used, &mut String::new())
}

fn has_whole_double(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(|float| float.fract() == 0.0),
        Value::Array(items) => items.iter().any(has_whole_double),
        Value::Object(members) => members.values().any(has_whole_double),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn express_record(
    record: &Record,
    members: &Map<String, Value>,
    used: &UsedParts,
    path: &mut String,
) -> Result<Expression, Misfit> {
    let mut pairs = Vec::new();
    for (name, field) in &record.fields {
        if !used.includes(name) {
            continue;
        }
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(name);
        match members.get(name) {
            None if field.is_required => return Err(Misfit::Missing(path.clone())),
            None => {}
            Some(Value::Null) if field.is_nullable => {}
            Some(value) => pairs.push((name.clone(), express(&field.of, value, path)?)),
        }
        path.truncate(length);
    }
    // The names are keys of a map, so there are no duplicates.
    Expression::new_record(pairs).map_err(|_| Misfit::NoObject)
}

fn express(of: &Type, value: &Value, path: &mut String) -> Result<Expression, Misfit> {
    match (of, value) {
        (Type::Scalar(scalar), _) => express_scalar(*scalar, value, path),
        (Type::Set(scalar), Value::Array(items)) => {
            let items: Result<Vec<_>, _> =
                items.iter().map(|item| express_scalar(*scalar, item, path)).collect();
            items.map(Expression::new_set)
        }
        (Type::Set(_), _) => Err(Misfit::Type(path.clone(), "a list")),
        (Type::Record(record), Value::Object(members)) => {
            express_record(record, members, &UsedParts::All, path)
        }
        (Type::Record(_), _) => Err(Misfit::Type(path.clone(), "an object")),
    }
}

fn express_scalar(scalar: Scalar, value: &Value, path: &str) -> Result<Expression, Misfit> {
    match (scalar, value) {
        (Scalar::Text, Value::String(text)) => Ok(Expression::new_string(text.clone())),
        (Scalar::Text, _) => Err(Misfit::Type(path.to_owned(), "a text")),
        (Scalar::Bool, Value::Bool(truth)) => Ok(Expression::new_bool(*truth)),
        (Scalar::Bool, _) => Err(Misfit::Type(path.to_owned(), "a boolean")),
        (Scalar::Long, Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(long), _) => Ok(Expression::new_long(long)),
            (None, Some(float)) if float.fract() != 0.0 => Err(Misfit::Type(path.to_owned(), "an integer")),
            // JSON Schema accepts 3.0 as an integer, too.
            (None, Some(float)) if float.abs() <= EXACT_MAX =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "it has no fraction and is small enough")]
                Ok(Expression::new_long(float as i64))
            }
            (None, _) => Err(Misfit::TooLarge(path.to_owned())),
        },
        (Scalar::Long, _) => Err(Misfit::Type(path.to_owned(), "an integer")),
    }
}

/// A set of strings.
pub(crate) fn texts<'a>(texts: impl IntoIterator<Item = &'a String>) -> Expression {
    Expression::new_set(texts.into_iter().map(|text| Expression::new_string(text.clone())))
}

/// The parts of a record that policies use; the others are not built.
pub(crate) struct Parts<'a> {
    used: &'a UsedParts,
    pub(crate) pairs: Vec<(String, Expression)>,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(used: &'a UsedParts) -> Self {
        Self { used, pairs: Vec::new() }
    }

    pub(crate) fn put(&mut self, name: &str, value: impl FnOnce() -> Expression) {
        if self.used.includes(name) {
            self.pairs.push((name.to_owned(), value()));
        }
    }

    pub(crate) fn put_text(&mut self, name: &str, text: &str) {
        self.put(name, || Expression::new_string(text.to_owned()));
    }

    pub(crate) fn put_texts(&mut self, name: &str, set: &BTreeSet<String>) {
        self.put(name, || texts(set));
    }

    pub(crate) fn into_record(self) -> Result<Expression, Misfit> {
        Expression::new_record(self.pairs).map_err(|_| Misfit::NoObject)
    }
}
