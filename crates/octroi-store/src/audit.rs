//! The audit log as it can be asked. What counts is the log itself; this can be made again from it.

/// One event of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// The call. Ids that begin with their time are by far the cheapest to keep.
    pub call_id: Option<String>,
    /// What was decided, in a word.
    pub decision: Option<String>,
    /// Everything else, as the text of a JSON object without secrets.
    pub context: String,
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
