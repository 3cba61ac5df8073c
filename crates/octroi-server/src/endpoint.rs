//! The HTTP endpoint: what every request needs, and how a request is refused.

use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use octroi_core::Principal;
use octroi_core::config::ClientLimits;
use octroi_gateway::{BackgroundTasks, Gateway, HeavyThreads};
use octroi_mcp::Envelope;
use octroi_mcp::params::Params;
use serde_json::json;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::access::{Access, AccessRefusal, bearer};
use crate::connection::Connection;
use crate::connections::Connections;
use crate::dispatcher::Operations;
use crate::frontend::{Frontend, Frontends};
use crate::held_bytes::{HeldByToken, HeldRequest};
use crate::login_attempts::{LimitOf, LoginAttempts, WrongToken};
use crate::old_streams::OldStreams;
use crate::reply::{self, Reply};
use crate::session_id::SessionIds;
use crate::sessions::Sessions;
use crate::slowdown::Slowdown;
use crate::tickets::Tickets;
use crate::tls::Tls;

/// Limits of the HTTP endpoint.
#[derive(Clone)]
pub struct HttpSettings {
    /// Largest request body.
    pub body_bytes: usize,
    /// Legacy sessions end after this time without use.
    pub session_idle: Duration,
    /// How long after they began legacy sessions are restored after a restart; `None` for never.
    pub session_restore: Option<Duration>,
    /// How long calls may continue after shutdown was requested.
    pub drain: Duration,
    /// How much of Octroi clients may use.
    pub limits: ClientLimits,
    /// The certificate for clients; without one they are served over plain HTTP.
    pub tls: Option<Arc<Tls>>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            body_bytes: 4 << 20,
            session_idle: Duration::from_mins(30),
            session_restore: Some(Duration::from_hours(7 * 24)),
            drain: Duration::from_secs(10),
            limits: ClientLimits::default(),
            tls: None,
        }
    }
}

/// The HTTP endpoint: everything that a request needs.
pub struct HttpEndpoint {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) operations: Arc<Operations>,
    pub(crate) frontends: Frontends,
    pub(crate) access: Arc<Access>,
    pub(crate) connections: Arc<Connections>,
    refusals: Refusals,
    /// What is held in memory for each token.
    pub(crate) held: Arc<HeldByToken>,
    pub(crate) sessions: Sessions,
    /// Streams of clients that use the transport of 2024-11-05.
    pub(crate) old_streams: OldStreams,
    /// Sign-ins to the approval page.
    pub(crate) tickets: Tickets,
    pub(crate) settings: HttpSettings,
    /// Calls that continue after their client disconnected.
    pub(crate) tasks: BackgroundTasks,
    /// Where large messages are processed; on the workers if these threads could not be started.
    pub(crate) heavy: Option<Arc<HeavyThreads>>,
    /// Ends streams that have no end of their own.
    pub(crate) closing: CancellationToken,
    /// Ends everything else, after the time for draining calls.
    pub(crate) closed: CancellationToken,
}

/// What slows down and limits clients that send nothing but what is refused.
struct Refusals {
    attempts: LoginAttempts,
    slowdown: Slowdown,
}

impl HttpEndpoint {
    /// An endpoint for a gateway and its management.
    pub fn new(operations: Arc<Operations>, access: Arc<Access>, settings: HttpSettings) -> Arc<Self> {
        let gateway = Arc::clone(operations.gateway());
        let closing = gateway.identity().closing().clone();
        let held = HeldByToken::new(settings.limits.held_bytes);
        Arc::new(Self {
            frontends: Frontends::new(&operations, settings.limits),
            operations,
            access,
            refusals: Refusals {
                attempts: LoginAttempts::new(settings.limits.wrong_tokens, gateway.clock().clone()),
                slowdown: Slowdown::new(gateway.clock().clone()),
            },
            connections: Connections::new(settings.limits, gateway.clock().clone()),
            sessions: Sessions::new(
                settings.session_idle,
                settings.limits,
                SessionIds::new(&gateway, settings.session_restore),
                &held,
                gateway.clock().clone(),
            ),
            old_streams: OldStreams::default(),
            held,
            gateway,
            tickets: Tickets::default(),
            settings,
            tasks: BackgroundTasks::new(Handle::current()),
            heavy: start_heavy_threads(),
            closing,
            closed: CancellationToken::new(),
        })
    }

    /// How long calls may continue after shutdown was requested.
    pub fn drain(&self) -> Duration {
        self.settings.drain
    }

    /// The principal that sends a request, if it is admitted. A refusal is to be sent slowly.
    pub(crate) fn admit_now(
        &self,
        connection: &Connection,
        headers: &HeaderMap,
    ) -> Result<Principal, Box<Reply>> {
        let refused = match self.access.admit(headers) {
            Ok(principal) => match self.too_many(connection, headers, bearer(headers).unwrap_or_default()) {
                None => return Ok(principal),
                Some(rest) => reply::wrong_tokens(rest),
            },
            Err(AccessRefusal::UnknownToken) => {
                match self.wrong_token(connection, headers, bearer(headers).unwrap_or_default()) {
                    None => reply::refusal(AccessRefusal::UnknownToken),
                    Some(rest) => reply::wrong_tokens(rest),
                }
            }
            Err(refusal) => reply::refusal(refusal),
        };
        Err(Box::new(refused))
    }

    /// The same, with the refusal as it is sent.
    pub(crate) async fn admit(
        &self,
        connection: &Connection,
        headers: &HeaderMap,
    ) -> Result<Principal, Box<Reply>> {
        match self.admit_now(connection, headers) {
            Ok(principal) => Ok(principal),
            Err(refused) => Err(Box::new(self.refuse_slowly(*refused).await)),
        }
    }

    /// How long a right token is refused because of wrong ones from the same client. On this machine it is not: all
    /// programs share its address, and one that guesses must not lock out the person who runs Octroi.
    pub(crate) fn too_many(
        &self,
        connection: &Connection,
        headers: &HeaderMap,
        token: &str,
    ) -> Option<Duration> {
        let address = self.access.client_address(connection.address, headers);
        if address.is_loopback() { None } else { self.refusals.attempts.refuses(address, token) }
    }

    /// Counts and records a wrong token; how long its sender is refused, if it is one too many.
    pub(crate) fn wrong_token(
        &self,
        connection: &Connection,
        headers: &HeaderMap,
        token: &str,
    ) -> Option<Duration> {
        let address = self.access.client_address(connection.address, headers);
        let audit = self.gateway.audit();
        match self.refusals.attempts.wrong(address, token) {
            WrongToken::Counted => {
                audit.record_refused("the token is not known", address);
                None
            }
            WrongToken::Reached(limit, rest) => {
                let (about, reason) = match limit {
                    LimitOf::Address(network) => {
                        (network.to_string(), "too many wrong tokens from one address")
                    }
                    LimitOf::Token(id) => (id.to_string(), "too many wrong secrets for the id of one token"),
                };
                tracing::warn!(client.address = %address, about, "{reason}");
                let context =
                    json!({"address": address.to_string(), "about": about, "refused_s": rest.as_secs()});
                audit.record_login_limit(reason, context);
                Some(rest)
            }
            WrongToken::Beyond(rest) => Some(rest),
        }
    }

    /// Refuses a request: at once, or later and for the last time while too many are refused. A flood of
    /// them then costs as little as its connections allow.
    pub(crate) async fn refuse_slowly(&self, reply: Reply) -> Reply {
        let Some(delay) = self.refusals.slowdown.delay() else {
            return reply;
        };
        tokio::select! {
            biased;
            () = self.closing.cancelled() => {}
            () = tokio::time::sleep(delay) => {}
        }
        reply::closing(reply)
    }
}

fn start_heavy_threads() -> Option<Arc<HeavyThreads>> {
    let started = HeavyThreads::start();
    if let Err(error) = &started {
        tracing::warn!(%error, "the threads for large messages could not be started");
    }
    started.ok()
}

/// A message whose sender is authenticated.
pub(crate) struct Post {
    pub(crate) endpoint: Arc<HttpEndpoint>,
    pub(crate) frontend: Frontend,
    pub(crate) principal: Principal,
    pub(crate) envelope: Envelope,
    pub(crate) params: Params,
    /// Where its client reaches Octroi, if a trusted proxy says that.
    pub(crate) base: Option<Arc<str>>,
    /// Counts a large request until it is over.
    pub(crate) _held: Option<HeldRequest>,
}
