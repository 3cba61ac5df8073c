//! One canonical text for a definition, independent of its spacing and the order of its members.
//!
//! The form is that of RFC 8785, except that numbers are not rounded. Each is written with its exact decimal
//! value in ECMAScript notation, so that 9007199254740993 and 9007199254740992 stay two numbers while `1.0`,
//! `1` and `10e-1` are one. A number whose text is the shortest for its double, as programs write it, comes
//! out exactly as the RFC requires.

use crate::json::{Doubles, JsonError, Node, push_string};

/// The limit of exponents: no definition needs more, and sums must not overflow.
const EXPONENT_DIGITS_MAX: usize = 9;

/// The canonical form of a JSON text. Duplicate member names are an error.
pub fn canonical(json: &[u8]) -> Result<Vec<u8>, JsonError> {
    let mut out = String::with_capacity(json.len());
    write(&mut out, &Node::parse(json, Doubles::Refused)?)?;
    Ok(out.into_bytes())
}

/// The canonical form of a value.
pub(super) fn canonical_text(node: &Node) -> Result<String, JsonError> {
    let mut out = String::new();
    write(&mut out, node)?;
    Ok(out)
}

fn write(out: &mut String, node: &Node) -> Result<(), JsonError> {
    match node {
        Node::Null => out.push_str("null"),
        Node::Bool(true) => out.push_str("true"),
        Node::Bool(false) => out.push_str("false"),
        Node::Number(text) => write_number(out, text)?,
        Node::Text(text) => push_string(out, text),
        Node::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, item)?;
            }
            out.push(']');
        }
        Node::Map(members) => {
            let mut members: Vec<_> = members.iter().collect();
            // By UTF-16 units, not by characters: the orders differ beyond U+FFFF.
            members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            out.push('{');
            for (index, (name, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_string(out, name);
                out.push(':');
                write(out, value)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

fn write_number(out: &mut String, text: &str) -> Result<(), JsonError> {
    let decimal = Decimal::read(text)?;
    if decimal.digits.is_empty() {
        out.push('0');
        return Ok(());
    }
    if decimal.is_negative {
        out.push('-');
    }
    let digits = decimal.digits.as_str();
    let length = i64::try_from(digits.len()).unwrap_or(i64::MAX);
    match decimal.point {
        point @ 1..=21 if length <= point => {
            out.push_str(digits);
            out.extend((length..point).map(|_| '0'));
        }
        point @ 1..=21 => {
            let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(digits.len()));
            out.push_str(whole);
            out.push('.');
            out.push_str(fraction);
        }
        point @ -5..=0 => {
            out.push_str("0.");
            out.extend((point..0).map(|_| '0'));
            out.push_str(digits);
        }
        point => {
            let (first, rest) = digits.split_at(1);
            out.push_str(first);
            if !rest.is_empty() {
                out.push('.');
                out.push_str(rest);
            }
            let exponent = point - 1;
            out.push_str(if exponent < 0 { "e-" } else { "e+" });
            out.push_str(&exponent.unsigned_abs().to_string());
        }
    }
    Ok(())
}

/// An exact number: `0.digits` times ten to the power of `point`. Zero has no digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    is_negative: bool,
    digits: String,
    point: i64,
}

impl Decimal {
    /// Parses a JSON number.
    pub(super) fn read(text: &str) -> Result<Self, JsonError> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (is_negative, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        let n_leading = all.len() - significant.len();
        let digits = significant.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Ok(Self { is_negative: false, digits, point: 0 });
        }
        let beyond = || JsonError::Exponent(text.chars().take(40).collect());
        let exponent_digits = exponent.trim_start_matches(['+', '-']).trim_start_matches('0');
        if exponent_digits.len() > EXPONENT_DIGITS_MAX {
            return Err(beyond());
        }
        let size: i64 =
            if exponent_digits.is_empty() { 0 } else { exponent_digits.parse().map_err(|_| beyond())? };
        let exponent = if exponent.starts_with('-') { -size } else { size };
        let offset = i64::try_from(whole.len()).ok().zip(i64::try_from(n_leading).ok());
        let (whole_length, n_leading) = offset.ok_or_else(beyond)?;
        Ok(Self { is_negative, digits, point: whole_length - n_leading + exponent })
    }

    /// Compares two numbers.
    pub(super) fn compare(&self, other: &Self) -> std::cmp::Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let sizes = || self.point.cmp(&other.point).then_with(|| self.digits.cmp(&other.digits));
        sign(self).cmp(&sign(other)).then_with(|| match sign(self) {
            -1 => sizes().reverse(),
            0 => std::cmp::Ordering::Equal,
            _ => sizes(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn text(json: &str) -> String {
        String::from_utf8(canonical(json.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn texts() {
        for (json, expected) in [
            (" { \"b\" : 1 , \"a\" : [ ] } ", r#"{"a":[],"b":1}"#),
            (r#""\u0041\/\u00e9\u000a\u0001\u007f""#, "\"A/é\\n\\u0001\u{7f}\""),
            // U+1F600 sorts before U+FB33, since its first unit is 0xD83D.
            (
                "{\"\u{fb33}\":1,\"\u{1f600}\":2,\"\u{20ac}\":3}",
                "{\"\u{20ac}\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}",
            ),
            (
                r#"{"1":{"f":{"f":"hi","F":5},"\n":56},"":"empty"}"#,
                r#"{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}}}"#,
            ),
        ] {
            assert_eq!(text(json), expected, "{json}");
        }
    }

    #[test]
    fn numbers() {
        for (json, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.0e5", "0"),
            ("0e99999999999999", "0"),
            ("1", "1"),
            ("1.0", "1"),
            ("10e-1", "1"),
            ("-1.50", "-1.5"),
            ("100", "100"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("123456789012345678901234", "1.23456789012345678901234e+23"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("12.5e-9", "1.25e-8"),
            ("4.50", "4.5"),
            ("2e-3", "0.002"),
            ("9007199254740993", "9007199254740993"),
            ("9007199254740992", "9007199254740992"),
            ("1e400", "1e+400"),
            ("-1E+00000000000000005", "-100000"),
            ("5e-324", "5e-324"),
            ("333333333.33333329", "333333333.33333329"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ] {
            assert_eq!(text(json), expected, "{json}");
        }
        assert_eq!(canonical(b"[1e9999999999]"), Err(JsonError::Exponent("1e9999999999".to_owned())));
    }

    #[test]
    fn numbers_compare_by_their_exact_values() {
        let ascending = [
            "-1e9",
            "-10",
            "-9.5",
            "-0.1",
            "0",
            "1e-9",
            "0.1",
            "9.99",
            "10",
            "10.000000000000000000001",
            "1e400",
        ];
        for (index, one) in ascending.iter().enumerate() {
            for (other_index, other) in ascending.iter().enumerate() {
                let compared = Decimal::read(one).unwrap().compare(&Decimal::read(other).unwrap());
                assert_eq!(compared, index.cmp(&other_index), "{one} {other}");
            }
        }
        assert_eq!(Decimal::read("-0").unwrap().compare(&Decimal::read("0.00").unwrap()), Ordering::Equal);
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a\\\\\"\u{e9}\n]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[ab\u{fb33}\u{1f600}]{0,2}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn turned(value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(turned).collect(),
            Value::Object(members) => Value::Object(
                members.iter().rev().map(|(name, value)| (name.clone(), turned(value))).collect(),
            ),
            other => other.clone(),
        }
    }

    proptest! {
        // Programs write numbers as ECMAScript does; serde differs only in exponents.
        #[test]
        fn doubles_keep_their_value(number in proptest::num::f64::NORMAL) {
            let written = text(&format!("{number:e}"));
            prop_assert_eq!(written.parse::<f64>().unwrap().to_bits(), number.to_bits());
        }

        #[test]
        fn spacing_and_order_count_for_nothing_and_values_for_everything(one in values(), other in values()) {
            let spaced = serde_json::to_string_pretty(&turned(&one)).unwrap();
            prop_assert_eq!(text(&spaced), text(&one.to_string()));
            prop_assert_eq!(text(&text(&spaced)), text(&spaced));
            prop_assert_eq!(text(&one.to_string()) == text(&other.to_string()), one == other);
        }

        #[test]
        fn integers_are_never_confused(one: i128, other: i128) {
            prop_assert_eq!(text(&one.to_string()) == text(&other.to_string()), one == other);
            prop_assert_ne!(text(&one.to_string()), text(&one.wrapping_add(1).to_string()));
        }
    }
}
