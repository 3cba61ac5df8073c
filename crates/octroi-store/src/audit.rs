//! The audit log as it can be asked. What counts is the log itself; this can be made again from it.

use octroi_core::audit::{Entry, EntryError, Ruling, SourceType};

/// A record of the log, to be added.
#[derive(Clone, Debug)]
pub struct AuditRecord<'a> {
    /// Its number in the log.
    pub(crate) seq: u64,
    /// As it stands there.
    pub(crate) text: &'a str,
    /// What it says.
    pub(crate) entry: Entry<'a>,
}

impl<'a> AuditRecord<'a> {
    /// Reads the text of a record. One that a newer Octroi wrote may not be understood.
    pub fn read(seq: u64, text: &'a [u8]) -> Result<Self, EntryError> {
        let text = std::str::from_utf8(text)?;
        Ok(Self { seq, text, entry: Entry::parse_text(text)? })
    }
}

/// An event of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// The gateway that wrote it.
    pub node: String,
    /// Its number in that gateway's log.
    pub seq: u64,
    /// When it happened.
    pub at_ms: i64,
    /// What happened, in a word.
    pub event_type: String,
    /// How much it matters, in a word.
    pub level: String,
    /// What kind of principal did it.
    pub actor_kind: String,
    /// Which one.
    pub actor_id: String,
    /// The agent that it is about.
    pub agent: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The server.
    pub server: Option<String>,
    /// The canonical id of the tool.
    pub tool: Option<String>,
    /// Where the tool comes from.
    pub source_type: Option<String>,
    /// The project.
    pub project: Option<String>,
    /// The call.
    pub call_id: Option<String>,
    /// What was decided, in a word.
    pub decision: Option<String>,
    /// Everything else, as the text of a JSON object without secrets.
    pub context: String,
}

impl AuditRow {
    pub(crate) fn new(node: &str, seq: u64, entry: &Entry<'_>) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Self {
            node: node.to_owned(),
            seq,
            at_ms: at_ms(entry),
            event_type: entry.kind.as_str().to_owned(),
            level: entry.level.as_str().to_owned(),
            actor_kind: entry.actor_kind.as_str().to_owned(),
            actor_id: entry.actor_id.to_string(),
            agent: owned(entry.agent.as_deref()),
            session: owned(entry.session.as_deref()),
            server: owned(entry.server.as_deref()),
            tool: owned(entry.tool.as_deref()),
            source_type: owned(entry.source.map(SourceType::as_str)),
            project: owned(entry.project.as_deref()),
            call_id: entry.call.map(|call| call.to_string()),
            decision: owned(entry.ruling.map(Ruling::as_str)),
            context: if entry.context.is_empty() { "{}" } else { entry.context }.to_owned(),
        }
    }
}

/// When it happened, as databases count.
pub(crate) fn at_ms(entry: &Entry<'_>) -> i64 {
    i64::try_from(entry.at_ms).unwrap_or(i64::MAX)
}

/// Which events to look for. What is not given does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// At this moment or later.
    pub since_ms: Option<i64>,
    /// Before this moment.
    pub until_ms: Option<i64>,
    /// One of these; none means any.
    pub event_types: Vec<String>,
    /// Where the tool comes from.
    pub source_type: Option<String>,
    /// The canonical id of the tool.
    pub tool: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The server.
    pub server: Option<String>,
    /// The call.
    pub call_id: Option<String>,
    /// What was decided.
    pub decision: Option<String>,
    /// A text that is somewhere in the context, the tool or the actor, in capitals or not.
    pub text: Option<String>,
}

impl AuditFilter {
    /// Whether this is one of those that are looked for.
    pub(crate) fn wants(&self, entry: &Entry<'_>) -> bool {
        let equal = [
            (&self.source_type, entry.source.map(SourceType::as_str)),
            (&self.tool, entry.tool.as_deref()),
            (&self.agent, entry.agent.as_deref()),
            (&self.server, entry.server.as_deref()),
            (&self.decision, entry.ruling.map(Ruling::as_str)),
        ];
        self.since_ms.is_none_or(|since_ms| at_ms(entry) >= since_ms)
            && self.until_ms.is_none_or(|until_ms| at_ms(entry) < until_ms)
            && (self.event_types.is_empty() || self.event_types.iter().any(|one| one == entry.kind.as_str()))
            && equal.into_iter().all(|(wanted, value)| wanted.is_none() || wanted.as_deref() == value)
            && self.call_id.as_deref().is_none_or(|id| entry.call.is_some_and(|call| call.to_string() == id))
            && self.text.as_deref().is_none_or(|text| {
                let places = [Some(entry.context), entry.tool.as_deref(), Some(&entry.actor_id)];
                places.into_iter().flatten().any(|place| contains(place, text))
            })
    }
}

/// Whether a text is somewhere in another, in capitals or not.
fn contains(text: &str, part: &str) -> bool {
    part.is_empty()
        || text.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

/// A place among all events, to go on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditCursor(i64);

impl AuditCursor {
    /// The place as a number, for whoever must write it down.
    pub fn number(self) -> i64 {
        self.0
    }

    /// The place of a number that was written down. Any number is one.
    pub fn from_number(number: i64) -> Self {
        Self(number)
    }
}

/// Some of the events that were looked for, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditPage {
    /// The events.
    pub rows: Vec<AuditRow>,
    /// Where to go on. A page may be short, or even empty, though there are more: one search looks at
    /// no more than some hundred thousand events.
    pub next: Option<AuditCursor>,
}

/// How many events of one sort there were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditCount {
    /// What happened.
    pub event_type: String,
    /// The agent.
    pub agent: Option<String>,
    /// The canonical id of the tool.
    pub tool: Option<String>,
    /// What was decided.
    pub decision: Option<String>,
    /// How often.
    pub n: u64,
}
