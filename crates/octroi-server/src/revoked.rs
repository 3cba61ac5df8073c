//! What belongs to a token and goes on by itself ends with the token: sessions, and calls that are being made.
//!
//! Streams and calls that wait for a person hold a lease of their own. A call does not, because most calls are over
//! before anybody could revoke anything; it gets one once it has run for a while.

use std::sync::Arc;
use std::time::Duration;

use octroi_core::Principal;
use tokio_util::sync::CancellationToken;

use crate::endpoint::HttpEndpoint;
use crate::legacy::end_session;
use crate::reply::STREAM_AFTER;

/// A call that has run for so long is cancelled when its token ends.
const LEASE_AFTER: Duration = Duration::from_millis(400);
/// How long a call may take to end by itself after its token: one that waits for a person says why, and is recorded.
pub(crate) const GRACE: Duration = Duration::from_millis(250);

/// The token of a call has ended.
pub(crate) struct TokenEnded;

/// What a call holds of its token.
pub(crate) struct CallLease {
    lease: CancellationToken,
    closing: CancellationToken,
}

impl CallLease {
    pub(crate) fn new(endpoint: &HttpEndpoint, principal: &Principal) -> Self {
        Self { lease: endpoint.access.lease(principal), closing: endpoint.closing.clone() }
    }

    /// Waits for the end of the token. A gateway that closes ends all leases, but lets calls finish.
    pub(crate) async fn ended(&self) {
        self.lease.cancelled().await;
        if self.closing.is_cancelled() {
            std::future::pending().await
        }
    }
}

/// Waits until a call takes so long that it is answered by a stream; returns the lease of its token.
pub(crate) async fn until_slow(
    endpoint: &HttpEndpoint,
    principal: &Principal,
) -> Result<CallLease, TokenEnded> {
    tokio::time::sleep(LEASE_AFTER).await;
    let lease = CallLease::new(endpoint, principal);
    tokio::select! {
        biased;
        () = lease.ended() => Err(TokenEnded),
        () = tokio::time::sleep(STREAM_AFTER.saturating_sub(LEASE_AFTER)) => Ok(lease),
    }
}

/// Ends the sessions of tokens that have ended, with the calls in them, until Octroi ends.
pub(crate) async fn end_sessions(endpoint: Arc<HttpEndpoint>) {
    let identity = endpoint.gateway.identity();
    let mut ends = identity.watch_ends();
    loop {
        tokio::select! {
            biased;
            () = endpoint.closing.cancelled() => return,
            _ = ends.changed() => {}
        }
        let ended = endpoint.sessions.without(|principal| identity.is_valid(principal));
        if ended.is_empty() {
            continue;
        }
        tokio::time::sleep(GRACE).await;
        for session in ended {
            session.session.cancel_running();
            end_session(&endpoint, &session.id);
        }
    }
}
