//! An audit event before it is written, and its encoding.
//!
//! Two events are encoded for every tool call, so the text goes directly into one buffer.

use std::fmt;

use uuid::fmt::Hyphenated;
use uuid::{Builder, Uuid};

use crate::audit::words::{ActorKind, Kind, Level, Ruling, SourceType};

/// Upper limit for everything in a record but its texts.
const FRAME_ROOM: usize = 320;

/// An event to be recorded. It borrows everything, since it lives only until it is written.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// When it happened, in milliseconds since 1970.
    pub at_ms: u64,
    /// The kind of event.
    pub kind: Kind,
    /// Its severity.
    pub level: Level,
    /// The principal that did it.
    pub actor: Actor<'a>,
    /// The agent on whose behalf it happened.
    pub agent: Option<&'a str>,
    /// The session it happened in.
    pub session: Option<&'a str>,
    /// The server concerned.
    pub server: Option<&'a str>,
    /// The tool concerned, by its canonical id.
    pub tool: Option<&'a str>,
    /// The kind of source that provides the tool.
    pub source: Option<SourceType>,
    /// The project it happened in.
    pub project: Option<&'a str>,
    /// The call that it belongs to. The start and the end of a call share it.
    pub call: Option<CallId>,
    /// The decision about the call.
    pub ruling: Option<Ruling>,
    /// All other details: an encoded JSON object without secrets. Empty for none.
    pub context: &'a str,
}

/// The principal behind an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actor<'a> {
    /// The kind of principal.
    pub kind: ActorKind,
    /// The id of the principal.
    pub id: &'a str,
}

/// The id that all records of a call share, displayed as a UUID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u128);

impl<'a> Event<'a> {
    /// An event without any optional details.
    pub const fn new(at_ms: u64, kind: Kind, actor: Actor<'a>) -> Self {
        Self {
            at_ms,
            kind,
            level: Level::Info,
            actor,
            agent: None,
            session: None,
            server: None,
            tool: None,
            source: None,
            project: None,
            call: None,
            ruling: None,
            context: "",
        }
    }

    /// The encoded record: one JSON object, its members always in this order.
    pub fn body(&self) -> Vec<u8> {
        let texts = [Some(self.actor.id), self.agent, self.session, self.server, self.tool, self.project];
        let room: usize = texts.iter().flatten().map(|text| text.len()).sum();
        let mut body = Vec::with_capacity(FRAME_ROOM + room + self.context.len());
        body.extend_from_slice(b"{\"at_ms\":");
        body.extend_from_slice(itoa::Buffer::new().format(self.at_ms).as_bytes());
        put_word(&mut body, "kind", self.kind.as_str());
        put_word(&mut body, "level", self.level.as_str());
        body.extend_from_slice(b",\"actor\":{\"kind\":\"");
        body.extend_from_slice(self.actor.kind.as_str().as_bytes());
        body.extend_from_slice(b"\",\"id\":");
        put_text(&mut body, self.actor.id);
        body.push(b'}');
        put_member(&mut body, "agent", self.agent);
        put_member(&mut body, "session", self.session);
        put_member(&mut body, "server", self.server);
        put_member(&mut body, "tool", self.tool);
        if let Some(source) = self.source {
            put_word(&mut body, "source_type", source.as_str());
        }
        put_member(&mut body, "project", self.project);
        if let Some(call) = self.call {
            body.extend_from_slice(b",\"call\":\"");
            body.extend_from_slice(call.encode(&mut [0; CallId::LENGTH]).as_bytes());
            body.push(b'"');
        }
        if let Some(ruling) = self.ruling {
            put_word(&mut body, "decision", ruling.as_str());
        }
        if !self.context.is_empty() {
            body.extend_from_slice(b",\"context\":");
            body.extend_from_slice(self.context.as_bytes());
        }
        body.push(b'}');
        body
    }
}

impl<'a> Actor<'a> {
    /// Octroi itself.
    pub const SYSTEM: Actor<'static> = Actor { kind: ActorKind::System, id: "octroi" };

    /// A principal by its kind and id.
    pub const fn new(kind: ActorKind, id: &'a str) -> Self {
        Self { kind, id }
    }
}

impl CallId {
    /// The length of an id as text.
    pub const LENGTH: usize = Hyphenated::LENGTH;

    /// The id of a call that starts now: a UUID of version 7. `number` must be unique; it orders the calls of
    /// one millisecond.
    pub fn new(now_ms: u64, number: u64) -> Self {
        let digits = number.to_be_bytes();
        // The variant takes the upper two bits of the third byte, so the number's top two bits go before it.
        let mut after_time = [0; 10];
        after_time[1] = digits[0] >> 6;
        after_time[2..].copy_from_slice(&digits);
        Self(Builder::from_unix_timestamp_millis(now_ms, &after_time).into_uuid().as_u128())
    }

    /// Parses an id. A UUID has other spellings, but ids are also compared as text, so only the spelling that
    /// is written is accepted.
    pub fn parse(text: &str) -> Option<Self> {
        let has_form =
            text.len() == Hyphenated::LENGTH && !text.bytes().any(|byte| byte.is_ascii_uppercase());
        let id = Uuid::try_parse(text).ok().filter(|_| has_form)?;
        Some(Self(id.as_u128()))
    }

    /// Formats the id into a buffer.
    pub fn encode(self, buffer: &mut [u8; Self::LENGTH]) -> &str {
        Uuid::from_u128(self.0).hyphenated().encode_lower(buffer)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.encode(&mut [0; Self::LENGTH]))
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// A fixed word, which never needs escaping.
fn put_word(body: &mut Vec<u8>, name: &str, word: &str) {
    body.extend_from_slice(b",\"");
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(b"\":\"");
    body.extend_from_slice(word.as_bytes());
    body.push(b'"');
}

fn put_member(body: &mut Vec<u8>, name: &str, text: Option<&str>) {
    let Some(text) = text else { return };
    body.extend_from_slice(b",\"");
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(b"\":");
    put_text(body, text);
}

/// A text as an escaped JSON string.
pub(super) fn put_text(body: &mut Vec<u8>, text: &str) {
    body.push(b'"');
    let bytes = text.as_bytes();
    let mut copied = 0;
    for (place, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        body.extend_from_slice(&bytes[copied..place]);
        copied = place + 1;
        match byte {
            b'"' | b'\\' => body.extend_from_slice(&[b'\\', byte]),
            b'\n' => body.extend_from_slice(b"\\n"),
            b'\r' => body.extend_from_slice(b"\\r"),
            b'\t' => body.extend_from_slice(b"\\t"),
            _ => {
                let digits = b"0123456789abcdef";
                body.extend_from_slice(b"\\u00");
                body.push(digits[usize::from(byte >> 4)]);
                body.push(digits[usize::from(byte & 15)]);
            }
        }
    }
    body.extend_from_slice(&bytes[copied..]);
    body.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_calls_are_uuids_in_the_order_of_time_and_number() {
        for (now_ms, number, text) in [
            (0, 0, "00000000-0000-7000-8000-000000000000"),
            (0, 1, "00000000-0000-7000-8000-000000000001"),
            (1_794_801_600_000, 0x3fff_ffff_ffff_ffff, "01a1e283-0600-7000-bfff-ffffffffffff"),
            (1_794_801_600_000, 0x4000_0000_0000_0000, "01a1e283-0600-7001-8000-000000000000"),
            (1_794_801_600_000, u64::MAX, "01a1e283-0600-7003-bfff-ffffffffffff"),
            (1_794_801_600_001, 0, "01a1e283-0601-7000-8000-000000000000"),
            (0xffff_ffff_ffff, 0, "ffffffff-ffff-7000-8000-000000000000"),
        ] {
            let id = CallId::new(now_ms, number);
            assert_eq!(id.to_string(), text);
            assert_eq!(CallId::parse(text), Some(id));
        }
    }

    #[test]
    fn an_id_has_one_form() {
        let text = "01a1e283-0600-7003-bfff-ffffffffffff";
        assert!(CallId::parse(text).is_some());
        for wrong in [
            "",
            &text.to_uppercase(),
            &text.replace('-', ""),
            &format!("{{{text}}}"),
            &format!("urn:uuid:{text}"),
            &text.replace('f', "g"),
            &text.replace('-', "f"),
            &text[1..],
            &format!("{text}0"),
            &format!(" {}", &text[1..]),
            &"é".repeat(18),
        ] {
            assert_eq!(CallId::parse(wrong), None, "{wrong}");
        }
    }
}
