//! The capabilities that are declared to a legacy process which several clients share.
//!
//! They are declared once, at the handshake: what all clients can do that have used it so far. A client that can do less may
//! come later. That matters once the process asks such a client in vain; it is then started again when no call runs,
//! with fewer capabilities. A process that never asks is left alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use octroi_mcp::capability::{Abilities, ClientCapabilities};

use super::{Slot, Upstream};

/// What the clients of a server's shared processes can do, and what was declared to the processes.
#[derive(Debug)]
pub(super) struct DeclaredCapabilities {
    /// What all clients can do that have used one of them.
    common: AtomicU8,
    /// What was declared to a process last.
    declared: AtomicU8,
    /// Whether a client was asked what it cannot do.
    asked_in_vain: AtomicBool,
}

impl Default for DeclaredCapabilities {
    fn default() -> Self {
        let all = Abilities::ALL.bits();
        Self {
            common: AtomicU8::new(all),
            declared: AtomicU8::new(all),
            asked_in_vain: AtomicBool::new(false),
        }
    }
}

impl DeclaredCapabilities {
    /// What to declare to a process that is being started.
    pub(super) fn capabilities(&self) -> ClientCapabilities {
        let common = self.common.load(Ordering::Relaxed);
        self.declared.store(common, Ordering::Relaxed);
        ClientCapabilities::of(Abilities::from_bits(common))
    }

    fn joined(&self, capabilities: &ClientCapabilities) {
        let abilities = capabilities.abilities().bits();
        if self.common.load(Ordering::Relaxed) & !abilities != 0 {
            self.common.fetch_and(abilities, Ordering::Relaxed);
        }
    }

    /// Whether less must be declared to a process, at most once for each set.
    fn must_declare_less(&self) -> bool {
        self.asked_in_vain.load(Ordering::Relaxed)
            && self.asked_in_vain.swap(false, Ordering::Relaxed)
            && self.common.load(Ordering::Relaxed) != self.declared.load(Ordering::Relaxed)
    }
}

impl Upstream {
    /// Records that the server asked a client what that client cannot do.
    pub fn asked_in_vain(&self) {
        self.declared.asked_in_vain.store(true, Ordering::Relaxed);
    }

    /// Lets a client join those of a shared process. The process is closed if less must be declared to it and no other call
    /// runs; the call that this is done for is in flight itself.
    pub(super) async fn join_process(&self, slot: &Arc<Slot>, capabilities: &ClientCapabilities) {
        self.declared.joined(capabilities);
        if self.n_in_flight() <= 1
            && self.declared.must_declare_less()
            && let Some(connection) = slot.ready()
        {
            Box::pin(connection.close()).await;
        }
    }
}
