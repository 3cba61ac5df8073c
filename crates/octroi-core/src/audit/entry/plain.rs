//! The fast path for reading a record: member by member, in the order of writing. Every record is read again
//! for the audit index, so the extra code pays off.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::reader::KnownRecord;
use super::{Entry, EntryFrame};
use crate::audit::event::CallId;
use crate::audit::words::{ActorKind, Kind, Level, Ruling, SourceType};

/// Parses a record whose members are in the order of writing and whose texts have no escapes. Returns `None`
/// for any other record.
pub(super) fn parse(body: &str) -> Option<(Entry<'_>, EntryFrame<'_>)> {
    let mut rest = Rest(body);
    rest.expect("{\"at_ms\":")?;
    let at_ms = rest.number()?;
    let after_time = rest.0;
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
    let before_call = rest.since(after_time);
    let call = rest.word("call", CallId::parse)?;
    let after_call = rest.0;
    let ruling = rest.word("decision", Ruling::parse)?;
    let frame = EntryFrame { before_call, after_call: rest.since(after_call) };
    let context = rest.context()?;
    let entry = Entry {
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
    };
    Some((entry, frame))
}

/// Reads a record that differs from one of these only in time, call and context, which is quicker. Returns `None` for
/// any other record.
pub(super) fn parse_like<'a>(
    body: &'a str,
    known: &[KnownRecord<'a>],
    buffer: &mut String,
) -> Option<(Entry<'a>, EntryFrame<'a>)> {
    let mut start = Rest(body);
    start.expect("{\"at_ms\":")?;
    let at_ms = start.number()?;
    known.iter().find_map(|KnownRecord { entry, frame, repeated }| {
        let mut rest = Rest(start.0);
        rest.expect(frame.before_call)?;
        let call = rest.word("call", CallId::parse)?;
        rest.expect(frame.after_call)?;
        let context = match repeated.and_then(|repeated| rest.context_before(repeated, buffer)) {
            Some(context) => context,
            None => rest.context()?,
        };
        Some((Entry { at_ms, call, context, ..entry.clone() }, *frame))
    })
}

/// The text that is still to be read.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn expect(&mut self, start: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(start)?;
        Some(())
    }

    /// What was read since this was still to be read.
    fn since(&self, earlier: &'a str) -> &'a str {
        &earlier[..earlier.len() - self.0.len()]
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

    /// The text of the context, or an empty one, after which the record ends.
    fn context(&self) -> Option<&'a str> {
        if self.0 == "}" {
            return Some("");
        }
        let context = self.0.strip_prefix(",\"context\":")?.strip_suffix('}')?;
        Some(serde_json::from_str::<&RawValue>(context).ok().filter(|_| context.starts_with('{'))?.get())
    }

    /// The text of a context that ends like the valid context of another record, from a comma between two members on.
    /// Only the beginning is left to be checked: if it is an object of its own, so is the whole.
    fn context_before(&self, repeated: &str, buffer: &mut String) -> Option<&'a str> {
        let context = self.0.strip_prefix(",\"context\":")?.strip_suffix('}')?;
        let beginning = context.strip_suffix(repeated)?;
        buffer.clear();
        buffer.push_str(beginning);
        buffer.push('}');
        let has_members = beginning.starts_with('{') && !beginning[1..].trim_ascii().is_empty();
        serde_json::from_str::<&RawValue>(buffer).ok().filter(|_| has_members).map(|_| context)
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
