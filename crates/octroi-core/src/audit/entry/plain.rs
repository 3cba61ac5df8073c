//! The fast path for reading a record: member by member, in the order of writing. Every record is read again
//! for the audit index, so the extra code pays off.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::Entry;
use crate::audit::event::CallId;
use crate::audit::words::{ActorKind, Kind, Level, Ruling, SourceType};

/// Parses a record whose members are in the order of writing and whose texts have no escapes. Returns `None`
/// for any other record.
pub(super) fn parse(body: &str) -> Option<Entry<'_>> {
    let mut rest = Rest(body);
    rest.expect("{\"at_ms\":")?;
    let at_ms = rest.number()?;
    let kind = Kind::parse(rest.member("kind")?)?;
    let level = Level::parse(rest.member("level")?)?;
    rest.expect(",\"actor\":{\"kind\":\"")?;
    let actor_kind = ActorKind::parse(rest.text()?)?;
    rest.expect(",\"id\":\"")?;
    let actor_id = Cow::Borrowed(rest.text()?);
    rest.expect("}")?;
    let [agent, session, server, tool] =
        ["agent", "session", "server", "tool"].map(|name| rest.member(name).map(Cow::Borrowed));
    let source = rest.word("source_type", SourceType::parse)?;
    let project = rest.member("project").map(Cow::Borrowed);
    let call = rest.word("call", CallId::parse)?;
    let ruling = rest.word("decision", Ruling::parse)?;
    let context = if rest.expect(",\"context\":").is_some() {
        let context = rest.0.strip_suffix('}')?;
        serde_json::from_str::<&RawValue>(context).ok().filter(|_| context.starts_with('{'))?.get()
    } else if rest.0 == "}" {
        ""
    } else {
        return None;
    };
    Some(Entry {
        at_ms,
        kind,
        level,
        actor_kind,
        actor_id,
        agent,
        session,
        server,
        tool,
        source,
        project,
        call,
        ruling,
        context,
    })
}

/// The text that is still to be read.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn expect(&mut self, start: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(start)?;
        Some(())
    }

    fn number(&mut self) -> Option<u64> {
        let length = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(length);
        // JSON numbers have no leading zero.
        let is_plain = length == 1 || !digits.starts_with('0');
        self.0 = rest;
        digits.parse().ok().filter(|_| is_plain)
    }

    /// The rest of a string, after its opening quote.
    fn text(&mut self) -> Option<&'a str> {
        let end = self.0.bytes().position(|byte| byte < b' ' || matches!(byte, b'"' | b'\\'))?;
        let (text, rest) = self.0.split_at(end);
        self.0 = rest.strip_prefix('"')?;
        Some(text)
    }

    /// A member with a string, if it comes next.
    fn member(&mut self, name: &str) -> Option<&'a str> {
        let value = self.0.strip_prefix(",\"")?.strip_prefix(name)?.strip_prefix("\":\"")?;
        let mut rest = Rest(value);
        let text = rest.text()?;
        *self = rest;
        Some(text)
    }

    /// A member with a known word, if it comes next. The outer `None` means an unknown word.
    #[expect(clippy::option_option, reason = "there may be none, or one that cannot be read")]
    fn word<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
        match self.member(name) {
            None => Some(None),
            Some(word) => parse(word).map(Some),
        }
    }
}
