//! JSON that loses nothing: numbers keep their digits, and members their order and their doubles.
//!
//! What people approve and what is shown to them must be what a server or a model reads. A parser that rounds
//! numbers or drops the first of two equal members would hide a difference.

mod parser;
#[cfg(test)]
mod tests;

pub use parser::JsonError;

/// So deep may arrays and objects be nested.
pub(crate) const DEPTH_MAX: usize = 128;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    /// In the order of the text.
    Map(Vec<(String, Node)>),
}

/// What to do about two members of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubles {
    /// The text is in error: readers differ in which one they take.
    Refused,
    /// Both are kept.
    Kept,
}

impl Node {
    /// Reads a whole text.
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

    /// The text, if this is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::List(_) | Self::Map(_) => None,
        }
    }
}

/// Appends a JSON string: only what must be escaped is, in the shortest way.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    push_escaped(out, text);
    out.push('"');
}

/// The same without the quotes.
pub(crate) fn push_escaped(out: &mut String, text: &str) {
    let mut rest = text;
    // All that is escaped is of one byte.
    while let Some(at) = rest.bytes().position(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        out.push_str(&rest[..at]);
        push_escaped_char(out, char::from(rest.as_bytes()[at]));
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// One character as it stands within a JSON string.
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
