//! The quick way to read a record: as it was written, member by member. Every record is read once more to be put
//! into the table that searches use, so this is worth its lines.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::Entry;
use crate::audit::event::CallId;
use crate::audit::words::{ActorKind, Kind, Level, Ruling, SourceType};

/// Reads a record whose members stand in the order in which they are written and whose texts need no escapes. Of
/// any other it tells nothing.
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

/// What is still to be read.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn expect(&mut self, start: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(start)?;
        Some(())
    }

    fn number(&mut self) -> Option<u64> {
        let length = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(length);
        // JSON has no numbers that begin with 0, but for 0 itself.
        let is_plain = length == 1 || !digits.starts_with('0');
        self.0 = rest;
        digits.parse().ok().filter(|_| is_plain)
    }

    /// A text, after its first quote.
    fn text(&mut self) -> Option<&'a str> {
        let end = self.0.bytes().position(|byte| byte < b' ' || matches!(byte, b'"' | b'\\'))?;
        let (text, rest) = self.0.split_at(end);
        self.0 = rest.strip_prefix('"')?;
        Some(text)
    }

    /// A member with a text, if it comes next.
    fn member(&mut self, name: &str) -> Option<&'a str> {
        let value = self.0.strip_prefix(",\"")?.strip_prefix(name)?.strip_prefix("\":\"")?;
        let mut rest = Rest(value);
        let text = rest.text()?;
        *self = rest;
        Some(text)
    }

    /// A member with a word, if it comes next. Nothing if the word is not known.
    #[expect(clippy::option_option, reason = "there may be none, or one that cannot be read")]
    fn word<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
        match self.member(name) {
            None => Some(None),
            Some(word) => parse(word).map(Some),
        }
    }
}
