//! Decisions about pending approvals.

use std::sync::Arc;

use octroi_core::approval::{Answer, Approval, ApprovalState, ApprovalVerdict, Event};
use octroi_core::pin::PinKind;
use octroi_core::{CanonicalId, Principal, Secret, arguments};
use octroi_store::{ApprovalFilter, Store};
use serde_json::json;

use super::remember::Remember;
use super::showing::readable;
use super::{Approvals, milliseconds};
use crate::change::{FiledUnder, PlannedChange};
use crate::operator_error::{OperatorError, must_be_person};

/// A person's decision about a pending call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Approved: the call may be made, once.
    Approve,
    /// Denied; the agent may continue.
    DenyContinue,
    /// Denied, and the agent should stop.
    DenyAbort,
}

impl Choice {
    /// All choices.
    pub const ALL: [Self; 3] = [Self::Approve, Self::DenyContinue, Self::DenyAbort];

    /// The name in the API and in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::DenyContinue => "deny_continue",
            Self::DenyAbort => "deny_abort",
        }
    }

    /// Parses the name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.as_str() == word)
    }

    /// The resulting state of the approval.
    const fn state(self) -> ApprovalState {
        match self {
            Self::Approve => ApprovalState::Approved,
            Self::DenyContinue => ApprovalState::DeniedContinue,
            Self::DenyAbort => ApprovalState::DeniedAbort,
        }
    }
}

impl Approvals {
    /// Approvals, the newest first.
    pub async fn list(&self, filter: &ApprovalFilter, n_max: u32) -> Result<Vec<Approval>, OperatorError> {
        Ok(self.store()?.approvals(filter, None, n_max).await?)
    }

    /// One approval.
    pub async fn get(&self, id: &str) -> Result<Approval, OperatorError> {
        let found = self.store()?.approval(id).await?;
        found.ok_or_else(|| OperatorError::UnknownApproval(id.to_owned()))
    }

    /// Fails unless a person may decide about a call: the owner of the agent and administrators, or those that the
    /// rules name.
    pub fn check_approver(&self, approval: &Approval, person: &Principal) -> Result<(), OperatorError> {
        must_be_person(person)?;
        let agent = approval.binding.agent.as_deref().unwrap_or_default();
        // Whoever tries a call as an agent is no other person either.
        let is_own = approval.binding.principal == **Principal::trying(person, agent, "").id();
        if approval.approvers.permit(person, &self.governance.identity().owner_of(agent))
            && !(is_own && approval.approvers.need_another_person())
        {
            return Ok(());
        }
        let who = approval.approvers.describe();
        let who = who.unwrap_or_else(|| "the owner of the agent or an administrator".to_owned());
        Err(OperatorError::NotAnApprover { id: approval.id.clone(), who })
    }

    /// Decides about a pending call, and wakes its waiters. A rule to remember takes effect before the
    /// decision does.
    pub async fn decide(
        self: &Arc<Self>,
        id: &str,
        choice: Choice,
        by: &Principal,
        reason: Option<String>,
        edited_arguments: Option<String>,
        remember: Option<Remember>,
    ) -> Result<PlannedChange<Approval, OperatorError>, OperatorError> {
        must_be_person(by)?;
        let approval = self.decidable(id).await?;
        self.check_approver(&approval, by)?;
        let edited = self.edited(&approval, choice, edited_arguments)?;
        if choice == Choice::Approve {
            // What cannot be shown cannot be approved. With edited arguments, other params are still sent.
            readable(&approval)?;
        }
        let rule = match remember {
            Some(remember) => {
                Some(self.rule_to_remember(&approval, choice, edited.as_deref(), remember, by)?)
            }
            None => None,
        };
        let subject = json!({
            "approval": approval.id,
            "arguments": approval.shown_arguments(),
            "other_params": approval.shown_params(),
            "risk": approval.risk,
            "reasons": approval.reasons,
        });
        let after = json!({
            "state": choice.state().as_str(),
            "decided_by": by.id(),
            "reason": reason,
            "edited": edited.is_some(),
            "rule": rule,
        });
        let filed_under = FiledUnder {
            agent: approval.binding.agent.clone(),
            tool: Some(approval.binding.tool.clone()),
            server: None,
        };
        let (approvals, by) = (Arc::clone(self), by.clone());
        let before = json!({"state": approval.state.as_str()});
        let change = PlannedChange::new(subject, before, after, async move {
            let answer = PersonsAnswer { choice, reason, edited, rule };
            approvals.apply_decision(&approval, answer, &by).await
        });
        Ok(change.filed_under(filed_under))
    }

    async fn apply_decision(
        &self,
        approval: &Approval,
        decided: PersonsAnswer,
        by: &Principal,
    ) -> Result<Approval, OperatorError> {
        let PersonsAnswer { choice, reason, edited, rule } = decided;
        if let Some(rule) = &rule {
            self.remember_rule(approval, rule, by).await?;
        }
        let (now_ms, agent) = (self.now_ms(), approval.binding.agent.as_deref());
        let verdict = match choice {
            Choice::Approve => ApprovalVerdict::Approve {
                edited_arguments: edited.map(Secret::new),
                remembered_rule: rule,
                // The rule may have changed the revision.
                policy_revision: self.governance.policies.load().revision(agent.unwrap_or_default()),
                usable_until_ms: now_ms
                    .saturating_add(milliseconds(self.governance.settings().approvals.grant_expires)),
            },
            Choice::DenyContinue => ApprovalVerdict::DenyContinue,
            Choice::DenyAbort => ApprovalVerdict::DenyAbort,
        };
        let answer = Answer { verdict, by: by.id().to_string(), reason };
        let decided = self.store()?.decide_approval(&approval.id, answer, now_ms).await?;
        let decided =
            decided.map_err(|refusal| OperatorError::Refused { id: approval.id.clone(), refusal })?;
        self.settled(&decided);
        self.alert(&decided);
        Ok(decided)
    }

    /// Why an approved call will not be made: its tool is no longer the one that was asked about.
    pub fn hindrance(&self, approval: &Approval) -> Option<&'static str> {
        if approval.state != ApprovalState::Approved {
            return None;
        }
        let gone = Some("the tool is quarantined or gone; the call will be refused: see `octroi pins`");
        let catalogue = self.registry.catalogue();
        let Some((server, name)) = CanonicalId::parse_mcp(&approval.binding.tool) else { return gone };
        let Some(offer) = catalogue.offer(&server).filter(|offer| offer.held(PinKind::Tool, name).is_none())
        else {
            return gone;
        };
        match offer.tools.get(name) {
            Some(tool) if tool.descriptor.definition_hash == approval.binding.definition_hash => None,
            Some(_) => Some(
                "the tool's definition has changed since; the call will be refused, and asked about anew",
            ),
            None => gone,
        }
    }

    /// The rule that would be remembered with a decision.
    pub async fn remembered_rule(
        &self,
        id: &str,
        choice: Choice,
        by: &Principal,
        edited_arguments: Option<String>,
        remember: Remember,
    ) -> Result<String, OperatorError> {
        must_be_person(by)?;
        let approval = self.decidable(id).await?;
        self.check_approver(&approval, by)?;
        let edited = self.edited(&approval, choice, edited_arguments)?;
        self.rule_for(&approval, choice, edited.as_deref(), remember, by)
    }

    /// Fails if a call cannot be made with these arguments, as JSON text.
    pub fn check_edited(&self, approval: &Approval, arguments: &str) -> Result<(), OperatorError> {
        self.edited(approval, Choice::Approve, Some(arguments.to_owned())).map(drop)
    }

    /// An approval that can still be decided.
    async fn decidable(&self, id: &str) -> Result<Approval, OperatorError> {
        let approval = self.get(id).await?;
        // Any answer would be refused in the same way.
        let answer = Answer { verdict: ApprovalVerdict::DenyContinue, by: String::new(), reason: None };
        match approval.next(&Event::Decide(answer), self.now_ms()) {
            Ok(_) => Ok(approval),
            Err(refusal) => Err(OperatorError::Refused { id: id.to_owned(), refusal }),
        }
    }

    /// The edited arguments that replace the caller's, if they are valid, as they were written: a value would round
    /// long numbers.
    fn edited(
        &self,
        approval: &Approval,
        choice: Choice,
        edited: Option<String>,
    ) -> Result<Option<String>, OperatorError> {
        let Some(text) = edited else {
            return Ok(None);
        };
        let wrong = |reason: String| Err(OperatorError::Arguments(reason));
        if choice != Choice::Approve {
            return wrong("a call that is denied has no use for them".to_owned());
        }
        let value = match arguments::read(text.as_bytes()) {
            Ok(value) if value.is_object() => value,
            Ok(_) => return wrong("they must be a JSON object".to_owned()),
            Err(reason) => return wrong(reason),
        };
        let catalogue = self.registry.catalogue();
        let Some(tool) = catalogue.tool_by_id(&approval.binding.tool) else {
            return wrong(format!("the tool {} is gone", approval.binding.tool));
        };
        match tool.complaint(&value, text.len() as u64) {
            Some(complaint) => wrong(complaint),
            None => Ok(Some(text)),
        }
    }

    fn store(&self) -> Result<&Store, OperatorError> {
        Ok(self.persistence.as_ref().ok_or(OperatorError::NoStore)?.store())
    }
}

/// A validated decision, ready to be applied.
struct PersonsAnswer {
    choice: Choice,
    reason: Option<String>,
    edited: Option<String>,
    rule: Option<String>,
}
