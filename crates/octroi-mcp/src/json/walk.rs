//! Finds the members of an object in validated JSON text.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;

/// A range of bytes in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The span as a standard range.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// The bytes of `json` in this span; empty if it is out of bounds.
    pub fn of(self, json: &[u8]) -> &[u8] {
        json.get(self.range()).unwrap_or_default()
    }
}

/// One `"key": value` of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The key without its quotes, as written (escapes not decoded).
    pub key: Span,
    /// The value.
    pub value: Span,
    /// Whether the key has escapes, which is rare.
    is_escaped: bool,
}

impl Member {
    /// Whether the decoded key is `name`.
    pub fn is(&self, json: &[u8], name: &str) -> bool {
        *self.key(json) == *name.as_bytes()
    }

    /// The decoded key as bytes, for comparison.
    pub fn key<'a>(&self, json: &'a [u8]) -> Cow<'a, [u8]> {
        if self.is_escaped {
            // As written, a key that cannot be decoded equals no known name.
            if let Some(name) = self.name(json) {
                return Cow::Owned(name.into_owned().into_bytes());
            }
        }
        Cow::Borrowed(self.key.of(json))
    }

    /// The decoded key; `None` if it has an escape that stands for no character, such as half of a surrogate pair.
    /// Valid JSON text may have such keys, and every reader makes something else of them.
    pub fn name<'a>(&self, json: &'a [u8]) -> Option<Cow<'a, str>> {
        let quoted = Span { start: self.key.start.saturating_sub(1), end: self.key.end + 1 };
        text(quoted.of(json))
    }

    /// The whole member, from the opening quote of its key to the end of its value.
    pub fn span(&self) -> Span {
        Span { start: self.key.start.saturating_sub(1), end: self.value.end }
    }
}

/// Whether the text is an object.
pub fn is_object(json: &[u8]) -> bool {
    json.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

/// Decodes a JSON string; `None` if the text is not one. Borrows where nothing is escaped.
pub fn text(json: &[u8]) -> Option<Cow<'_, str>> {
    let inside = json.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if inside.contains(&b'\\') {
        serde_json::from_slice(json).ok().map(Cow::Owned)
    } else {
        std::str::from_utf8(inside).ok().map(Cow::Borrowed)
    }
}

/// Encodes a string as JSON text.
pub fn quote(text: &str) -> String {
    // Names and versions need no escapes.
    if text.bytes().any(|byte| byte < 0x20 || matches!(byte, b'"' | b'\\')) {
        return serde_json::Value::from(text).to_string();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    quoted.push_str(text);
    quoted.push('"');
    quoted
}

/// The members of the object at `span`. The text must be valid JSON; otherwise the iterator ends early, but
/// never panics.
pub fn members(json: &[u8], span: Span) -> Members<'_> {
    let json = json.get(..span.end).unwrap_or(json);
    let mut cursor = Cursor { json, position: span.start };
    cursor.skip_whitespace();
    cursor.eat(b'{');
    Members { cursor }
}

/// The value of the member `name`; of duplicates, the last one.
pub fn member(json: &[u8], object: Span, name: &str) -> Option<Span> {
    members(json, object).filter(|member| member.is(json, name)).last().map(|member| member.value)
}

/// Iterator over an object's members.
pub struct Members<'a> {
    cursor: Cursor<'a>,
}

impl Iterator for Members<'_> {
    type Item = Member;

    fn next(&mut self) -> Option<Member> {
        let cursor = &mut self.cursor;
        cursor.skip_whitespace();
        if cursor.eat(b',') {
            cursor.skip_whitespace();
        }
        let (key, is_escaped) = cursor.string()?;
        cursor.skip_whitespace();
        if !cursor.eat(b':') {
            return None;
        }
        cursor.skip_whitespace();
        let value = cursor.value()?;
        Some(Member { key, value, is_escaped })
    }
}

/// Strings up to this length are searched eight bytes at a time, which is cheaper than starting the
/// vectorised search used for longer ones.
const NEAR: usize = 64;

/// The position of the next quote or backslash.
fn end_of_plain(text: &[u8]) -> Option<usize> {
    const WORD: usize = size_of::<u64>();
    let near = &text[..text.len().min(NEAR)];
    let mut words = near.chunks_exact(WORD);
    for (index, word) in words.by_ref().enumerate() {
        let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
        let found = zero_bytes(word ^ repeated(b'"')) | zero_bytes(word ^ repeated(b'\\'));
        if found != 0 {
            return Some(index * WORD + found.trailing_zeros() as usize / 8);
        }
    }
    let rest = near.len() - words.remainder().len();
    memchr2(b'"', b'\\', &text[rest..]).map(|offset| rest + offset)
}

const fn repeated(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The high bit of every zero byte. Bytes above the lowest one may be marked wrongly, so only the lowest is
/// used.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(repeated(1)) & !word & repeated(0x80)
}

/// The position after the string that begins here.
pub(super) fn skip_string(json: &[u8], position: usize) -> Option<usize> {
    let mut cursor = Cursor { json, position };
    cursor.string()?;
    Some(cursor.position)
}

struct Cursor<'a> {
    json: &'a [u8],
    position: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.json.get(self.position).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.position += usize::from(found);
        found
    }

    fn skip_whitespace(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.position += 1;
        }
    }

    /// Skips a string; returns the span between its quotes and whether it has escapes.
    fn string(&mut self) -> Option<(Span, bool)> {
        if !self.eat(b'"') {
            return None;
        }
        let start = self.position;
        let mut position = start;
        let mut is_escaped = false;
        loop {
            position += end_of_plain(self.json.get(position..)?)?;
            if self.json.get(position) == Some(&b'"') {
                self.position = position + 1;
                return Some((Span { start, end: position }, is_escaped));
            }
            is_escaped = true;
            position += 2;
        }
    }

    fn value(&mut self) -> Option<Span> {
        let start = self.position;
        match self.peek()? {
            b'"' => {
                self.string()?;
            }
            b'{' | b'[' => self.container()?,
            _ => {
                while !matches!(self.peek(), None | Some(b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r')) {
                    self.position += 1;
                }
            }
        }
        Some(Span { start, end: self.position })
    }

    /// Skips an object or array. Counting brackets is enough, since the text is valid.
    fn container(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        let mut position = self.position;
        loop {
            match self.json.get(position)? {
                b'"' => {
                    self.position = position;
                    self.string()?;
                    position = self.position;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.position = position + 1;
                        return Some(());
                    }
                }
                _ => {}
            }
            position += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: &[(&str, &str)]) {
        let bytes = json.as_bytes();
        let found: Vec<_> = members(bytes, Span { start: 0, end: bytes.len() })
            .map(|member| {
                (
                    member.name(bytes).unwrap().into_owned(),
                    String::from_utf8_lossy(member.value.of(bytes)).into_owned(),
                )
            })
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        assert_eq!(found, expected, "{json}");
    }

    #[test]
    fn members_are_found_whatever_they_hold() {
        check("{}", &[]);
        check(r#" { "a" : 1 , "b":[1,{"c":"}"}] }"#, &[("a", "1"), ("b", r#"[1,{"c":"}"}]"#)]);
        check(
            r#"{"q\"":"a\\\"b","n":-1.5e3,"t":true}"#,
            &[("q\"", r#""a\\\"b""#), ("n", "-1.5e3"), ("t", "true")],
        );
        check(r#"{"":{"":{}},"x":null}"#, &[("", r#"{"":{}}"#), ("x", "null")]);
    }

    #[test]
    fn a_key_that_cannot_be_decoded_has_no_name_and_equals_none() {
        for json in [r#"{"a\ud800":1}"#, r#"{"\udc00\ud800":1}"#, r#"{"\ud800":1}"#] {
            let bytes = json.as_bytes();
            let member = members(bytes, Span { start: 0, end: bytes.len() }).next().unwrap();
            assert_eq!(member.name(bytes), None, "{json}");
            assert!(!member.is(bytes, "a") && !member.is(bytes, ""), "{json}");
        }
    }

    #[test]
    fn text_that_is_not_an_object_has_no_members() {
        for json in ["", "[1,2]", "\"{\"", "12", "{", "{\"a\"", "{\"a\":", "{\"a\":\"", "}"] {
            check(json, &[]);
        }
    }
}
