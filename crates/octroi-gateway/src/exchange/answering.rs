//! The client's answer, from its server's: the result, an error, or a question to come back with.

use std::sync::Arc;

use bytes::Bytes;
use octroi_mcp::ask;
use octroi_mcp::json::{self, Edit};
use octroi_mcp::result::ResultView;
use octroi_mcp::{Envelope, Era, Method, RpcError, code, translate};
use octroi_upstream::{CallOutcome, Connection, LiveCall, ServerQuestion};

use super::pending::PendingExchange;
use super::{AnswerAndOutcome, Driven, Exchange};
use crate::answer::{Answer, Failure};
use crate::contents;
use crate::denial;
use crate::outcome::RecordedOutcome;
use crate::request_state::{self, Grant, Position};
use crate::reserved_metadata;
use crate::server_error;

impl Exchange<'_> {
    /// The result in the client's era and, in the merged view, with published task ids and
    /// resource URIs.
    pub(super) fn complete(&self, view: &ResultView<'_>, connection: &Connection) -> AnswerAndOutcome {
        let cleaned = self.without_reserved(view);
        let cleaned = cleaned.as_ref().map(ResultView::read);
        let view = cleaned.as_ref().unwrap_or(view);
        let (from, to) = (connection.era(), self.caller.era);
        let method = self.envelope.method();
        let server = self.server();
        let outcome = if view.is_error() { RecordedOutcome::ToolError } else { RecordedOutcome::Completed };
        let cleaned = match method {
            Method::TasksGet => {
                let redactor = &self.shared.context.redactor;
                Some(reserved_metadata::out_of_task(&server.to_string(), view.json(), redactor))
            }
            _ => None,
        };
        let cleaned = cleaned.as_ref().map(ResultView::read);
        let view = cleaned.as_ref().unwrap_or(view);
        if let Some(own) = view.created_task().filter(|_| self.target.subject.task_id.is_none()) {
            let now_ms = self.shared.context.clock.now_ms();
            self.shared.server_tasks.begin(self.server(), &own, &self.caller.principal, now_ms);
        }
        let is_merged = self.view.is_merged();
        let task_id = view.created_task().filter(|_| is_merged).map(|own| format!("{server}:{own}"));
        let info = connection.identity().info.as_ref();
        let result = translate::result(view, from, to, method, info, task_id.as_deref());
        // A request with the server's own URI is answered with the same URI.
        let is_published_uri = || self.params.uri().as_deref() != self.target.subject.uri.as_deref();
        if is_merged && *method == Method::ResourcesRead && is_published_uri() {
            return (Answer::Result(contents::publish(&server.name, result)), outcome);
        }
        (Answer::Result(result), outcome)
    }

    /// The result without the metadata reserved for Octroi, if the server set any.
    fn without_reserved(&self, view: &ResultView<'_>) -> Option<Bytes> {
        let cleaned = reserved_metadata::out_of_result(view)?;
        tracing::warn!(server.name = %self.server(), "server answered with metadata that is reserved for Octroi");
        Some(cleaned)
    }

    pub(super) fn failed(&self, answer: &Envelope, error: &RpcError) -> AnswerAndOutcome {
        let json = answer.error_json().unwrap_or_default();
        let redacted = server_error::redacted(error, &json, &self.shared.context.redactor);
        let is_forged = denial::is_forged(error);
        let is_changed = redacted.is_some();
        let error = redacted.as_ref().unwrap_or(error);
        if is_forged {
            let server = self.server();
            tracing::warn!(server.name = %server, code = error.code, "server answered with an error that is reserved for Octroi");
            return failed(denial::forged(&server.to_string(), error));
        }
        if self.caller.era == Era::Modern
            && let Some(mut questions) = ask::questions_of_url_error(error)
            && let Some(state) = self.seal(Position::Again)
        {
            for question in &mut questions {
                question.params = reserved_metadata::out_of_object(std::mem::take(&mut question.params));
            }
            return interim(ask::input_required(&questions, &state));
        }
        // What a server says is no error of Octroi: it gets no code and no hint.
        let of_server = |code, json| (Answer::ErrorJson { code, json }, RecordedOutcome::Failed);
        if let Some(cleaned) = reserved_metadata::out_of_url_error(error) {
            return of_server(cleaned.code, cleaned.to_json());
        }
        if let Some(translated) = translate::error(error, self.caller.era, self.envelope.method()) {
            return of_server(translated.code, translated.to_json());
        }
        if is_changed || !denial::is_readable(&json) {
            return of_server(error.code, error.to_json());
        }
        of_server(error.code, json)
    }

    /// Keeps a legacy server's call open and asks a modern client to come back with the answer.
    pub(super) fn keep_pending(
        &self,
        call: LiveCall,
        connection: Arc<Connection>,
        question: ServerQuestion,
    ) -> AnswerAndOutcome {
        let asked = ask::Question {
            key: "answer".to_owned(),
            method: question.method.clone(),
            params: reserved_metadata::out_of_object(ask::to_modern(&question.params)),
        };
        let hold = self.upstream.hold();
        let questions = vec![(asked.key.clone(), question)];
        let pending = PendingExchange {
            principal: Arc::clone(self.caller.principal.id()),
            agent: self.caller.principal.agent_id().cloned(),
            call,
            connection,
            questions,
            _hold: hold,
        };
        let state = match self.shared.pending.keep(pending, &self.shared.context.clock) {
            Ok(number) => self.seal(self.shared.sealer.pending(number)),
            Err(_) => None,
        };
        match state {
            Some(state) => interim(ask::input_required(&[asked], &state)),
            None => failed(RpcError::new(
                code::INTERNAL_ERROR,
                "too many calls are waiting for answers; try again later",
            )),
        }
    }

    /// Continues a pending call.
    pub(super) async fn resume(&self, number: u64) -> Result<AnswerAndOutcome, Failure> {
        let gone = "the call is no longer waiting for an answer; make it again without requestState";
        let Some(mut pending) = self.shared.pending.take(number) else {
            return Ok(failed(RpcError::invalid_params(gone)));
        };
        let answers = ask::read_answers(self.params.input_responses().as_ref());
        let mut open = Vec::new();
        for (key, question) in pending.questions.drain(..) {
            match answers.iter().find(|(answered, _)| *answered == key) {
                Some((_, answer)) => question.answer(answer),
                None => open.push((key, question)),
            }
        }
        let PendingExchange { mut call, connection, .. } = pending;
        if let Some((_, question)) = open.pop() {
            return Ok(self.keep_pending(call, connection, question));
        }
        let slot = self.upstream.call_slot(self.caller.principal.id()).await.map_err(Failure::Unavailable)?;
        let driven = self.drive(&mut call).await;
        slot.settle(driven.as_ref().err().map_or(CallOutcome::Answered, Failure::outcome));
        match driven {
            Err(failure) => Err(self.suspect(&connection, failure).await),
            Ok(Driven::Asked(question)) => Ok(self.keep_pending(call, connection, question)),
            Ok(Driven::Answered(answer)) => Ok(match (answer.result(), answer.error()) {
                (Some(result), _) => self.complete(&ResultView::read(&result), &connection),
                (None, Some(error)) => self.failed(&answer, &error),
                (None, None) => failed(RpcError::new(code::INTERNAL_ERROR, "no result")),
            }),
        }
    }

    /// A modern server's interim result with its state sealed inside ours.
    pub(super) fn wrap_state(&self, view: &ResultView<'_>) -> AnswerAndOutcome {
        let cleaned = self.without_reserved(view);
        let cleaned = cleaned.as_ref().map(ResultView::read);
        let view = cleaned.as_ref().unwrap_or(view);
        let own = view.request_state().map(std::borrow::Cow::into_owned);
        match self.seal(Position::Server(own)) {
            Some(state) => {
                let state = json::quote(&state);
                let questions = view.input_requests().map(reserved_metadata::out_of_questions);
                let questions = questions.as_ref().map(|questions| Edit::Set("inputRequests", questions));
                let state = Edit::Set("requestState", state.as_bytes());
                let edits: Vec<Edit<'_>> = questions.into_iter().chain([state]).collect();
                interim(Bytes::from(json::rewrite(view.json(), &edits)))
            }
            None => failed(RpcError::new(code::INTERNAL_ERROR, "the call's state cannot be sealed")),
        }
    }

    fn seal(&self, round: Position) -> Option<String> {
        let grant = self
            .continuing
            .approval
            .map(|id| Grant { approval: id.to_owned(), round: self.shared.approvals.next_round(id) });
        let principal = self.caller.principal.id().to_string();
        let (method, subject) = (self.envelope.method(), &self.target.subject);
        let digest = request_state::digest_of(method, self.server(), subject, self.continuing.sent);
        self.shared.sealer.seal_position(round, principal, digest, grant)
    }
}

/// A call that ended with an error.
pub(super) fn failed(error: RpcError) -> AnswerAndOutcome {
    (error.into(), RecordedOutcome::Failed)
}

/// A call that continues when the client comes back with an answer.
fn interim(result: Bytes) -> AnswerAndOutcome {
    (Answer::Result(result), RecordedOutcome::InputRequired)
}
