//! Requests of clients about Octroi's own tasks: `tasks/get`, `tasks/update` and `tasks/cancel`.

use std::sync::Arc;

use bytes::Bytes;
use octroi_api::{ApiError, ErrorCode};
use octroi_core::approval::{Approval, ApprovalState};
use octroi_core::time::show_time;
use octroi_mcp::json::{self, Edit};
use octroi_mcp::params::Params;
use octroi_mcp::result::ResultView;
use octroi_mcp::task::{self, Standing, Task};
use octroi_mcp::{Envelope, Era, Method, RpcError, ask, code};
use octroi_store::StoreError;

use super::Pipeline;
use crate::answer::Answer;
use crate::api_error::{described, rpc_error};
use crate::approvals::milliseconds;
use crate::caller::Caller;
use crate::denial;
use crate::tasks::{KEPT, POLL_MS, TaskLocation, TaskRequest, id_of};
use crate::view::View;

impl Pipeline {
    /// Answers a request about the task of an approval.
    pub(super) async fn serve_task(
        self: &Arc<Self>,
        caller: &Caller,
        envelope: &Envelope,
        params: &Params,
        approval: &str,
    ) -> Answer {
        if caller.era == Era::Modern && !caller.capabilities.has_tasks() {
            return task::missing_capability().into();
        }
        let location = match caller.era {
            Era::Modern => self.tasks.location(approval, &caller.principal, self.now_ms()),
            Era::Legacy => return task::unknown(&id_of(approval)).into(),
        };
        let served = match (location, envelope.method()) {
            (Some(TaskLocation::Server(view, id)), _) => {
                return self.pass_on_task(caller, envelope, &view, &id, approval).await;
            }
            (None, method) => self.serve_lost(caller, method, approval).await,
            (Some(TaskLocation::Here), Method::TasksCancel) => self.cancel_task(approval).await.map(Ok),
            (Some(TaskLocation::Here), Method::TasksUpdate) => {
                let answers = ask::read_answers(params.input_responses().as_ref());
                self.tasks.answer(approval, answers);
                Ok(Ok(acknowledged()))
            }
            (Some(TaskLocation::Here), _) => {
                let reply = self.tasks.show(approval, &TaskRequest::Asked, self.now_ms());
                Ok(reply.ok_or_else(|| task::unknown(&id_of(approval))))
            }
        };
        match served {
            Ok(Ok(result)) => Answer::Result(result),
            Ok(Err(error)) => error.into(),
            Err(error) => {
                tracing::error!(%error, hint = error.hint(), "the approval of a task cannot be read");
                let message = format!("the approval of this task cannot be read: {}", error.for_caller());
                RpcError::new(code::INTERNAL_ERROR, message).into()
            }
        }
    }

    /// Cancels the approval, unless it was used, and ends the call, if it is in progress.
    async fn cancel_task(&self, approval: &str) -> Result<Bytes, StoreError> {
        // The task first: a waiter of the approval would otherwise end it as not approved.
        self.tasks.cancel(approval, self.now_ms());
        self.approvals.cancel(approval, "the client cancelled its task").await?;
        Ok(acknowledged())
    }

    /// Asks the server that made the call its own task. The client keeps the id that it knows.
    async fn pass_on_task(
        self: &Arc<Self>,
        caller: &Caller,
        envelope: &Envelope,
        view: &View,
        id: &str,
        approval: &str,
    ) -> Answer {
        let id = json::quote(id);
        let renamed = envelope.with(envelope.id().as_ref(), &[Edit::Set("taskId", id.as_bytes())]);
        let request = Envelope::parse(renamed).ok();
        let request = request
            .and_then(|envelope| Params::read(envelope.params()).ok().map(|params| (envelope, params)));
        let Some((envelope, params)) = request else {
            return task::unknown(&id_of(approval)).into();
        };
        match Box::pin(self.call(view, caller, &envelope, &params)).await {
            Answer::Result(result) if ResultView::read(&result).task_id().is_some() => {
                let quoted_id = json::quote(&id_of(approval));
                let edits = [Edit::Set("taskId", quoted_id.as_bytes())];
                Answer::Result(Bytes::from(json::rewrite(&result, &edits)))
            }
            answer => answer,
        }
    }

    /// A task that is not in memory: it was lost in a restart, or has expired. The state of its approval is
    /// known.
    async fn serve_lost(
        &self,
        caller: &Caller,
        method: &Method,
        id: &str,
    ) -> Result<Result<Bytes, RpcError>, StoreError> {
        let unknown = || Ok(Err(task::unknown(&id_of(id))));
        let Some(persistence) = &self.persistence else {
            return unknown();
        };
        let principal = &caller.principal;
        let is_own = |approval: &Approval| {
            approval.binding.principal == **principal.id()
                && approval.binding.agent.as_deref() == principal.agent_id().map(|agent| &**agent)
        };
        let Some(approval) = persistence.store().approval(id).await?.filter(is_own) else {
            return unknown();
        };
        match method {
            Method::TasksCancel => self.cancel_task(id).await.map(Ok),
            Method::TasksUpdate => Ok(Ok(acknowledged())),
            _ => Ok(Ok(self.show_lost(caller, &approval))),
        }
    }

    fn show_lost(&self, caller: &Caller, approval: &Approval) -> Bytes {
        let denied = denial::not_approved(approval, self.governance.denial_style(caller))
            .in_era(Era::Modern, &Method::ToolsCall);
        let error;
        let (standing, message) = match (lost(approval, self.now_ms()), &denied) {
            (Some(message), _) => {
                let lost = ApiError::new(ErrorCode::TaskLost, message.as_str()).for_agent();
                error = rpc_error(&lost.with_detail("approval", approval.id.as_str())).to_json();
                (Standing::Failed(&error), Some(message))
            }
            (None, _) if approval.state == ApprovalState::Cancelled => (Standing::Cancelled, None),
            (None, Answer::Result(result)) => (Standing::Completed(result), None),
            (None, Answer::Error(denial)) => {
                error = described(denial).to_json();
                (Standing::Failed(&error), Some(denial.message.clone()))
            }
            (None, Answer::ErrorJson { json, .. }) => (Standing::Failed(json), None),
        };
        let updated_at_ms = approval.finished_at_ms.or(approval.decided_at_ms);
        let kept_ms = approval.expires_at_ms.saturating_add(milliseconds(KEPT));
        let task = Task {
            id: &id_of(&approval.id),
            standing,
            message: message.as_deref(),
            created_at: &show_time(approval.requested_at_ms),
            updated_at: &show_time(updated_at_ms.unwrap_or(approval.requested_at_ms)),
            ttl_ms: u64::try_from(kept_ms.saturating_sub(approval.requested_at_ms)).unwrap_or_default(),
            poll_ms: POLL_MS,
        };
        task.to_result()
    }
}

/// The message for a task whose call is not made any more; `None` if the decision explains it.
fn lost(approval: &Approval, now_ms: i64) -> Option<String> {
    let id = &approval.id;
    match approval.state {
        ApprovalState::Pending if approval.is_due(now_ms) => None,
        ApprovalState::Pending => Some(format!(
            "Octroi was restarted while this call waited for a person. It was not made. Make the identical call \
             again to go on waiting; a person can still run `octroi approve {id}`."
        )),
        ApprovalState::Approved if approval.is_due(now_ms) => {
            Some("the call was approved and not made in time; make it again to ask anew".to_owned())
        }
        ApprovalState::Approved => Some(format!(
            "Octroi was restarted before this call was made. A person has approved it: make the identical call \
             again before {}.",
            show_time(approval.expires_at_ms)
        )),
        ApprovalState::Orphaned => Some(
            "Octroi was restarted while this call was being made, and nobody knows how far it came: check \
             before calling again"
                .to_owned(),
        ),
        ApprovalState::Claimed => Some("this call is being made for another request".to_owned()),
        ApprovalState::Done => Some(format!(
            "the call was made ({}), and its result is no longer kept",
            approval.outcome.as_deref().unwrap_or("outcome unknown")
        )),
        ApprovalState::DeniedContinue
        | ApprovalState::DeniedAbort
        | ApprovalState::Expired
        | ApprovalState::Cancelled => None,
    }
}

fn acknowledged() -> Bytes {
    Bytes::from_static(task::ACKNOWLEDGED)
}
