//! Lossless JSON: numbers keep their digits, and members their order and their duplicates.
//!
//! People must approve exactly what a server or a model reads. A parser that rounds numbers or drops one of
//! two duplicate members would hide a difference.

mod parser;
#[cfg(test)]
mod tests;

pub use parser::JsonError;

/// The nesting limit of arrays and objects.
pub(crate) const DEPTH_MAX: usize = 128;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    /// The original digits.
    Number(String),
    Text(String),
    List(Vec<Node>),
    /// In the order of the text.
    Map(Vec<(String, Node)>),
}

/// How to treat duplicate member names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubles {
    /// They are an error: parsers differ in which one they take.
    Refused,
    /// Both are kept.
    Kept,
}

impl Node {
    /// Parses a whole text.
    pub(crate) fn parse(json: &[u8], doubles: Doubles) -> Result<Self, JsonError> {
        parser::parse(json, doubles)
    }

    /// The member of this name, if this is an object that has it.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(members) => members.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    /// The string, if this is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::List(_) | Self::Map(_) => None,
        }
    }
}

/// Appends a JSON string with the shortest escapes.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    push_escaped(out, text);
    out.push('"');
}

/// Appends it without the quotes.
pub(crate) fn push_escaped(out: &mut String, text: &str) {
    let mut rest = text;
    // All escaped characters are single bytes.
    while let Some(at) = rest.bytes().position(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        out.push_str(&rest[..at]);
        push_escaped_char(out, char::from(rest.as_bytes()[at]));
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// One character, escaped for a JSON string.
pub(crate) fn push_escaped_char(out: &mut String, character: char) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{c}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        control if control < ' ' => {
            out.push_str("\\u00");
            for digit in [u32::from(control) >> 4, u32::from(control) & 15] {
                out.extend(char::from_digit(digit, 16));
            }
        }
        other => out.push(other),
    }
}
