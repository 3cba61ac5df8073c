//! Policies. What is written here is on the disk when a call returns.

use super::{Engine, Store};
use crate::error::StoreError;
use crate::policy::{
    ActivePolicies, PolicyDraft, PolicyLevel, PolicyRecord, PolicyRefusal, PolicyStatus, ProposalVerdict,
};

impl Store {
    /// Makes a policy the active one of its level. If a version is expected, that one must be active
    /// until now (0: none), so that of two who change it at once neither undoes the other's unseen.
    pub async fn activate_policy(
        &self,
        draft: &PolicyDraft,
        expected_version: Option<i64>,
        now_ms: i64,
    ) -> Result<Result<PolicyRecord, PolicyRefusal>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.activate_policy(draft, expected_version, now_ms).await,
        }
    }

    /// All active policies, and which revision they are together.
    pub async fn active_policies(&self) -> Result<ActivePolicies, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.active_policies().await,
        }
    }

    /// One policy, whatever has become of it.
    pub async fn policy(&self, id: i64) -> Result<Option<PolicyRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.policy(id).await,
        }
    }

    /// What is and was active at a level, the newest first.
    pub async fn policy_history(
        &self,
        level: &PolicyLevel,
        n_max: u32,
    ) -> Result<Vec<PolicyRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.policy_history(level, n_max).await,
        }
    }

    /// Keeps a policy for a person to decide about. Nothing changes by it.
    pub async fn propose_policy(&self, draft: &PolicyDraft, now_ms: i64) -> Result<PolicyRecord, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.propose_policy(draft, now_ms).await,
        }
    }

    /// What was proposed, the newest first: by or for one agent, and with one fate, if these are given.
    pub async fn proposals(
        &self,
        agent: Option<&str>,
        status: Option<PolicyStatus>,
        n_max: u32,
    ) -> Result<Vec<PolicyRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.proposals(agent, status, n_max).await,
        }
    }

    /// Keeps what a person decided about a proposal. The first decision stands.
    pub async fn decide_proposal(
        &self,
        id: i64,
        verdict: ProposalVerdict,
        by: &str,
        reason: Option<&str>,
        now_ms: i64,
    ) -> Result<Result<PolicyRecord, PolicyRefusal>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.decide_proposal(id, verdict, by, reason, now_ms).await,
        }
    }

    /// Takes a proposal back. Only its author can.
    pub async fn withdraw_proposal(
        &self,
        id: i64,
        author: &str,
        now_ms: i64,
    ) -> Result<Result<PolicyRecord, PolicyRefusal>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.withdraw_proposal(id, author, now_ms).await,
        }
    }

    /// A number that grows with every change of what is active. Grants are bound to it.
    pub async fn policy_revision(&self) -> Result<u64, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.policy_revision().await,
        }
    }
}
