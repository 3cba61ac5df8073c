//! One call of its records.

use std::collections::HashMap;

use octroi_api::Wire;
use octroi_api::operations::activity::{Call, CallDecision, Caller};
use octroi_core::approval::{Approval, ApprovalState};
use octroi_core::audit::{ActorKind, Kind, Ruling};
use octroi_gateway::{AuditRow, OperatorError};
use serde::Deserialize;

use super::super::context::OperationContext;
use crate::error::OperationError;

/// The records of one call.
#[derive(Clone, Debug)]
pub(super) struct Joined {
    /// The record of its beginning, of its refusal, or of the question about it.
    pub(super) first: AuditRow,
    /// The record of its end.
    pub(super) end: Option<AuditRow>,
    /// The approval, if a person was asked and it is still kept.
    pub(super) approval: Option<Approval>,
}

/// Finds what belongs to a record.
pub(super) struct Lookups<'a> {
    context: &'a OperationContext,
    /// Records that were just read, by call.
    known: HashMap<String, Vec<AuditRow>>,
}

/// What the context of a record says about the decision.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RecordedContext {
    pub(super) approval: Option<String>,
    pub(super) gate: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) reasons: Vec<String>,
    pub(super) trace: Vec<RecordedVerdict>,
    pub(super) outcome: Option<String>,
    pub(super) duration_ms: Option<u64>,
    pub(super) result_bytes: Option<u64>,
    pub(super) result: Option<String>,
}

/// A verdict as it is recorded: the name of a gate that only passed, or everything it said.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum RecordedVerdict {
    Passed(String),
    Said {
        gate: String,
        outcome: String,
        #[serde(default)]
        reason: Option<String>,
        #[serde(default)]
        by: Option<String>,
        #[serde(default)]
        answered_by: Option<String>,
    },
}

pub(super) fn read_context(row: &AuditRow) -> RecordedContext {
    serde_json::from_str(&row.context).unwrap_or_default()
}

pub(super) fn is_kind(row: &AuditRow, kind: Kind) -> bool {
    row.event_type == kind.as_str()
}

impl<'a> Lookups<'a> {
    pub(super) fn new(context: &'a OperationContext) -> Self {
        Self { context, known: HashMap::new() }
    }

    /// Adds records that were just read, the oldest first.
    pub(super) fn know(&mut self, rows: &[AuditRow]) {
        for row in rows {
            if let Some(call) = &row.call_id {
                self.known.entry(call.clone()).or_default().push(row.clone());
            }
        }
    }

    /// The call that a record begins; `None` if an earlier record does.
    pub(super) async fn begun_by(
        &self,
        first: AuditRow,
        ends: &mut HashMap<String, AuditRow>,
    ) -> Result<Option<Joined>, OperationError> {
        // A request that names no tool is not a call.
        if first.tool.is_none() {
            return Ok(None);
        }
        let context = read_context(&first);
        if is_kind(&first, Kind::ApprovalRequested) {
            let approval = self.approval(context.approval.as_deref()).await?;
            return Ok(Some(Joined { first, end: None, approval }));
        }
        if is_kind(&first, Kind::PolicyViolation) {
            return Ok(Some(Joined { first, end: None, approval: None }));
        }
        // The question about it is where it began.
        if context.approval.is_some() {
            return Ok(None);
        }
        let end = match first.call_id.as_ref().map(|call| (ends.remove(call), call)) {
            None => None,
            Some((Some(end), _)) => Some(end),
            Some((None, call)) => {
                let audit = self.context.gateway.audit();
                audit.indexed_of_call(call, &[Kind::ToolInvocationEnd]).await?.into_iter().next()
            }
        };
        Ok(Some(Joined { first, end, approval: None }))
    }

    /// The call that a record belongs to.
    pub(super) async fn of_record(&self, row: &AuditRow) -> Result<Option<Joined>, OperationError> {
        if row.tool.is_none() {
            return Ok(None);
        }
        if is_kind(row, Kind::PolicyViolation) {
            return Ok(Some(Joined { first: row.clone(), end: None, approval: None }));
        }
        if is_kind(row, Kind::ApprovalRequested) || is_kind(row, Kind::ApprovalResolved) {
            return self.of_approval(row, None).await;
        }
        let Some(call) = &row.call_id else { return Ok(None) };
        let (start, end) = if is_kind(row, Kind::ToolInvocationEnd) {
            (self.one(call, Kind::ToolInvocationStart).await?, Some(row.clone()))
        } else {
            (Some(row.clone()), self.one(call, Kind::ToolInvocationEnd).await?)
        };
        let Some(start) = start else { return Ok(None) };
        if read_context(&start).approval.is_some() {
            return self.of_approval(&start, end).await;
        }
        Ok(Some(Joined { first: start, end, approval: None }))
    }

    /// The call that a person was asked about, by a record that names the approval.
    async fn of_approval(
        &self,
        row: &AuditRow,
        end: Option<AuditRow>,
    ) -> Result<Option<Joined>, OperationError> {
        let approval = self.approval(read_context(row).approval.as_deref()).await?;
        let first = match &approval {
            Some(approval) => self.one(&approval.call_id, Kind::ApprovalRequested).await?,
            None => None,
        };
        // A question that is not indexed yet, or no longer, is represented by what is known of it.
        Ok(Some(Joined { first: first.unwrap_or_else(|| row.clone()), end, approval }))
    }

    /// The newest record of a call of one kind.
    async fn one(&self, call: &str, kind: Kind) -> Result<Option<AuditRow>, OperationError> {
        let known = self.known.get(call).and_then(|rows| rows.iter().rev().find(|row| is_kind(row, kind)));
        match known {
            Some(row) => Ok(Some(row.clone())),
            None => {
                let found = self.context.gateway.audit().indexed_of_call(call, &[kind]).await?;
                Ok(found.into_iter().next())
            }
        }
    }

    pub(super) async fn approval(&self, id: Option<&str>) -> Result<Option<Approval>, OperationError> {
        let Some(id) = id else { return Ok(None) };
        match self.context.gateway.approvals().get(id).await {
            Ok(approval) => Ok(Some(approval)),
            Err(OperatorError::UnknownApproval(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Joined {
    /// The call as people see it in lists.
    pub(super) fn describe(&self, context: &OperationContext) -> Call {
        let Self { first, end, approval } = self;
        let recorded = read_context(first);
        let ended = end.as_ref().map(read_context);
        let id = approval.as_ref().map(|approval| approval.call_id.clone());
        let id = id.or_else(|| first.call_id.clone()).or_else(|| recorded.approval.clone());
        let agent = first.agent.clone();
        let at_ms = approval.as_ref().map_or(first.at_ms, |approval| approval.requested_at_ms);
        Call {
            id: id.unwrap_or_else(|| first.seq.to_string()),
            seq: first.seq,
            at_ms: u64::try_from(at_ms).unwrap_or_default(),
            caller: Caller {
                owner: agent.as_deref().map(|agent| context.gateway.identity().owner_of(agent).to_string()),
                person: self.person(),
                session: first.session.clone(),
                agent,
            },
            server: first.server.clone(),
            tool: first.tool.clone().unwrap_or_default(),
            decided: decided(first, &recorded),
            outcome: self.outcome(ended.as_ref()),
            duration_ms: ended.and_then(|ended| ended.duration_ms).or_else(|| self.duration_of_approved()),
            approval: recorded.approval,
        }
    }

    /// The person who tried the call as an agent.
    fn person(&self) -> Option<String> {
        let is_person = ActorKind::parse(&self.first.actor_kind) == Some(ActorKind::User);
        let by_person = is_person && !is_kind(&self.first, Kind::ApprovalResolved);
        by_person.then(|| self.first.actor_id.clone())
    }

    fn outcome(&self, ended: Option<&RecordedContext>) -> String {
        let ended = ended.and_then(|ended| ended.outcome.clone());
        let Some(approval) = &self.approval else {
            let otherwise = if is_kind(&self.first, Kind::PolicyViolation) {
                "denied"
            } else if is_kind(&self.first, Kind::ToolInvocationStart) {
                "running"
            } else {
                // The approval is gone, and so is what became of it.
                "outcome_unknown"
            };
            return ended.unwrap_or_else(|| otherwise.to_owned());
        };
        let word = match approval.state {
            ApprovalState::Pending => "waiting",
            ApprovalState::Approved => "approved",
            ApprovalState::DeniedContinue | ApprovalState::DeniedAbort => "denied",
            ApprovalState::Expired => "expired",
            ApprovalState::Cancelled => "cancelled",
            ApprovalState::Orphaned => "outcome_unknown",
            ApprovalState::Claimed => return ended.unwrap_or_else(|| "running".to_owned()),
            ApprovalState::Done => {
                return approval.outcome.clone().or(ended).unwrap_or_else(|| "completed".to_owned());
            }
        };
        word.to_owned()
    }

    /// How long an approved call took.
    fn duration_of_approved(&self) -> Option<u64> {
        let approval = self.approval.as_ref()?;
        let (claimed, finished) = approval.claimed_at_ms.zip(approval.finished_at_ms)?;
        u64::try_from(finished.saturating_sub(claimed)).ok()
    }
}

/// What was decided first about a call, and why.
fn decided(first: &AuditRow, recorded: &RecordedContext) -> CallDecision {
    let decision = first.decision.as_deref().and_then(Ruling::parse).map(Wire);
    if let Some(gate) = &recorded.gate {
        let said = recorded.trace.iter().find_map(|verdict| match verdict {
            RecordedVerdict::Said { gate: of, by, .. } if of == gate => by.clone(),
            _ => None,
        });
        let (gate, reason) = (Some(gate.clone()), recorded.reason.clone());
        return CallDecision { decision, gate, rule: said, reason };
    }
    // The last gate that named what it went by is what allowed it.
    let last = recorded.trace.iter().rev().find_map(|verdict| match verdict {
        RecordedVerdict::Said { gate, by: Some(by), reason, .. } => Some((gate, by, reason)),
        _ => None,
    });
    let reason = recorded.reasons.first().cloned();
    match last {
        Some((gate, by, said)) => CallDecision {
            decision,
            gate: Some(gate.clone()),
            rule: Some(by.clone()),
            reason: reason.or_else(|| said.clone()),
        },
        None => CallDecision { decision, gate: None, rule: None, reason },
    }
}
