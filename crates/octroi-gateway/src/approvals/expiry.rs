//! Approvals whose time has passed, those that a restart cut off, and telling others what became of them.

use octroi_api::Change;
use octroi_core::approval::Approval;
use octroi_core::audit::{Actor, ActorKind, Kind};
use octroi_store::Store;
use serde_json::{Value, json};
use tracing::{error, warn};

use super::Approvals;

impl Approvals {
    /// Takes over what an earlier run left: what was being made then is cut off.
    pub(crate) async fn recall(&self, store: &Store) {
        match store.orphan_claimed(None, self.now_ms()).await {
            Ok(orphaned) => orphaned.iter().for_each(|one| self.record(one, Kind::ApprovalResolved)),
            Err(error) => {
                error!(%error, hint = %error.hint(), "approved calls of the last run are not marked")
            }
        }
    }

    /// Marks approvals whose time has passed.
    pub(crate) async fn expire(&self) {
        let Some(persistence) = &self.persistence else {
            return;
        };
        match persistence.store().expire_approvals(self.now_ms()).await {
            Err(error) => {
                warn!(%error, hint = %error.hint(), "approvals whose time has passed are not marked")
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

    /// Takes a question back, if nobody has used the answer.
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

    /// Wakes whoever waits for an approval, and tells whoever watches it.
    pub(super) fn settled(&self, approval: &Approval) {
        self.waiting.wake(&approval.id);
        let agent = approval.binding.agent.as_deref();
        self.subscriptions.announce(&Change::Approval { id: &approval.id, agent });
    }

    /// Tells whoever watches them that approvals are not what they were.
    pub(super) fn announce(&self, agent: Option<&str>) {
        self.subscriptions.announce(&Change::Approvals { agent });
    }

    /// Records what became of an approval without a person deciding.
    pub(super) fn record(&self, approval: &Approval, kind: Kind) {
        let context = json!({
            "approval": approval.id,
            "state": approval.state.as_str(),
            "arguments": serde_json::from_str::<Value>(&approval.arguments_preview).unwrap_or_default(),
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
        self.recorder.record_later(&event);
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.context.clock.now_ms()
    }
}
