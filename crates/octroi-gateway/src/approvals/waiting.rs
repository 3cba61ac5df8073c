//! Waiting for a decision.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use octroi_core::approval::{Approval, ApprovalState};
use octroi_core::principal::TokenName;
use octroi_mcp::{Era, Method, envelope, json};
use octroi_store::{Store, StoreError};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::warn;

use super::{Approvals, CallToApprove};
use crate::request_state::Grant;

/// How often a waiting client gets a progress notification.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// How often a waiter checks even without a notification.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Callers that wait for a decision.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    decided: Mutex<HashMap<String, watch::Sender<()>>>,
    /// The current round of each approved call, so that an old state cannot be used again.
    rounds: Mutex<HashMap<String, u32>>,
    /// The tokens whose calls asked for each open approval.
    asked_by: Mutex<HashMap<String, HashSet<Arc<str>>>>,
}

impl Waiting {
    fn watch(&self, id: &str) -> watch::Receiver<()> {
        self.decided.lock().entry(id.to_owned()).or_default().subscribe()
    }

    /// Notes that a call with this token asked for an approval.
    pub(super) fn asked(&self, id: &str, token: &TokenName) {
        self.asked_by.lock().entry(id.to_owned()).or_default().insert(Arc::clone(&token.id));
    }

    /// The approvals for which only calls asked whose tokens have ended.
    fn abandoned(&self, is_current: impl Fn(&str) -> bool) -> Vec<String> {
        let asked_by = self.asked_by.lock();
        let is_abandoned = |tokens: &HashSet<Arc<str>>| !tokens.iter().any(|token| is_current(token));
        asked_by.iter().filter(|(_, tokens)| is_abandoned(tokens)).map(|(id, _)| id.clone()).collect()
    }

    /// Wakes the waiters of this approval.
    pub(crate) fn wake(&self, id: &str) {
        self.asked_by.lock().remove(id);
        if let Some(decided) = self.decided.lock().remove(id) {
            let _ = decided.send(());
        }
    }

    /// The next round of an approved call.
    pub(crate) fn next_round(&self, id: &str) -> u32 {
        let mut rounds = self.rounds.lock();
        let round = rounds.entry(id.to_owned()).or_default();
        *round += 1;
        *round
    }

    /// Whether this is the current round of an approved call; if so, it is used up.
    pub(super) fn take_round(&self, grant: &Grant) -> bool {
        let mut rounds = self.rounds.lock();
        match rounds.get_mut(&grant.approval) {
            Some(round) if *round == grant.round => {
                *round += 1;
                true
            }
            _ => false,
        }
    }

    pub(crate) fn finish(&self, id: &str) {
        self.rounds.lock().remove(id);
    }
}

impl Approvals {
    /// Waits for a decision, up to the limit.
    pub(super) async fn wait_for(
        &self,
        store: &Store,
        asking: &CallToApprove<'_>,
        approval: &Approval,
        limit: Duration,
        elicitation: Option<Bytes>,
    ) -> Result<Approval, StoreError> {
        let now = || Instant::from_std(self.context.clock.instant());
        let deadline = now() + limit;
        let mut decided = self.waiting.watch(&approval.id);
        // A legacy client shows the page meanwhile; only the decision on the page counts, not its answer.
        let client = Arc::clone(&asking.caller.client);
        let mut showing = std::pin::pin!(async {
            if let (Era::Legacy, Some(params)) = (asking.caller.era, elicitation) {
                let _ = client.ask(&Method::ElicitationCreate, params).await;
            }
            std::future::pending::<()>().await;
        });
        let mut n_sent = 0_u32;
        let lease = self.governance.identity().lease(&asking.caller.principal);
        let agent = asking.caller.principal.agent_id().map(|agent| &**agent).unwrap_or_default();
        loop {
            let current = store.approval(&approval.id).await?;
            let current = current.unwrap_or_else(|| approval.clone());
            let is_paused = self.governance.paused(agent).is_some();
            let is_waiting = match current.state {
                ApprovalState::Pending => true,
                // While its agent is paused, it is not made.
                ApprovalState::Approved => is_paused,
                _ => false,
            };
            if !is_waiting || current.is_due(self.now_ms()) || now() >= deadline {
                return Ok(current);
            }
            tokio::select! {
                biased;
                // The caller is refused when it tries to use the approval.
                () = lease.cancelled() => return Ok(current),
                // The sender is gone once it is decided.
                _ = decided.changed(), if current.state == ApprovalState::Pending => {}
                () = self.governance.until_resumed(agent), if is_paused => {}
                () = tokio::time::sleep_until(deadline.min(now() + PROGRESS_EVERY)) => {
                    n_sent += 1;
                    send_progress(asking, &approval.id, self.page_for(asking.caller, &approval.id).as_deref(), n_sent);
                }
                () = &mut showing => {}
            }
        }
    }

    /// Cancels the approvals of tokens that have ended, until Octroi ends.
    pub(crate) async fn follow_ended_tokens(self: Arc<Self>) {
        let mut ends = self.governance.identity().watch_ends();
        loop {
            tokio::select! {
                biased;
                () = self.context.shutdown.cancelled() => return,
                _ = ends.changed() => {}
            }
            let identity = self.governance.identity();
            for id in self.waiting.abandoned(|token| identity.is_current(token)) {
                if let Err(error) = self.cancel(&id, "the token of the call has ended").await {
                    warn!(%error, hint = %error.hint(), "an approval of an ended token could not be cancelled");
                }
            }
        }
    }

    /// Waits for a decision or the expiry, without notifying a client. `None` if there is no such
    /// approval.
    pub(crate) async fn wait_until_decided(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        let Some(persistence) = &self.persistence else {
            return Ok(None);
        };
        let store = persistence.store();
        loop {
            let mut decided = self.waiting.watch(id);
            let Some(now) = store.approval(id).await? else {
                return Ok(None);
            };
            if now.state != ApprovalState::Pending || now.is_due(self.now_ms()) {
                return Ok(Some(now));
            }
            let left = u64::try_from(now.expires_at_ms.saturating_sub(self.now_ms())).unwrap_or_default();
            tokio::select! {
                biased;
                _ = decided.changed() => {}
                // The clock may be set meanwhile.
                () = tokio::time::sleep(LOOK_EVERY.min(Duration::from_millis(left))) => {}
            }
        }
    }
}

fn send_progress(asking: &CallToApprove<'_>, id: &str, page: Option<&str>, n_sent: u32) {
    let Some(token) = asking.params.progress_token() else {
        return;
    };
    let page = page.map(|page| format!("at {page} or ")).unwrap_or_default();
    let message = format!(
        "waiting for a person to approve {id}: tell your user to decide {page}with `octroi approve {id}`"
    );
    let params = format!(
        r#"{{"progressToken":{},"progress":{n_sent},"message":{}}}"#,
        String::from_utf8_lossy(&token),
        json::quote(&message),
    );
    asking.caller.client.notify(envelope::notification(&Method::Progress, params.as_bytes()));
}
