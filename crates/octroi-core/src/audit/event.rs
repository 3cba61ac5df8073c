//! An audit event on its way into the log, and the bytes it becomes.
//!
//! This is done twice for every call of a tool, so the text is written straight into one buffer.

use std::fmt;

use uuid::fmt::Hyphenated;
use uuid::{Builder, Uuid};

use crate::audit::words::{ActorKind, Kind, Level, Ruling, SourceType};

/// Members besides the texts take less than this.
const FRAME_ROOM: usize = 320;

/// What is to be recorded. Everything is borrowed: an event lives as long as it takes to write it.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// What happened.
    pub kind: Kind,
    /// How much it matters.
    pub level: Level,
    /// Who did it.
    pub actor: Actor<'a>,
    /// For which agent.
    pub agent: Option<&'a str>,
    /// In which session.
    pub session: Option<&'a str>,
    /// The server concerned.
    pub server: Option<&'a str>,
    /// The tool concerned, by its canonical id.
    pub tool: Option<&'a str>,
    /// Where the tool comes from.
    pub source: Option<SourceType>,
    /// In which project.
    pub project: Option<&'a str>,
    /// Which call. Start and end of a call have the same.
    pub call: Option<CallId>,
    /// How the call was decided.
    pub ruling: Option<Ruling>,
    /// Everything else: a JSON object, already written and free of secrets. Empty for none.
    pub context: &'a str,
}

/// Who did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actor<'a> {
    /// What kind of principal.
    pub kind: ActorKind,
    /// Its id.
    pub id: &'a str,
}

/// The number of a call, which its records share: a UUID, and shown as one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u128);

impl<'a> Event<'a> {
    /// An event about nothing in particular yet.
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

    /// The record's text: one JSON object, its members always in this order.
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
            body.extend_from_slice(call.encode(&mut [0; Hyphenated::LENGTH]).as_bytes());
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

    /// A principal by kind and id.
    pub const fn new(kind: ActorKind, id: &'a str) -> Self {
        Self { kind, id }
    }
}

impl CallId {
    /// The id of a call that begins now: a UUID of version 7. No other call may have the number; those of one
    /// millisecond are ordered by it.
    pub fn new(now_ms: u64, number: u64) -> Self {
        let digits = number.to_be_bytes();
        // The variant takes the upper two bits of the third byte, so these two of the number stand before it.
        let mut after_time = [0; 10];
        after_time[1] = digits[0] >> 6;
        after_time[2..].copy_from_slice(&digits);
        Self(Builder::from_unix_timestamp_millis(now_ms, &after_time).into_uuid().as_u128())
    }

    /// The id that a text stands for. A UUID has other forms as well, but an id is compared as a text too, so
    /// only the one that is written is read.
    pub fn parse(text: &str) -> Option<Self> {
        let has_form =
            text.len() == Hyphenated::LENGTH && !text.bytes().any(|byte| byte.is_ascii_uppercase());
        let id = Uuid::try_parse(text).ok().filter(|_| has_form)?;
        Some(Self(id.as_u128()))
    }

    /// Writes the id into a buffer.
    fn encode(self, buffer: &mut [u8; Hyphenated::LENGTH]) -> &str {
        Uuid::from_u128(self.0).hyphenated().encode_lower(buffer)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.encode(&mut [0; Hyphenated::LENGTH]))
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// A word of ours, which never needs escaping.
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

/// A text as a JSON string.
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
