//! The audit recorder: every call twice, every denial once, every administrative change once.
//!
//! Requests that are not tool calls are in `requests.rs`, answers to questions of servers in `answers.rs`.

use std::fmt::Write as _;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use octroi_core::agent::AgentContext;
use octroi_core::audit::{Actor, ActorKind, CallId, Event, Kind, Level, Ruling, SourceType};
use octroi_core::config::{AuditSection, Durability as Wanted, KeptResults};
use octroi_core::decision::{Denial, Gate, Trace};
use octroi_core::pin::JsonError;
use octroi_core::redact::{Redactor, Revealed, View};
use octroi_core::tool::{Risk, Source, ToolDescriptor};
use octroi_core::{Clock, Principal, PrincipalKind};
use octroi_upstream::BackgroundTasks;
use serde_json::Value;
use tracing::{debug, error};

use crate::audit::{AuditError, AuditLog, Durability};
use crate::caller::Caller;
use crate::change::{ChangeAuthor, FiledUnder};
use completions::Completions;
use summary::summary;
use violations::{DeniedRequest, Limits};

mod answers;
mod completions;
mod declared;
mod limit;
mod other_params;
mod requests;
mod summary;
mod violations;

pub(crate) use limit::RecordLimit;
pub(crate) use other_params::OtherParams;
pub(crate) use requests::DescribedRequest;
pub(crate) use violations::Violation;

/// The maximum size of the recorded state before and after a change.
const CHANGE_BYTES_MAX: usize = 64 << 10;

/// The interface of calls to the audit log.
pub(crate) struct AuditRecorder {
    clock: Clock,
    log: Option<AuditLog>,
    settings: ArcSwap<AuditSection>,
    redactor: ArcSwap<Redactor>,
    tasks: BackgroundTasks,
    /// Random, so that calls of two runs do not share an id.
    base: u64,
    n_calls: AtomicU64,
    limits: Limits,
    completions: Completions,
}

/// Who does something, and for which agent.
#[derive(Clone, Debug)]
pub(crate) struct Initiator {
    pub(crate) kind: ActorKind,
    pub(crate) id: Arc<str>,
    pub(crate) agent: Option<Arc<str>>,
    pub(crate) session: Option<Arc<str>>,
}

impl Initiator {
    pub(crate) fn of(principal: &Principal) -> Self {
        Self {
            kind: actor_kind(principal),
            id: Arc::clone(principal.id()),
            agent: principal.agent_id().cloned(),
            session: principal.session_id().cloned(),
        }
    }

    /// The sender of a request: the person, if one tries a call as an agent.
    pub(crate) fn of_caller(caller: &Caller) -> Self {
        let initiator = Self { session: caller.session.clone(), ..Self::of(&caller.principal) };
        match &caller.on_behalf_of {
            Some(person) => Self { kind: ActorKind::User, id: Arc::clone(person), ..initiator },
            None => initiator,
        }
    }

    fn actor(&self) -> Actor<'_> {
        Actor { kind: self.kind, id: &self.id }
    }
}

/// The kind of actor that a principal is in records.
pub(crate) fn actor_kind(principal: &Principal) -> ActorKind {
    match principal.kind() {
        PrincipalKind::Person => ActorKind::User,
        PrincipalKind::Agent | PrincipalKind::Session | PrincipalKind::Service => ActorKind::Agent,
    }
}

/// A call as it is recorded.
#[derive(Clone, Copy)]
pub(crate) struct DescribedCall<'a> {
    pub(crate) initiator: &'a Initiator,
    pub(crate) context: &'a AgentContext,
    pub(crate) tool: &'a ToolDescriptor,
    /// The arguments, as JSON text.
    pub(crate) arguments: &'a [u8],
    /// What else its parameters contain.
    pub(crate) others: &'a OtherParams,
    /// The approval it was made with, if a person was asked.
    pub(crate) approval: Option<&'a str>,
}

impl AuditRecorder {
    pub(crate) fn new(log: Option<AuditLog>, tasks: BackgroundTasks, clock: Clock) -> Self {
        let mut base = [0_u8; 8];
        // Without random numbers the sealer has already refused to start.
        let _ = getrandom::fill(&mut base);
        Self {
            clock,
            log,
            settings: ArcSwap::default(),
            redactor: ArcSwap::from_pointee(Redactor::new(std::iter::empty())),
            tasks,
            base: u64::from_le_bytes(base),
            n_calls: AtomicU64::new(0),
            limits: Limits::default(),
            completions: Completions::default(),
        }
    }

    pub(crate) fn log(&self) -> Option<&AuditLog> {
        self.log.as_ref()
    }

    pub(crate) fn set(&self, settings: AuditSection, redactor: Arc<Redactor>) {
        self.settings.store(Arc::new(settings));
        self.redactor.store(redactor);
    }

    /// An id for a call: the time, then a number that no other call has.
    pub(crate) fn call_id(&self, now_ms: i64) -> CallId {
        let number = self.base.wrapping_add(self.n_calls.fetch_add(1, Ordering::Relaxed));
        CallId::new(u64::try_from(now_ms).unwrap_or_default(), number)
    }

    /// The arguments with secrets redacted.
    pub(crate) fn preview(&self, arguments: &[u8]) -> String {
        self.redactor.load().preview(arguments, self.settings.load().argument_bytes)
    }

    /// The whole arguments with secrets masked, except those at revealed places.
    pub(crate) fn view(&self, arguments: &[u8], revealed: &[String]) -> Result<View, JsonError> {
        self.redactor.load().view(arguments, revealed)
    }

    /// A masked value of the arguments.
    pub(crate) fn reveal(&self, arguments: &[u8], path: &str) -> Option<Revealed> {
        self.redactor.load().reveal(arguments, path)
    }

    /// A text with secrets redacted.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.redactor.load().redact(text).to_string()
    }

    /// Whether a text contains a secret.
    pub(crate) fn has_secret(&self, text: &str) -> bool {
        *self.redactor.load().redact(text) != *text
    }

    /// Records that a call is about to be made. If that fails, the call must not be made.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        call: CallId,
        described: DescribedCall<'_>,
        trace: &Trace,
        now_ms: i64,
    ) -> Result<CallRecord, AuditError> {
        let mut record = CallRecord {
            recorder: Arc::clone(self),
            call,
            initiator: described.initiator.clone(),
            tool: Some(described.tool.id.to_string()),
            server: Arc::clone(&described.tool.source_id),
            source: source_of(described.tool),
            about: String::new(),
            project: described.context.project.clone(),
            begun: self.clock.instant(),
            begun_at_ms: now_ms,
            is_open: false,
        };
        let Some(log) = &self.log else {
            return Ok(record);
        };
        let context = self.call_context(described, trace, None);
        let durability = self.durability(described);
        let appending = log.append(&record.event(Kind::ToolInvocationStart, &context, now_ms), durability);
        record.begin(pin!(appending)).await?;
        Ok(record)
    }

    /// Records that a call is not made.
    pub(crate) async fn deny(
        &self,
        call: CallId,
        described: DescribedCall<'_>,
        denial: &Denial,
        now_ms: i64,
    ) -> Result<(), AuditError> {
        let gate = denial.gate.as_str();
        let denied = DeniedRequest {
            initiator: described.initiator,
            server: &described.tool.source_id,
            tool: Some(described.tool.id.as_str()),
            method: "tools/call",
            gate,
            reason: &self.redact(&denial.reason),
        };
        self.report_denial(&denied, now_ms);
        if denial.gate == Gate::Quota {
            self.quota_exceeded(described.initiator, described.tool, denied.reason);
        }
        let Some(log) = &self.log else {
            return Ok(());
        };
        let context = self.call_context(described, denial.trace(), Some((gate, &denial.reason)));
        let mut event = call_event(described, Kind::PolicyViolation, now_ms);
        event.call = Some(call);
        event.level = Level::Warn;
        event.ruling = Some(if denial.is_abort { Ruling::DenyAbort } else { Ruling::DenyContinue });
        event.context = &context;
        log.append(&event, self.plain_durability()).await.map(drop)
    }

    /// Records an event that is not a call.
    pub(crate) async fn record(&self, event: &Event<'_>) -> Result<(), AuditError> {
        match &self.log {
            Some(log) => log.append(event, Durability::Disk).await.map(drop),
            None => Ok(()),
        }
    }

    /// Records an event that is not a call, without waiting.
    pub(crate) fn record_later(&self, event: &Event<'_>) {
        let Some(log) = &self.log else {
            return;
        };
        log.append_detached(event, &self.tasks);
    }

    /// Records an administrative change; if that fails, it must not be made. Secrets are redacted.
    pub(crate) async fn record_change(
        &self,
        author: &ChangeAuthor,
        kind: Kind,
        level: Level,
        filed_under: &FiledUnder,
        context: &Value,
    ) -> Result<(), AuditError> {
        let initiator = match author {
            ChangeAuthor::Principal(principal) => Some(Initiator::of(principal)),
            ChangeAuthor::Octroi => None,
        };
        let context = self.redactor.load().preview(context.to_string().as_bytes(), CHANGE_BYTES_MAX);
        let mut event = self.system_event(kind, &context);
        event.level = level;
        if let Some(initiator) = &initiator {
            event.actor = initiator.actor();
            event.agent = initiator.agent.as_deref();
        }
        event.agent = filed_under.agent.as_deref().or(event.agent);
        event.server = filed_under.server.as_deref();
        event.tool = filed_under.tool.as_deref();
        self.record(&event).await
    }

    /// An event that Octroi itself causes.
    pub(crate) fn system_event<'a>(&self, kind: Kind, context: &'a str) -> Event<'a> {
        let mut event =
            Event::new(u64::try_from(self.clock.now_ms()).unwrap_or_default(), kind, Actor::SYSTEM);
        event.context = context;
        event
    }

    fn durability(&self, described: DescribedCall<'_>) -> Durability {
        let matters = !described.tool.side_effects.is_empty()
            || described.tool.risk >= Risk::High
            || described.approval.is_some();
        if matters { Durability::Disk } else { self.plain_durability() }
    }

    fn plain_durability(&self) -> Durability {
        match self.settings.load().durability {
            Wanted::Normal => Durability::Os,
            Wanted::Full => Durability::Disk,
        }
    }

    fn call_context(
        &self,
        described: DescribedCall<'_>,
        trace: &Trace,
        denied: Option<(&str, &str)>,
    ) -> String {
        let mut text = String::with_capacity(640);
        let tool = described.tool;
        let _ = write!(text, "{{\"arguments\":{},", self.preview(described.arguments));
        described.others.write(&mut text, self);
        let _ = write!(text, "\"risk\":\"{}\",\"side_effects\":[", tool.risk);
        for (index, tag) in tool.side_effects.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let _ = write!(text, "{comma}{}", quote(tag));
        }
        text.push_str("],\"definition\":\"");
        let mut digits = [0_u8; 64];
        // The lengths fit.
        let _ = hex::encode_to_slice(tool.definition_hash, &mut digits);
        text.extend(digits.map(char::from));
        let _ = write!(text, "\",\"mode\":\"{}\"", described.context.mode.as_str());
        if let Some(approval) = described.approval {
            let _ = write!(text, ",\"approval\":{}", quote(approval));
        }
        if let Some((gate, reason)) = denied {
            let reason = quote(&self.redactor.load().redact(reason));
            let _ = write!(text, ",\"gate\":\"{gate}\",\"reason\":{reason}");
        }
        let _ = write!(text, ",\"revision\":{},\"trace\":", trace.revision);
        trace.write_json(&mut text);
        text.push('}');
        text
    }
}

/// A call in progress. [`CallRecord::end`] ends it; dropped before that, it records that the caller gave up.
pub(crate) struct CallRecord {
    recorder: Arc<AuditRecorder>,
    pub(crate) call: CallId,
    initiator: Initiator,
    /// `None` for requests other than tool calls.
    tool: Option<String>,
    server: Arc<str>,
    source: SourceType,
    /// The part of the context that the end repeats: members of an object, each followed by a comma.
    about: String,
    project: Option<Arc<str>>,
    begun: Instant,
    begun_at_ms: i64,
    is_open: bool,
}

impl CallRecord {
    /// Waits until the start is written. If the caller gives up meanwhile, it may be written all the same, so
    /// an end is recorded then.
    async fn begin(
        &mut self,
        appending: Pin<&mut impl Future<Output = Result<u64, AuditError>>>,
    ) -> Result<(), AuditError> {
        self.is_open = true;
        let appended = appending.await;
        self.is_open = appended.is_ok();
        appended.map(drop)
    }

    /// Records how the call ended, without waiting for the disk.
    pub(crate) async fn end(mut self, outcome: &str, result: Option<&[u8]>) {
        let is_recorded = std::mem::take(&mut self.is_open);
        self.report_end(outcome);
        let recorder = Arc::clone(&self.recorder);
        let Some(log) = recorder.log.as_ref().filter(|_| is_recorded) else {
            return;
        };
        let context = self.end_context(outcome, result);
        let appending = log.append_later(&self.end_event(outcome, &context));
        if let Err(error) = appending.await {
            error!(call = %self.call, %error, hint = error.hint(), "the end of a call was not recorded");
        }
    }

    fn report_end(&self, outcome: &str) {
        debug!(
            call.id = %self.call,
            server.name = &*self.server,
            tool = self.tool.as_deref(),
            agent = self.initiator.agent.as_deref(),
            success = outcome == "completed",
            outcome,
            duration_ms = u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX),
            "called"
        );
    }

    fn end_context(&self, outcome: &str, result: Option<&[u8]>) -> String {
        let mut text = String::with_capacity(320);
        let duration_ms = self.elapsed().as_millis();
        let _ = write!(text, "{{{}\"outcome\":\"{outcome}\",\"duration_ms\":{duration_ms}", self.about);
        if let Some(result) = result {
            let _ = write!(text, ",\"result_bytes\":{}", result.len());
            if self.recorder.settings.load().results == KeptResults::Summary
                && let Some(summary) = summary(result, &self.recorder.redactor.load())
            {
                let _ = write!(text, ",\"result\":{summary}");
            }
        }
        text.push('}');
        text
    }

    fn elapsed(&self) -> Duration {
        self.recorder.clock.instant().saturating_duration_since(self.begun)
    }

    fn end_event<'a>(&'a self, outcome: &str, context: &'a str) -> Event<'a> {
        let elapsed = i64::try_from(self.elapsed().as_millis()).unwrap_or_default();
        let kind = if self.tool.is_some() { Kind::ToolInvocationEnd } else { Kind::RequestEnd };
        let mut event = self.event(kind, context, self.begun_at_ms + elapsed);
        event.ruling = None;
        if outcome != "completed" {
            event.level = Level::Warn;
        }
        event
    }

    fn event<'a>(&'a self, kind: Kind, context: &'a str, at_ms: i64) -> Event<'a> {
        let mut event = Event::new(u64::try_from(at_ms).unwrap_or_default(), kind, self.initiator.actor());
        event.agent = self.initiator.agent.as_deref();
        event.session = self.initiator.session.as_deref();
        event.server = Some(&self.server);
        event.tool = self.tool.as_deref();
        event.source = Some(self.source);
        event.project = self.project.as_deref();
        event.call = Some(self.call);
        event.ruling = Some(Ruling::Allow);
        event.context = context;
        event
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        self.report_end("cancelled");
        let Some(log) = self.recorder.log.clone() else {
            return;
        };
        let context = self.end_context("cancelled", None);
        let event = self.end_event("cancelled", &context);
        log.append_detached(&event, &self.recorder.tasks);
    }
}

fn call_event(described: DescribedCall<'_>, kind: Kind, at_ms: i64) -> Event<'_> {
    let mut event = Event::new(u64::try_from(at_ms).unwrap_or_default(), kind, described.initiator.actor());
    event.agent = described.initiator.agent.as_deref();
    event.session = described.initiator.session.as_deref();
    event.server = Some(&described.tool.source_id);
    event.tool = Some(described.tool.id.as_str());
    event.source = Some(source_of(described.tool));
    event.project = described.context.project.as_deref();
    event
}

fn source_of(tool: &ToolDescriptor) -> SourceType {
    match tool.source {
        Source::Mcp => SourceType::Mcp,
        Source::Extension => SourceType::Extension,
        Source::Builtin => SourceType::Builtin,
    }
}

fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
