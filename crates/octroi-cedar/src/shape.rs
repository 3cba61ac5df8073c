//! Converts the JSON Schema of a tool's arguments to Cedar types.
//!
//! Only types that certainly match are converted. Everything without a Cedar type (numbers with a fraction,
//! values of several types, objects with unknown members) is left out, and policies cannot refer to it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The nesting limit of objects.
const DEPTH_MAX: usize = 6;
/// The maximum number of a tool's arguments, including nested ones. Definitions that refer to each other
/// could grow without limit.
const FIELDS_MAX: usize = 500;
/// The maximum length of a chain of references.
const REFERENCES_MAX: usize = 8;

/// The Cedar type of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Scalar(Scalar),
    Set(Scalar),
    Record(Record),
}

/// A type without parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Text,
    Bool,
    Long,
}

/// An object with known members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) fields: BTreeMap<String, Field>,
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) of: Type,
    /// It is always present and never null.
    pub(crate) is_required: bool,
    /// It may be null, which counts as absent: Cedar has no null.
    pub(crate) is_nullable: bool,
}

/// An argument that policies cannot refer to, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) path: Vec<String>,
    pub(crate) why: &'static str,
}

/// The arguments of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) record: Record,
    pub(crate) left_out: Vec<LeftOut>,
}

/// Converts a tool's input schema. If the result is too large, it is converted again with less depth.
pub(crate) fn arguments(input_schema: &Value) -> Arguments {
    for depth_max in (1..=DEPTH_MAX).rev() {
        let mut reader = SchemaReader { root: input_schema, depth_max, n_fields: 0, left_out: Vec::new() };
        let record = match reader.type_of(input_schema, 0, &mut Vec::new()) {
            Ok((Type::Record(record), _)) => record,
            Ok((Type::Scalar(_) | Type::Set(_), _)) => return nothing("arguments that are not an object"),
            // No properties at all: a tool without arguments.
            Err(_) if input_schema.get("$ref").is_none() && input_schema.get("properties").is_none() => {
                return Arguments::default();
            }
            Err(why) => return nothing(why),
        };
        if reader.n_fields <= FIELDS_MAX {
            return Arguments { record, left_out: reader.left_out };
        }
    }
    nothing("more arguments than a policy could name")
}

fn nothing(why: &'static str) -> Arguments {
    Arguments { record: Record::default(), left_out: vec![LeftOut { path: Vec::new(), why }] }
}

struct SchemaReader<'a> {
    root: &'a Value,
    depth_max: usize,
    n_fields: usize,
    left_out: Vec<LeftOut>,
}

impl<'a> SchemaReader<'a> {
    /// The type, and whether it may be null.
    fn type_of(
        &mut self,
        schema: &'a Value,
        depth: usize,
        path: &mut Vec<String>,
    ) -> Result<(Type, bool), &'static str> {
        let schema = self.resolve(schema)?;
        let Some((word, is_nullable)) = type_word(schema)? else {
            return self.type_of_alternatives(schema, depth, path);
        };
        let of = match word {
            "string" => Type::Scalar(Scalar::Text),
            "boolean" => Type::Scalar(Scalar::Bool),
            "integer" => Type::Scalar(Scalar::Long),
            "number" => return Err("numbers with a fraction"),
            "array" => self.set(schema, depth, path)?,
            "object" => Type::Record(self.record(schema, depth, path)?),
            _ => return Err("an unknown type"),
        };
        Ok((of, is_nullable))
    }

    fn resolve(&self, mut schema: &'a Value) -> Result<&'a Value, &'static str> {
        for _ in 0..REFERENCES_MAX {
            let Some(reference) = schema.get("$ref") else {
                return Ok(schema);
            };
            schema = reference
                .as_str()
                .and_then(|text| text.strip_prefix('#'))
                .filter(|pointer| pointer.starts_with("/$defs/") || pointer.starts_with("/definitions/"))
                .and_then(|pointer| self.root.pointer(pointer))
                .ok_or("a reference that leads out of the definition")?;
        }
        Err("a reference to a reference, too often")
    }

    /// One type besides null is that type; more have no Cedar type.
    fn type_of_alternatives(
        &mut self,
        schema: &'a Value,
        depth: usize,
        path: &mut Vec<String>,
    ) -> Result<(Type, bool), &'static str> {
        if depth > self.depth_max {
            return Err("too deep");
        }
        let listed = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(key)?.as_array());
        let alternatives = listed.ok_or("no type")?;
        let mut others = alternatives.iter().filter(|one| !is_null(one));
        match (others.next(), others.next()) {
            (Some(only), None) => {
                let (of, is_nullable) = self.type_of(only, depth + 1, path)?;
                let has_null = alternatives.len() > 1 && schema.get("allOf").is_none();
                Ok((of, is_nullable || has_null))
            }
            _ => Err("values of several types"),
        }
    }

    fn set(&mut self, schema: &'a Value, depth: usize, path: &mut Vec<String>) -> Result<Type, &'static str> {
        const MIXED: &str = "a list whose items are not all texts, all booleans or all integers";
        if schema.get("prefixItems").is_some() || depth > self.depth_max {
            return Err(MIXED);
        }
        let items = self.resolve(schema.get("items").ok_or(MIXED)?)?;
        // Lists of objects are not converted, so their members do not count.
        if matches!(type_word(items)?, Some(("object" | "array", _))) {
            return Err(MIXED);
        }
        match self.type_of(items, depth + 1, path)? {
            (Type::Scalar(scalar), false) => Ok(Type::Set(scalar)),
            (Type::Scalar(_) | Type::Set(_) | Type::Record(_), _) => Err(MIXED),
        }
    }

    fn record(
        &mut self,
        schema: &'a Value,
        depth: usize,
        path: &mut Vec<String>,
    ) -> Result<Record, &'static str> {
        let properties = schema.get("properties").and_then(Value::as_object);
        let properties = properties.filter(|properties| !properties.is_empty());
        let properties = properties.ok_or("an object whose members are not listed")?;
        if depth >= self.depth_max {
            return Err("too deep");
        }
        let required: BTreeSet<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut fields = BTreeMap::new();
        for (name, property) in properties {
            self.n_fields += 1;
            if self.n_fields > FIELDS_MAX {
                break;
            }
            path.push(name.clone());
            match self.type_of(property, depth + 1, path) {
                Ok((of, is_nullable)) => {
                    let is_required = required.contains(name.as_str()) && !is_nullable;
                    fields.insert(name.clone(), Field { of, is_required, is_nullable });
                }
                Err(why) => self.left_out.push(LeftOut { path: path.clone(), why }),
            }
            path.pop();
        }
        Ok(Record { fields })
    }
}

/// The one type besides null that a schema names, if any.
fn type_word(schema: &Value) -> Result<Option<(&str, bool)>, &'static str> {
    let words: Vec<&str> = match schema.get("type") {
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(implied_type_word(schema)),
    };
    let is_nullable = words.len() > 1 && words.contains(&"null");
    let mut others = words.into_iter().filter(|word| *word != "null");
    match (others.next(), others.next()) {
        (Some(word), None) => Ok(Some((word, is_nullable))),
        (None, _) => Err("always null"),
        (Some(_), Some(_)) => Err("values of several types"),
    }
}

/// The type of enumerated values or members, where it is not stated.
fn implied_type_word(schema: &Value) -> Option<(&str, bool)> {
    let constant = schema.get("const").map(std::slice::from_ref);
    let values = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice).or(constant);
    let Some(values) = values else {
        return schema.get("properties").map(|_| ("object", false));
    };
    let is_nullable = values.iter().any(Value::is_null);
    let mut others = values.iter().filter(|value| !value.is_null()).peekable();
    others.peek()?;
    let others: Vec<&Value> = others.collect();
    if others.iter().all(|value| value.is_string()) {
        Some(("string", is_nullable))
    } else if others.iter().all(|value| value.is_boolean()) {
        Some(("boolean", is_nullable))
    } else if others.iter().all(|value| value.is_i64()) {
        Some(("integer", is_nullable))
    } else {
        None
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|word| word == "null") || schema.get("const").is_some_and(Value::is_null)
}

#[cfg(test)]
mod tests;
