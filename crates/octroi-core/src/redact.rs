//! Redacts secrets from everything that is displayed or stored.
//!
//! Secrets in use are known by value and found in every common encoding; others are found by their shape, or
//! by the name of the member that holds them. Text is cut only after redaction, so that no part of a secret
//! remains.

#[cfg(test)]
mod corpus;
mod encoded;
mod forms;
mod indent;
mod mask;
mod preview;
#[cfg(test)]
mod tests;
mod view;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::facts::secrets::Secrets;
use crate::json::{self, Doubles, Node};

pub use indent::indented;
use mask::Masking;
pub use view::{MaskedValue, Revealed, View};

/// The placeholder for a secret.
pub const REDACTED: &str = "[redacted]";
/// How many characters a secret has at least that is known by its value. Shorter ones would match innocent text.
pub const LENGTH_MIN: usize = 8;

/// Removes secrets from texts.
pub struct Redactor {
    /// All encodings of all secrets; `None` if there are none.
    known: Option<AhoCorasick>,
}

impl Redactor {
    /// Makes a redactor for the secrets in use. Those of fewer than eight characters are skipped.
    ///
    /// Without known secrets, or with too many to search for, shapes and names are still detected.
    pub fn new<'a>(secrets: impl Iterator<Item = &'a str>) -> Self {
        let mut forms: Vec<_> =
            secrets.filter(|secret| secret.chars().count() >= LENGTH_MIN).flat_map(forms::of).collect();
        forms.sort_unstable();
        forms.dedup();
        // Hexadecimal digits may be in either case; elsewhere ignoring the case does no harm.
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true).match_kind(MatchKind::Standard);
        let known = if forms.is_empty() { None } else { builder.build(forms).ok() };
        Self { known }
    }

    /// The length of the longest encoding of a known secret.
    pub fn longest(&self) -> usize {
        self.known.as_ref().map_or(0, AhoCorasick::max_pattern_len)
    }

    /// The text with `[redacted]` for every known secret, and `[redacted: KIND]` for what looks like one. In
    /// JSON, values of members whose names suggest a secret are replaced too.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact_nested(text, Nesting::OUTSIDE)
    }

    /// The same for a text inside of JSON.
    fn redact_nested<'a>(&self, text: &'a str, nesting: Nesting) -> Cow<'a, str> {
        if text.trim_start().starts_with(['{', '['])
            && let Ok(node) = Node::parse(text.as_bytes(), Doubles::Kept)
        {
            let Some(nesting) = nesting.deeper() else {
                return Cow::Owned("[redacted: nested_json]".to_owned());
            };
            let (redacted, is_changed) = self.node(node, nesting);
            if is_changed || self.has_known(text) {
                return Cow::Owned(self.checked(preview::whole(&redacted)));
            }
            return Cow::Borrowed(text);
        }
        self.plain(text)
    }

    /// JSON text for display: redacted, of about `max_bytes` at most, and valid for any input.
    ///
    /// Long strings are cut, with a note of how much is missing; so are long lists and deep nesting. Input
    /// that is not JSON becomes one string.
    pub fn preview(&self, json: &[u8], max_bytes: usize) -> String {
        if json.len() <= max_bytes
            && let Ok(text) = std::str::from_utf8(json)
            && preview::is_plain(text)
            && !self.has_known(text)
            && Secrets::of(text).next().is_none()
            && !encoded::may_be(text)
        {
            return text.to_owned();
        }
        let node = match Node::parse(json, Doubles::Kept) {
            Ok(node) => self.node(node, Nesting::OUTSIDE).0,
            Err(_) => Node::Text(self.plain(&String::from_utf8_lossy(json)).into_owned()),
        };
        self.checked(preview::fitted(&node, json.len(), max_bytes))
    }

    /// Guards against a secret that only appears where pieces of JSON are joined.
    fn checked(&self, json: String) -> String {
        if self.has_known(&json) { format!("\"{REDACTED}\"") } else { json }
    }

    fn has_known(&self, text: &str) -> bool {
        self.known.as_ref().is_some_and(|known| {
            known.is_match(text) || encoded::decode(text).is_some_and(|decoded| known.is_match(&decoded.text))
        })
    }

    /// Redacts a text that is not JSON.
    fn plain<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut found = self.found(text);
        if let Some(decoded) = encoded::decode(text) {
            let inside = self.found(&decoded.text);
            found.extend(inside.into_iter().map(|(range, kind)| (decoded.origin(range), kind)));
        }
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_by_key(|(range, _)| range.start);
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        let mut found = found.into_iter().peekable();
        while let Some((range, mut kind)) = found.next() {
            let mut end = range.end;
            // Overlapping matches are merged: replacing them one by one would show where the other ends.
            while let Some((next, next_kind)) = found.next_if(|(next, _)| next.start < end) {
                end = end.max(next.end);
                kind = kind.and(next_kind);
            }
            out.push_str(&text[at..range.start]);
            match kind {
                None => out.push_str(REDACTED),
                Some(kind) => out.extend(["[redacted: ", kind, "]"]),
            }
            at = end;
        }
        out.push_str(&text[at..]);
        Cow::Owned(out)
    }

    /// Where there are secrets in a text, and of which kind if they are not known ones.
    fn found(&self, text: &str) -> Vec<(Range<usize>, Option<&'static str>)> {
        let known = self.known.iter().flat_map(|known| known.find_overlapping_iter(text));
        let mut found: Vec<_> = known.map(|found| (found.range(), None)).collect();
        found.extend(Secrets::of(text).map(|found| (found.range, Some(found.kind))));
        found
    }

    /// The value with secrets masked, and whether there were any.
    fn node(&self, node: Node, nesting: Nesting) -> (Node, bool) {
        let mut masking = Masking::new(self, nesting);
        let node = masking.node(node);
        (node, masking.has_masked)
    }
}

/// How deep a value is inside texts that are JSON themselves. Each level is followed with the stack.
#[derive(Clone, Copy, Debug)]
struct Nesting(u8);

impl Nesting {
    const OUTSIDE: Self = Self(0);
    const MAX: u8 = 4;

    /// One level deeper, if that is allowed.
    fn deeper(self) -> Option<Self> {
        (self.0 < Self::MAX).then_some(Self(self.0 + 1))
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_forms = self.known.as_ref().map_or(0, AhoCorasick::patterns_len);
        write!(formatter, "Redactor({n_forms} forms)")
    }
}

/// The text escaped for a JSON string.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    json::push_escaped(&mut out, text);
    out
}
