//! JSON with comments and trailing commas, otherwise strict.

use jsonc_parser::ast::Value as Json;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::super::node::{Map, Node, Value};
use super::{File, SyntaxError};

const RULES: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn parse(file: &File<'_>) -> Result<Node, SyntaxError> {
    let parsed = parse_to_ast(file.text, &CollectOptions::default(), &RULES)
        .map_err(|error| file.error_at(error.range().start, error.kind().to_string()))?;
    match parsed.value {
        Some(value) => node(file, &value),
        None => Ok(Node { value: Value::Map(Map::default()), origin: file.line(1) }),
    }
}

fn node(file: &File<'_>, json: &Json<'_>) -> Result<Node, SyntaxError> {
    let value = match json {
        Json::NullKeyword(_) => Value::Null,
        Json::BooleanLit(literal) => Value::Bool(literal.value),
        Json::NumberLit(literal) => match literal.value.parse() {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Other(literal.value.to_owned()),
        },
        Json::StringLit(literal) => Value::Text(literal.value.to_string()),
        Json::Array(array) => {
            Value::List(array.elements.iter().map(|item| node(file, item)).collect::<Result<_, _>>()?)
        }
        Json::Object(object) => {
            let mut map = Map::default();
            for property in &object.properties {
                let line = file.line_of(property.range.start);
                file.insert(&mut map, property.name.as_str().to_owned(), line, node(file, &property.value)?)?;
            }
            Value::Map(map)
        }
    };
    Ok(Node { value, origin: file.offset(json.start()) })
}
