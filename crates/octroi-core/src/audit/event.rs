//! An audit event on its way into the log, and the bytes it becomes.
//!
//! This is done twice for every call of a tool, so the text is written straight into one buffer.

use std::fmt;

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

/// The number of a call, which its records share. Shown in the form of a UUID.
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
        put_number(&mut body, self.at_ms);
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
            body.extend_from_slice(&call.digits());
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
    /// The id that a text in the form of a UUID stands for.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let has_form = bytes.len() == 36
            && bytes.iter().enumerate().all(|(place, &byte)| match place {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            });
        if !has_form {
            return None;
        }
        let number = bytes.iter().filter(|&&byte| byte != b'-').fold(0_u128, |number, &byte| {
            let digit = if byte.is_ascii_digit() { byte - b'0' } else { byte - b'a' + 10 };
            number << 4 | u128::from(digit)
        });
        Some(Self(number))
    }

    fn digits(self) -> [u8; 36] {
        let mut text = [b'-'; 36];
        let mut rest = self.0;
        for place in (0..36).rev().filter(|place| !matches!(place, 8 | 13 | 18 | 23)) {
            text[place] = b"0123456789abcdef"[(rest & 15) as usize];
            rest >>= 4;
        }
        text
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(str::from_utf8(&self.digits()).unwrap_or_default())
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

fn put_number(body: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0_u8; 20];
    let mut place = digits.len();
    loop {
        place -= 1;
        digits[place] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    body.extend_from_slice(&digits[place..]);
}
