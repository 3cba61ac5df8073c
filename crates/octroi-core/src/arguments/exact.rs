//! Arguments exactly as they are written: numbers keep their digits.
//!
//! Parsers hold many numbers as the nearest double. Two texts that round to the same double are still two different
//! calls: a server may read account 12345678901234567891 where somebody approved 12345678901234567890.

use serde_json::Number;

use crate::json::{Doubles, JsonError, Node, push_string};

/// Whether the numbers of parsed arguments stand for exactly one text each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exactness {
    /// Equal values were written with equal digits.
    #[default]
    Exact,
    /// At least one number is written in a way that its value does not show, such as `1.50` or `1e400`.
    Rounded,
}

impl Exactness {
    /// Finds numbers whose value does not show how they are written. The text must be valid JSON.
    pub(super) fn of(json: &[u8]) -> Self {
        let mut rest = json;
        loop {
            let Some(start) = rest.iter().position(|byte| matches!(byte, b'"' | b'-' | b'0'..=b'9')) else {
                return Self::Exact;
            };
            rest = &rest[start..];
            if rest[0] == b'"' {
                rest = after_string(rest);
                continue;
            }
            let is_part = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
            let end = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
            let (number, after) = rest.split_at(end);
            let written = serde_json::from_slice::<Number>(number).map(|value| value.to_string());
            // Zero equals minus zero.
            if number.starts_with(b"-0.0") || !written.is_ok_and(|written| written.as_bytes() == number) {
                return Self::Rounded;
            }
            rest = after;
        }
    }
}

fn after_string(text: &[u8]) -> &[u8] {
    let mut position = 1;
    loop {
        match text.get(position) {
            None => return &[],
            Some(b'"') => return &text[position + 1..],
            Some(b'\\') => position += 2,
            Some(_) => position += 1,
        }
    }
}

/// One text for arguments, independent of spacing, escapes and the order of members. Numbers stay as they are
/// written, so that two texts of a number are two different arguments.
pub fn canonical(json: &[u8]) -> Result<Vec<u8>, JsonError> {
    let mut out = String::with_capacity(json.len());
    write(&mut out, &Node::parse(json, Doubles::Refused)?);
    Ok(out.into_bytes())
}

fn write(out: &mut String, node: &Node) {
    match node {
        Node::Null => out.push_str("null"),
        Node::Bool(true) => out.push_str("true"),
        Node::Bool(false) => out.push_str("false"),
        Node::Number(text) => out.push_str(text),
        Node::Text(text) => push_string(out, text),
        Node::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, item);
            }
            out.push(']');
        }
        Node::Map(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            out.push('{');
            for (index, (name, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_string(out, name);
                out.push(':');
                write(out, value);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of numbers that are one double, or one value, and still two texts.
    const TWINS: [(&str, &str); 10] = [
        ("0.0", "-0.0"),
        ("12345678901234567890123", "12345678901234567890124"),
        ("18446744073709551616", "18446744073709551617"),
        ("-9223372036854775809", "-9223372036854775810"),
        ("0.1", "0.10000000000000000001"),
        ("1.5", "1.50"),
        ("1e2", "100.0"),
        ("100", "100.0"),
        ("0", "-0"),
        ("1E2", "1e2"),
    ];

    #[test]
    fn two_texts_of_a_number_are_two_arguments() {
        for (one, other) in TWINS {
            let text = |number: &str| canonical(format!(r#"{{"n":[{number}]}}"#).as_bytes()).unwrap();
            assert_ne!(text(one), text(other), "{one} {other}");
            let is_rounded = |number: &str| {
                let json = format!(r#"{{"text \" 1.50":"1.50","n":[{number}]}}"#);
                Exactness::of(json.as_bytes()) == Exactness::Rounded
            };
            let (first, second): (serde_json::Value, serde_json::Value) =
                (serde_json::from_str(one).unwrap(), serde_json::from_str(other).unwrap());
            assert!(first != second || is_rounded(one) || is_rounded(other), "{one} {other}");
        }
    }

    #[test]
    fn what_only_looks_different_is_the_same() {
        let one = canonical(br#" {"b":[1, 2.5], "a":"\u0061\/"} "#).unwrap();
        assert_eq!(one, canonical(br#"{"a":"a/","b":[1,2.5]}"#).unwrap());
        assert_eq!(one, br#"{"a":"a/","b":[1,2.5]}"#);
    }

    #[test]
    fn usual_numbers_are_exact() {
        for json in ["{}", "[0,1,-1,2.5,-0.25,18446744073709551615,-9223372036854775808,0.1]", r#""1.50""#] {
            assert_eq!(Exactness::of(json.as_bytes()), Exactness::Exact, "{json}");
        }
    }
}
