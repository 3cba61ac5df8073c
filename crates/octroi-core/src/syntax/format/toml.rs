//! TOML.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::node::{Map, Node, Value};
use super::{File, SyntaxError};

pub(super) fn parse(file: &File<'_>) -> Result<Node, SyntaxError> {
    let table = DeTable::parse(file.text)
        .map_err(|error| file.error_at(error.span().map_or(0, |span| span.start), error.message().trim()))?;
    let value = Value::Map(map(file, table.get_ref())?);
    Ok(Node { value, origin: file.line(1) })
}

fn map(file: &File<'_>, table: &DeTable<'_>) -> Result<Map, SyntaxError> {
    let mut map = Map::default();
    for (key, value) in table {
        let line = file.line_of(key.span().start);
        file.insert(&mut map, key.get_ref().to_string(), line, node(file, value)?)?;
    }
    map.sort_by_line();
    Ok(map)
}

fn node(file: &File<'_>, spanned: &Spanned<DeValue<'_>>) -> Result<Node, SyntaxError> {
    let value = match spanned.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Other(number.as_str().to_owned()),
        },
        DeValue::Float(number) => Value::Other(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Datetime(time) => Value::Other(time.to_string()),
        DeValue::Array(items) => {
            Value::List(items.iter().map(|item| node(file, item)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Value::Map(map(file, table)?),
    };
    Ok(Node { value, origin: file.offset(spanned.span().start) })
}
