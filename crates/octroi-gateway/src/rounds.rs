//! One allowed call, from the first byte to the last, with the questions in between.
//!
//! The four pairs of eras meet here. A legacy client is asked on its stream; a modern client gets
//! `input_required` and comes back. A legacy server's call stays open while it waits; a modern
//! server's call is made again with the answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::FuturesUnordered;
use octroi_core::Permit;
use octroi_mcp::ask::{self, InputRequired};
use octroi_mcp::json::{self, Edit};
use octroi_mcp::params::Params;
use octroi_mcp::result::ResultView;
use octroi_mcp::translate::{self, Round, Sender};
use octroi_mcp::{Envelope, Era, Method, RpcError, code};
use octroi_upstream::{CallEvent, Connection, LiveCall, Outgoing, Question, Sharer, UpstreamError};
use tokio::time::Instant;

use crate::answer::{Answer, Failure};
use crate::caller::Caller;
use crate::contents;
use crate::denial;
use crate::gateway::Gateway;
use crate::marks;
use crate::meters::Ending;
use crate::park::Parked;
use crate::pipeline::Target;
use crate::seal::{self, Grant, Position};
use crate::view::View;

mod questions;

use questions::next_of;

/// A server that keeps asking is asking too much.
pub(crate) const ROUNDS_MAX: usize = 20;

/// Everything about one call.
pub(crate) struct Run<'a> {
    pub(crate) gateway: &'a Arc<Gateway>,
    pub(crate) view: &'a View,
    pub(crate) caller: &'a Caller,
    pub(crate) envelope: &'a Envelope,
    pub(crate) params: &'a Params,
    pub(crate) target: &'a Target,
    /// For legacy clients, whose requests do not say it themselves.
    pub(crate) sender: Option<&'a Sender>,
    pub(crate) permit: &'a Permit,
    /// Where a call that was made before stands.
    pub(crate) position: Option<Position>,
    /// The approval it is made with, if a person was asked.
    pub(crate) approval: Option<&'a str>,
    /// How long it may take in all.
    pub(crate) max_runtime: Option<Duration>,
    /// The parameters as the client sent them, and will send them again.
    pub(crate) sent: &'a Params,
    /// Set when the tool itself said that it failed.
    pub(crate) tool_failed: AtomicBool,
    /// Set when the client is to come back with an answer.
    pub(crate) is_interim: AtomicBool,
}

/// How far a call got.
enum Driven {
    Answered(Envelope),
    /// A legacy server asks a modern client.
    Asked(Question),
}

impl Run<'_> {
    /// Makes the call; says the answer and how it went, in a word.
    pub(crate) async fn answer(&self) -> (Answer, &'static str) {
        let spec = self.target.upstream.spec();
        let tool =
            self.target.subject.name.as_deref().filter(|_| *self.envelope.method() == Method::ToolsCall);
        let measuring = tool.map(|tool| {
            let is_listed =
                || self.gateway.catalogue().server(&spec.name).is_some_and(|lists| lists.has_tool(tool));
            self.gateway.meters.of(&spec.name, tool, is_listed).begin()
        });
        let attempted = self.attempt().await;
        if let Some(measuring) = measuring {
            measuring.end(match &attempted {
                Ok(Answer::Result(_)) if self.tool_failed.load(Ordering::Relaxed) => Ending::ToolError,
                Ok(Answer::Result(_)) => Ending::Done,
                Ok(Answer::Error(_) | Answer::ErrorJson { .. }) | Err(_) => Ending::Failed,
            });
        }
        let outcome = self.outcome(&attempted);
        let answer = match attempted {
            Ok(answer) => answer,
            Err(failure) => {
                let method = self.envelope.method();
                if let UpstreamError::Timeout(_) = failure.error() {
                    let id = self.envelope.id().map(|id| id.to_string());
                    tracing::warn!(server.name = %spec.name, %method, request.id = id, "no answer in time");
                }
                tracing::debug!(server.name = %spec.name, ?failure, "call failed");
                let answer = failure.to_answer(&spec.name, self.envelope.method());
                answer.in_era(self.caller.era, self.envelope.method())
            }
        };
        (answer, outcome)
    }

    /// How the call went, in a word.
    fn outcome(&self, attempted: &Result<Answer, Failure>) -> &'static str {
        match attempted {
            _ if self.is_interim.load(Ordering::Relaxed) => "input_required",
            Ok(Answer::Result(_)) if self.tool_failed.load(Ordering::Relaxed) => "tool_error",
            Ok(Answer::Result(_)) => "completed",
            Ok(Answer::Error(_) | Answer::ErrorJson { .. }) => "failed",
            Err(failure) => failure.kind(),
        }
    }

    async fn attempt(&self) -> Result<Answer, Failure> {
        let mut round = Round::default();
        match self.position.clone() {
            // A client may answer without a state, where the server gave none.
            None => round.answers = self.params.input_responses(),
            // The answer was for us.
            Some(Position::Again | Position::Approval(_)) => {}
            Some(Position::Server(state)) => {
                round = Round { answers: self.params.input_responses(), state };
            }
            Some(Position::Parked(number)) => return Box::pin(self.resume(number)).await,
        }
        let room = self.target.upstream.room().await.map_err(Failure::Unavailable)?;
        let mut outcome = self.exchange(round.clone()).await;
        // Reading twice does no harm; a tool is never called twice.
        if self.envelope.method().is_read()
            && outcome.as_ref().err().is_some_and(|failure| failure.error().is_passing())
        {
            outcome = Box::pin(self.exchange(round)).await;
        }
        room.settle(outcome.as_ref().err().map(Failure::error));
        outcome
    }

    /// Makes the call, as often as the server asks back.
    async fn exchange(&self, mut round: Round) -> Result<Answer, Failure> {
        let upstream = &self.target.upstream;
        let sharer = Sharer { user: &self.caller.principal.id, session: &self.caller.owner };
        let connection = upstream.connection_for(&sharer, &self.caller.capabilities).await;
        let connection = connection.map_err(Failure::Unavailable)?;
        if self.target.tool.is_some() {
            self.gateway.look_at_tools(upstream).await;
        }
        self.set_log_level(&connection).await;
        let mut headers = self.target.headers.of_arguments(self.params.arguments().as_ref());
        let mut has_refreshed = false;
        for _ in 0..ROUNDS_MAX {
            if let Some(refused) = self.withdrawn() {
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
            let mut call = connection.call(self.permit, outgoing);
            let driven = match self.drive(&mut call).await {
                Err(failure) => return Err(Box::pin(self.suspect(&connection, failure)).await),
                Ok(driven) => driven,
            };
            let answer = match driven {
                Driven::Asked(question) => return Ok(self.park(call, connection, question)),
                Driven::Answered(answer) => answer,
            };
            let Some(result) = answer.result() else {
                let error =
                    answer.error().unwrap_or_else(|| RpcError::new(code::INTERNAL_ERROR, "no result"));
                // The server wants other headers than the definition we know asks for, and refused
                // before looking at the call: learn its definitions anew and try once more.
                if error.code == code::HEADER_MISMATCH && !has_refreshed && connection.era() == Era::Modern {
                    has_refreshed = true;
                    Box::pin(self.gateway.refresh(upstream, &[Method::ToolsList].into())).await;
                    if let Ok(target) =
                        Box::pin(self.gateway.resolve(self.view, self.envelope.method(), self.params)).await
                    {
                        headers = target.headers.of_arguments(self.params.arguments().as_ref());
                        continue;
                    }
                }
                return Ok(self.failed(&answer, &error));
            };
            let view = ResultView::read(&result);
            if connection.era() == Era::Legacy || !view.is_input_required() {
                return Ok(Answer::Result(self.complete(&view, &connection)));
            }
            if self.caller.era == Era::Modern {
                return Ok(self.wrap_state(&view));
            }
            match InputRequired::read(&view) {
                Err(error) => return Ok(error.into()),
                Ok(asked) => match Box::pin(self.ask_all(asked)).await {
                    Ok(next) => round = next,
                    Err(error) => return Ok(error.into()),
                },
            }
        }
        let message = format!("server `{}` asked more than {ROUNDS_MAX} times", upstream.spec().name);
        Ok(RpcError::new(code::INTERNAL_ERROR, message).into())
    }

    /// Refuses a call whose tool is not what it was when the call was decided: a person may have thought
    /// for long, the server may have started anew, and one that refuses a call has its definitions read
    /// again.
    fn withdrawn(&self) -> Option<Answer> {
        let tool = self.target.tool.as_ref()?;
        let server = &self.target.upstream.spec().name;
        let reason = self.gateway.catalogue().withdrawn(server, tool)?;
        // So that it counts as a failure also where the refusal is a result.
        self.tool_failed.store(true, Ordering::Relaxed);
        let refused = denial::withdrawn(&reason, self.gateway.style(self.caller));
        Some(refused.in_era(self.caller.era, self.envelope.method()))
    }

    /// Waits for the answer, passing on what happens meanwhile.
    async fn drive(&self, call: &mut LiveCall) -> Result<Driven, Failure> {
        let timeouts = self.target.upstream.spec().timeouts;
        let call_cap = self.max_runtime.map_or(timeouts.call_cap, |max| max.min(timeouts.call_cap));
        let begun = Instant::now();
        let (cap, mut deadline) = (begun + call_cap, begun + timeouts.call);
        let mut asking = None;
        loop {
            let event = tokio::select! {
                biased;
                event = call.next() => event.map_err(Failure::During)?,
                Some(()) = next_of(&mut asking) => {
                    // While a person thinks, the server's clock stands still.
                    deadline = Instant::now() + timeouts.call;
                    continue;
                }
                () = tokio::time::sleep_until(deadline.min(cap)),
                    if asking.as_ref().is_none_or(FuturesUnordered::is_empty) =>
                {
                    let limit = if deadline < cap { timeouts.call } else { call_cap };
                    return Err(Failure::During(UpstreamError::Timeout(limit)));
                }
            };
            match event {
                CallEvent::Answer(answer) => return Ok(Driven::Answered(answer)),
                CallEvent::Notification(notification) => {
                    if *notification.method() == Method::Progress {
                        deadline = Instant::now() + timeouts.call;
                    }
                    self.pass_on(&notification);
                }
                CallEvent::Question(question) => {
                    if let Err(error) = self.caller.capabilities.allow(&question.method, &question.params) {
                        question.refuse(&error);
                        continue;
                    }
                    match self.caller.era {
                        Era::Modern => return Ok(Driven::Asked(question)),
                        Era::Legacy => asking.get_or_insert_default().push(self.ask_one(question)),
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
                let wanted = self.caller.log_level.as_deref().map(translate::severity);
                if wanted
                    .is_some_and(|wanted| translate::severity(level.as_deref().unwrap_or_default()) >= wanted)
                {
                    self.caller.client.notify(notification.json().clone());
                }
            }
            _ => {}
        }
    }

    /// The result in the client's era and, in the merged view, with a task id and with URIs of what was
    /// read that say whose they are.
    fn complete(&self, view: &ResultView<'_>, connection: &Connection) -> Bytes {
        let unmarked = self.unmarked(view);
        let unmarked = unmarked.as_ref().map(ResultView::read);
        let view = unmarked.as_ref().unwrap_or(view);
        let (from, to) = (connection.era(), self.caller.era);
        let method = self.envelope.method();
        let server = &self.target.upstream.spec().name;
        if view.is_error() {
            self.tool_failed.store(true, Ordering::Relaxed);
        }
        let cleaned = match method {
            Method::TasksGet => Some(marks::out_of_task(server.as_str(), view.json())),
            _ => None,
        };
        let cleaned = cleaned.as_ref().map(ResultView::read);
        let view = cleaned.as_ref().unwrap_or(view);
        let is_merged = self.view.is_merged();
        let task_id = view.task_id().filter(|_| is_merged).map(|own| format!("{server}:{own}"));
        let info = connection.identity().info.as_ref();
        let result = translate::result(view, from, to, method, info, task_id.as_deref());
        // Who asked by the server's own URI is answered with it.
        let asked_as_shown = || self.params.uri().as_deref() != self.target.subject.uri.as_deref();
        if is_merged && *method == Method::ResourcesRead && asked_as_shown() {
            return contents::publish(server, result);
        }
        result
    }

    /// The result without what only Octroi says, if the server says it.
    fn unmarked(&self, view: &ResultView<'_>) -> Option<Bytes> {
        let unmarked = marks::out_of_result(view)?;
        let server = &self.target.upstream.spec().name;
        tracing::warn!(server.name = %server, "a server answered with marks of Octroi");
        Some(unmarked)
    }

    fn failed(&self, answer: &Envelope, error: &RpcError) -> Answer {
        if denial::is_forged(error) {
            let server = &self.target.upstream.spec().name;
            tracing::warn!(server.name = %server, code = error.code, "a server answered in Octroi's name");
            return denial::forged(server.as_str(), error).into();
        }
        if self.caller.era == Era::Modern
            && let Some(mut questions) = ask::questions_of_url_error(error)
            && let Some(state) = self.seal(Position::Again)
        {
            for question in &mut questions {
                question.params = marks::out_of_object(std::mem::take(&mut question.params));
            }
            return Answer::Result(ask::input_required(&questions, &state));
        }
        if let Some(cleaned) = marks::out_of_url_error(error) {
            return cleaned.into();
        }
        if let Some(translated) = translate::error(error, self.caller.era, self.envelope.method()) {
            return translated.into();
        }
        match answer.error_json().filter(|json| denial::is_readable(json)) {
            Some(json) => Answer::ErrorJson { code: error.code, json },
            None => error.clone().into(),
        }
    }

    /// Keeps a legacy server's call open and asks a modern client to come back with the answer.
    fn park(&self, call: LiveCall, connection: Arc<Connection>, question: Question) -> Answer {
        let asked = ask::Question {
            key: "answer".to_owned(),
            method: question.method.clone(),
            params: marks::out_of_object(ask::to_modern(&question.params)),
        };
        let hold = self.target.upstream.hold();
        let parked = Parked { call, connection, questions: vec![(asked.key.clone(), question)], _hold: hold };
        let state = match self.gateway.parking.park(parked) {
            Ok(number) => self.seal(Position::Parked(number)),
            Err(_) => None,
        };
        match state {
            Some(state) => Answer::Result(ask::input_required(&[asked], &state)),
            None => {
                RpcError::new(code::INTERNAL_ERROR, "too many calls are waiting for answers; try again later")
                    .into()
            }
        }
    }

    /// Goes on with a parked call.
    async fn resume(&self, number: u64) -> Result<Answer, Failure> {
        let gone = "the call is no longer waiting for an answer; make it again without requestState";
        let Some(mut parked) = self.gateway.parking.take(number) else {
            return Ok(RpcError::invalid_params(gone).into());
        };
        let answers = ask::read_answers(self.params.input_responses().as_ref());
        let mut open = Vec::new();
        for (key, question) in parked.questions.drain(..) {
            match answers.iter().find(|(answered, _)| *answered == key) {
                Some((_, answer)) => question.answer(answer),
                None => open.push((key, question)),
            }
        }
        let Parked { mut call, connection, .. } = parked;
        if let Some((_, question)) = open.pop() {
            return Ok(self.park(call, connection, question));
        }
        let room = self.target.upstream.room().await.map_err(Failure::Unavailable)?;
        let driven = self.drive(&mut call).await;
        room.settle(driven.as_ref().err().map(Failure::error));
        match driven {
            Err(failure) => Err(self.suspect(&connection, failure).await),
            Ok(Driven::Asked(question)) => Ok(self.park(call, connection, question)),
            Ok(Driven::Answered(answer)) => Ok(match (answer.result(), answer.error()) {
                (Some(result), _) => Answer::Result(self.complete(&ResultView::read(&result), &connection)),
                (None, Some(error)) => self.failed(&answer, &error),
                (None, None) => RpcError::new(code::INTERNAL_ERROR, "no result").into(),
            }),
        }
    }

    /// A modern server's interim result with its state sealed inside ours.
    fn wrap_state(&self, view: &ResultView<'_>) -> Answer {
        let unmarked = self.unmarked(view);
        let unmarked = unmarked.as_ref().map(ResultView::read);
        let view = unmarked.as_ref().unwrap_or(view);
        let own = view.request_state().map(std::borrow::Cow::into_owned);
        match self.seal(Position::Server(own)) {
            Some(state) => {
                let state = json::quote(&state);
                let questions = view.input_requests().map(marks::out_of_questions);
                let questions = questions.as_ref().map(|questions| Edit::Set("inputRequests", questions));
                let state = Edit::Set("requestState", state.as_bytes());
                let edits: Vec<Edit<'_>> = questions.into_iter().chain([state]).collect();
                Answer::Result(Bytes::from(json::rewrite(view.json(), &edits)))
            }
            None => RpcError::new(code::INTERNAL_ERROR, "the call's state cannot be sealed").into(),
        }
    }

    fn seal(&self, round: Position) -> Option<String> {
        self.is_interim.store(true, Ordering::Relaxed);
        let grant = self
            .approval
            .map(|id| Grant { approval: id.to_owned(), round: self.gateway.waiting.next_round(id) });
        let principal = self.caller.principal.id.to_string();
        let digest = seal::digest_of(self.envelope, self.target, self.sent);
        self.gateway.sealer.seal_position(round, principal, digest, grant)
    }

    /// A legacy server sends log messages by a level set beforehand; one that a client wants must be
    /// among them.
    async fn set_log_level(&self, connection: &Connection) {
        let wants = self.caller.era == Era::Modern && self.caller.log_level.is_some();
        let has = connection.identity().capabilities.get("logging").is_some();
        if let (Era::Legacy, true, true, Some(level)) = (connection.era(), wants, has, &self.caller.log_level)
        {
            let timeout = self.target.upstream.spec().timeouts.list;
            // Without it the call works all the same, only quieter.
            let _ = Box::pin(connection.control(octroi_upstream::Control::SetLevel(level), timeout)).await;
        }
    }

    /// A failure that means the connection itself is no good: the next call opens a new one.
    async fn suspect(&self, connection: &Arc<Connection>, failure: Failure) -> Failure {
        match failure {
            Failure::During(
                error @ (UpstreamError::Connect { .. } | UpstreamError::Status(400 | 404 | 405)),
            ) => {
                self.target.upstream.discard(connection).await;
                Failure::Unavailable(error)
            }
            other => other,
        }
    }
}
