//! The forms in which a secret may stand in a text.

use std::fmt::Write as _;

use super::escaped;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// All forms of a secret, some of them more than once.
pub(super) fn of(secret: &str) -> Vec<String> {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let by_script = |byte: u8| unreserved(byte) || b"!'()*".contains(&byte);
    let percent = percent(secret, &unreserved);
    let mut forms = vec![
        secret.to_owned(),
        escaped(secret),
        escaped(secret).replace('/', "\\/"),
        escaped_to_ascii(secret),
        percent.replace("%20", "+"),
        percent,
        self::percent(secret, &by_script),
        secret.bytes().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        }),
    ];
    for alphabet in [STANDARD, URL] {
        forms.extend((0..3).map(|offset| base64_inside(secret.as_bytes(), offset, alphabet)));
    }
    forms
}

fn percent(secret: &str, is_kept: &dyn Fn(u8) -> bool) -> String {
    secret.bytes().fold(String::new(), |mut out, byte| {
        if is_kept(byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// As encoders write it that keep to ASCII, or keep JSON safe within HTML.
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

/// What is the same in every base64 text in which the secret begins at this byte of a group of three: without the
/// characters that its neighbours share.
fn base64_inside(secret: &[u8], offset: usize, alphabet: &[u8; 64]) -> String {
    let first = (offset * 8).div_ceil(6);
    let end = (offset + secret.len()) * 8 / 6;
    let bit = |index: usize| {
        let byte = (index / 8).checked_sub(offset).and_then(|at| secret.get(at)).copied().unwrap_or(0);
        usize::from(byte >> (7 - index % 8) & 1)
    };
    let character = |at: usize| (0..6).fold(0, |value, place| value << 1 | bit(at * 6 + place));
    (first..end).map(|at| char::from(alphabet[character(at)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_found_at_every_place() {
        // `secretvalue` alone, after one byte and after two.
        assert_eq!(base64_inside(b"secretvalue", 0, STANDARD), "c2VjcmV0dmFsdW");
        assert_eq!(base64_inside(b"secretvalue", 1, STANDARD), "NlY3JldHZhbHVl");
        assert_eq!(base64_inside(b"secretvalue", 2, STANDARD), "zZWNyZXR2YWx1Z");
        assert_eq!(base64_inside(&[0xfb, 0xff, 0xfe], 0, STANDARD), "+//+");
        assert_eq!(base64_inside(&[0xfb, 0xff, 0xfe], 0, URL), "-__-");
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
