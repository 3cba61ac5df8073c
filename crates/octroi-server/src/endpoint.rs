//! The HTTP endpoint: what every request needs, and how a request is refused.

use std::sync::Arc;
use std::time::Duration;

use octroi_core::Principal;
use octroi_core::config::ClientLimits;
use octroi_gateway::{BackgroundTasks, Gateway, HeavyThreads};
use octroi_mcp::Envelope;
use octroi_mcp::params::Params;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::access::{Access, AccessRefusal};
use crate::connections::Connections;
use crate::dispatcher::Operations;
use crate::frontend::{Frontend, Frontends};
use crate::held_bytes::{HeldByToken, HeldRequest};
use crate::old_streams::OldStreams;
use crate::reply::{self, Reply};
use crate::session_id::SessionIds;
use crate::sessions::Sessions;
use crate::slowdown::Slowdown;
use crate::tickets::Tickets;

/// Limits of the HTTP endpoint.
#[derive(Clone, Copy, Debug)]
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
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            body_bytes: 4 << 20,
            session_idle: Duration::from_mins(30),
            session_restore: Some(Duration::from_hours(7 * 24)),
            drain: Duration::from_secs(10),
            limits: ClientLimits::default(),
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
    /// Slows down clients that send nothing but what is refused.
    pub(crate) slowdown: Slowdown,
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
            connections: Connections::new(settings.limits, gateway.clock().clone()),
            slowdown: Slowdown::new(gateway.clock().clone()),
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

    /// Refuses a request, and records attempts with unknown tokens.
    pub(crate) async fn refuse(&self, refusal: AccessRefusal) -> Reply {
        if refusal == AccessRefusal::UnknownToken {
            self.gateway.audit().record_refused("the token is not known");
        }
        self.refuse_slowly(reply::refusal(refusal)).await
    }

    /// Refuses a request: at once, or later and for the last time while too many are refused. A flood of
    /// them then costs as little as its connections allow.
    pub(crate) async fn refuse_slowly(&self, reply: Reply) -> Reply {
        let Some(delay) = self.slowdown.delay() else {
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
    /// Counts a large request until it is over.
    pub(crate) _held: Option<HeldRequest>,
}
