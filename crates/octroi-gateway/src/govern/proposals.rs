//! Changing policies: by people at every level, and by agents through proposals for themselves.

use octroi_core::audit::Kind;
use octroi_core::policy::{Complaint, Level};
use octroi_core::{Principal, Role};
use octroi_store::{
    PolicyDraft, PolicyLevel, PolicyRecord, PolicyRefusal, PolicyStatus, ProposalVerdict, Store,
};
use serde_json::{Value, json};

use super::policies::{PolicyProblem, level_of};
use crate::desk::OCTROI;
use crate::gateway::Gateway;
use crate::time::now_ms;

/// An agent that proposes without end would fill the disk, and nobody would read it.
const WAITING_MAX: usize = 20;
const SOURCE_BYTES_MAX: usize = 64 << 10;
/// So many proposals are told at once.
const SHOWN_MAX: u32 = 200;

/// What checking a policy found, as it is kept and shown.
pub fn check_result(complaints: &[Complaint]) -> Value {
    let each =
        complaints.iter().map(|complaint| json!({"line": complaint.line, "message": complaint.message}));
    json!({"ok": complaints.is_empty(), "complaints": each.collect::<Vec<_>>()})
}

impl Gateway {
    /// Makes a policy active in the name of a person, and writes that down.
    pub async fn change_policy(
        &self,
        by: &Principal,
        level: PolicyLevel,
        source: &str,
        expected_version: Option<i64>,
    ) -> Result<PolicyRecord, PolicyProblem> {
        self.is_recording()?;
        let draft = PolicyDraft {
            level,
            language: "rules".to_owned(),
            source: source.to_owned(),
            author: by.id.to_string(),
            rationale: None,
            check_result: None,
        };
        let record = self.set_policy(&draft, expected_version).await?;
        self.policy_news(&record);
        self.note_policy(by, Kind::PolicyChanged, &record).await?;
        Ok(record)
    }

    /// Keeps what an agent proposes for itself. It is checked, and kept whatever the check finds: a person
    /// may tell the agent what to do about it.
    pub async fn propose_policy(
        &self,
        by: &Principal,
        source: &str,
        rationale: &str,
    ) -> Result<PolicyRecord, PolicyProblem> {
        let agent =
            by.agent_id.as_deref().filter(|_| by.role == Role::Agent).ok_or(PolicyProblem::NoAgent)?;
        if source.len() > SOURCE_BYTES_MAX {
            return Err(PolicyProblem::TooLong(SOURCE_BYTES_MAX));
        }
        let level = PolicyLevel::Agent(agent.to_owned());
        if self.policy_file(&level).is_some() {
            return Err(PolicyProblem::InSomeFile);
        }
        let store = self.policy_store()?;
        let waiting = store.proposals(Some(agent), Some(PolicyStatus::Proposed), SHOWN_MAX).await?;
        if waiting.len() >= WAITING_MAX {
            return Err(PolicyProblem::TooMany(WAITING_MAX));
        }
        self.is_recording()?;
        let draft = PolicyDraft {
            level,
            language: "rules".to_owned(),
            source: source.to_owned(),
            author: agent.to_owned(),
            rationale: Some(rationale.to_owned()),
            check_result: Some(check_result(&self.check_policy(Level::Agent, source)).to_string()),
        };
        let record = store.propose_policy(&draft, now_ms()).await?;
        self.policy_news(&record);
        self.note_policy(by, Kind::ProposalCreated, &record).await?;
        Ok(record)
    }

    /// Takes a proposal back. An agent can do that with its own only, and hears of no other.
    pub async fn withdraw_policy(&self, by: &Principal, id: i64) -> Result<PolicyRecord, PolicyProblem> {
        let agent =
            by.agent_id.as_deref().filter(|_| by.role == Role::Agent).ok_or(PolicyProblem::NoAgent)?;
        self.is_recording()?;
        let record = self.policy_store()?.withdraw_proposal(id, agent, now_ms()).await??;
        self.policy_news(&record);
        self.note_policy(by, Kind::ProposalResolved, &record).await?;
        Ok(record)
    }

    /// Makes a proposal active, if it is still in order.
    pub async fn approve_proposal(&self, by: &Principal, id: i64) -> Result<PolicyRecord, PolicyProblem> {
        let store = self.policy_store()?;
        let proposal = store.policy(id).await?.filter(|record| record.was_proposed);
        let proposal = proposal.ok_or(PolicyRefusal::Unknown)?;
        if let Some(file) = self.policy_file(&proposal.draft.level) {
            return Err(PolicyProblem::InFile(file));
        }
        // Servers and tools may have changed since it was made.
        if proposal.status == PolicyStatus::Proposed {
            let complaints = self.check_policy(level_of(&proposal.draft.level), &proposal.draft.source);
            if !complaints.is_empty() {
                return Err(PolicyProblem::Unusable(complaints));
            }
        }
        self.is_recording()?;
        let record = store.decide_proposal(id, ProposalVerdict::Approve, &by.id, None, now_ms()).await??;
        self.load_policies().await?;
        self.policy_news(&record);
        self.note_policy(by, Kind::ProposalResolved, &record).await?;
        self.note_policy(by, Kind::PolicyChanged, &record).await?;
        Ok(record)
    }

    /// Says no to a proposal, and why.
    pub async fn reject_proposal(
        &self,
        by: &Principal,
        id: i64,
        reason: &str,
    ) -> Result<PolicyRecord, PolicyProblem> {
        self.is_recording()?;
        let store = self.policy_store()?;
        let rejected = store.decide_proposal(id, ProposalVerdict::Reject, &by.id, Some(reason), now_ms());
        let record = rejected.await??;
        self.policy_news(&record);
        self.note_policy(by, Kind::ProposalResolved, &record).await?;
        Ok(record)
    }

    /// What was proposed, the newest first; for one agent, if one is given.
    pub async fn proposals(&self, agent: Option<&str>) -> Result<Vec<PolicyRecord>, PolicyProblem> {
        Ok(self.policy_store()?.proposals(agent, None, SHOWN_MAX).await?)
    }

    /// One proposal; only if it is this agent's, if one is given.
    pub async fn proposal(
        &self,
        id: i64,
        agent: Option<&str>,
    ) -> Result<Option<PolicyRecord>, PolicyProblem> {
        let found = self.policy_store()?.policy(id).await?.filter(|record| record.was_proposed);
        Ok(found.filter(|record| agent.is_none_or(|agent| record.draft.level.agent() == Some(agent))))
    }

    /// The active policy of a level, if there is one.
    pub async fn active_policy(&self, level: &PolicyLevel) -> Result<Option<PolicyRecord>, PolicyProblem> {
        let active = self.policy_store()?.active_policies().await?;
        Ok(active.policies.into_iter().find(|record| record.draft.level == *level))
    }

    /// What is and was active at a level, the newest first.
    pub async fn policy_history(&self, level: &PolicyLevel) -> Result<Vec<PolicyRecord>, PolicyProblem> {
        Ok(self.policy_store()?.policy_history(level, SHOWN_MAX).await?)
    }

    fn policy_store(&self) -> Result<&Store, PolicyProblem> {
        self.memory.as_ref().map(|memory| &**memory.store()).ok_or(PolicyProblem::NoStore)
    }

    /// Nothing is changed while it could not be written down.
    fn is_recording(&self) -> Result<(), PolicyProblem> {
        match self.audit().and_then(crate::audit::AuditLog::health) {
            Some(error) => Err(PolicyProblem::NotRecorded(error)),
            None => Ok(()),
        }
    }

    async fn note_policy(
        &self,
        by: &Principal,
        kind: Kind,
        record: &PolicyRecord,
    ) -> Result<(), PolicyProblem> {
        let context = json!({
            "policy": record.id,
            "level": record.draft.level.as_str(),
            "agent": record.draft.level.agent(),
            "version": record.version,
            "status": record.status.as_str(),
            "author": record.draft.author,
            "reason": record.decision_reason,
        });
        self.note_change(by, kind, &context).await.map_err(PolicyProblem::NotRecorded)
    }

    /// Tells whoever watches it what became of a policy.
    fn policy_news(&self, record: &PolicyRecord) {
        let mut uris = vec![format!("resource://approval-policy/proposals/{}", record.id)];
        if let Some(agent) = record.draft.level.agent() {
            let of_agent = |what: &str| format!("resource://agents/{agent}/policy/{what}");
            uris.extend(["state", "source", "proposals"].map(of_agent));
        }
        for uri in uris {
            self.hub.resource_updated(&OCTROI, &uri);
        }
    }
}
