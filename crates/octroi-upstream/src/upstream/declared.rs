//! The capabilities that are declared to a legacy process which several clients share.
//!
//! They are declared once, at the handshake: what all clients can do that have used it so far. A process that starts before
//! any client is told what its clients could do when it ran before, or else everything, because it may list more tools
//! then. If its first client can do less, another process takes its place before it is called, unless the program cannot
//! run twice.
//!
//! A client that can do less may also come later. That matters once the process asks such a client in vain; it is then
//! started again when no call runs, with fewer capabilities. A process that never asks is left alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use octroi_mcp::Era;
use octroi_mcp::capability::{Abilities, ClientCapabilities};

use super::{Slot, Upstream};
use crate::connection::Connection;
use crate::error::UpstreamError;
use crate::identity::ServerIdentity;

/// How long the first call waits for a process that is told less.
const REPLACED_WITHIN: Duration = Duration::from_secs(10);

/// What the clients of a server's shared processes can do, and what was declared to the processes.
#[derive(Debug)]
pub(super) struct DeclaredCapabilities {
    /// What all clients can do that have used one of them.
    common: AtomicU8,
    /// What is declared before any client has come.
    expected: AtomicU8,
    has_clients: AtomicBool,
    /// What was declared to a process last.
    declared: AtomicU8,
    /// Whether a client was asked what it cannot do.
    asked_in_vain: AtomicBool,
    /// Whether calls may be made: the process was told no more than its first clients can do.
    is_settled: AtomicBool,
    settling: tokio::sync::Mutex<()>,
}

impl Default for DeclaredCapabilities {
    fn default() -> Self {
        let all = || AtomicU8::new(Abilities::ALL.bits());
        Self {
            common: all(),
            expected: all(),
            has_clients: AtomicBool::new(false),
            declared: all(),
            asked_in_vain: AtomicBool::new(false),
            is_settled: AtomicBool::new(false),
            settling: tokio::sync::Mutex::default(),
        }
    }
}

impl DeclaredCapabilities {
    fn known(&self) -> u8 {
        let has_clients = self.has_clients.load(Ordering::Relaxed);
        if has_clients { &self.common } else { &self.expected }.load(Ordering::Relaxed)
    }

    /// What to declare to a process that is being started.
    pub(super) fn capabilities(&self) -> ClientCapabilities {
        let told = self.known();
        self.declared.store(told, Ordering::Relaxed);
        ClientCapabilities::of(Abilities::from_bits(told))
    }

    fn joined(&self, capabilities: &ClientCapabilities) {
        let abilities = capabilities.abilities().bits();
        if self.common.load(Ordering::Relaxed) & !abilities != 0 {
            self.common.fetch_and(abilities, Ordering::Relaxed);
        }
        if !self.has_clients.load(Ordering::Relaxed) {
            self.has_clients.store(true, Ordering::Relaxed);
        }
    }

    /// Whether more was declared to a process than all clients can do.
    fn is_overstated(&self) -> bool {
        self.declared.load(Ordering::Relaxed) & !self.common.load(Ordering::Relaxed) != 0
    }

    /// Whether less must be declared to a process, at most once for each set.
    fn must_declare_less(&self) -> bool {
        self.asked_in_vain.load(Ordering::Relaxed)
            && self.asked_in_vain.swap(false, Ordering::Relaxed)
            && self.is_overstated()
    }
}

impl Upstream {
    /// Records that the server asked a client what that client cannot do.
    pub fn asked_in_vain(&self) {
        self.declared.asked_in_vain.store(true, Ordering::Relaxed);
    }

    /// What all clients can do that have used a shared process, or did in an earlier run if none has yet.
    pub fn common_abilities(&self) -> Abilities {
        Abilities::from_bits(self.declared.known())
    }

    /// Restores what clients could do in an earlier run, so that a process is not started twice for the same ones.
    pub fn recall_abilities(&self, identity: &ServerIdentity) {
        self.declared.expected.store(identity.abilities.bits(), Ordering::Relaxed);
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

    /// The connection to a process for its first clients. One that was told more than they can do before they came is
    /// replaced by another process, if the program can run once more; otherwise it stays. Nobody has called it: every
    /// client passes here first.
    pub(super) async fn settled(
        self: &Arc<Self>,
        slot: &Arc<Slot>,
        connection: Arc<Connection>,
    ) -> Result<Arc<Connection>, UpstreamError> {
        if self.declared.is_settled.load(Ordering::Acquire) {
            return Ok(connection);
        }
        let _turn = self.declared.settling.lock().await;
        let may_replace = !self.declared.is_settled.load(Ordering::Acquire);
        if may_replace && connection.era() == Era::Legacy && self.declared.is_overstated() {
            Box::pin(self.replace(slot)).await;
        }
        self.declared.is_settled.store(true, Ordering::Release);
        // Another caller may have replaced it, or it may have ended.
        self.connect(slot, None).await
    }

    /// Lets a process that is told what its clients can do take the place of one that was told more.
    async fn replace(self: &Arc<Self>, slot: &Arc<Slot>) {
        let told = self.declared.declared.load(Ordering::Relaxed);
        let opened = tokio::time::timeout(REPLACED_WITHIN, self.open(None, slot.era)).await;
        let Ok(Ok(replacement)) = opened else {
            self.declared.declared.store(told, Ordering::Relaxed);
            tracing::info!(server.name = %self.spec.key, "its first client can do less than it was told, and it cannot run twice");
            return;
        };
        tracing::info!(server.name = %self.spec.key, "its first client can do less than it was told, so another process takes its place");
        let _turn = slot.connecting.lock().await;
        // It was stopped or removed meanwhile.
        if self.refusal().is_some() || slot.is_gone.load(Ordering::Relaxed) {
            replacement.close().await;
            return;
        }
        replacement.settle_first_questions(self.audience(slot)).await;
        let previous = slot.current.swap(Some(Arc::clone(&replacement)));
        self.announce(slot, &replacement).await;
        if let Some(previous) = previous {
            previous.close().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn told(declared: &DeclaredCapabilities) -> String {
        String::from_utf8_lossy(declared.capabilities().json()).into_owned()
    }

    #[test]
    fn a_process_is_told_what_all_clients_can_do() {
        let declared = DeclaredCapabilities::default();
        let (asking, rooted) = (r#"{"elicitation":{},"roots":{}}"#, r#"{"roots":{}}"#);
        let join = |text: &'static str| {
            declared.joined(&ClientCapabilities::read(Bytes::from_static(text.as_bytes())))
        };
        assert!(told(&declared).contains("sampling"), "everything, before any client");
        assert!(!declared.is_overstated());
        join(asking);
        assert!(declared.is_overstated());
        assert!(told(&declared).contains("elicitation") && !told(&declared).contains("sampling"));
        assert!(!declared.is_overstated());
        join(rooted);
        assert!(declared.is_overstated());
        assert!(!told(&declared).contains("elicitation") && told(&declared).contains("roots"));
    }

    #[test]
    fn what_clients_could_do_earlier_is_expected_again() {
        let declared = DeclaredCapabilities::default();
        let able = ClientCapabilities::read(Bytes::from_static(br#"{"elicitation":{}}"#));
        declared.expected.store(able.abilities().bits(), Ordering::Relaxed);
        assert!(!told(&declared).contains("roots"));
        declared.joined(&able);
        assert!(!declared.is_overstated(), "the same client costs no new process");
    }
}
