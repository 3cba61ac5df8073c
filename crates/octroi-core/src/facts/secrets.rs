//! Secrets in the arguments, recognized by their shape.

mod extent;
mod flags;
mod named;
mod shapes;
mod urls;
mod value;

use std::ops::Range;

use value::is_placeholder;

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
                b'-' => match bytes.get(at + 1) {
                    Some(b'-') => shapes::private_key(self.text, at).or_else(|| flags::option(bytes, at)),
                    Some(_) | None => flags::option(bytes, at),
                },
                b':' => urls::password(bytes, at),
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
        if let Some(found) = shapes::token(bytes, word.clone()) {
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
        if is_inside { None } else { named::value(bytes, word) }
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
