//! Percent-encoded text, decoded with a way back to where each byte came from.
//!
//! Programs differ in which characters they encode, so the encodings of a secret cannot all be listed.

use std::ops::Range;

/// A decoded text.
pub(super) struct Decoded {
    pub(super) text: String,
    /// For each byte of the text, where it begins in the original; then the original's length.
    origins: Vec<usize>,
}

impl Decoded {
    /// The range of the original text.
    pub(super) fn origin(&self, range: Range<usize>) -> Range<usize> {
        let at = |index: usize| self.origins.get(index).or(self.origins.last()).copied().unwrap_or_default();
        at(range.start)..at(range.end)
    }
}

/// Whether anything in the text may be encoded. Runs over every call.
pub(super) fn may_be(text: &str) -> bool {
    let mut rest = text;
    // Most texts have no `%` at all, and searching for one character is fast.
    while let Some(at) = rest.find('%') {
        if rest.as_bytes().get(at..at + 3).is_some_and(is_encoded) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

fn is_encoded(three: &[u8]) -> bool {
    three[0] == b'%' && three[1].is_ascii_hexdigit() && three[2].is_ascii_hexdigit()
}

/// The decoded text; `None` if nothing is encoded, or if it does not decode to text.
pub(super) fn decode(text: &str) -> Option<Decoded> {
    if !may_be(text) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = text.as_bytes();
    let (mut decoded, mut origins) = (Vec::with_capacity(bytes.len()), Vec::with_capacity(bytes.len() + 1));
    let mut at = 0;
    while at < bytes.len() {
        origins.push(at);
        let three = bytes.get(at..at + 3).filter(|three| is_encoded(three));
        let value = three.and_then(|three| Some(digit(three[1])? << 4 | digit(three[2])?));
        // A byte that is not part of a character would make the whole text unreadable.
        let (byte, length) = match value {
            Some(byte) => (byte, 3),
            None => (bytes[at], 1),
        };
        decoded.push(byte);
        at += length;
    }
    origins.push(bytes.len());
    let text = match String::from_utf8(decoded) {
        Ok(text) => text,
        // Only ASCII is decoded then, which keeps every position.
        Err(error) => error
            .into_bytes()
            .iter()
            .map(|byte| if byte.is_ascii() { char::from(*byte) } else { '?' })
            .collect(),
    };
    Some(Decoded { text, origins })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_knows_where_it_came_from() {
        let decoded = decode("a%20b/c%3D").unwrap();
        assert_eq!(decoded.text, "a b/c=");
        assert_eq!(decoded.origin(1..3), 1..5);
        assert_eq!(decoded.origin(0..6), 0..10);
        assert_eq!(decode("%ff=%41").unwrap().text, "?=A");
        for text in ["100% sure", "%zz", "%2", ""] {
            assert!(decode(text).is_none(), "{text}");
        }
    }
}
