//! Approvals. Changes are on the disk when a method returns.

use octroi_core::approval::{Answer, Approval, Binding, CallKey, Event, Refusal};

use super::{Engine, Store};
use crate::approval::{ApprovalFilter, PendingLimits, Requested, TooManyPending};
use crate::error::StoreError;

impl Store {
    /// Stores a new approval, unless an identical call has one that is pending or usable: a client that
    /// repeats its call does not ask twice.
    pub async fn request_approval(&self, approval: &Approval) -> Result<Requested, StoreError> {
        match self.request_approval_within(approval, PendingLimits::NONE).await? {
            Ok(requested) => Ok(requested),
            Err(_) => unreachable!("there is no limit"),
        }
    }

    /// The same within the limits of its agent. An identical call that waits already is found beyond them too.
    pub async fn request_approval_within(
        &self,
        approval: &Approval,
        limits: PendingLimits,
    ) -> Result<Result<Requested, TooManyPending>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.request_approval(approval, limits).await,
        }
    }

    /// One approval.
    pub async fn approval(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.approval(id).await,
        }
    }

    /// Approvals, the newest first; of pending ones some of every agent, however many one has. Those after the one with the id `before`, if it is given.
    pub async fn approvals(
        &self,
        filter: &ApprovalFilter,
        before: Option<&str>,
        n_max: u32,
    ) -> Result<Vec<Approval>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.approvals(filter, before, n_max).await,
        }
    }

    /// Stores an operator's decision. Only the first decision is accepted.
    pub async fn decide_approval(
        &self,
        id: &str,
        answer: Answer,
        now_ms: i64,
    ) -> Result<Result<Approval, Refusal>, StoreError> {
        self.change_approval(id, Event::Decide(answer), now_ms).await
    }

    /// The approval that a call may use now, if an identical call was approved.
    pub async fn find_grant(&self, key: &CallKey, now_ms: i64) -> Result<Option<Approval>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.find_grant(key, now_ms).await,
        }
    }

    /// Uses up a grant, for exactly the call it is bound to. Of all concurrent callers one succeeds, and only
    /// that one may make the call.
    pub async fn claim_approval(
        &self,
        id: &str,
        binding: &Binding,
        now_ms: i64,
    ) -> Result<Result<Approval, Refusal>, StoreError> {
        self.change_approval(id, Event::Claim(binding.clone()), now_ms).await
    }

    /// Stores the outcome of the call.
    pub async fn finish_approval(
        &self,
        id: &str,
        outcome: &str,
        now_ms: i64,
    ) -> Result<Result<Approval, Refusal>, StoreError> {
        self.change_approval(id, Event::Finish { outcome: outcome.to_owned() }, now_ms).await
    }

    /// Cancels an approval that was not used.
    pub async fn cancel_approval(
        &self,
        id: &str,
        reason: &str,
        now_ms: i64,
    ) -> Result<Result<Approval, Refusal>, StoreError> {
        self.change_approval(id, Event::Cancel { reason: reason.to_owned() }, now_ms).await
    }

    /// Marks all expired approvals; returns those that were not marked before.
    pub async fn expire_approvals(&self, now_ms: i64) -> Result<Vec<Approval>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.expire_approvals(now_ms).await,
        }
    }

    /// Marks all approvals whose call was in progress when Octroi ended; returns them. Only for the start: it
    /// assumes that every such call is of an earlier run. With a node, only the calls of that node.
    pub async fn orphan_claimed(&self, node: Option<&str>, now_ms: i64) -> Result<Vec<Approval>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.orphan_claimed(node, now_ms).await,
        }
    }

    /// Removes the arguments of approvals that were over by then; returns how many. Their digests stay.
    pub async fn remove_arguments(&self, over_before_ms: i64) -> Result<u64, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.remove_arguments(over_before_ms).await,
        }
    }

    /// Removes approvals that were over by then; returns how many.
    pub async fn forget_approvals(&self, over_before_ms: i64) -> Result<u64, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.forget_approvals(over_before_ms).await,
        }
    }

    /// Whether there is a key to encrypt the arguments of approvals with.
    pub fn has_key(&self) -> bool {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.has_key(),
        }
    }

    /// The number of waiting approvals whose arguments were encrypted with another key.
    pub async fn count_unreadable(&self) -> Result<usize, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.count_unreadable().await,
        }
    }

    async fn change_approval(
        &self,
        id: &str,
        event: Event,
        now_ms: i64,
    ) -> Result<Result<Approval, Refusal>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.change_approval(id, event, now_ms).await,
        }
    }
}
