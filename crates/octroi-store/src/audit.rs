//! The queryable index of the audit log. The log is authoritative; the index can be rebuilt from it.

use octroi_core::audit::{CallSums, Entry, EntryError, EntryFrame, EntryReader, Kind, Ruling, SourceType};

/// A record of the log, to be added to the index.
#[derive(Clone, Debug)]
pub struct AuditRecord<'a> {
    /// Its sequence number in the log.
    pub(crate) seq: u64,
    /// Its original text.
    pub(crate) text: &'a str,
    /// The parsed text.
    pub(crate) entry: Entry<'a>,
    /// What the record shares with others, unless it has an unusual form.
    pub(crate) frame: Option<EntryFrame<'a>>,
}

impl<'a> AuditRecord<'a> {
    /// Parses the text of a record. A record of a newer Octroi may fail to parse.
    pub fn read(seq: u64, text: &'a [u8]) -> Result<Self, EntryError> {
        AuditRecordReader::default().read(seq, text)
    }

    /// Whether it is about a call of a tool.
    pub fn is_of_call(&self) -> bool {
        let kinds = [
            Kind::ToolInvocationStart,
            Kind::ToolInvocationEnd,
            Kind::PolicyViolation,
            Kind::ApprovalRequested,
            Kind::ApprovalResolved,
        ];
        self.entry.tool.is_some() && kinds.contains(&self.entry.kind)
    }

    /// What it says.
    pub fn entry(&self) -> &Entry<'a> {
        &self.entry
    }
}

/// Reads records in the order of the log: more quickly than one by one, since most resemble an earlier one.
#[derive(Debug, Default)]
pub struct AuditRecordReader<'a>(EntryReader<'a>);

impl<'a> AuditRecordReader<'a> {
    /// Reads a record like [`AuditRecord::read`].
    pub fn read(&mut self, seq: u64, text: &'a [u8]) -> Result<AuditRecord<'a>, EntryError> {
        let text = std::str::from_utf8(text)?;
        let (entry, frame) = self.0.read(text)?;
        Ok(AuditRecord { seq, text, entry, frame })
    }
}

/// What the database knows of a gateway's log besides its records. It tells a log or a database that was
/// replaced by an older or another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownLog {
    /// The gateway that writes it.
    pub node: String,
    /// The key that signs its checkpoints, as text.
    pub key: String,
    /// How many records a checkpoint covers, at least.
    pub signed_until: u64,
    /// The number of the newest snapshot of this database in it.
    pub snapshot: u64,
}

/// Spans of ten minutes are counted together.
pub const CALL_SPAN_MS: i64 = 10 * 60 * 1_000;

/// Which calls to count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallFilter {
    /// At or after this moment.
    pub since_ms: i64,
    /// Before this moment; `None` for no end.
    pub until_ms: Option<i64>,
    /// Those of these agents; `None` for all.
    pub agents: Option<Vec<String>>,
    /// Those of tools whose canonical id begins so.
    pub tool_prefix: Option<String>,
    /// Those of the tool with this canonical id.
    pub tool: Option<String>,
}

/// How the calls of a tool by an agent went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallsOfTool {
    /// The agent; empty for calls of nobody's.
    pub agent: String,
    /// The canonical id of the tool.
    pub tool: String,
    /// The sums.
    pub sums: CallSums,
}

/// An event of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// The gateway that wrote it.
    pub node: String,
    /// Its sequence number in that gateway's log.
    pub seq: u64,
    /// When it happened.
    pub at_ms: i64,
    /// The type of event.
    pub event_type: String,
    /// Its severity.
    pub level: String,
    /// The kind of principal that caused it.
    pub actor_kind: String,
    /// The id of that principal.
    pub actor_id: String,
    /// The agent concerned.
    pub agent: Option<String>,
    /// The client's session.
    pub session: Option<String>,
    /// The server concerned.
    pub server: Option<String>,
    /// The canonical id of the tool.
    pub tool: Option<String>,
    /// The type of source that provides the tool.
    pub source_type: Option<String>,
    /// The project of the agent.
    pub project: Option<String>,
    /// The id of the call.
    pub call_id: Option<String>,
    /// The decision about the call.
    pub decision: Option<String>,
    /// Further details, as the text of a JSON object without secrets.
    pub context: String,
}

impl AuditRow {
    /// The event of a record.
    pub fn new(node: &str, seq: u64, entry: &Entry<'_>) -> Self {
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

impl AuditRow {
    /// The decision that a record contains, as an event of its own.
    pub(crate) fn decision(node: &str, seq: u64, entry: &Entry<'_>) -> Option<Self> {
        let context = entry.decision_context()?;
        let event_type = Kind::PolicyDecision.as_str().to_owned();
        Some(Self { event_type, context, ..Self::new(node, seq, entry) })
    }
}

/// The time of the event as a signed integer, as databases store it.
pub(crate) fn at_ms(entry: &Entry<'_>) -> i64 {
    i64::try_from(entry.at_ms).unwrap_or(i64::MAX)
}

/// Selects audit events. Fields that are not set match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// At this time or later.
    pub since_ms: Option<i64>,
    /// Before this time.
    pub until_ms: Option<i64>,
    /// Any of these types; empty means all.
    pub event_types: Vec<String>,
    /// The type of source that provides the tool.
    pub source_type: Option<String>,
    /// The canonical id of the tool.
    pub tool: Option<String>,
    /// The agent concerned.
    pub agent: Option<String>,
    /// Any of these agents; empty means all.
    pub agents: Vec<String>,
    /// The server concerned.
    pub server: Option<String>,
    /// The client's session.
    pub session: Option<String>,
    /// The id of the call.
    pub call_id: Option<String>,
    /// The decision about the call.
    pub decision: Option<String>,
    /// A text in the context, the tool or the actor, case-insensitive.
    pub text: Option<String>,
}

impl AuditFilter {
    /// Snapshots of the state are for rebuilding it: only who asks for them sees them.
    fn wants_kind(&self, kind: Kind) -> bool {
        let is_named = self.event_types.iter().any(|one| one == kind.as_str());
        is_named || self.event_types.is_empty() && kind != Kind::StateSnapshot
    }

    /// The decision that a record contains repeats the record: only who asks for decisions gets it.
    fn wants_decisions(&self) -> bool {
        self.event_types.iter().any(|one| one == Kind::PolicyDecision.as_str())
    }

    /// The types of records that have to be read.
    pub(crate) fn recorded_types(&self) -> Vec<&str> {
        let mut types: Vec<&str> = self.event_types.iter().map(String::as_str).collect();
        if self.wants_decisions() {
            types.extend(Kind::DECIDING.map(Kind::as_str));
        }
        types
    }

    /// The events that a record is found as, the newest first: itself, and the decision that it contains.
    pub(crate) fn events(&self, node: &str, seq: u64, entry: &Entry<'_>) -> [Option<AuditRow>; 2] {
        if !self.fits(entry) {
            return [None, None];
        }
        let decision = || self.wants_decisions().then(|| AuditRow::decision(node, seq, entry)).flatten();
        [self.wants_kind(entry.kind).then(|| AuditRow::new(node, seq, entry)), decision()]
    }

    /// Whether everything but the type of an event matches the filter.
    fn fits(&self, entry: &Entry<'_>) -> bool {
        let equal = [
            (&self.source_type, entry.source.map(SourceType::as_str)),
            (&self.tool, entry.tool.as_deref()),
            (&self.agent, entry.agent.as_deref()),
            (&self.server, entry.server.as_deref()),
            (&self.session, entry.session.as_deref()),
            (&self.decision, entry.ruling.map(Ruling::as_str)),
        ];
        self.since_ms.is_none_or(|since_ms| at_ms(entry) >= since_ms)
            && self.until_ms.is_none_or(|until_ms| at_ms(entry) < until_ms)
            && (self.agents.is_empty()
                || entry.agent.as_deref().is_some_and(|agent| self.agents.iter().any(|one| one == agent)))
            && equal.into_iter().all(|(expected, value)| expected.is_none() || expected.as_deref() == value)
            && self.call_id.as_deref().is_none_or(|id| entry.call.is_some_and(|call| call.to_string() == id))
            && self.text.as_deref().is_none_or(|text| {
                let places = [Some(entry.context), entry.tool.as_deref(), Some(&entry.actor_id)];
                places.into_iter().flatten().any(|place| contains(place, text))
            })
    }
}

/// Whether a text contains another, case-insensitive.
fn contains(text: &str, part: &str) -> bool {
    part.is_empty()
        || text.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

/// A position in the index, for pagination: twice the position of a record, plus one. The decision that a record
/// contains comes just before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditCursor(i64);

impl AuditCursor {
    /// After everything.
    pub(crate) const END: Self = Self(i64::MAX);

    /// The place of a record.
    pub(crate) fn at(position: i64) -> Self {
        Self(position.saturating_mul(2).saturating_add(1))
    }

    /// The place of the decision that a record contains.
    pub(crate) fn of_decision_at(position: i64) -> Self {
        Self(position.saturating_mul(2))
    }

    /// The place before a record and before its decision.
    pub(crate) fn before(position: i64) -> Self {
        Self::of_decision_at(position)
    }

    /// Only records before this position are at places before this one.
    pub(crate) fn position(self) -> i64 {
        self.0 / 2 + self.0 % 2
    }

    /// The position as a number, for serialization.
    pub fn number(self) -> i64 {
        self.0
    }

    /// The position for a serialized number. Any number is valid.
    pub fn from_number(number: i64) -> Self {
        Self(number)
    }
}

/// One page of matching events, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditPage {
    /// The matching events.
    pub rows: Vec<AuditRow>,
    /// The position to continue from. A page may be short or even empty although there are more: one search
    /// reads at most a few hundred thousand events.
    pub next: Option<AuditCursor>,
}

/// The number of events with the same type, agent, tool and decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditCount {
    /// The type of event.
    pub event_type: String,
    /// The agent concerned.
    pub agent: Option<String>,
    /// The canonical id of the tool.
    pub tool: Option<String>,
    /// The decision about the calls.
    pub decision: Option<String>,
    /// The number of events.
    pub n: u64,
}
