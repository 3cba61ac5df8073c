//! Custom gates: programs that are asked about calls.
//!
//! A gate is started at the first question and kept running. It reads one question per line and writes one
//! verdict per line, in any order (`docs/gates.md`). If a gate gives no verdict, for whatever reason, that is
//! an error here, and the caller denies the call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use octroi_core::config::GateSpec;
use octroi_mcp::json::{self, Span};
use octroi_mcp::sse::one_line;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::context::Context;
use crate::logs::Logs;

mod answer;
mod attempts;
mod error;
mod run;

pub use answer::GateAnswer;
use attempts::Attempts;
pub use error::GateError;
use run::GateRun;

/// Upper bound of the timeout, so that the deadline cannot overflow the clock.
const TIMEOUT_MAX: Duration = Duration::from_hours(24);
/// The maximum length of a line from a gate.
const LINE_BYTES: usize = 64 << 10;

/// One configured gate and its program.
#[derive(Debug)]
pub struct GateProgram {
    spec: Arc<GateSpec>,
    context: Arc<Context>,
    logs: Arc<Logs>,
    current: ArcSwapOption<GateRun>,
    /// Locked while the program is starting.
    history: tokio::sync::Mutex<History>,
    next_id: AtomicU64,
    made: Instant,
    /// The tasks of this gate, among all background tasks.
    tasks: TaskTracker,
    closing: CancellationToken,
    /// Ends the program also when the gate is dropped without `close`.
    _ends_with_it: DropGuard,
}

#[derive(Debug, Default)]
struct History {
    attempts: Attempts,
    failure: Option<GateError>,
}

impl GateProgram {
    /// Creates a gate whose program is not started yet.
    pub fn new(spec: GateSpec, context: &Arc<Context>) -> Arc<Self> {
        let closing = context.shutdown.child_token();
        Arc::new(Self {
            logs: Arc::new(Logs::of_program(&spec.program, &context.clock, &context.redactor)),
            spec: Arc::new(spec),
            context: Arc::clone(context),
            current: ArcSwapOption::empty(),
            history: tokio::sync::Mutex::default(),
            next_id: AtomicU64::new(1),
            made: Instant::from_std(context.clock.instant()),
            tasks: TaskTracker::new(),
            _ends_with_it: closing.clone().drop_guard(),
            closing,
        })
    }

    /// The gate's configuration.
    pub fn spec(&self) -> &GateSpec {
        &self.spec
    }

    /// What it wrote to its standard error, over all its starts.
    pub fn logs(&self) -> &Logs {
        &self.logs
    }

    /// Whether its program is running.
    pub fn is_running(&self) -> bool {
        self.ready().is_some()
    }

    /// Asks about a call. The question is the text of a JSON object, which gets an `id` here. The time limit
    /// covers everything, including the start of the program.
    pub async fn ask(self: &Arc<Self>, question: &str) -> Result<GateAnswer, GateError> {
        let deadline = self.instant() + self.spec.timeout.min(TIMEOUT_MAX);
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let line = with_id(id, question).ok_or_else(|| GateError::Question { gate: self.name() })?;
        let run = match timeout_at(deadline, self.run()).await {
            Ok(run) => run?,
            Err(_) => return Err(GateError::Late { gate: self.name(), timeout: self.spec.timeout }),
        };
        run.ask(id, line, deadline).await
    }

    /// Ends the program and all its descendants for good; returns when none is left.
    pub async fn close(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn name(&self) -> String {
        self.spec.name.clone()
    }

    fn instant(&self) -> Instant {
        Instant::from_std(self.context.clock.instant())
    }

    fn ready(&self) -> Option<Arc<GateRun>> {
        self.current.load_full().filter(|run| !run.is_over())
    }

    async fn run(self: &Arc<Self>) -> Result<Arc<GateRun>, GateError> {
        if let Some(run) = self.ready() {
            return Ok(run);
        }
        // In a separate task: a caller that gives up must not cancel a slow start that others wait for.
        let start = self.tasks.track_future(Arc::clone(self).start());
        let started = self.context.tasks.spawn_on_main("gate-start", start);
        started.await.unwrap_or_else(|_| Err(GateError::Stopping { gate: self.name() }))
    }

    async fn start(self: Arc<Self>) -> Result<Arc<GateRun>, GateError> {
        // One start at a time; a caller that waited for the lock uses the result.
        let mut history = self.history.lock().await;
        if let Some(run) = self.ready() {
            return Ok(run);
        }
        if self.closing.is_cancelled() {
            return Err(GateError::Stopping { gate: self.name() });
        }
        if let Some((failure, good, at)) = self.current.swap(None).and_then(|run| run.end()) {
            history.record(failure, good, at.duration_since(self.made));
        }
        if let Some((retry_in, failure)) =
            history.attempts.pause(self.instant().duration_since(self.made)).zip(history.failure.clone())
        {
            return Err(GateError::Resting { failure: Box::new(failure), retry_in });
        }
        let started = GateRun::start(&self.spec, &self.context, &self.logs, &self.tasks, &self.closing).await;
        match &started {
            Ok(run) => self.current.store(Some(Arc::clone(run))),
            Err(failure) => history.record(failure.clone(), None, self.instant().duration_since(self.made)),
        }
        started
    }
}

impl History {
    fn record(&mut self, failure: GateError, good: Option<Duration>, now: Duration) {
        self.attempts.failed(good, now);
        self.failure = Some(failure);
    }
}

/// The question as one line with its id first; `None` if it is not an object or already has an id.
fn with_id(id: u64, question: &str) -> Option<Vec<u8>> {
    let question = question.trim();
    let members = question.strip_prefix('{')?.strip_suffix('}')?.trim();
    let whole = Span { start: 0, end: question.len() };
    if json::member(question.as_bytes(), whole, "id").is_some() {
        return None;
    }
    let mut line = format!("{{\"id\":{id}").into_bytes();
    if !members.is_empty() {
        line.push(b',');
        one_line(&mut line, members.as_bytes());
    }
    line.extend_from_slice(b"}\n");
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_becomes_one_line_with_an_id() {
        for (question, line) in [
            ("{}", Some("{\"id\":7}\n")),
            (" { } ", Some("{\"id\":7}\n")),
            (
                r#"{"tool":"a","arguments":{"id":1}}"#,
                Some("{\"id\":7,\"tool\":\"a\",\"arguments\":{\"id\":1}}\n"),
            ),
            ("{\n  \"tool\": \"a\\n\"\r\n}", Some("{\"id\":7,\"tool\": \"a\\n\"}\n")),
            ("{\"a\":1,\n\"b\":2}", Some("{\"id\":7,\"a\":1, \"b\":2}\n")),
            (r#"{"tool":"a","id":1}"#, None),
            ("", None),
            ("[]", None),
            ("{", None),
        ] {
            let written = with_id(7, question).map(|line| String::from_utf8(line).unwrap());
            assert_eq!(written.as_deref(), line, "{question}");
        }
    }
}
