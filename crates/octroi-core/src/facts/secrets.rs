//! Secrets in the arguments, recognized by their shape.

mod shapes;

use std::ops::Range;

use super::keys;

/// The length limit of a value.
const VALUE_LENGTH_MAX: usize = 512;
const VALUE_LENGTH_MIN: usize = 8;
/// The length limit of a name.
const NAME_LENGTH_MAX: usize = 128;

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundSecret {
    /// The kind of secret, as policies and output name it.
    pub(crate) kind: &'static str,
    /// Its byte range, without the name or quotes around it.
    pub(crate) range: Range<usize>,
}

/// Whether the value of a member that names a secret is one, and not a placeholder.
pub(crate) fn may_be_secret(value: &str) -> bool {
    !(value.len() < 4 || is_placeholder(value))
}

/// The kind of a secret that is only recognized by its name.
pub(crate) fn kind_of_name(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    if name.contains("pass") || name.contains("pwd") { "password" } else { "credential" }
}

/// Iterates over the secrets of a text, in order and without overlap.
pub(crate) struct Secrets<'a> {
    text: &'a str,
    at: usize,
    /// No JSON Web Token starts before this position.
    no_jwt_until: usize,
}

impl<'a> Secrets<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self { text, at: 0, no_jwt_until: 0 }
    }
}

impl Iterator for Secrets<'_> {
    type Item = FoundSecret;

    fn next(&mut self) -> Option<FoundSecret> {
        let bytes = self.text.as_bytes();
        while self.at < bytes.len() {
            let at = self.at;
            let word_end = at + word_length(&bytes[at..]);
            let found = match bytes[at] {
                b'-' => shapes::private_key(self.text, at),
                b':' => shapes::url_password(bytes, at),
                _ if word_end > at && !self.is_in_word(at) => self.at_word(at..word_end),
                _ => None,
            };
            if let Some(found) = found {
                self.at = found.range.end.max(at + 1);
                return Some(found);
            }
            // No secret starts inside a word.
            self.at = word_end.max(at + 1);
        }
        None
    }
}

impl Secrets<'_> {
    /// Whether this position is inside a word, as where the last secret ended.
    fn is_in_word(&self, at: usize) -> bool {
        at > 0 && self.text.as_bytes()[at - 1].is_ascii_alphanumeric()
    }

    fn at_word(&mut self, word: Range<usize>) -> Option<FoundSecret> {
        let (bytes, at) = (self.text.as_bytes(), word.start);
        if let Some(found) = shapes::token(bytes, at) {
            return Some(found);
        }
        if bytes[at..].starts_with(b"eyJ") && at >= self.no_jwt_until {
            match shapes::jwt(bytes, at) {
                Ok(found) => return Some(found),
                Err(looked_until) => self.no_jwt_until = looked_until,
            }
        }
        // A name is checked once, at its start: `my_api_key` is not `api_key` again.
        let is_inside = at > 0 && matches!(bytes[at - 1], b'_' | b'-' | b'.');
        if is_inside { None } else { named_value(bytes, word) }
    }
}

/// The number of leading letters and digits. Runs over every byte of every call, hence the lookup table.
fn word_length(bytes: &[u8]) -> usize {
    const IS_IN_WORD: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0_u8;
        while byte < 128 {
            table[byte as usize] = byte.is_ascii_alphanumeric();
            byte += 1;
        }
        table
    };
    bytes.iter().position(|byte| !IS_IN_WORD[usize::from(*byte)]).unwrap_or(bytes.len())
}

/// `password=…`, `"token": "…"`, `Authorization: Bearer …`.
fn named_value(bytes: &[u8], word: Range<usize>) -> Option<FoundSecret> {
    let skip = |from: usize, is_skipped: &dyn Fn(u8) -> bool, most: usize| {
        from + bytes[from..].iter().take(most).take_while(|byte| is_skipped(**byte)).count()
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let name_end = skip(word.end, &is_name, NAME_LENGTH_MAX);
    let name = &bytes[word.start..name_end];
    let is_scheme = name.eq_ignore_ascii_case(b"bearer") || name.eq_ignore_ascii_case(b"basic");
    let is_space = |byte: u8| byte == b' ' || byte == b'\t';
    let is_quote = |byte: u8| matches!(byte, b'"' | b'\'' | b'\\' | b'`');
    let mark = skip(skip(name_end, &is_quote, 4), &is_space, 8);
    let after_mark = skip(mark, &|byte| byte == b':' || byte == b'=' || byte == b'>', 3);
    // Most words are not followed by a separator: those need no lookup.
    if !is_scheme && after_mark == mark || name.len() > NAME_LENGTH_MAX {
        return None;
    }
    let name = std::str::from_utf8(name).ok()?;
    if !is_scheme && !keys::is_secret(name) {
        return None;
    }
    let start = skip(skip(after_mark, &is_space, 8), &is_quote, 4);
    // After `Authorization:` comes the scheme, and then the secret.
    let scheme_length = ["bearer ", "basic ", "token "].into_iter().find_map(|scheme| {
        let head = bytes.get(start..start + scheme.len())?;
        head.eq_ignore_ascii_case(scheme.as_bytes()).then_some(scheme.len())
    });
    let start = skip(start + scheme_length.unwrap_or(0), &is_space, 8);
    let ends = |byte: u8| byte <= b' ' || b"\"'`<>,;&|)}]\\".contains(&byte);
    let end = skip(start, &|byte| !ends(byte), VALUE_LENGTH_MAX);
    // Never cut inside a character.
    let end = (start..=end).rev().find(|end| bytes.get(*end).is_none_or(|byte| byte & 0xc0 != 0x80))?;
    let value = std::str::from_utf8(&bytes[start..end]).ok()?;
    let kind = if is_scheme || scheme_length.is_some() { "bearer_token" } else { kind_of_name(name) };
    (value.len() >= VALUE_LENGTH_MIN && !is_placeholder(value) && is_random(value, kind))
        .then_some(FoundSecret { kind, range: start..end })
}

fn is_placeholder(value: &str) -> bool {
    let marks = [
        "${",
        "{{",
        "<",
        "***",
        "[redacted",
        "$(",
        "%(",
        "xxxx",
        "XXXX",
        "process.env",
        "os.environ",
        "env.",
    ];
    marks.iter().any(|mark| value.starts_with(mark))
        || value.starts_with('$')
            && value[1..].bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a value looks random rather than like a word. People choose passwords, so the test is weaker for
/// them.
fn is_random(value: &str, kind: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(test);
    let n_classes = [
        has(u8::is_ascii_lowercase),
        has(u8::is_ascii_uppercase),
        has(u8::is_ascii_digit),
        value.bytes().any(|byte| !byte.is_ascii_alphanumeric()),
    ]
    .into_iter()
    .filter(|has| *has)
    .count();
    let n_distinct = value.bytes().collect::<std::collections::BTreeSet<_>>().len();
    n_classes >= 2 && n_distinct >= 6 || kind == "password" && n_distinct >= 5 || n_distinct >= 14
}
