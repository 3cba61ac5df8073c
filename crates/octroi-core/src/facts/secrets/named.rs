//! Secrets behind their names: `password=…`, `"token": "…"`, `Authorization: Bearer …`, `…&sig=…`.

use std::ops::Range;

use super::super::keys;
use super::extent::{OpenQuote, unquoted_password};
use super::value::{LOOKED_AT, Position, is_secret, is_unquoted_password};
use super::{FoundSecret, kind_of_name};

/// The length limit of a name.
const NAME_LENGTH_MAX: usize = 128;
/// The shortest signature of a URL.
const SIGNATURE_LENGTH_MIN: usize = 16;
/// What may stand between `Authorization:` and the secret.
const SCHEMES: [&str; 8] =
    ["bearer ", "basic ", "token ", "digest ", "apikey ", "negotiate ", "aws4-hmac-sha256 ", "bot "];

/// The value of the name that begins with this word, if it is a secret.
pub(super) fn value(bytes: &[u8], word: Range<usize>) -> Option<FoundSecret> {
    let skip = |from: usize, is_skipped: &dyn Fn(u8) -> bool, most: usize| {
        from + bytes[from..].iter().take(most).take_while(|byte| is_skipped(**byte)).count()
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let name_end = skip(word.end, &is_name, NAME_LENGTH_MAX);
    let name = &bytes[word.start..name_end];
    let is_scheme = name.eq_ignore_ascii_case(b"bearer") || name.eq_ignore_ascii_case(b"basic");
    let mark = skip(skip(name_end, &is_quote, 4), &is_space, 8);
    let after_mark = skip(mark, &|byte| byte == b':' || byte == b'=' || byte == b'>', 3);
    // Most words are not followed by a separator: those need no lookup.
    if !is_scheme && after_mark == mark || name.len() > NAME_LENGTH_MAX {
        return None;
    }
    let name = std::str::from_utf8(name).ok()?;
    if !is_scheme && !keys::is_secret(name) {
        return if bytes.get(name_end) == Some(&b'=') { signature(bytes, name, name_end + 1) } else { None };
    }
    let quote_start = skip(after_mark, &is_space, 8);
    let start = skip(quote_start, &is_quote, 4);
    // After `Authorization:` comes the scheme, and then the secret.
    let scheme_length = SCHEMES.into_iter().find_map(|scheme| {
        let head = bytes.get(start..start + scheme.len())?;
        head.eq_ignore_ascii_case(scheme.as_bytes()).then_some(scheme.len())
    });
    let start = skip(start + scheme_length.unwrap_or(0), &is_space, 8);
    let kind = if is_scheme || scheme_length.is_some() { "bearer_token" } else { kind_of_name(name) };
    let quote = OpenQuote::before(&bytes[quote_start..start.min(bytes.len())]);
    let position = if bytes.get(name_end) == Some(&b'=') && after_mark == name_end + 1 {
        Position::Assigned
    } else {
        Position::Loose
    };
    // Only a part is judged, so that a text of many names costs no more than its length.
    let rest = bytes.get(start..)?;
    let looked_at = &rest[..char_floor(rest, rest.len().min(LOOKED_AT))];
    let before = &bytes[..word.start];
    let length = length_of(looked_at, quote, (name, kind), before);
    let value = std::str::from_utf8(&looked_at[..length]).ok()?;
    let is_it = match (kind, quote) {
        ("password", None) => is_unquoted_password(value, position),
        _ => is_secret(value, kind, position, quote.is_some()),
    };
    if !is_it {
        return None;
    }
    let length = length_of(rest, quote, (name, kind), before);
    Some(FoundSecret { kind, range: start..start + length })
}

/// The length of the value. A cookie goes on to the end of its line, a password in quotes to the closing one.
fn length_of(rest: &[u8], quote: Option<OpenQuote>, (name, kind): (&str, &str), before: &[u8]) -> usize {
    let is_line_end = |byte: &u8| *byte < b' ' && *byte != b'\t' || is_quote(*byte);
    let is_cookie = name.len() <= 10 && name.to_ascii_lowercase().ends_with("cookie");
    let whole = if is_cookie || kind == "bearer_token" && is_list_of_parameters(rest) {
        Some(rest.iter().position(is_line_end).unwrap_or(rest.len()))
    } else {
        let closed = quote.and_then(|quote| quote.closed_at(rest));
        // A password may have spaces in it, a token has none.
        closed.filter(|length| kind == "password" || !rest[..*length].iter().any(|byte| *byte <= b' '))
    };
    let ends = |byte: &u8| *byte <= b' ' || b"\"'`<>,;&|)}]\\".contains(byte);
    whole.filter(|length| *length > 0).unwrap_or_else(|| match kind {
        "password" => unquoted_password(rest, before),
        _ => rest.iter().position(ends).unwrap_or(rest.len()),
    })
}

/// `Credential=…, SignedHeaders=…, Signature=…` and `username="…", response="…"`.
fn is_list_of_parameters(rest: &[u8]) -> bool {
    let n_letters = rest.iter().take(32).take_while(|byte| byte.is_ascii_alphabetic()).count();
    rest.get(n_letters) == Some(&b'=')
        && n_letters > 2
        && rest[n_letters..].iter().take(512).any(|byte| *byte == b',')
}

/// The signature of a URL, which gives access to whoever has it.
fn signature(bytes: &[u8], name: &str, start: usize) -> Option<FoundSecret> {
    let ends_with = |ending: &str| {
        let at = name.len().checked_sub(ending.len());
        at.and_then(|at| name.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(ending))
    };
    let is_signature = ends_with("signature") || name.eq_ignore_ascii_case("sig") || ends_with("hmac");
    if !is_signature {
        return None;
    }
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"%+/=_-~".contains(byte);
    let rest = bytes.get(start..)?;
    let looked_at = &rest[..rest.len().min(LOOKED_AT)];
    let length = looked_at.iter().take_while(is_part).count();
    let is_closed = rest.get(length).is_none_or(|byte| *byte <= b' ' || b"&\"'`<>,;|)}]\\#".contains(byte));
    let has_digit = looked_at[..length].iter().any(u8::is_ascii_digit);
    if length < SIGNATURE_LENGTH_MIN || !has_digit || !is_closed && length < LOOKED_AT {
        return None;
    }
    let length = rest.iter().take_while(is_part).count();
    Some(FoundSecret { kind: "signature", range: start..start + length })
}

/// The last position up to `end` that is not inside a character.
fn char_floor(bytes: &[u8], end: usize) -> usize {
    let is_boundary = |end: &usize| bytes.get(*end).is_none_or(|byte| byte & 0xc0 != 0x80);
    (0..=end).rev().find(is_boundary).unwrap_or_default()
}

pub(super) const fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'\\' | b'`')
}

pub(super) const fn is_space(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}
