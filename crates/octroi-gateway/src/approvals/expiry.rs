//! Expired approvals, approvals interrupted by a restart, and notifications about both.

use std::sync::Arc;

use octroi_api::ResourceChange;
use octroi_core::CanonicalId;
use octroi_core::approval::{Approval, ApprovalState};
use octroi_core::audit::{Actor, ActorKind, CallId, Kind, Ruling};
use octroi_store::{ApprovalFilter, ApprovalPart, Store};
use serde_json::json;
use tracing::{error, warn};

use super::{Approvals, milliseconds};
use crate::alerts::{Alert, WaitingCall};
use crate::operator_error::OperatorError;

/// The most approvals of one agent that are looked at; many times what `max_pending` allows.
const OPEN_MAX: u32 = 10_000;

impl Approvals {
    /// Restores the state of an earlier run: calls that were in progress then count as interrupted.
    pub(crate) async fn recall(&self, store: &Store) {
        match store.orphan_claimed(None, self.now_ms()).await {
            Ok(orphaned) => orphaned.iter().for_each(|one| self.record(one, Kind::ApprovalResolved)),
            Err(error) => {
                error!(%error, hint = %error.hint(), "interrupted calls of the last run could not be marked")
            }
        }
        match store.count_unreadable().await {
            Ok(0) => {}
            Ok(n_approvals) => error!(
                n_approvals,
                hint =
                    "restore master.key of the data directory and restart, or deny them; agents can ask anew",
                "waiting approvals cannot be read: they are encrypted with another key"
            ),
            Err(error) => warn!(%error, hint = %error.hint(), "waiting approvals could not be checked"),
        }
    }

    /// Marks expired approvals.
    pub(crate) async fn expire(&self) {
        let Some(persistence) = &self.persistence else {
            return;
        };
        match persistence.store().expire_approvals(self.now_ms()).await {
            Err(error) => {
                warn!(%error, hint = %error.hint(), "expired approvals could not be marked")
            }
            Ok(expired) => {
                for approval in &expired {
                    self.waiting.wake(&approval.id);
                    self.record(approval, Kind::ApprovalResolved);
                    self.announce(approval.binding.agent.as_deref());
                }
            }
        }
    }

    /// Removes the arguments of approvals that have been over for a while.
    pub(crate) async fn remove_arguments(&self) {
        let Some(persistence) = &self.persistence else {
            return;
        };
        let kept = milliseconds(self.governance.settings().approvals.keep_arguments);
        if let Err(error) = persistence.store().remove_arguments(self.now_ms().saturating_sub(kept)).await {
            warn!(%error, hint = %error.hint(), "arguments of finished approvals could not be removed");
        }
    }

    /// Removes approvals that have been over for long.
    pub(crate) async fn forget(&self) {
        let Some(persistence) = &self.persistence else {
            return;
        };
        let kept = milliseconds(self.governance.settings().approvals.retention);
        if let Err(error) = persistence.store().forget_approvals(self.now_ms().saturating_sub(kept)).await {
            warn!(%error, hint = %error.hint(), "old approvals could not be removed");
        }
    }

    /// Cancels an approval, unless it was already used.
    pub(crate) async fn cancel(&self, id: &str, reason: &str) -> Result<(), octroi_store::StoreError> {
        let Some(persistence) = &self.persistence else {
            return Ok(());
        };
        if let Ok(cancelled) = persistence.store().cancel_approval(id, reason, self.now_ms()).await? {
            self.record(&cancelled, Kind::ApprovalResolved);
            self.settled(&cancelled);
        }
        Ok(())
    }

    /// Cancels what an agent still waits for: approvals that are pending, and those that no call has used.
    pub(crate) async fn cancel_open_of(
        &self,
        agent: &str,
        reason: &str,
    ) -> Result<(), octroi_store::StoreError> {
        let Some(persistence) = &self.persistence else {
            return Ok(());
        };
        let filter = ApprovalFilter { part: ApprovalPart::Open, agent: Some(agent.to_owned()) };
        for approval in persistence.store().approvals(&filter, None, OPEN_MAX).await? {
            self.cancel(&approval.id, reason).await?;
        }
        Ok(())
    }

    /// How many calls of an agent wait for approval, or were approved and not made yet.
    pub(crate) async fn n_open_of(&self, agent: &str) -> Result<usize, OperatorError> {
        let filter = ApprovalFilter { part: ApprovalPart::Open, agent: Some(agent.to_owned()) };
        Ok(self.list(&filter, OPEN_MAX).await?.len())
    }

    /// Wakes the waiters of an approval, and notifies its subscribers.
    pub(super) fn settled(&self, approval: &Approval) {
        self.waiting.wake(&approval.id);
        let agent = approval.binding.agent.as_deref();
        self.subscriptions.announce(&ResourceChange::Approval { id: &approval.id, agent });
        self.announce_agent(agent);
    }

    /// Notifies subscribers that approvals changed.
    pub(super) fn announce(&self, agent: Option<&str>) {
        self.subscriptions.announce(&ResourceChange::Approvals { agent });
        self.announce_agent(agent);
    }

    /// An agent waits for a person, or no longer.
    fn announce_agent(&self, agent: Option<&str>) {
        if let Some(agent) = agent {
            self.subscriptions.announce(&ResourceChange::Agent { agent });
        }
    }

    /// Tells people that a call waits, or what became of it.
    pub(super) fn alert(&self, approval: &Approval) {
        let call = Arc::new(WaitingCall::new(approval, self.page_of(&approval.id)));
        self.subscriptions.alert(match approval.state {
            ApprovalState::Pending => Alert::CallWaits(call),
            _ => Alert::CallSettled(call),
        });
    }

    /// Records a change of an approval that is not an operator's decision, and tells people.
    pub(super) fn record(&self, approval: &Approval, kind: Kind) {
        self.alert(approval);
        let context = json!({
            "approval": approval.id,
            "state": approval.state.as_str(),
            "arguments": approval.shown_arguments(),
            "other_params": approval.shown_params(),
            "risk": approval.risk,
            "reasons": approval.reasons,
            "decided_by": approval.decided_by,
            "reason": approval.decision_reason,
            "edited": approval.edited_arguments.is_some(),
            "rule": approval.remembered_rule,
        });
        let context = context.to_string();
        let mut event = self.recorder.system_event(kind, &context);
        if let Some(by) = &approval.decided_by {
            event.actor = Actor { kind: ActorKind::User, id: by };
        }
        event.agent = approval.binding.agent.as_deref();
        event.tool = Some(&approval.binding.tool);
        let server = CanonicalId::parse_mcp(&approval.binding.tool).map(|(server, _)| server.to_string());
        event.server = server.as_deref();
        event.call = CallId::parse(&approval.call_id);
        event.ruling = (kind == Kind::ApprovalRequested).then_some(Ruling::Ask);
        self.recorder.record_later(&event);
    }

    /// The time by which approvals expire.
    pub(super) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }
}
