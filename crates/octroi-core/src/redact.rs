//! Keeps secrets out of what is shown and kept.
//!
//! Secrets that are in use are known by their values and found in every common encoding; others are found by
//! their shape, or by the name of the member that holds them. What is cut is cut after that, so that no half of a
//! secret remains.

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

/// Stands in place of a secret.
pub const REDACTED: &str = "[redacted]";
/// A shorter value would be found in innocent text.
const LENGTH_MIN: usize = 8;

/// Takes secrets out of texts.
pub struct Redactor {
    /// All encodings of all secrets; nothing if there are none.
    known: Option<AhoCorasick>,
}

impl Redactor {
    /// Knows the secrets that are in use. Those of fewer than eight characters are left out.
    ///
    /// Without any, and if there are more than can be searched for at once, shapes and names still count.
    pub fn new<'a>(secrets: impl Iterator<Item = &'a str>) -> Self {
        let mut forms: Vec<_> =
            secrets.filter(|secret| secret.chars().count() >= LENGTH_MIN).flat_map(forms::of).collect();
        forms.sort_unstable();
        forms.dedup();
        // Capitals and small letters of hexadecimal digits are the same; elsewhere it does no harm.
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true).match_kind(MatchKind::Standard);
        let known = if forms.is_empty() { None } else { builder.build(forms).ok() };
        Self { known }
    }

    /// How long the longest form of a known secret is.
    pub fn longest(&self) -> usize {
        self.known.as_ref().map_or(0, AhoCorasick::max_pattern_len)
    }

    /// The text with `[redacted]` for every known secret, and `[redacted: KIND]` for what looks like one. In JSON
    /// also the values of members with telling names are replaced.
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

    /// A JSON text to be shown: without secrets, of about `max_bytes` at most, and valid whatever comes in.
    ///
    /// Long texts are cut, with a note of how much is missing; so are long lists and deep nesting. What is not
    /// JSON is given as one string.
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

    /// Nothing gets out by the chance that the pieces of JSON spell a secret.
    fn checked(&self, json: String) -> String {
        if self.has_known(&json) { format!("\"{REDACTED}\"") } else { json }
    }

    fn has_known(&self, text: &str) -> bool {
        self.known.as_ref().is_some_and(|known| known.is_match(text))
    }

    /// A text that is not JSON.
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
            // What overlaps is one: replaced one by one the pieces would show where the other ends.
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

    /// The value without secrets, and whether there were any.
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
                    let shown = self.plain(&name);
                    is_changed |= matches!(shown, Cow::Owned(_));
                    (shown.into_owned(), value)
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

/// Whether a value under the name of a secret says anything.
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

/// The text as it stands within a JSON string.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    json::push_escaped(&mut out, text);
    out
}
