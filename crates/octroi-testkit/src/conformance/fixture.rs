//! The state of the fixture: what all requests share, and what belongs to one legacy session.

use std::collections::HashSet;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, RequestStateCodec};
use rmcp::service::RequestContext;
use rmcp::task_manager::TaskManager;
use tokio::sync::{Mutex, broadcast};

use super::asking::Asks;
use super::era::{Era, is_modern};

// A constant is enough: the suite checks that changed state is refused, not that the key is secret.
const REQUEST_STATE_KEY: [u8; RequestStateCodec::MIN_KEY_LENGTH] = *b"octroi conformance fixture key..";

const CHANGES_HELD: usize = 64;

/// A change that clients may have subscribed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FixtureChange {
    Tools,
    Prompts,
    WatchedResource,
}

/// State that outlives a request: each modern request has its own handler, but tasks and subscriptions span
/// several.
#[derive(Clone)]
pub(super) struct Fixture {
    pub(super) era: Era,
    pub(super) asks: Asks,
    pub(super) tasks: TaskManager,
    pub(super) request_state: RequestStateCodec,
    pub(super) changes: broadcast::Sender<FixtureChange>,
}

impl Fixture {
    pub(super) fn new(era: Era, asks: Asks) -> Self {
        Self {
            era,
            asks,
            tasks: TaskManager::new(),
            request_state: RequestStateCodec::new_unchecked(REQUEST_STATE_KEY),
            changes: broadcast::channel(CHANGES_HELD).0,
        }
    }

    /// A handler for one legacy session or for one modern request.
    pub(super) fn session(&self) -> FixtureSession {
        FixtureSession {
            fixture: self.clone(),
            legacy: Arc::new(Mutex::new(LegacyState {
                log_level: LoggingLevel::Debug,
                subscribed: HashSet::new(),
            })),
        }
    }
}

/// One legacy session, or one modern request, which has no state.
#[derive(Clone)]
pub(super) struct FixtureSession {
    pub(super) fixture: Fixture,
    pub(super) legacy: Arc<Mutex<LegacyState>>,
}

/// What a legacy client sets for its session and a modern client sends with each request.
pub(super) struct LegacyState {
    pub(super) log_level: LoggingLevel,
    pub(super) subscribed: HashSet<String>,
}

/// Whether the request is served without a session.
pub(super) fn is_modern_request(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().as_ref().is_some_and(is_modern)
}
