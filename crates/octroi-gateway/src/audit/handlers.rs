//! Audit handlers, which get a copy of every record: a webhook, a file, syslog, an OpenTelemetry collector,
//! or code of the embedding program.
//!
//! Each has a task that reads the log by itself, so none can delay a call or another handler. Its progress
//! is stored in a file, from which it continues after a restart. It may get a record twice, and is notified
//! of records that it misses.

mod cursor;
mod delivery;
mod error;
mod jsonl;
mod otlp;
mod run;
mod syslog;
mod webhook;

#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use octroi_core::config::{Destination, HandlerSpec};
use octroi_core::glob::Glob;
use octroi_upstream::Context;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::log::AuditLog;
pub use delivery::Delivery;
pub use error::HandlerError;
use run::HandlerTask;

/// The maximum lag of a handler of the embedding program.
const OWN_MAX_LAG: usize = 100_000;
const OWN_TIMEOUT: Duration = Duration::from_secs(10);

/// A receiver of audit records.
pub trait AuditHandler: Send + Sync {
    /// Handles events, in order. If this fails, the same ones are delivered again later.
    fn handle<'a>(&'a self, events: &'a [Delivery]) -> Handling<'a>;
}

/// The future of a delivery.
pub type Handling<'a> = Pin<Box<dyn Future<Output = Result<(), HandlerError>> + Send + 'a>>;

/// The status of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerReading {
    /// The name under which it is configured.
    pub name: String,
    /// The last record that it got, or that its filter excludes.
    pub last_seq: u64,
    /// The number of records it never got.
    pub n_dropped: u64,
    /// Whether its last delivery failed.
    pub is_failing: bool,
}

/// All running handlers.
#[derive(Default)]
pub(crate) struct HandlerSet {
    running: Mutex<Vec<Arc<HandlerState>>>,
}

/// The shared state of a running handler.
pub(super) struct HandlerState {
    pub(super) name: String,
    /// `None` for a handler of the embedding program, which the configuration does not remove.
    spec: Option<HandlerSpec>,
    pub(super) last_seq: AtomicU64,
    pub(super) n_dropped: AtomicU64,
    pub(super) is_failing: AtomicBool,
    pub(super) ends: CancellationToken,
}

impl HandlerSet {
    /// Replaces the configured handlers; unchanged ones keep running.
    pub(crate) fn set(&self, specs: &[HandlerSpec], log: &AuditLog, context: &Arc<Context>) {
        let mut running = self.running.lock();
        let (stay, go): (Vec<_>, Vec<_>) = std::mem::take(&mut *running)
            .into_iter()
            .partition(|state| state.spec.as_ref().is_none_or(|spec| specs.contains(spec)));
        for state in &go {
            state.ends.cancel();
        }
        *running = stay;
        for spec in specs {
            if running.iter().any(|state| state.name == spec.name) {
                continue;
            }
            match open(&spec.destination, context) {
                Ok(handler) => {
                    let before = go.iter().find(|state| state.name == spec.name);
                    let options = HandlerOptions {
                        events: spec.events.clone(),
                        max_lag: spec.max_lag,
                        timeout: spec.timeout,
                    };
                    let state = HandlerState::new(&spec.name, Some(spec.clone()), before.map(Arc::as_ref));
                    running.push(start(state, handler, options, log, context));
                }
                Err(error) => {
                    error!(handler = spec.name, %error, "audit handler cannot be used");
                }
            }
        }
    }

    /// Adds a handler of the embedding program.
    pub(crate) fn add(
        &self,
        name: &str,
        handler: Arc<dyn AuditHandler>,
        log: &AuditLog,
        context: &Arc<Context>,
    ) -> Result<(), HandlerError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let mut running = self.running.lock();
        let is_free = running.iter().all(|state| state.name != name);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(is_plain) || !is_free {
            return Err(HandlerError::Name { name: name.to_owned() });
        }
        let options = HandlerOptions { events: Vec::new(), max_lag: OWN_MAX_LAG, timeout: OWN_TIMEOUT };
        running.push(start(HandlerState::new(name, None, None), handler, options, log, context));
        Ok(())
    }

    /// The status of all handlers.
    pub(crate) fn readings(&self) -> Vec<HandlerReading> {
        let running = self.running.lock();
        running
            .iter()
            .map(|state| HandlerReading {
                name: state.name.clone(),
                last_seq: state.last_seq.load(Ordering::Relaxed),
                n_dropped: state.n_dropped.load(Ordering::Relaxed),
                is_failing: state.is_failing.load(Ordering::Relaxed),
            })
            .collect()
    }
}

impl HandlerState {
    fn new(name: &str, spec: Option<HandlerSpec>, before: Option<&Self>) -> Self {
        let n_dropped = before.map_or(0, |before| before.n_dropped.load(Ordering::Relaxed));
        Self {
            name: name.to_owned(),
            spec,
            last_seq: AtomicU64::new(0),
            n_dropped: AtomicU64::new(n_dropped),
            is_failing: AtomicBool::new(false),
            ends: CancellationToken::new(),
        }
    }
}

/// The filter and the limits of a handler.
#[derive(Clone, Debug)]
pub(super) struct HandlerOptions {
    pub(super) events: Vec<Glob>,
    pub(super) max_lag: usize,
    pub(super) timeout: Duration,
}

impl HandlerOptions {
    pub(super) fn includes(&self, kind: &str) -> bool {
        self.events.is_empty() || self.names(kind)
    }

    /// Whether a kind of event is requested by its name, or by a pattern.
    fn names(&self, kind: &str) -> bool {
        self.events.iter().any(|pattern| pattern.matches(kind))
    }
}

fn start(
    state: HandlerState,
    handler: Arc<dyn AuditHandler>,
    options: HandlerOptions,
    log: &AuditLog,
    context: &Arc<Context>,
) -> Arc<HandlerState> {
    let state = Arc::new(state);
    let shutdown = context.shutdown.clone();
    let task = HandlerTask { state: Arc::clone(&state), handler, options, log: log.clone(), shutdown };
    context.tasks.spawn_on_main("audit-handler", task.until_the_end());
    state
}

fn open(destination: &Destination, context: &Context) -> Result<Arc<dyn AuditHandler>, HandlerError> {
    Ok(match destination {
        Destination::Webhook(remote) => Arc::new(webhook::Webhook::new(&context.http, remote)?),
        Destination::Otlp(remote) => Arc::new(otlp::Otlp::new(&context.http, remote)?),
        Destination::Jsonl(path) => Arc::new(jsonl::Jsonl::new(path, &context.tasks)),
        Destination::Syslog(address) => Arc::new(syslog::Syslog::new(address)),
    })
}
