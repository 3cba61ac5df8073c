//! The encodings in which a secret may appear in a text.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::escaped;

/// The unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// What `encodeURIComponent` leaves unencoded.
const RESERVED_IN_SCRIPTS: &AsciiSet =
    &RESERVED.remove(b'!').remove(b'\'').remove(b'(').remove(b')').remove(b'*');

/// All encodings of a secret, possibly with duplicates.
pub(super) fn of(secret: &str) -> Vec<String> {
    let percent = utf8_percent_encode(secret, RESERVED).to_string();
    let mut forms = vec![
        secret.to_owned(),
        escaped(secret),
        escaped(secret).replace('/', "\\/"),
        escaped_to_ascii(secret),
        percent.replace("%20", "+"),
        percent,
        utf8_percent_encode(secret, RESERVED_IN_SCRIPTS).to_string(),
        hex::encode(secret),
    ];
    for offset in 0..3 {
        forms.push(base64_inside(secret.as_bytes(), offset, &STANDARD_NO_PAD));
        forms.push(base64_inside(secret.as_bytes(), offset, &URL_SAFE_NO_PAD));
    }
    forms
}

/// As encoders write it that use only ASCII, or make JSON safe for HTML.
fn escaped_to_ascii(secret: &str) -> String {
    let mut out = String::new();
    for character in secret.chars() {
        if character.is_ascii() && !"<>&'".contains(character) {
            crate::json::push_escaped_char(&mut out, character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

/// The part common to all base64 texts in which the secret starts at this byte of a group of three: without
/// the characters that it shares with its neighbours.
fn base64_inside(secret: &[u8], offset: usize, engine: &impl Engine) -> String {
    let first = (offset * 8).div_ceil(6);
    let end = (offset + secret.len()) * 8 / 6;
    let text = engine.encode([&[0; 3][..offset], secret].concat());
    text.get(first..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_found_at_every_place() {
        // `secretvalue` alone, after one byte and after two.
        assert_eq!(base64_inside(b"secretvalue", 0, &STANDARD_NO_PAD), "c2VjcmV0dmFsdW");
        assert_eq!(base64_inside(b"secretvalue", 1, &STANDARD_NO_PAD), "NlY3JldHZhbHVl");
        assert_eq!(base64_inside(b"secretvalue", 2, &STANDARD_NO_PAD), "zZWNyZXR2YWx1Z");
        assert_eq!(base64_inside(b"", 2, &STANDARD_NO_PAD), "");
        assert_eq!(base64_inside(&[0xfb, 0xff, 0xfe], 0, &STANDARD_NO_PAD), "+//+");
        assert_eq!(base64_inside(&[0xfb, 0xff, 0xfe], 0, &URL_SAFE_NO_PAD), "-__-");
    }

    #[test]
    fn other_forms() {
        let forms = of("a/b \"é<1");
        for form in [
            "a/b \"é<1",
            "a/b \\\"é<1",
            "a\\/b \\\"é<1",
            "a/b \\\"\\u00e9\\u003c1",
            "a%2Fb%20%22%C3%A9%3C1",
            "a%2Fb+%22%C3%A9%3C1",
            "612f622022c3a93c31",
        ] {
            assert!(forms.iter().any(|known| known == form), "{form}");
        }
    }
}
