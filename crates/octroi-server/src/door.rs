//! The door: what every request over HTTP needs, and who is turned away.

use std::sync::Arc;
use std::time::Duration;

use octroi_core::Principal;
use octroi_gateway::{BackgroundTasks, Gateway};
use octroi_mcp::Envelope;
use octroi_mcp::params::Params;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::access::{Access, Refusal};
use crate::dispatcher::Operations;
use crate::frontend::{Frontend, Frontends};
use crate::reply::{self, Reply};
use crate::sessions::Sessions;
use crate::tickets::Tickets;

/// Limits of the door.
#[derive(Clone, Copy, Debug)]
pub struct DoorSettings {
    /// Largest request body.
    pub body_bytes: usize,
    /// Legacy sessions that nobody uses this long are ended.
    pub session_idle: Duration,
    /// How long calls may go on after the door was asked to close.
    pub drain: Duration,
}

impl Default for DoorSettings {
    fn default() -> Self {
        Self { body_bytes: 4 << 20, session_idle: Duration::from_mins(30), drain: Duration::from_secs(10) }
    }
}

/// Everything a request needs.
pub struct Door {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) operations: Arc<Operations>,
    pub(crate) frontends: Frontends,
    pub(crate) access: Arc<Access>,
    pub(crate) sessions: Sessions,
    /// Who has signed in to the page about an approval.
    pub(crate) tickets: Tickets,
    pub(crate) settings: DoorSettings,
    /// Calls that go on after their client hung up.
    pub(crate) tasks: BackgroundTasks,
    /// Ends streams that would go on for ever.
    pub(crate) closing: CancellationToken,
    /// Ends everything else, once calls had their time.
    pub(crate) closed: CancellationToken,
}

impl Door {
    /// A door to a gateway and to its management.
    pub fn new(operations: Arc<Operations>, access: Arc<Access>, settings: DoorSettings) -> Arc<Self> {
        let gateway = Arc::clone(operations.gateway());
        Arc::new(Self {
            frontends: Frontends::new(&operations),
            operations,
            access,
            sessions: Sessions::new(settings.session_idle, gateway.clock().clone()),
            gateway,
            tickets: Tickets::default(),
            settings,
            tasks: BackgroundTasks::new(Handle::current()),
            closing: CancellationToken::new(),
            closed: CancellationToken::new(),
        })
    }

    /// Turns somebody away, and records who guesses tokens.
    pub(crate) fn refuse(&self, refusal: Refusal) -> Reply {
        if refusal == Refusal::UnknownToken {
            self.gateway.audit().record_refused("the token is not known");
        }
        reply::refusal(refusal)
    }
}

/// A message that was let in.
pub(crate) struct Post {
    pub(crate) door: Arc<Door>,
    pub(crate) frontend: Frontend,
    pub(crate) principal: Principal,
    pub(crate) envelope: Envelope,
    pub(crate) params: Params,
}
