//! Filters for reading audit records.

use crate::audit::entry::Entry;
use crate::audit::words::Kind;

/// Conditions that a record must meet. An empty filter matches all records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// At or after this moment, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// Before this moment.
    pub until_ms: Option<u64>,
    /// One of these kinds; any kind if empty.
    pub kinds: Vec<Kind>,
    /// A tool whose canonical id matches this pattern: `*` matches any characters, `?` one.
    pub tool: Option<String>,
    /// Only records of this agent.
    pub agent: Option<String>,
    /// Only records about this server.
    pub server: Option<String>,
    /// Only records of this session.
    pub session: Option<String>,
    /// Only records that contain this text.
    pub text: Option<String>,
}

impl Filter {
    /// Whether a record matches. Also takes its encoded text, for the text search.
    pub fn wants(&self, entry: &Entry<'_>, body: &[u8]) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&entry.kind)) && self.fits(entry, body)
    }

    /// Whether the decision that a record contains is requested too. It repeats the record, so only who names its kind
    /// gets it.
    pub fn wants_decision(&self, entry: &Entry<'_>, body: &[u8]) -> bool {
        self.kinds.contains(&Kind::PolicyDecision) && entry.has_decision() && self.fits(entry, body)
    }

    /// Whether everything but the kind matches.
    fn fits(&self, entry: &Entry<'_>, body: &[u8]) -> bool {
        self.since_ms.is_none_or(|since_ms| entry.at_ms >= since_ms)
            && self.until_ms.is_none_or(|until_ms| entry.at_ms < until_ms)
            && is_same(self.agent.as_deref(), entry.agent.as_deref())
            && is_same(self.server.as_deref(), entry.server.as_deref())
            && is_same(self.session.as_deref(), entry.session.as_deref())
            && self.tool.as_deref().is_none_or(|pattern| {
                entry.tool.as_deref().is_some_and(|tool| matches_pattern(pattern, tool))
            })
            && self.text.as_deref().is_none_or(|text| holds(body, text))
    }
}

fn is_same(requested: Option<&str>, found: Option<&str>) -> bool {
    requested.is_none() || requested == found
}

/// Compares JSON text, where quotes and line breaks are escaped.
fn holds(body: &[u8], text: &str) -> bool {
    let mut escaped = Vec::with_capacity(text.len() + 2);
    super::event::put_text(&mut escaped, text);
    let inner = std::str::from_utf8(&escaped[1..escaped.len() - 1]).unwrap_or_default();
    // Searching a text takes as long as it is, whatever is searched for; comparing every place would not.
    std::str::from_utf8(body).is_ok_and(|body| body.contains(inner))
}

fn matches_pattern(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut place) = (0, 0);
    // Where the last star was, and how much it consumed: only the last star is ever retried.
    let mut star: Option<(usize, usize)> = None;
    while place < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(&letter) if letter == '?' || letter == text[place] => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((star_at, swallowed)) = star else { return false };
                star = Some((star_at, swallowed + 1));
                at = star_at + 1;
                place = swallowed + 1;
            }
        }
    }
    pattern[at..].iter().all(|&letter| letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Actor, ActorKind, Event};

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("mcp:files:*", "mcp:files:read", true),
            ("mcp:files:*", "mcp:file:read", false),
            ("*:read*", "mcp:files:read_all", true),
            ("*a*b", "aab", true),
            ("*a*b", "aabc", false),
            ("r?ad", "read", true),
            ("r?ad", "rad", false),
            ("?", "ä", true),
        ] {
            assert_eq!(matches_pattern(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn every_condition_must_hold() {
        let event = Event {
            agent: Some("a"),
            session: Some("s"),
            server: Some("files"),
            tool: Some("mcp:files:read"),
            context: r#"{"path":"a \"b\""}"#,
            ..Event::new(100, Kind::PolicyDecision, Actor::new(ActorKind::User, "u"))
        };
        let body = event.body();
        let entry = Entry::parse(&body).unwrap();
        let text = |text: &str| Some(text.to_owned());
        for (filter, expected) in [
            (Filter::default(), true),
            (Filter { since_ms: Some(100), until_ms: Some(101), ..Filter::default() }, true),
            (Filter { since_ms: Some(101), ..Filter::default() }, false),
            (Filter { until_ms: Some(100), ..Filter::default() }, false),
            (Filter { kinds: vec![Kind::AuthFailed, Kind::PolicyDecision], ..Filter::default() }, true),
            (Filter { kinds: vec![Kind::AuthFailed], ..Filter::default() }, false),
            (Filter { tool: text("*:files:*"), agent: text("a"), ..Filter::default() }, true),
            (Filter { tool: text("*:git:*"), ..Filter::default() }, false),
            (Filter { agent: text("b"), ..Filter::default() }, false),
            (Filter { server: text("file"), ..Filter::default() }, false),
            (Filter { session: text("s"), ..Filter::default() }, true),
            (Filter { session: text("t"), ..Filter::default() }, false),
            (Filter { text: text(r#"a "b""#), ..Filter::default() }, true),
            (Filter { text: text("missing"), ..Filter::default() }, false),
        ] {
            assert_eq!(filter.wants(&entry, &body), expected, "{filter:?}");
        }
    }
}
