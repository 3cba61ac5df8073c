//! Requests that are not tool calls: prompts, resources, completions, tasks of servers.

use std::pin::pin;
use std::sync::Arc;

use octroi_core::Decision;
use octroi_core::audit::{Ruling, SourceType};
use octroi_core::config::DenialStyle;
use octroi_mcp::{Era, Method, task};
use tracing::error;

use super::abort::{unless_aborted, until_aborted};
use super::completion::Completion;
use super::{Pipeline, Request};
use crate::answer::Answer;
use crate::audit_recorder::{CallRecord, DescribedRequest, Initiator, OtherParams};
use crate::denial;
use crate::exchange::Continuing;
use crate::governance::Pausing;
use crate::methods::{self, Recorded, Route};
use crate::provider::Provider;
use crate::servers::Target;

impl Pipeline {
    /// Handles a prompt, resource or completion request. `Err` is the answer to one that is not made.
    pub(super) async fn call_other(
        self: &Arc<Self>,
        request: Request<'_>,
        target: &Target,
    ) -> Result<Answer, Answer> {
        let (key, switched_off) = (target.provider.key(), target.switched_off.as_ref());
        let principal = &request.caller.principal;
        // A stranger's task is as unknown as one that never was.
        if let Some(own) = &target.subject.task_id
            && !self.exchanges.server_tasks.is_of(key, own, principal, self.now_ms())
        {
            if request.caller.era == Era::Modern && !request.caller.capabilities.has_tasks() {
                return Err(task::missing_capability().into());
            }
            let id = request.params.task_id().unwrap_or_default();
            return Err(task::unknown(&id).into());
        }
        let completion = match request.envelope.method() {
            Method::Complete => Some(Completion::read(request.params, &target.subject)?),
            _ => None,
        };
        let is_about_begun =
            matches!(request.envelope.method(), Method::TasksGet | Method::TasksResult | Method::TasksCancel);
        let pausing = match target.provider {
            Provider::Upstream(_) if !is_about_begun => Pausing::Stops,
            Provider::Upstream(_) | Provider::Builtin(_) => Pausing::Spares,
        };
        let held = target.held.as_deref();
        let decision = self.governance.decide_other(principal, pausing, key, switched_off, held);
        let record = self.record_request(request, target, completion.as_ref(), &decision).await?;
        let permit = match decision {
            Decision::Allow(permit) => permit,
            Decision::Ask(_) => {
                return Err(denial::unaskable());
            }
            Decision::Deny(denied) => return Err(denial::denied(&denied, DenialStyle::Rpc)),
        };
        let position = self.open_state(request, target)?.map(|state| state.round);
        let continuing =
            Continuing { record: &record, position, approval: None, max_runtime: None, sent: request.params };
        let (answer, outcome) = match &target.provider {
            Provider::Upstream(upstream) => {
                let run = self.governance.activities.begin(principal, self.now_ms());
                let aborted = until_aborted(run.as_ref());
                let making = pin!(self.exchange(request, target, upstream, &permit, continuing));
                unless_aborted(request, target, run.as_ref(), making, aborted).await
            }
            Provider::Builtin(builtin) => self.serve(request, target, builtin, &permit).await,
        };
        record.end(outcome.as_str(), answer.json()).await;
        Ok(answer)
    }

    /// Records the request or its denial, before the provider sees a byte. `Err` is the answer if that fails:
    /// then it must not be forwarded.
    ///
    /// Not every request that is forwarded is recorded: see [`Recorded`]. Every denied one is.
    async fn record_request(
        &self,
        request: Request<'_>,
        target: &Target,
        completion: Option<&Completion<'_>>,
        decision: &Decision,
    ) -> Result<CallRecord, Answer> {
        let method = request.envelope.method();
        let route = methods::route(method, request.caller.era);
        let subject = match (&target.subject.uri, &target.subject.name, completion) {
            (_, _, Some(completion)) => (completion.subject.0, completion.subject.1.as_str()),
            (Some(uri), _, None) => ("uri", uri.as_str()),
            (None, Some(name), None) => ("name", name.as_str()),
            (None, None, None) => ("taskId", target.subject.task_id.as_deref().unwrap_or_default()),
        };
        let principal = &request.caller.principal;
        let at_ms = self.context.clock.now_ms();
        let (initiator, arguments) = (Initiator::of_caller(request.caller), request.params.arguments());
        let server = target.provider.key().to_string();
        let described = DescribedRequest {
            call: self.recorder.call_id(at_ms),
            initiator: &initiator,
            server: &server,
            source: match target.provider {
                Provider::Upstream(_) => SourceType::Mcp,
                Provider::Builtin(_) => SourceType::Builtin,
            },
            project: self.governance.context(principal).project.clone(),
            method: method.as_str(),
            subject,
            completed: completion.map(|completion| (completion.argument.as_str(), completion.sent)),
            arguments: arguments.as_deref(),
            others: match completion {
                // A digest stands for them.
                Some(_) => OtherParams::default(),
                None => OtherParams::of(request.params, subject.0, request.caller),
            },
            at_ms,
        };
        match decision {
            Decision::Allow(_) if route == Route::Server(Recorded::IfDenied) => {
                Ok(self.recorder.unrecorded(&described))
            }
            Decision::Allow(permit) => {
                let recorded = match completion {
                    Some(Completion { argument, sent, .. }) => {
                        let unrecorded = self.recorder.unrecorded(&described);
                        let gathering = self.recorder.gather(described, permit.trace(), argument, sent);
                        gathering.await.map(|()| unrecorded)
                    }
                    None => self.recorder.begin_request(described, permit.trace()).await,
                };
                recorded.map_err(|error| denial::unrecorded(&error))
            }
            Decision::Ask(_) => Ok(self.recorder.unrecorded(&described)),
            Decision::Deny(denied) => {
                let reason = (denied.gate.as_str(), denied.reason.as_str());
                let ruling = if denied.is_abort { Ruling::DenyAbort } else { Ruling::DenyContinue };
                let denying = self.recorder.deny_request(&described, denied.trace(), reason, ruling);
                if let Err(error) = denying.await {
                    error!(%error, hint = error.hint(), "a denial was not recorded");
                }
                Ok(self.recorder.unrecorded(&described))
            }
        }
    }
}
