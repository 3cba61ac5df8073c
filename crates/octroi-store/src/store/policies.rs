//! Policies. Changes are on the disk when a method returns.

use super::{Engine, Store};
use crate::error::StoreError;
use crate::policy::{
    ActivePolicies, PolicyDraft, PolicyLevel, PolicyRecord, PolicyRefusal, PolicyStatus, ProposalVerdict,
};

impl Store {
    /// Makes a policy the active one of its level. If a version is expected, it must be the active one
    /// (0: none), so that of two concurrent changes neither overwrites the other unseen.
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

    /// All active policies, and their common revision.
    pub async fn active_policies(&self) -> Result<ActivePolicies, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.active_policies().await,
        }
    }

    /// One policy in any state.
    pub async fn policy(&self, id: i64) -> Result<Option<PolicyRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.policy(id).await,
        }
    }

    /// The active and former policies of a level, the newest first.
    pub async fn policy_history(
        &self,
        level: &PolicyLevel,
        n_max: u32,
    ) -> Result<Vec<PolicyRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.policy_history(level, n_max).await,
        }
    }

    /// Stores a proposal for an operator to decide. It does not take effect.
    pub async fn propose_policy(&self, draft: &PolicyDraft, now_ms: i64) -> Result<PolicyRecord, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.propose_policy(draft, now_ms).await,
        }
    }

    /// Proposals, the newest first; by or for one agent and in one state, if these are given.
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

    /// Stores an operator's decision about a proposal. Only the first decision is accepted.
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

    /// Withdraws a proposal. Only its author may.
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

    /// The revision of the active policies, which increases with every change. Grants are bound to it.
    pub async fn policy_revision(&self) -> Result<u64, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.policy_revision().await,
        }
    }
}
