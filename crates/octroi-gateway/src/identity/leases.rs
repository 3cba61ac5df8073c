//! Leases: what ends with a token. Open streams, sessions, waiting calls and tasks each hold one.

use std::collections::HashMap;
use std::sync::Arc;

use octroi_core::Principal;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The leases of all tokens that something holds.
#[derive(Debug, Default)]
pub(super) struct Leases {
    closing: CancellationToken,
    by_token: Mutex<HashMap<Arc<str>, CancellationToken>>,
    ended: watch::Sender<()>,
}

impl Leases {
    /// The lease of the token behind a principal.
    pub(super) fn of(&self, principal: &Principal) -> CancellationToken {
        let mut by_token = self.by_token.lock();
        let lease = by_token.entry(Arc::clone(&principal.token().id));
        lease.or_insert_with(|| self.closing.child_token()).clone()
    }

    /// Ends the leases of tokens that are no longer valid, and says whether there were any. The next holder gets a
    /// new lease.
    pub(super) fn end_unless(&self, is_valid: impl Fn(&str) -> bool) -> bool {
        let mut by_token = self.by_token.lock();
        let n_before = by_token.len();
        by_token.retain(|token, lease| {
            let is_kept = is_valid(token) && !lease.is_cancelled();
            if !is_kept {
                lease.cancel();
            }
            is_kept
        });
        by_token.len() < n_before
    }

    /// Wakes whatever watches the ends of tokens.
    pub(super) fn announce(&self) {
        self.ended.send_replace(());
    }

    /// Notices the ends of tokens from now on.
    pub(super) fn ends(&self) -> watch::Receiver<()> {
        self.ended.subscribe()
    }

    /// Ends all leases when cancelled.
    pub(super) fn closing(&self) -> &CancellationToken {
        &self.closing
    }
}
