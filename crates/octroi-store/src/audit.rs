//! The audit log as it can be asked. What counts is the log itself; this can be made again from it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// One event of the log. It borrows where it is added and owns where it is found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow<'a> {
    /// The gateway that wrote it. Kept once for many.
    #[serde(skip)]
    pub node: Cow<'a, str>,
    /// Its number in that gateway's log.
    pub seq: u64,
    /// When it happened.
    pub at_ms: i64,
    /// What happened, in a word.
    pub event_type: Cow<'a, str>,
    /// How much it matters, in a word.
    pub level: Cow<'a, str>,
    /// What kind of principal did it.
    pub actor_kind: Cow<'a, str>,
    /// Which one.
    pub actor_id: Cow<'a, str>,
    /// The agent that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Cow<'a, str>>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Cow<'a, str>>,
    /// The server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Cow<'a, str>>,
    /// The canonical id of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Cow<'a, str>>,
    /// Where the tool comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_type: Option<Cow<'a, str>>,
    /// The project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Cow<'a, str>>,
    /// The call. Ids in the form of a UUID that begins with its time are by far the cheapest to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<Cow<'a, str>>,
    /// What was decided, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Cow<'a, str>>,
    /// Everything else, as the text of a JSON object without secrets.
    pub context: Cow<'a, str>,
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
    pub(crate) fn wants(&self, row: &AuditRow<'_>) -> bool {
        let equal = [
            (&self.source_type, &row.source_type),
            (&self.tool, &row.tool),
            (&self.agent, &row.agent),
            (&self.server, &row.server),
            (&self.call_id, &row.call_id),
            (&self.decision, &row.decision),
        ];
        self.since_ms.is_none_or(|since_ms| row.at_ms >= since_ms)
            && self.until_ms.is_none_or(|until_ms| row.at_ms < until_ms)
            && (self.event_types.is_empty() || self.event_types.iter().any(|one| *one == row.event_type))
            && equal
                .into_iter()
                .all(|(wanted, value)| wanted.is_none() || wanted.as_deref() == value.as_deref())
            && self.text.as_deref().is_none_or(|text| {
                let places = [Some(&row.context), row.tool.as_ref(), Some(&row.actor_id)];
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
    pub rows: Vec<AuditRow<'static>>,
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
