//! What-if analysis: a hypothetical call, and recorded calls under another policy. The same gates decide,
//! but nothing is counted, reserved or recorded.

use std::sync::Arc;

use octroi_upstream::Context;

use crate::audit_recorder::AuditRecorder;
use crate::governance::Governance;
use crate::persistence::Persistence;
use crate::pools::Pools;
use crate::registry::Registry;
use crate::servers::Servers;

mod replay;
mod why;

pub use replay::{Candidate, CannotTell, Flip, Replay, ReplayError};
pub use why::{Explanation, GateVerdict, InForce};

/// Explains decisions.
pub struct Inspector {
    context: Arc<Context>,
    persistence: Option<Arc<Persistence>>,
    recorder: Arc<AuditRecorder>,
    governance: Arc<Governance>,
    registry: Arc<Registry>,
    pools: Arc<Pools>,
    servers: Arc<Servers>,
}

impl Inspector {
    pub(crate) fn new(
        context: &Arc<Context>,
        persistence: Option<Arc<Persistence>>,
        recorder: &Arc<AuditRecorder>,
        governance: &Arc<Governance>,
        registry: &Arc<Registry>,
        pools: &Arc<Pools>,
        servers: &Arc<Servers>,
    ) -> Self {
        Self {
            context: Arc::clone(context),
            persistence,
            recorder: Arc::clone(recorder),
            governance: Arc::clone(governance),
            registry: Arc::clone(registry),
            pools: Arc::clone(pools),
            servers: Arc::clone(servers),
        }
    }

    fn now_ms(&self) -> i64 {
        self.context.clock.now_ms()
    }
}
