//! Percent-encoded text, decoded as servers decode it.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// The text decoded up to twice; `None` if nothing is encoded.
pub(super) fn decoded(text: &str) -> Option<String> {
    let once = decode(text)?;
    Some(decode(&once).unwrap_or(once))
}

/// The text decoded once; `None` if nothing is encoded.
pub(crate) fn decode(text: &str) -> Option<String> {
    match percent_decode_str(text).decode_utf8_lossy() {
        Cow::Owned(decoded) => Some(decoded),
        // Nothing was encoded.
        Cow::Borrowed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_decoded() {
        for (text, expected) in [
            ("plain", None),
            ("100 % sure", None),
            ("%zz%4", None),
            ("%2e%2E/", Some("../")),
            ("a%252fb", Some("a/b")),
            ("%C3%A9", Some("é")),
            ("%ff", Some("\u{fffd}")),
        ] {
            assert_eq!(decoded(text).as_deref(), expected, "{text}");
        }
    }
}
