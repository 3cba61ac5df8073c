//! Makes the call of a task once it is approved, exactly as its client would by coming back.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use octroi_core::approval::{Approval, ApprovalState};
use octroi_mcp::ask::{self, InputRequired, Question};
use octroi_mcp::json::{self, Edit};
use octroi_mcp::params::Params;
use octroi_mcp::result::ResultView;
use octroi_mcp::{Envelope, Era, Method, RpcError, code};
use tokio::time::error::Elapsed;
use tokio_util::sync::CancellationToken;

use super::Pipeline;
use crate::answer::Answer;
use crate::api_error::described;
use crate::approvals::CallToApprove;
use crate::audit_recorder::Initiator;
use crate::caller::{Caller, NoClient};
use crate::denial;
use crate::exchange::ROUNDS_MAX;
use crate::request_state::{PATIENCE, Position};
use crate::tasks::{RESULT_BYTES_MAX, Signals, TaskBegun, TaskEnd, TaskQuestions, TaskRequest, TaskState};
use crate::view::View;

impl Pipeline {
    /// The task for a client that supports tasks, while approval is pending. `None` for other clients, and
    /// if there is nothing to wait for, or the limit is reached.
    pub(super) fn become_task(
        self: &Arc<Self>,
        asking: &CallToApprove<'_>,
        approval: &Approval,
    ) -> Option<Answer> {
        let Caller { era, capabilities, principal, .. } = asking.caller;
        let is_open = approval.state == ApprovalState::Pending && !approval.is_due(self.now_ms());
        if *era == Era::Legacy || !capabilities.has_tasks() || !is_open {
            return None;
        }
        let message = self.approvals.invitation(asking.caller, approval);
        let n_bytes = asking.envelope.json().len();
        match self.tasks.begin(approval, principal, message, n_bytes, self.now_ms()) {
            TaskBegun::Full => return None,
            TaskBegun::Known => {}
            TaskBegun::New(signals) => {
                let call = TaskCall {
                    pipeline: Arc::clone(self),
                    view: asking.view.clone(),
                    // Its request is over, so the client cannot be notified or asked.
                    caller: Caller { client: Arc::new(NoClient), ..asking.caller.clone() },
                    envelope: asking.envelope.clone(),
                    tool: asking.tool.descriptor.id.to_string(),
                    digest: asking.digest,
                    approval: approval.id.clone(),
                    signals,
                    open: None,
                };
                let shutdown = self.context.shutdown.clone();
                self.context.tasks.spawn_on_main("task-call", call.run(shutdown));
            }
        }
        self.tasks.show(&approval.id, &TaskRequest::Created, self.now_ms()).map(Answer::Result)
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.context.clock.now_ms()
    }

    /// Drops a pending call whose answers will not come, and records that it is over.
    async fn abandon(&self, call: &TaskCall, sealed: &str) {
        let now = u64::try_from(self.now_ms()).unwrap_or_default();
        let opened = self.sealer.open(sealed, call.caller.principal.id(), &call.digest, now);
        if let Ok(Position::Pending(number, _)) = opened.map(|state| state.round) {
            self.exchanges.abandon(number);
        }
        self.approvals.finish(&call.approval, "cancelled").await;
    }
}

/// The call behind a task, with its original request.
struct TaskCall {
    pipeline: Arc<Pipeline>,
    view: View,
    caller: Caller,
    envelope: Envelope,
    /// The canonical id of the tool.
    tool: String,
    digest: [u8; 32],
    approval: String,
    signals: Signals,
    /// The sealed state of the call, while a question of its server is open.
    open: Option<String>,
}

impl TaskCall {
    async fn run(mut self, shutdown: CancellationToken) {
        let cancelled = self.signals.cancelled.clone();
        let lease = self.pipeline.governance.identity().lease(&self.caller.principal);
        let end = tokio::select! {
            biased;
            () = cancelled.cancelled() => None,
            () = shutdown.cancelled() => None,
            // Its client cannot fetch the result any more.
            () = lease.cancelled() => {
                self.pipeline.approvals.record_revoked(&Initiator::of_caller(&self.caller), &self.tool);
                Some(denial::revoked())
            }
            end = self.make() => end,
        };
        if let Some(sealed) = self.open.take() {
            self.pipeline.abandon(&self, &sealed).await;
        }
        if let Some(answer) = end {
            self.set(TaskState::Over(end_of(answer)));
        }
    }

    /// Waits for the approval and makes the call; `None` if its server continues it.
    async fn make(&mut self) -> Option<Answer> {
        match self.decided().await {
            Ok(()) => self.set(TaskState::Running),
            Err(answer) => return Some(answer),
        }
        let position = Position::Approval(self.approval.clone());
        let principal = self.caller.principal.id().to_string();
        let Some(mut state) = self.pipeline.sealer.seal_position(position, principal, self.digest, None)
        else {
            return Some(failed("the call's state cannot be sealed"));
        };
        let mut answers = None;
        for number in 1..=ROUNDS_MAX {
            // The client is not there to present its token again.
            if !self.pipeline.governance.identity().is_valid(&self.caller.principal) {
                self.pipeline.approvals.record_revoked(&Initiator::of_caller(&self.caller), &self.tool);
                return Some(denial::revoked());
            }
            let Some((envelope, params)) = self.request(&state, answers.as_ref()) else {
                return Some(failed("the call cannot be written anew"));
            };
            // The call now owns the open state.
            self.open = None;
            // Boxed: the future of a call is large, and this one waits in between.
            let answer = Box::pin(self.pipeline.call(&self.view, &self.caller, &envelope, &params)).await;
            let Answer::Result(result) = answer else {
                return Some(answer);
            };
            let view = ResultView::read(&result);
            match (view.result_type().as_deref(), view.task_id()) {
                (Some("input_required"), _) => {
                    state = view.request_state().unwrap_or_default().into_owned();
                    self.open = Some(state.clone());
                    answers = match InputRequired::read(&view) {
                        Err(error) => return Some(error.into()),
                        Ok(asked) => match self.ask(number, asked.questions).await {
                            Err(_) => return Some(failed("nobody answered the server's question in time")),
                            Ok(answers) => answers,
                        },
                    };
                }
                (Some("task"), Some(id)) => {
                    self.set(TaskState::Passed { view: self.view.clone(), id: id.into_owned() });
                    return None;
                }
                _ => return Some(Answer::Result(result)),
            }
        }
        Some(failed(&format!("the server asked more than {ROUNDS_MAX} times")))
    }

    /// Waits for the approval; `Err` is the answer for a call that was not approved.
    async fn decided(&self) -> Result<(), Answer> {
        match self.pipeline.approvals.wait_until_decided(&self.approval).await {
            Ok(None) => Err(failed("the approval is gone")),
            Ok(Some(decided)) if decided.state == ApprovalState::Approved => {
                self.resumed(&decided).await;
                Ok(())
            }
            Ok(Some(decided)) => {
                let denied =
                    denial::not_approved(&decided, self.pipeline.governance.denial_style(&self.caller));
                Err(denied.in_era(Era::Modern, &Method::ToolsCall))
            }
            Err(error) => Err(denial::store_failed("the decision cannot be read", &error)),
        }
    }

    /// Waits until the agent is not paused: what was approved is not made before.
    async fn resumed(&self, approved: &Approval) {
        let agent = self.caller.principal.agent_id().map(|agent| &**agent).unwrap_or_default();
        let governance = &self.pipeline.governance;
        let left = approved.expires_at_ms.saturating_sub(self.pipeline.now_ms());
        let left = Duration::from_millis(u64::try_from(left).unwrap_or_default());
        // If it takes longer than the approval is valid, the call is refused like any other.
        let _ = tokio::time::timeout(left, governance.until_resumed(agent)).await;
    }

    /// The request as its client would send it again.
    fn request(&self, state: &str, answers: Option<&Bytes>) -> Option<(Envelope, Params)> {
        let state = json::quote(state);
        let edits = [
            Edit::Set("requestState", state.as_bytes()),
            answers.map_or(Edit::Drop("inputResponses"), |answers| Edit::Set("inputResponses", answers)),
        ];
        let envelope = Envelope::parse(self.envelope.with(self.envelope.id().as_ref(), &edits)).ok()?;
        let params = Params::read(envelope.params()).ok()?;
        Some((envelope, params))
    }

    /// Shows a server's questions to the client; returns the answers, if any are needed, once all are there.
    /// Fails if they do not come in time.
    async fn ask(&self, number: usize, questions: Vec<Question>) -> Result<Option<Bytes>, Elapsed> {
        if questions.is_empty() {
            return Ok(None);
        }
        // A key is never reused in the life of a task, whatever the server does.
        let prefix = format!("{number}.");
        let questions = questions
            .into_iter()
            .map(|question| Question { key: format!("{prefix}{}", question.key), ..question });
        self.set(TaskState::Asking(TaskQuestions { questions: questions.collect(), answers: Vec::new() }));
        let all = async {
            loop {
                self.signals.answered.notified().await;
                if let Some(answers) =
                    self.pipeline.tasks.take_answers(&self.approval, self.pipeline.now_ms())
                {
                    return answers;
                }
            }
        };
        let answers = tokio::time::timeout(PATIENCE, all).await?;
        let own = |(key, answer): (String, Bytes)| {
            (key.strip_prefix(&prefix).map(str::to_owned).unwrap_or(key), answer)
        };
        Ok(Some(ask::write_answers(&answers.into_iter().map(own).collect::<Vec<_>>())))
    }

    fn set(&self, state: TaskState) {
        self.pipeline.tasks.set(&self.approval, state, self.pipeline.now_ms());
    }
}

impl Drop for TaskCall {
    /// However it ends, nothing waits for a call that is not made. Settled tasks do not change.
    fn drop(&mut self) {
        let cut_off = "Octroi ends; ask for this task again once it runs again, to learn its outcome";
        self.set(TaskState::Over(end_of(failed(cut_off))));
    }
}

fn failed(message: &str) -> Answer {
    RpcError::new(code::INTERNAL_ERROR, message).into()
}

/// A task ends as its call does: a result completes it, even with a tool error, and an error fails it.
fn end_of(answer: Answer) -> TaskEnd {
    match answer {
        Answer::Result(result) if result.len() > RESULT_BYTES_MAX => {
            end_of(failed("the call was made, and its result is too large to be kept"))
        }
        Answer::Result(result) => TaskEnd::Completed(result),
        Answer::Error(error) => {
            TaskEnd::Failed { error: described(&error).to_json(), message: error.message }
        }
        Answer::ErrorJson { json, .. } => {
            let message = serde_json::from_slice::<RpcError>(&json).map(|error| error.message);
            TaskEnd::Failed { error: json, message: message.unwrap_or_default() }
        }
    }
}
