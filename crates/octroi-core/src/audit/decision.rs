//! The decision that a record contains, as a record of its own.
//!
//! A call's decision is in the record of its beginning, so it costs no third record. Who looks for decisions gets them
//! as events of the kind `policy_decision`, which are made of those records and have their numbers.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::audit::entry::Entry;
use crate::audit::event::Event;
use crate::audit::words::Kind;

/// The members of a context that belong to the decision, in the order in which a decision shows them.
#[derive(Deserialize, Serialize)]
struct DecisionContext<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    method: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    uri: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    name: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    risk: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    side_effects: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    definition: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    mode: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    approval: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    gate: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    reason: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    reasons: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    left_out: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    revision: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    trace: Option<&'a RawValue>,
}

impl Kind {
    /// The kinds of records that contain a decision.
    pub const DECIDING: [Self; 4] =
        [Self::ToolInvocationStart, Self::PolicyViolation, Self::ApprovalRequested, Self::RequestStart];
}

impl Entry<'_> {
    /// Whether the record contains a decision.
    pub fn has_decision(&self) -> bool {
        self.ruling.is_some() && Kind::DECIDING.contains(&self.kind)
    }

    /// The context of the decision that the record contains, without what was decided about, such as arguments.
    pub fn decision_context(&self) -> Option<String> {
        if !self.has_decision() {
            return None;
        }
        let kept = serde_json::from_str::<DecisionContext<'_>>(self.context);
        Some(kept.and_then(|kept| serde_json::to_string(&kept)).unwrap_or_else(|_| "{}".to_owned()))
    }

    /// The encoded event of the decision that the record contains.
    pub fn decision(&self) -> Option<Vec<u8>> {
        let context = self.decision_context()?;
        Some(Event { kind: Kind::PolicyDecision, context: &context, ..self.event() }.body())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_made_of_the_record_that_contains_it() {
        let start = r#""kind":"tool_invocation_start","level":"info""#;
        for (kind, decision, context, expected) in [
            (
                start,
                r#","decision":"allow""#,
                r#"{"arguments":{"reason":"x"},"risk":"low","mode":"execution","revision":3,"trace":["scope"]}"#,
                Some(r#"{"risk":"low","mode":"execution","revision":3,"trace":["scope"]}"#),
            ),
            (
                r#""kind":"policy_violation","level":"warn""#,
                r#","decision":"deny_continue""#,
                r#"{"arguments":{},"gate":"policy","reason":"no"}"#,
                Some(r#"{"gate":"policy","reason":"no"}"#),
            ),
            (r#""kind":"request_start","level":"info""#, r#","decision":"allow""#, "[1]", Some("{}")),
            (
                r#""kind":"approval_requested","level":"info""#,
                r#","decision":"ask""#,
                r#"{"approval":"a"}"#,
                Some(r#"{"approval":"a"}"#),
            ),
            (start, "", r#"{"risk":"low"}"#, None),
            (r#""kind":"tool_invocation_end","level":"info""#, r#","decision":"allow""#, "{}", None),
        ] {
            let actor = r#""actor":{"kind":"agent","id":"a"}"#;
            let rest = format!(r#"{actor},"agent":"a","server":"files"{decision},"context":{context}}}"#);
            let record = format!(r#"{{"at_ms":7,{kind},{rest}"#);
            let entry = Entry::parse_text(&record).unwrap();
            let level = kind.split_once(',').unwrap().1;
            let expected = expected.map(|expected| {
                format!(r#"{{"at_ms":7,"kind":"policy_decision",{level},{actor},"agent":"a","server":"files"{decision},"context":{expected}}}"#)
            });
            let made = entry.decision().map(|made| String::from_utf8(made).unwrap());
            assert_eq!(made, expected, "{record}");
        }
    }
}
