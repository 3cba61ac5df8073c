//! Where a value ends: at its closing quote, or at what cannot belong to a password.

use super::named::is_quote;

/// How far back an open quote is searched for.
const LOOKED_BACK: usize = 256;

/// What ends a value in most texts.
const ENDS: [char; 13] = ['"', '\'', '`', '<', '>', ',', ';', '&', '|', ')', '}', ']', '\\'];

/// The quote before a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenQuote {
    mark: u8,
    /// How many backslashes stand before it: one in JSON inside a string, three in JSON inside that.
    n_backslashes: usize,
}

impl OpenQuote {
    /// The quote at the end of the text before a value.
    pub(super) fn before(text: &[u8]) -> Option<Self> {
        let end = text.iter().rposition(|byte| *byte != b'\\')?;
        let mark = text[end];
        is_quote(mark).then(|| Self { mark, n_backslashes: backslashes_before(text, end) })
    }

    /// The length of the value up to the quote that closes it, on the same line.
    ///
    /// A quote that belongs to the value has more backslashes before it than the open one.
    pub(super) fn closed_at(self, rest: &[u8]) -> Option<usize> {
        let own = self.n_backslashes;
        let mut from = 0;
        loop {
            let at = from + rest[from..].iter().position(|byte| *byte == self.mark || *byte == b'\n')?;
            let n = backslashes_before(&rest[from..], at - from);
            let is_escaped = n > own && ((n - own) / (own + 1)) % 2 == 1;
            if rest[at] == b'\n' || !is_escaped {
                return Some(at - n.min(own));
            }
            from = at + 1;
        }
    }
}

fn backslashes_before(text: &[u8], end: usize) -> usize {
    text[..end].iter().rev().take_while(|byte| **byte == b'\\').count()
}

/// The length of a password without quotes.
///
/// Every mark may be part of a password. It ends at a space, where the next parameter begins, where a quote closes that
/// was opened before its name, and at a closing tag. In doubt it goes on: too much is redacted then, not too little.
pub(super) fn unquoted_password(rest: &[u8], before: &[u8]) -> usize {
    let is_mark = |byte: &u8| b"\"'`<>,;&|(){}[]\\".contains(byte);
    let ends = |byte: &u8| *byte <= b' ' || is_mark(byte);
    let mut from = 0;
    while let Some(at) = rest[from..].iter().position(ends).map(|at| from + at) {
        let marks = &rest[at..];
        let marks = &marks[..marks.iter().position(|byte| !is_mark(byte)).unwrap_or(marks.len())];
        let after = &rest[at + marks.len()..];
        let is_last = after.first().is_none_or(|byte| *byte <= b' ');
        let is_tag = marks.ends_with(b"<") && after.first() == Some(&b'/');
        // As in `f(password=x):`.
        let is_closed = marks.last().is_some_and(|mark| b")]}".contains(mark))
            && after.first().is_some_and(u8::is_ascii_punctuation);
        if is_last || is_tag || is_closed || is_parameter(after) || closes(marks, before) {
            return at;
        }
        from = at + marks.len();
    }
    rest.len()
}

/// The part of a value before the first mark that could end it.
pub(super) fn before_marks(value: &str) -> &str {
    value.split(ENDS).next().unwrap_or_default()
}

/// Whether a parameter begins here: `name=`, `name: ` or `name":`.
fn is_parameter(text: &[u8]) -> bool {
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'%');
    let length = text.iter().take_while(is_name).count();
    let n_quotes = text[length..].iter().take(4).take_while(|byte| is_quote(**byte)).count();
    length > 0 && matches!(text.get(length + n_quotes), Some(b'=' | b':'))
}

/// Whether one of these marks closes a quote that was opened before.
fn closes(marks: &[u8], before: &[u8]) -> bool {
    let before = &before[before.len().saturating_sub(LOOKED_BACK)..];
    let is_open = |mark: u8| before.iter().fold(false, |is_open, byte| is_open ^ (*byte == mark));
    marks.len() > 1 && marks.iter().any(|mark| is_quote(*mark) && *mark != b'\\' && is_open(*mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_at_the_quote_that_closes_it() {
        for (before, rest, expected) in [
            (r#"""#, r#"abc", "d""#, Some("abc")),
            (r#"""#, r#"a\"b" x"#, Some(r#"a\"b"#)),
            (r#"""#, r#"a\\" x"#, Some(r"a\\")),
            (r#"\""#, r#"abc\",\"d\""#, Some("abc")),
            (r#"\""#, r#"a\\\"b\" x"#, Some(r#"a\\\"b"#)),
            (r#"\""#, r#"a\\\\\" x"#, Some(r"a\\\\")),
            // The text around it ends.
            (r#"\""#, r#"abc" x"#, Some("abc")),
            ("'", "a\"b' x", Some("a\"b")),
            ("'", "abc\nd'", Some("abc")),
            ("'", "abc", None),
        ] {
            let quote = OpenQuote::before(before.as_bytes()).unwrap();
            let value = quote.closed_at(rest.as_bytes()).map(|length| &rest[..length]);
            assert_eq!(value, expected, "{before} {rest}");
        }
        assert_eq!(OpenQuote::before(b"= "), None);
    }

    #[test]
    fn a_password_goes_on_where_nothing_else_begins() {
        for (before, rest, expected) in [
            ("", "ab&cd;ef,gh'ij|kl x", "ab&cd;ef,gh'ij|kl"),
            ("", "ab<cd>ef(g)h{i}j[k]l\"m\\n`o x", "ab<cd>ef(g)h{i}j[k]l\"m\\n`o"),
            ("", "ab&;cd", "ab&;cd"),
            ("?", "ab&ssl=true", "ab"),
            ("", "ab;Encrypt=true", "ab"),
            ("{", "ab,\"user\":1}", "ab"),
            ("{", "ab, user: bob}", "ab"),
            ("", "ab; echo done", "ab"),
            ("f(", "ab)", "ab"),
            ("f(", "ab):", "ab"),
            ("f(", "ab)->None:", "ab"),
            ("<", "ab</password><host>h</host>", "ab"),
            ("'https://h/?", "ab'|sh", "ab"),
            ("[\"", "ab\",\"next\"]", "ab"),
        ] {
            assert_eq!(&rest[..unquoted_password(rest.as_bytes(), before.as_bytes())], expected, "{rest}");
        }
    }
}
