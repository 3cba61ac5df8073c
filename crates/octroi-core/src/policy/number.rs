//! Numbers that are written as texts.

use serde_json::Number;

use crate::fold::fold;

/// What a text says about a number.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Written {
    /// This number, for every reader.
    Plain(Number),
    /// Some number: `5.000,00`, `0x1388`, `5000 USD`, `inf`. Readers differ in which.
    Some,
    /// No number.
    None,
}

/// Reads a text as a number. Plain is only what everybody reads in the same way: digits, perhaps a sign and a fraction.
pub(super) fn written(text: &str) -> Written {
    match plain(text) {
        Some(number) => Written::Plain(number),
        None if looks_like_number(text) => Written::Some,
        None => Written::None,
    }
}

/// Whether a text may be read as this number: as a plain one, or by its digits.
pub(super) fn may_equal(text: &str, number: &Number) -> bool {
    let is_equal = |other: &Number| other == number || other.as_f64() == number.as_f64();
    if let Some(other) = plain(text) {
        return is_equal(&other);
    }
    let folded = fold(text);
    if folded.chars().any(|letter| letter.is_numeric() && !letter.is_ascii()) {
        return true;
    }
    // Other separators, a currency, a unit, another base.
    let kept: String =
        folded.chars().filter(|letter| !matches!(letter, ',' | '_' | '\'' | ' ' | '+')).collect();
    let numeral = kept.trim_matches(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let digits: String = kept.chars().filter(char::is_ascii_digit).collect();
    let first: String = kept
        .trim_start_matches(|letter: char| !letter.is_ascii_digit())
        .chars()
        .take_while(|letter| letter.is_ascii_digit() || *letter == '.')
        .collect();
    let radix = [("0x", 16), ("0o", 8), ("0b", 2), ("0", 8)];
    let in_base = radix.iter().find_map(|(prefix, radix)| {
        i64::from_str_radix(numeral.strip_prefix(prefix)?, *radix).ok().map(Number::from)
    });
    let in_tens =
        [numeral, &digits, &first, numeral.trim_end_matches(|letter: char| !letter.is_ascii_digit())];
    let in_tens = in_tens.into_iter().filter_map(|text| Number::from_f64(text.parse().ok()?));
    let big = digits.parse::<u64>().ok().map(Number::from);
    in_tens.chain(in_base).chain(big).any(|other| {
        let magnitude = |number: &Number| number.as_f64().map(f64::abs);
        is_equal(&other) || magnitude(&other) == magnitude(number)
    })
}

fn plain(text: &str) -> Option<Number> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // A leading zero makes it an octal number for some.
    let is_plain = are_digits(whole) && are_digits(fraction) && (whole == "0" || !whole.starts_with('0'));
    if !is_plain {
        return None;
    }
    text.parse::<i64>().ok().map(Number::from).or_else(|| Number::from_f64(text.parse().ok()?))
}

fn looks_like_number(text: &str) -> bool {
    let folded = fold(text);
    let word = folded.trim_matches(|letter: char| !letter.is_alphanumeric());
    text.chars().chain(folded.chars()).any(char::is_numeric)
        || matches!(word, "inf" | "infinity" | "nan" | "∞")
        || text.contains('∞')
}
