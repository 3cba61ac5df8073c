//! Changing policies: by operators at every level, and by agents through proposals for themselves.

use std::sync::Arc;

use octroi_api::ResourceChange;
use octroi_core::Principal;
use octroi_core::policy::{Complaint, Level};
use octroi_store::{
    PolicyDraft, PolicyLevel, PolicyRecord, PolicyRefusal, PolicyStatus, ProposalVerdict, Store,
};
use serde_json::{Value, json};

use super::Governance;
use super::policies::level_of;
use crate::change::PlannedChange;
use crate::policy_error::PolicyError;

/// The maximum number of pending proposals per agent, so that the disk and the reviewers are not flooded.
const WAITING_MAX: usize = 20;
const SOURCE_BYTES_MAX: usize = 64 << 10;
/// The maximum number of listed proposals.
const LISTED_MAX: u32 = 200;

/// The result of a policy check, as it is stored and shown.
pub fn check_result(complaints: &[Complaint]) -> Value {
    let each =
        complaints.iter().map(|complaint| json!({"line": complaint.line, "message": complaint.message}));
    json!({"ok": complaints.is_empty(), "complaints": each.collect::<Vec<_>>()})
}

/// Refuses a policy of an agent that is too long: every rule is compared with every tool.
pub fn check_length(source: &str) -> Result<(), PolicyError> {
    if source.len() > SOURCE_BYTES_MAX { Err(PolicyError::TooLong(SOURCE_BYTES_MAX)) } else { Ok(()) }
}

/// A planned change of a policy.
type PolicyChange = PlannedChange<PolicyRecord, PolicyError>;

impl Governance {
    /// Activates a policy on behalf of an operator.
    pub async fn change_policy(
        self: &Arc<Self>,
        by: &Principal,
        level: PolicyLevel,
        source: &str,
        expected_version: Option<i64>,
    ) -> Result<PolicyChange, PolicyError> {
        let draft = PolicyDraft {
            level,
            language: "rules".to_owned(),
            source: source.to_owned(),
            author: by.id().to_string(),
            rationale: None,
            check_result: None,
        };
        self.check_draft(&draft).await?;
        let active = self.active_policy(&draft.level).await?;
        let before = active.as_ref().map_or(Value::Null, described);
        let after = json!({"source": draft.source, "author": draft.author});
        let governance = Arc::clone(self);
        Ok(PlannedChange::new(subject(&draft.level), before, after, async move {
            let record = governance.set_policy(&draft, expected_version).await?;
            governance.announce_policy(&record);
            Ok(record)
        }))
    }

    /// Stores an agent's proposal for itself. It is checked, and stored whatever the check finds: a person
    /// may advise the agent.
    pub async fn propose_policy(
        self: &Arc<Self>,
        by: &Principal,
        source: &str,
        rationale: &str,
    ) -> Result<PolicyChange, PolicyError> {
        let agent = proposing_agent(by)?;
        check_length(source)?;
        let level = PolicyLevel::Agent(agent.to_owned());
        if self.policy_file(&level).is_some() {
            return Err(PolicyError::InSomeFile);
        }
        let waiting =
            self.policy_store()?.proposals(Some(agent), Some(PolicyStatus::Proposed), LISTED_MAX).await?;
        if waiting.len() >= WAITING_MAX {
            return Err(PolicyError::TooMany(WAITING_MAX));
        }
        let complaints = self.check_policy(Level::Agent, source, self.reach_of(&level)).await;
        let draft = PolicyDraft {
            level,
            language: "rules".to_owned(),
            source: source.to_owned(),
            author: agent.to_owned(),
            rationale: Some(rationale.to_owned()),
            check_result: Some(check_result(&complaints).to_string()),
        };
        let after = json!({"source": draft.source, "rationale": rationale, "status": "proposed"});
        let governance = Arc::clone(self);
        Ok(PlannedChange::new(subject(&draft.level), Value::Null, after, async move {
            let record = governance.policy_store()?.propose_policy(&draft, governance.now_ms()).await?;
            governance.announce_policy(&record);
            Ok(record)
        }))
    }

    /// Withdraws a proposal. An agent can only withdraw its own, and learns of no other.
    pub async fn withdraw_policy(
        self: &Arc<Self>,
        by: &Principal,
        id: i64,
    ) -> Result<PolicyChange, PolicyError> {
        let agent = proposing_agent(by)?.to_owned();
        let proposal = self.waiting_proposal(id, Some(&agent)).await?;
        let governance = Arc::clone(self);
        Ok(PlannedChange::new(
            about(&proposal),
            described(&proposal),
            json!({"status": "withdrawn"}),
            async move {
                let withdrawn = governance.policy_store()?.withdraw_proposal(id, &agent, governance.now_ms());
                let record = withdrawn.await??;
                governance.announce_policy(&record);
                Ok(record)
            },
        ))
    }

    /// Activates a proposal, if it is still valid.
    pub async fn approve_proposal(
        self: &Arc<Self>,
        by: &Principal,
        id: i64,
    ) -> Result<PolicyChange, PolicyError> {
        let proposal = self.waiting_proposal(id, None).await?;
        if let Some(file) = self.policy_file(&proposal.draft.level) {
            return Err(PolicyError::InFile(file));
        }
        // Servers and tools may have changed since it was made.
        let (level, source) = (&proposal.draft.level, &proposal.draft.source);
        let complaints = self.check_policy(level_of(level), source, self.reach_of(level)).await;
        if !complaints.is_empty() {
            return Err(PolicyError::Unusable(complaints));
        }
        let (governance, by) = (Arc::clone(self), Arc::clone(by.id()));
        Ok(PlannedChange::new(
            about(&proposal),
            described(&proposal),
            json!({"status": "active"}),
            async move {
                let store = governance.policy_store()?;
                let approved =
                    store.decide_proposal(id, ProposalVerdict::Approve, &by, None, governance.now_ms());
                let record = approved.await??;
                governance.load_policies().await?;
                governance.announce_policy(&record);
                Ok(record)
            },
        ))
    }

    /// Rejects a proposal, with a reason.
    pub async fn reject_proposal(
        self: &Arc<Self>,
        by: &Principal,
        id: i64,
        reason: &str,
    ) -> Result<PolicyChange, PolicyError> {
        let proposal = self.waiting_proposal(id, None).await?;
        let after = json!({"status": "rejected", "reason": reason});
        let (governance, by, reason) = (Arc::clone(self), Arc::clone(by.id()), reason.to_owned());
        Ok(PlannedChange::new(about(&proposal), described(&proposal), after, async move {
            let store = governance.policy_store()?;
            let now_ms = governance.now_ms();
            let rejected = store.decide_proposal(id, ProposalVerdict::Reject, &by, Some(&reason), now_ms);
            let record = rejected.await??;
            governance.announce_policy(&record);
            Ok(record)
        }))
    }

    /// Proposals, the newest first; for one agent, if one is given.
    pub async fn proposals(&self, agent: Option<&str>) -> Result<Vec<PolicyRecord>, PolicyError> {
        Ok(self.policy_store()?.proposals(agent, None, LISTED_MAX).await?)
    }

    /// One proposal; only if it is this agent's, if one is given.
    pub async fn proposal(&self, id: i64, agent: Option<&str>) -> Result<Option<PolicyRecord>, PolicyError> {
        let found = self.policy_store()?.policy(id).await?.filter(|record| record.was_proposed);
        Ok(found.filter(|record| agent.is_none_or(|agent| record.draft.level.agent() == Some(agent))))
    }

    /// A pending proposal; only if it is this agent's, if one is given.
    async fn waiting_proposal(&self, id: i64, agent: Option<&str>) -> Result<PolicyRecord, PolicyError> {
        let proposal = self.proposal(id, agent).await?.ok_or(PolicyRefusal::Unknown)?;
        match proposal.status {
            PolicyStatus::Proposed => Ok(proposal),
            status => {
                let (by, at_ms) = (proposal.decided_by, proposal.decided_at_ms);
                Err(PolicyRefusal::Decided { status, by, at_ms }.into())
            }
        }
    }

    /// The active policy of a level, if there is one.
    pub async fn active_policy(&self, level: &PolicyLevel) -> Result<Option<PolicyRecord>, PolicyError> {
        let active = self.policy_store()?.active_policies().await?;
        Ok(active.policies.into_iter().find(|record| record.draft.level == *level))
    }

    /// The active and former policies of a level, the newest first.
    pub async fn policy_history(&self, level: &PolicyLevel) -> Result<Vec<PolicyRecord>, PolicyError> {
        Ok(self.policy_store()?.policy_history(level, LISTED_MAX).await?)
    }

    pub(super) fn policy_store(&self) -> Result<&Store, PolicyError> {
        self.persistence.as_ref().map(|persistence| &**persistence.store()).ok_or(PolicyError::NoStore)
    }

    /// Notifies subscribers that a policy changed.
    fn announce_policy(&self, record: &PolicyRecord) {
        let change = ResourceChange::Policy { id: record.id, agent: record.draft.level.agent() };
        self.subscriptions.announce(&change);
    }
}

fn proposing_agent(by: &Principal) -> Result<&str, PolicyError> {
    by.agent_id().map(|agent| &**agent).ok_or(PolicyError::NoAgent)
}

fn subject(level: &PolicyLevel) -> Value {
    json!({"level": level.as_str(), "agent": level.agent()})
}

/// The subject of a change of a stored policy.
fn about(record: &PolicyRecord) -> Value {
    json!({"policy": record.id, "level": record.draft.level.as_str(), "agent": record.draft.level.agent()})
}

/// The state of a stored policy before a change.
fn described(record: &PolicyRecord) -> Value {
    json!({
        "policy": record.id,
        "version": record.version,
        "status": record.status.as_str(),
        "author": record.draft.author,
        "source": record.draft.source,
    })
}
