//! A record as it is read back.

mod plain;
mod reader;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::audit::event::{Actor, CallId, Event};
use crate::audit::words::{ActorKind, Kind, Level, Ruling, SourceType};

pub use reader::EntryReader;

/// The content of a record. Borrows from its text where it can.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// When it happened, in milliseconds since 1970.
    pub at_ms: u64,
    /// The kind of event.
    pub kind: Kind,
    /// Its severity.
    pub level: Level,
    /// The kind of principal that did it.
    pub actor_kind: ActorKind,
    /// The id of that principal.
    pub actor_id: Cow<'a, str>,
    /// The agent on whose behalf it happened.
    pub agent: Option<Cow<'a, str>>,
    /// The session it happened in.
    pub session: Option<Cow<'a, str>>,
    /// The server concerned.
    pub server: Option<Cow<'a, str>>,
    /// The canonical id of the tool concerned.
    pub tool: Option<Cow<'a, str>>,
    /// The kind of source that provides the tool.
    pub source: Option<SourceType>,
    /// The project it happened in.
    pub project: Option<Cow<'a, str>>,
    /// The call that it belongs to.
    pub call: Option<CallId>,
    /// The decision about the call.
    pub ruling: Option<Ruling>,
    /// All other details: the text of a JSON object, or empty.
    pub context: &'a str,
}

/// The texts of a record around what differs from call to call. Many records share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryFrame<'a> {
    /// The members between `at_ms` and `call`, each after a comma.
    pub before_call: &'a str,
    /// The members between `call` and `context`, each after a comma.
    pub after_call: &'a str,
}

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// It is not JSON of the expected form.
    #[error("the record is not an audit record")]
    Json(#[from] serde_json::Error),
    /// It is not UTF-8.
    #[error("the record is not text")]
    Text(#[from] std::str::Utf8Error),
    /// It has an unknown word: a newer Octroi wrote it, or it was forged.
    #[error("the record has the {member} `{word}`, which this Octroi does not know")]
    Word {
        /// The member with the unknown word.
        member: &'static str,
        /// The unknown word.
        word: String,
    },
}

impl<'a> Entry<'a> {
    /// Parses a record.
    pub fn parse(body: &'a [u8]) -> Result<Self, EntryError> {
        Self::parse_text(str::from_utf8(body)?)
    }

    /// Parses the text of a record.
    pub fn parse_text(body: &'a str) -> Result<Self, EntryError> {
        Self::parse_with_frame(body).map(|(entry, _)| entry)
    }

    /// Parses the text of a record; with its frame if the record is in the form in which records are written.
    pub fn parse_with_frame(body: &'a str) -> Result<(Self, Option<EntryFrame<'a>>), EntryError> {
        match plain::parse(body) {
            Some((entry, frame)) => Ok((entry, Some(frame))),
            None => Ok((Self::parse_any(body)?, None)),
        }
    }

    /// Accepts any order of members and any escapes.
    fn parse_any(body: &'a str) -> Result<Self, EntryError> {
        let raw: Raw<'a> = serde_json::from_str(body)?;
        Ok(Self {
            at_ms: raw.at_ms,
            kind: known("kind", &raw.kind, Kind::parse)?,
            level: known("level", &raw.level, Level::parse)?,
            actor_kind: known("actor kind", &raw.actor.kind, ActorKind::parse)?,
            actor_id: raw.actor.id.0,
            agent: text(raw.agent),
            session: text(raw.session),
            server: text(raw.server),
            tool: text(raw.tool),
            source: raw.source_type.map(|word| known("source type", &word, SourceType::parse)).transpose()?,
            project: text(raw.project),
            call: raw.call.map(|word| known("call", &word, CallId::parse)).transpose()?,
            ruling: raw.decision.map(|word| known("decision", &word, Ruling::parse)).transpose()?,
            context: raw.context.map_or("", RawValue::get),
        })
    }

    /// An event with the same content, to be changed and written again.
    pub fn event(&self) -> Event<'_> {
        Event {
            at_ms: self.at_ms,
            kind: self.kind,
            level: self.level,
            actor: Actor { kind: self.actor_kind, id: &self.actor_id },
            agent: self.agent.as_deref(),
            session: self.session.as_deref(),
            server: self.server.as_deref(),
            tool: self.tool.as_deref(),
            source: self.source,
            project: self.project.as_deref(),
            call: self.call,
            ruling: self.ruling,
            context: self.context,
        }
    }
}

#[derive(Deserialize)]
struct Raw<'a> {
    at_ms: u64,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    level: Cow<'a, str>,
    #[serde(borrow)]
    actor: RawActor<'a>,
    #[serde(borrow)]
    agent: Option<Text<'a>>,
    #[serde(borrow)]
    session: Option<Text<'a>>,
    #[serde(borrow)]
    server: Option<Text<'a>>,
    #[serde(borrow)]
    tool: Option<Text<'a>>,
    #[serde(borrow)]
    source_type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    project: Option<Text<'a>>,
    #[serde(borrow)]
    call: Option<Cow<'a, str>>,
    #[serde(borrow)]
    decision: Option<Cow<'a, str>>,
    #[serde(borrow)]
    context: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawActor<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    id: Text<'a>,
}

/// Inside an `Option` serde would copy every text.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn text(text: Option<Text<'_>>) -> Option<Cow<'_, str>> {
    text.map(|text| text.0)
}

fn known<T>(
    member: &'static str,
    word: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, EntryError> {
    parse(word).ok_or_else(|| EntryError::Word { member, word: word.to_owned() })
}

#[cfg(test)]
mod tests;
