//! One allowed call to a server, from start to end, with the questions in between.
//!
//! The four combinations of eras meet here. A legacy client is asked on its stream; a modern client gets
//! `input_required` and comes back. A legacy server's call stays open while it waits; a modern
//! server's call is made again with the answers.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use octroi_core::{Permit, ServerKey};
use octroi_mcp::ask::InputRequired;
use octroi_mcp::params::Params;
use octroi_mcp::result::ResultView;
use octroi_mcp::translate::{self, Round, Sender};
use octroi_mcp::{Envelope, Era, Method, RpcError, code};
use octroi_upstream::{
    CallEvent, CallOutcome, Connection, Context, LARGE_ANSWER_BYTES, LiveCall, Outgoing, ServerQuestion,
    Sharer, Upstream, UpstreamError, leave_worker,
};
use tokio::time::Instant;

use crate::answer::{Answer, Failure};
use crate::approvals::Approvals;
use crate::audit_recorder::CallRecord;
use crate::caller::Caller;
use crate::denial;
use crate::governance::Governance;
use crate::membership::Sight;
use crate::metrics::{Ending, ToolMetrics, ToolReading};
use crate::outcome::RecordedOutcome;
use crate::registry::Registry;
use crate::request_state::{Position, Sealer};
use crate::server_tasks::ServerTasks;
use crate::servers::{Servers, Target};
use crate::view::View;

mod answering;
mod pending;
mod questions;

use answering::failed;
use pending::PendingExchanges;
use questions::next_of;

/// The maximum number of rounds of questions in one call.
pub(crate) const ROUNDS_MAX: usize = 20;

/// What all exchanges share.
pub(crate) struct Exchanges {
    context: Arc<Context>,
    governance: Arc<Governance>,
    registry: Arc<Registry>,
    servers: Arc<Servers>,
    approvals: Arc<Approvals>,
    sealer: Arc<Sealer>,
    pending: PendingExchanges,
    metrics: ToolMetrics,
    /// Calls that servers made tasks of.
    pub(crate) server_tasks: ServerTasks,
}

impl Exchanges {
    pub(crate) fn new(
        context: &Arc<Context>,
        governance: &Arc<Governance>,
        registry: &Arc<Registry>,
        servers: &Arc<Servers>,
        approvals: &Arc<Approvals>,
        sealer: &Arc<Sealer>,
    ) -> Self {
        Self {
            context: Arc::clone(context),
            governance: Arc::clone(governance),
            registry: Arc::clone(registry),
            servers: Arc::clone(servers),
            approvals: Arc::clone(approvals),
            sealer: Arc::clone(sealer),
            pending: PendingExchanges::default(),
            metrics: ToolMetrics::default(),
            server_tasks: ServerTasks::default(),
        }
    }

    /// The metrics of every tool.
    pub(crate) fn readings(&self) -> Vec<ToolReading> {
        self.metrics.readings()
    }

    /// Drops pending calls whose answer did not come in time.
    pub(crate) fn sweep(&self) {
        self.pending.sweep(self.context.clock.instant());
        self.server_tasks.sweep(self.context.clock.now_ms());
    }

    /// How many calls of an agent are open at a server that has asked the client something.
    pub(crate) fn n_pending_of(&self, agent: &str) -> usize {
        self.pending.count_of(agent)
    }

    /// Drops the pending calls of an agent, which cancels them.
    pub(crate) fn abandon_of(&self, agent: &str) {
        drop(self.pending.take_of(agent));
    }

    /// Drops one pending call.
    pub(crate) fn abandon(&self, number: u64) {
        drop(self.pending.take(number));
    }
}

/// Everything about one call.
pub(crate) struct Exchange<'a> {
    pub(crate) shared: &'a Exchanges,
    pub(crate) view: &'a View,
    pub(crate) caller: &'a Caller,
    pub(crate) envelope: &'a Envelope,
    pub(crate) params: &'a Params,
    pub(crate) target: &'a Target,
    pub(crate) upstream: &'a Arc<Upstream>,
    /// The client's identity, for legacy clients, whose requests do not carry it.
    pub(crate) sender: Option<&'a Sender>,
    pub(crate) permit: &'a Permit,
    pub(crate) continuing: Continuing<'a>,
}

/// What a call continues from, and what it is made with.
pub(crate) struct Continuing<'a> {
    /// The record of the call, which answers to questions are recorded with.
    pub(crate) record: &'a CallRecord,
    /// The position of a call that is being resumed.
    pub(crate) position: Option<Position>,
    /// The approval it is made with, if a person was asked.
    pub(crate) approval: Option<&'a str>,
    /// The maximum duration of the whole call.
    pub(crate) max_runtime: Option<Duration>,
    /// The parameters as the client sent them, and will send them again.
    pub(crate) sent: &'a Params,
}

/// An answer, and how the call went.
type AnswerAndOutcome = (Answer, RecordedOutcome);

/// How far a call got.
enum Driven {
    Answered(Envelope),
    /// A legacy server asks a modern client.
    Asked(ServerQuestion),
}

impl Exchange<'_> {
    /// Makes the call.
    pub(crate) async fn run(&self) -> AnswerAndOutcome {
        let key = self.server();
        let tool =
            self.target.subject.name.as_deref().filter(|_| *self.envelope.method() == Method::ToolsCall);
        let measuring = tool.map(|tool| {
            let is_listed = || self.target.offer.as_ref().is_some_and(|offer| offer.visible.has_tool(tool));
            self.shared.metrics.of(key, tool, is_listed).begin(&self.shared.context.clock)
        });
        let (answer, outcome) = match self.attempt().await {
            Ok(answered) => answered,
            Err(failure) => {
                (self.failure_answer(&failure), RecordedOutcome::Failure(failure.code().as_str()))
            }
        };
        if let Some(measuring) = measuring {
            measuring.end(match (&answer, outcome) {
                (Answer::Result(_), RecordedOutcome::Completed | RecordedOutcome::InputRequired) => {
                    Ending::Done
                }
                (Answer::Result(_), RecordedOutcome::ToolError) => Ending::ToolError,
                _ => Ending::Failed,
            });
        }
        (answer, outcome)
    }

    fn server(&self) -> &ServerKey {
        &self.upstream.spec().key
    }

    /// The client's answer for a failed call.
    fn failure_answer(&self, failure: &Failure) -> Answer {
        let (key, method) = (self.server(), self.envelope.method());
        if let UpstreamError::Timeout(_) = failure.error() {
            let id = self.envelope.id().map(|id| id.to_string());
            tracing::warn!(server.name = %key, %method, request.id = id, "no answer in time");
        }
        let failure = failure.redacted(&self.shared.context.redactor);
        tracing::debug!(server.name = %key, ?failure, "call failed");
        failure.to_answer(key, method).in_era(self.caller.era, method)
    }

    async fn attempt(&self) -> Result<AnswerAndOutcome, Failure> {
        let mut round = Round::default();
        match self.continuing.position.clone() {
            // Every question reaches its client with a state, so without one nothing was asked: answers are dropped.
            // After `Again` and `Approval`, the answer was for Octroi.
            None | Some(Position::Again | Position::Approval(_)) => {}
            Some(Position::Server(state)) => {
                round = Round { answers: self.params.input_responses(), state };
            }
            Some(Position::Pending(number, _)) => return Box::pin(self.resume(number)).await,
        }
        let slot = self.upstream.call_slot(self.caller.principal.id()).await.map_err(Failure::Unavailable)?;
        let mut outcome = self.exchange(round.clone()).await;
        // Reads may be repeated; a tool is never called twice, only sent again to a server that did not take the call.
        if outcome.as_ref().err().is_some_and(|failure| {
            let error = failure.error();
            matches!(error, UpstreamError::NotTaken(_))
                || self.envelope.method().is_read() && error.is_passing()
        }) {
            outcome = Box::pin(self.exchange(round)).await;
        }
        slot.settle(outcome.as_ref().err().map_or(CallOutcome::Answered, Failure::outcome));
        outcome
    }

    /// Makes the call, again for each round of questions.
    async fn exchange(&self, mut round: Round) -> Result<AnswerAndOutcome, Failure> {
        let Caller { principal, owner, era, .. } = self.caller;
        let sharer = Sharer { user: principal.id(), session: owner, era: *era };
        let connection = self.upstream.connection_for(&sharer, &self.caller.capabilities).await;
        let connection = connection.map_err(Failure::Unavailable)?;
        if self.target.tool.is_some() {
            self.shared.servers.look_at_tools(self.upstream).await;
        }
        self.set_log_level(&connection).await;
        let mut headers = self.target.headers.of_arguments(self.params.arguments().as_ref());
        let mut has_refreshed = false;
        for _ in 0..ROUNDS_MAX {
            if let Some(refused) = self.revoked().or_else(|| self.switched_off()).or_else(|| self.withdrawn())
            {
                return Ok(refused);
            }
            let outgoing = Outgoing {
                envelope: self.envelope,
                subject: &self.target.subject,
                params: self.params,
                sender: self.sender,
                round: &round,
                param_headers: headers.clone(),
                owner: self.caller.owner.clone(),
            };
            let mut call = connection.call(self.permit, outgoing).map_err(Failure::Unavailable)?;
            let driven = match self.drive(&mut call).await {
                Err(failure) => return Err(Box::pin(self.suspect(&connection, failure)).await),
                Ok(driven) => driven,
            };
            let answer = match driven {
                Driven::Asked(question) => return Ok(self.keep_pending(call, connection, question)),
                Driven::Answered(answer) => answer,
            };
            let Some(result) = answer.result() else {
                let error =
                    answer.error().unwrap_or_else(|| RpcError::new(code::INTERNAL_ERROR, "no result"));
                if error.code == code::HEADER_MISMATCH && !has_refreshed && connection.era() == Era::Modern {
                    has_refreshed = true;
                    if let Some(renewed) = Box::pin(self.renewed_headers()).await {
                        headers = renewed;
                        continue;
                    }
                }
                return Ok(self.failed(&answer, &error));
            };
            let view = ResultView::read(&result);
            if connection.era() == Era::Legacy || !view.is_input_required() {
                return Ok(self.complete(&view, &connection));
            }
            if self.caller.era == Era::Modern {
                return Ok(self.wrap_state(&view));
            }
            match InputRequired::read(&view) {
                Err(error) => return Ok(failed(error)),
                Ok(asked) => match Box::pin(self.ask_all(asked)).await {
                    Ok(next) => round = next,
                    Err(error) => return Ok(failed(error)),
                },
            }
        }
        let message = format!("server `{}` asked more than {ROUNDS_MAX} times", self.server());
        Ok(failed(RpcError::new(code::INTERNAL_ERROR, message)))
    }

    /// The server expects other headers than the known definition declares, and refused before executing the
    /// call: its definitions are fetched again, and the call is retried once.
    async fn renewed_headers(&self) -> Option<Vec<(String, String)>> {
        let servers = &self.shared.servers;
        servers.refresh(self.upstream, &[Method::ToolsList].into()).await;
        let target =
            servers.resolve(self.view, self.caller, self.envelope.method(), self.params).await.ok()?;
        Some(target.headers.of_arguments(self.params.arguments().as_ref()))
    }

    /// Refuses a call whose token was taken away since it was decided: it may have waited for its turn, for a
    /// connection, or for answers.
    fn revoked(&self) -> Option<AnswerAndOutcome> {
        if self.shared.governance.identity().is_valid(&self.caller.principal) {
            return None;
        }
        let method = self.envelope.method();
        self.continuing.record.token_revoked(method);
        Some((denial::revoked().in_era(self.caller.era, method), RecordedOutcome::Failed))
    }

    /// Refuses a call whose server somebody took from the caller since it was decided.
    fn switched_off(&self) -> Option<AnswerAndOutcome> {
        let tool = self.target.tool.as_ref()?;
        let Sight::Off(switch) = self.shared.servers.sight(&self.caller.principal, self.server()) else {
            return None;
        };
        let (server, style) = (self.server().to_string(), self.shared.governance.denial_style(self.caller));
        let refused = denial::switched_off(tool.descriptor.id.as_str(), &server, &switch, style);
        Some((refused.in_era(self.caller.era, self.envelope.method()), RecordedOutcome::Failed))
    }

    /// Refuses a call whose tool changed since it was decided: the approval may have taken long, the server
    /// may have been restarted, and after a refusal its definitions are fetched again.
    fn withdrawn(&self) -> Option<AnswerAndOutcome> {
        let tool = self.target.tool.as_ref()?;
        // Nothing has changed since the call was resolved.
        if self.target.offer.as_ref().is_some_and(|offer| self.shared.registry.is_current(offer)) {
            return None;
        }
        let reason = self.shared.registry.catalogue().withdrawn(self.server(), tool)?;
        let refused = denial::withdrawn(&reason, self.shared.governance.denial_style(self.caller));
        let refused = refused.in_era(self.caller.era, self.envelope.method());
        // Counted as a failure even if the refusal is a result.
        let outcome = if matches!(refused, Answer::Result(_)) {
            RecordedOutcome::ToolError
        } else {
            RecordedOutcome::Failed
        };
        Some((refused, outcome))
    }

    /// Waits for the answer, forwarding notifications and questions meanwhile.
    async fn drive(&self, call: &mut LiveCall) -> Result<Driven, Failure> {
        let timeouts = self.upstream.spec().timeouts;
        let call_cap =
            self.continuing.max_runtime.map_or(timeouts.call_cap, |max| max.min(timeouts.call_cap));
        let now = || Instant::from_std(self.shared.context.clock.instant());
        let begun = now();
        let (mut cap, mut deadline) = (begun + call_cap, begun + timeouts.call);
        let mut asking: Option<FuturesUnordered<_>> = None;
        let mut asked_at = begun;
        loop {
            let event = tokio::select! {
                biased;
                event = call.next() => event.map_err(Failure::During)?,
                Some(()) = next_of(&mut asking) => {
                    // While a person answers, the server's time does not run.
                    if asking.as_ref().is_none_or(FuturesUnordered::is_empty) {
                        let answered_at = now();
                        cap += answered_at.duration_since(asked_at);
                        deadline = answered_at + timeouts.call;
                    }
                    continue;
                }
                () = tokio::time::sleep_until(deadline.min(cap)),
                    if asking.as_ref().is_none_or(FuturesUnordered::is_empty) =>
                {
                    let limit = if deadline < cap { timeouts.call } else { call_cap };
                    call.time_out();
                    return Err(Failure::During(UpstreamError::Timeout(limit)));
                }
            };
            match event {
                CallEvent::Answer(answer) => {
                    if answer.json().len() > LARGE_ANSWER_BYTES {
                        leave_worker().await;
                    }
                    return Ok(Driven::Answered(answer));
                }
                CallEvent::Notification(notification) => {
                    if *notification.method() == Method::Progress {
                        deadline = now() + timeouts.call;
                    }
                    self.pass_on(&notification);
                }
                CallEvent::Released => self.caller.client.release(),
                CallEvent::Question(question) => {
                    if let Err(error) = self.caller.capabilities.allow(&question.method, &question.params) {
                        question.refuse(&error);
                        self.upstream.asked_in_vain();
                        continue;
                    }
                    match self.caller.era {
                        Era::Modern => return Ok(Driven::Asked(question)),
                        Era::Legacy => {
                            let asking = asking.get_or_insert_default();
                            if asking.is_empty() {
                                asked_at = now();
                            }
                            asking.push(self.ask_one(question));
                        }
                    }
                }
            }
        }
    }

    fn pass_on(&self, notification: &Envelope) {
        match notification.method() {
            Method::Progress => {
                if let Some(token) = self.params.progress_token() {
                    self.caller.client.notify(translate::progress(notification, &token));
                }
            }
            Method::LogMessage => {
                let level = Params::read(notification.params()).ok();
                let level = level.as_ref().and_then(Params::level);
                let requested = self.caller.log_level.as_deref().map(translate::severity);
                if requested.is_some_and(|requested| {
                    translate::severity(level.as_deref().unwrap_or_default()) >= requested
                }) {
                    self.caller.client.notify(notification.json().clone());
                }
            }
            _ => {}
        }
    }

    /// A legacy server sends log messages according to a level set beforehand; it must include the level
    /// that a client requests.
    async fn set_log_level(&self, connection: &Connection) {
        let is_requested = self.caller.era == Era::Modern && self.caller.log_level.is_some();
        let has = connection.identity().capabilities.get("logging").is_some();
        if let (Era::Legacy, true, true, Some(level)) =
            (connection.era(), is_requested, has, &self.caller.log_level)
        {
            let timeout = self.upstream.spec().timeouts.list;
            // Best effort: without it the call only has fewer log messages.
            let _ =
                Box::pin(connection.control(octroi_upstream::ControlRequest::SetLevel(level), timeout)).await;
        }
    }

    /// Discards a connection that turned out not to work, so that the next call opens a new one.
    async fn suspect(&self, connection: &Arc<Connection>, failure: Failure) -> Failure {
        match failure {
            Failure::During(
                error @ (UpstreamError::Connect { .. } | UpstreamError::Status(400 | 404 | 405)),
            ) => {
                self.upstream.discard(connection).await;
                Failure::Unavailable(error)
            }
            // Its connection is closed already.
            Failure::During(error @ UpstreamError::NotTaken(_)) => Failure::Unavailable(error),
            other => other,
        }
    }
}
