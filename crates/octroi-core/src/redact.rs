//! Redacts secrets from everything that is displayed or stored.
//!
//! Secrets in use are known by value and found in every common encoding; others are found by their shape, or
//! by the name of the member that holds them. Text is cut only after redaction, so that no part of a secret
//! remains.

mod forms;
mod preview;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::facts::keys;
use crate::facts::secrets::Secrets;
use crate::json::{self, Doubles, Node};

/// The placeholder for a secret.
pub const REDACTED: &str = "[redacted]";
/// Shorter values would match innocent text.
const LENGTH_MIN: usize = 8;

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
        if text.trim_start().starts_with(['{', '['])
            && let Ok(node) = Node::parse(text.as_bytes(), Doubles::Kept)
        {
            let (redacted, is_changed) = self.node(node);
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
        {
            return text.to_owned();
        }
        let node = match Node::parse(json, Doubles::Kept) {
            Ok(node) => self.node(node).0,
            Err(_) => Node::Text(self.plain(&String::from_utf8_lossy(json)).into_owned()),
        };
        self.checked(preview::fitted(&node, json.len(), max_bytes))
    }

    /// Guards against a secret that only appears where pieces of JSON are joined.
    fn checked(&self, json: String) -> String {
        if self.has_known(&json) { format!("\"{REDACTED}\"") } else { json }
    }

    fn has_known(&self, text: &str) -> bool {
        self.known.as_ref().is_some_and(|known| known.is_match(text))
    }

    /// Redacts a text that is not JSON.
    fn plain<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = self.known.iter().flat_map(|known| known.find_overlapping_iter(text));
        let mut found: Vec<(Range<usize>, Option<&str>)> = known.map(|found| (found.range(), None)).collect();
        found.extend(Secrets::of(text).map(|found| (found.range, Some(found.kind))));
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

    /// The redacted value, and whether anything was redacted.
    fn node(&self, node: Node) -> (Node, bool) {
        match node {
            Node::Number(text) if self.has_known(&text) => (redacted(), true),
            Node::Null | Node::Bool(_) | Node::Number(_) => (node, false),
            Node::Text(text) => match self.redact(&text) {
                Cow::Borrowed(_) => (Node::Text(text), false),
                Cow::Owned(text) => (Node::Text(text), true),
            },
            Node::List(items) => {
                let mut is_changed = false;
                let items = items.into_iter().map(|item| self.note(item, &mut is_changed)).collect();
                (Node::List(items), is_changed)
            }
            Node::Map(members) => {
                let mut is_changed = false;
                let members = members.into_iter().map(|(name, value)| {
                    let value = if keys::is_secret(&name) && is_telling(&value) {
                        is_changed = true;
                        redacted()
                    } else {
                        self.note(value, &mut is_changed)
                    };
                    let clean_name = self.plain(&name);
                    is_changed |= matches!(clean_name, Cow::Owned(_));
                    (clean_name.into_owned(), value)
                });
                (Node::Map(members.collect()), is_changed)
            }
        }
    }

    fn note(&self, node: Node, is_changed: &mut bool) -> Node {
        let (node, is_node_changed) = self.node(node);
        *is_changed |= is_node_changed;
        node
    }
}

fn redacted() -> Node {
    Node::Text(REDACTED.to_owned())
}

/// Whether a value of a secret's name contains anything worth redacting.
fn is_telling(value: &Node) -> bool {
    match value {
        Node::Null | Node::Bool(_) => false,
        Node::Text(text) => !text.is_empty() && text != REDACTED,
        Node::Number(_) => true,
        Node::List(items) => !items.is_empty(),
        Node::Map(members) => !members.is_empty(),
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
