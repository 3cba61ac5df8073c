//! Those who get a copy of every record: a webhook, a file, the system's log, a collector of telemetry,
//! or a program's own.
//!
//! Each has a task that reads the log by itself, so none can hold up a call or another handler. What was
//! delivered is kept in a file: after a restart a handler goes on there. It may get a record twice, and
//! misses one only when it is told so.

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
use run::Run;

/// How far a handler of a program's own may fall behind.
const OWN_MAX_LAG: usize = 100_000;
const OWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Somebody who gets a copy of what is recorded.
pub trait AuditHandler: Send + Sync {
    /// Takes some events, in order. If this fails, the same ones are handed over again, later.
    fn handle<'a>(&'a self, events: &'a [Delivery]) -> Handling<'a>;
}

/// A delivery on its way.
pub type Handling<'a> = Pin<Box<dyn Future<Output = Result<(), HandlerError>> + Send + 'a>>;

/// How a handler is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerReading {
    /// Its name.
    pub name: String,
    /// The last record that it has, or did not want.
    pub last_seq: u64,
    /// How many records it never got.
    pub n_dropped: u64,
    /// Whether its last delivery failed.
    pub is_failing: bool,
}

/// All handlers that run.
#[derive(Default)]
pub(crate) struct Posts {
    running: Mutex<Vec<Arc<Post>>>,
}

/// One handler that runs.
pub(super) struct Post {
    pub(super) name: String,
    /// `None` for a program's own, which stays whatever the configuration says.
    spec: Option<HandlerSpec>,
    pub(super) last_seq: AtomicU64,
    pub(super) n_dropped: AtomicU64,
    pub(super) is_failing: AtomicBool,
    pub(super) ends: CancellationToken,
}

impl Posts {
    /// Other handlers from now on; what is the same goes on running.
    pub(crate) fn set(&self, specs: &[HandlerSpec], log: &AuditLog, context: &Arc<Context>) {
        let mut running = self.running.lock();
        let (stay, go): (Vec<_>, Vec<_>) = std::mem::take(&mut *running)
            .into_iter()
            .partition(|post| post.spec.as_ref().is_none_or(|spec| specs.contains(spec)));
        for post in &go {
            post.ends.cancel();
        }
        *running = stay;
        for spec in specs {
            if running.iter().any(|post| post.name == spec.name) {
                continue;
            }
            match open(&spec.destination, context) {
                Ok(handler) => {
                    let before = go.iter().find(|post| post.name == spec.name);
                    let wishes =
                        Wishes { events: spec.events.clone(), max_lag: spec.max_lag, timeout: spec.timeout };
                    let post = Post::new(&spec.name, Some(spec.clone()), before.map(Arc::as_ref));
                    running.push(start(post, handler, wishes, log, context));
                }
                Err(error) => {
                    error!(handler = spec.name, %error, "an audit handler cannot be used");
                }
            }
        }
    }

    /// Adds a handler of a program's own.
    pub(crate) fn add(
        &self,
        name: &str,
        handler: Arc<dyn AuditHandler>,
        log: &AuditLog,
        context: &Arc<Context>,
    ) -> Result<(), HandlerError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let mut running = self.running.lock();
        let is_free = running.iter().all(|post| post.name != name);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(is_plain) || !is_free {
            return Err(HandlerError::Name { name: name.to_owned() });
        }
        let wishes = Wishes { events: Vec::new(), max_lag: OWN_MAX_LAG, timeout: OWN_TIMEOUT };
        running.push(start(Post::new(name, None, None), handler, wishes, log, context));
        Ok(())
    }

    /// How they all are doing.
    pub(crate) fn readings(&self) -> Vec<HandlerReading> {
        let running = self.running.lock();
        running
            .iter()
            .map(|post| HandlerReading {
                name: post.name.clone(),
                last_seq: post.last_seq.load(Ordering::Relaxed),
                n_dropped: post.n_dropped.load(Ordering::Relaxed),
                is_failing: post.is_failing.load(Ordering::Relaxed),
            })
            .collect()
    }
}

impl Post {
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

/// What a handler wants, and how long it is waited for.
#[derive(Clone, Debug)]
pub(super) struct Wishes {
    pub(super) events: Vec<Glob>,
    pub(super) max_lag: usize,
    pub(super) timeout: Duration,
}

impl Wishes {
    pub(super) fn wants(&self, kind: &str) -> bool {
        self.events.is_empty() || self.events.iter().any(|pattern| pattern.matches(kind))
    }
}

fn start(
    post: Post,
    handler: Arc<dyn AuditHandler>,
    wishes: Wishes,
    log: &AuditLog,
    context: &Arc<Context>,
) -> Arc<Post> {
    let post = Arc::new(post);
    let shutdown = context.shutdown.clone();
    let run = Run { post: Arc::clone(&post), handler, wishes, log: log.clone(), shutdown };
    context.tasks.spawn_on_main("audit-handler", run.until_the_end());
    post
}

fn open(destination: &Destination, context: &Context) -> Result<Arc<dyn AuditHandler>, HandlerError> {
    Ok(match destination {
        Destination::Webhook(remote) => Arc::new(webhook::Webhook::new(&context.http, remote)?),
        Destination::Otlp(remote) => Arc::new(otlp::Otlp::new(&context.http, remote)?),
        Destination::Jsonl(path) => Arc::new(jsonl::Jsonl::new(path)),
        Destination::Syslog(address) => Arc::new(syslog::Syslog::new(address)),
    })
}
