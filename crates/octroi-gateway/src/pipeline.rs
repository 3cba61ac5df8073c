//! The pipeline of a request: resolve, decide, ask, record, call, record, answer.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use octroi_api::ErrorCode;
use octroi_core::agent::AgentContext;
use octroi_core::audit::CallId;
use octroi_core::decision::Denial;
use octroi_core::{Decision, Permit, ServerKey};
use octroi_mcp::json::Edit;
use octroi_mcp::params::Params;
use octroi_mcp::translate::Sender;
use octroi_mcp::{Envelope, Era, Method, RpcError};
use octroi_upstream::Context;
use tracing::error;

use crate::answer::{self, Answer};
use crate::approvals::{ApprovalInUse, Approvals, CallToApprove, GrantedCall, PersonsWord, Settled};
use crate::audit_recorder::{AuditRecorder, CallRecord, DescribedCall, Initiator, OtherParams, Violation};
use crate::caller::Caller;
use crate::catalogue::Tool;
use crate::denial;
use crate::exchange::{Continuing, Exchange, Exchanges};
use crate::governance::{CallToDecide, Counting, Governance, QuotaReservation};
use crate::methods::{self, Route};
use crate::outcome::RecordedOutcome;
use crate::persistence::Persistence;
use crate::pools::Pools;
use crate::provider::Provider;
use crate::registry::Registry;
use crate::request_state::{self, Position, RequestState, Sealer};
use crate::servers::{Servers, Target};
use crate::tasks::{self, Tasks};
use crate::view::View;

mod abort;
mod builtin;
mod completion;
mod lists;
mod other;
mod quota;
mod serve_task;
mod subscribe;
mod switched_off;
mod task_call;

use abort::{unless_aborted, until_aborted};

/// Everything that a request passes through.
pub(crate) struct Pipeline {
    pub(crate) context: Arc<Context>,
    pub(crate) persistence: Option<Arc<Persistence>>,
    pub(crate) recorder: Arc<AuditRecorder>,
    pub(crate) governance: Arc<Governance>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) pools: Arc<Pools>,
    pub(crate) servers: Arc<Servers>,
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) sealer: Arc<Sealer>,
    pub(crate) exchanges: Exchanges,
    pub(crate) tasks: Tasks,
}

/// A request of a client.
#[derive(Clone, Copy)]
struct Request<'a> {
    view: &'a View,
    caller: &'a Caller,
    envelope: &'a Envelope,
    params: &'a Params,
}

/// A tool call in the pipeline.
struct ToolCall<'a> {
    request: Request<'a>,
    target: &'a Target,
    tool: &'a Arc<Tool>,
    id: CallId,
    initiator: Initiator,
    /// The context of the caller.
    context: Arc<AgentContext>,
    arguments: Option<Bytes>,
    others: OtherParams,
    /// The state of a call that is being resumed.
    state: Option<RequestState>,
    now_ms: i64,
}

/// A tool call that may be made.
struct Granted {
    permit: Permit,
    approval: Option<ApprovalInUse>,
    /// The request with the arguments that a person edited.
    edited: Option<Box<(Envelope, Params)>>,
    word: Option<Box<PersonsWord>>,
    reservation: QuotaReservation,
}

impl ToolCall<'_> {
    fn to_decide(&self) -> CallToDecide<'_> {
        let Target { provider, held, switched_off, .. } = self.target;
        CallToDecide {
            principal: &self.request.caller.principal,
            has_admin_token: self.request.caller.has_admin_token,
            server: provider.key(),
            switched_off: switched_off.as_ref(),
            access: provider.access(),
            tool: self.tool,
            held: held.as_deref(),
            arguments: self.arguments.as_deref(),
            other_params: self.others.params.as_deref(),
            counting: self.counting(),
            now_ms: self.now_ms,
        }
    }

    /// A client that comes back after an approval has not made the call yet.
    fn counting(&self) -> Counting {
        match self.state.as_ref().map(|state| &state.round) {
            None | Some(Position::Approval(_)) => Counting::Call,
            Some(Position::Server(_) | Position::Pending(..) | Position::Again) => Counting::Continuation,
        }
    }

    /// The call for the approval request.
    fn asking(&self) -> CallToApprove<'_> {
        let Request { view, caller, envelope, params } = self.request;
        CallToApprove {
            view,
            caller,
            envelope,
            target: self.target,
            tool: self.tool,
            params,
            others: &self.others,
            call: self.id,
            context: &self.context,
            position: self.state.as_ref().map(|state| &state.round),
            grant: self.state.as_ref().and_then(|state| state.grant.as_ref()),
            digest: self.request.digest(self.target),
        }
    }

    fn described<'b>(&'b self, arguments: &'b [u8], approval: Option<&'b str>) -> DescribedCall<'b> {
        let Self { initiator, context, tool, others, .. } = self;
        DescribedCall { initiator, context, tool: &tool.descriptor, arguments, others, approval }
    }
}

impl Request<'_> {
    fn digest(&self, target: &Target) -> [u8; 32] {
        request_state::digest_of(self.envelope.method(), target.provider.key(), &target.subject, self.params)
    }

    /// Answers generated by Octroi have the legacy form.
    fn in_era(&self, answer: Answer) -> Answer {
        answer.in_era(self.caller.era, self.envelope.method())
    }
}

impl Pipeline {
    /// Answers a request. Dropping the future cancels it.
    ///
    /// Rare steps are boxed, here and below: otherwise the future of every call would reserve space for them.
    pub(crate) async fn request(
        self: &Arc<Self>,
        view: &View,
        caller: &Caller,
        envelope: &Envelope,
        params: &Params,
    ) -> Answer {
        let method = envelope.method();
        match methods::route(method, caller.era) {
            Route::Server(_) => match tasks::own_id(method, params) {
                Some(task) => Box::pin(self.serve_task(caller, envelope, params, &task)).await,
                None => self.call(view, caller, envelope, params).await,
            },
            Route::Octroi if *method == Method::Discover => {
                Box::pin(self.discover(view, &caller.principal)).await
            }
            Route::Octroi => Box::pin(self.list(view, method, caller, params.cursor().as_deref())).await,
            Route::Session | Route::Refused => {
                let server = match view {
                    View::Merged => None,
                    View::Server(server) => Some(server),
                };
                self.refuse_method(&Initiator::of_caller(caller), server, method).into()
            }
        }
    }

    /// Records that a client sent a method that nobody answers; returns the error for it.
    pub(crate) fn refuse_method(
        &self,
        initiator: &Initiator,
        server: Option<&ServerKey>,
        method: &Method,
    ) -> RpcError {
        let server = server.map(ToString::to_string);
        self.recorder.violation(&Violation {
            initiator,
            server: server.as_deref(),
            tool: None,
            method: method.as_str(),
            gate: "method",
            reason: "the method is not on the list",
        });
        RpcError::method_not_found(method.as_str())
    }

    /// Forwards a request to a provider.
    pub(crate) async fn call(
        self: &Arc<Self>,
        view: &View,
        caller: &Caller,
        envelope: &Envelope,
        params: &Params,
    ) -> Answer {
        let target = match self.servers.resolve(view, caller, envelope.method(), params).await {
            Ok(target) => target,
            Err(error) => return self.unresolved(Request { view, caller, envelope, params }, error),
        };
        if !target.headers.is_empty()
            && let Err(error) = caller.client.check_mirrored(&target.headers, params.arguments().as_ref())
        {
            return error.into();
        }
        let request = Request { view, caller, envelope, params };
        let answered = match &target.tool {
            Some(tool) => self.call_tool(request, &target, tool).await,
            None => Box::pin(self.call_other(request, &target)).await,
        };
        match answered {
            Ok(answer) | Err(answer) => answer,
        }
    }

    /// Handles a tool call. `Err` is the answer to one that is not made.
    async fn call_tool(
        self: &Arc<Self>,
        request: Request<'_>,
        target: &Target,
        tool: &Arc<Tool>,
    ) -> Result<Answer, Answer> {
        let call = self.identify(request, target, tool)?;
        let decision = self.governance.decide(call.to_decide(), &call.context).await;
        let mut granted = self.ask(&call, decision).await?;
        // From here on it can be aborted.
        let run = self.governance.activities.begin(&request.caller.principal, call.now_ms);
        let aborted = until_aborted(run.as_ref());
        let record = self.record_begin(&call, &mut granted).await?;
        let (answer, outcome) = {
            let making = pin!(self.make(&call, &record, &granted));
            unless_aborted(request, target, run.as_ref(), making, aborted).await
        };
        let word = granted.word.take().filter(|_| outcome != RecordedOutcome::InputRequired);
        self.record_end(record, granted, outcome, &answer).await;
        Ok(match word {
            Some(word) => word.add_to(answer),
            None => answer,
        })
    }

    /// Identifies the caller, and the state that the call continues from.
    fn identify<'a>(
        &self,
        request: Request<'a>,
        target: &'a Target,
        tool: &'a Arc<Tool>,
    ) -> Result<ToolCall<'a>, Answer> {
        let principal = &request.caller.principal;
        let now_ms = self.context.clock.now_ms();
        let id = self.recorder.call_id(now_ms);
        request.caller.client.identified(id, &tool.descriptor);
        Ok(ToolCall {
            request,
            target,
            tool,
            id,
            initiator: Initiator::of_caller(request.caller),
            context: self.governance.context(principal),
            arguments: request.params.arguments(),
            others: OtherParams::of(request.params, "name", request.caller),
            state: self.open_state(request, target)?,
            now_ms,
        })
    }

    /// Opens the state of a resumed call; `None` for a first attempt. `Err` is the answer to one that cannot be
    /// resumed.
    fn open_state(&self, request: Request<'_>, target: &Target) -> Result<Option<RequestState>, Answer> {
        let Request { caller, envelope, params, .. } = request;
        if caller.era == Era::Legacy || !envelope.method().may_ask() {
            return Ok(None);
        }
        let Some(sealed) = params.request_state() else {
            return Ok(None);
        };
        let now_ms = u64::try_from(self.context.clock.now_ms()).unwrap_or_default();
        let state = self.sealer.open(&sealed, caller.principal.id(), &request.digest(target), now_ms)?;
        if self.sealer.is_lost(&state.round) {
            return Err(request.in_era(answer::lost_by_restart(target.provider.key(), envelope.method())));
        }
        Ok(Some(state))
    }

    /// Asks a person where the decision requires it, and reserves quotas.
    async fn ask(self: &Arc<Self>, call: &ToolCall<'_>, decision: Decision) -> Result<Granted, Answer> {
        let settled = match decision {
            Decision::Allow(permit) => match &call.state {
                None => match self.governance.reserve(call.to_decide(), &call.context) {
                    Ok(reservation) => {
                        return Ok(Granted { permit, approval: None, edited: None, word: None, reservation });
                    }
                    Err(denial) => Settled::Denied(denial),
                },
                Some(_) => Box::pin(self.approvals.allowed(permit, &call.asking())).await,
            },
            Decision::Ask(question) => {
                let asking = call.asking();
                let become_task = |approval: &_| self.become_task(&asking, approval);
                Box::pin(self.approvals.ask(question, &asking, &become_task)).await
            }
            Decision::Deny(denial) => Settled::Denied(denial),
        };
        match settled {
            Settled::Granted(granted) => self.take_grant(call, granted),
            Settled::Denied(denial) => Err(Box::pin(self.deny(call, &denial)).await),
            Settled::Refused(answer) => Err(answer),
        }
    }

    fn take_grant(self: &Arc<Self>, call: &ToolCall<'_>, granted: GrantedCall) -> Result<Granted, Answer> {
        let GrantedCall { permit, approval, edited, word, reservation } = granted;
        let approval = approval.map(|id| ApprovalInUse::new(&self.approvals, id));
        let edited = match edited.map(|edited| with_arguments_of(call.request.envelope, &edited)) {
            None => None,
            Some(Some(edited)) => Some(edited),
            Some(None) => {
                return Err(denial::not_made(
                    ErrorCode::InternalError,
                    "the edited arguments cannot be put into the call",
                ));
            }
        };
        Ok(Granted { permit, approval, edited, word, reservation })
    }

    /// Records a denial; returns the answer for the client.
    async fn deny(&self, call: &ToolCall<'_>, denial: &Denial) -> Answer {
        let described = call.described(call.arguments.as_deref().unwrap_or(b"{}"), None);
        if let Err(error) = self.recorder.deny(call.id, described, denial, call.now_ms).await {
            error!(%error, hint = error.hint(), "a denial was not recorded");
        }
        let style = self.governance.denial_style(call.request.caller);
        call.request.in_era(denial::denied(denial, style))
    }

    /// Records that the call is about to be made, before its provider sees a byte: a crash must leave a trace
    /// of the attempt. A call that cannot be recorded is not made.
    async fn record_begin(&self, call: &ToolCall<'_>, granted: &mut Granted) -> Result<CallRecord, Answer> {
        let edited = granted.edited.as_deref().and_then(|(_, params)| params.arguments());
        let arguments = edited.as_deref().or(call.arguments.as_deref()).unwrap_or(b"{}");
        let described = call.described(arguments, granted.approval.as_ref().map(ApprovalInUse::id));
        // The approval may have taken long.
        let has_waited = granted.approval.is_some();
        let now_ms = if has_waited { self.context.clock.now_ms() } else { call.now_ms };
        match self.recorder.begin(call.id, described, granted.permit.trace(), now_ms).await {
            Ok(record) => {
                granted.reservation.make();
                let agent =
                    call.request.caller.principal.agent_id().map(|agent| &**agent).unwrap_or_default();
                self.governance.uses.count(agent, &call.tool.descriptor, now_ms);
                self.warn_of_quotas(&call.initiator, &call.tool.descriptor, &granted.reservation.warnings);
                Ok(record)
            }
            Err(error) => {
                if let Some(approval) = granted.approval.take() {
                    Box::pin(approval.finish("not_recorded")).await;
                }
                Err(call.request.in_era(denial::unrecorded(&error)))
            }
        }
    }

    /// Makes the call: the provider executes it.
    async fn make(
        &self,
        call: &ToolCall<'_>,
        record: &CallRecord,
        granted: &Granted,
    ) -> (Answer, RecordedOutcome) {
        let request = call.request;
        let (envelope, params) = match granted.edited.as_deref() {
            Some((envelope, params)) => (envelope, params),
            None => (request.envelope, request.params),
        };
        let continuing = Continuing {
            record,
            position: call.state.as_ref().map(|state| state.round.clone()),
            approval: granted.approval.as_ref().map(ApprovalInUse::id),
            max_runtime: granted.reservation.max_runtime,
            sent: request.params,
        };
        let request = Request { envelope, params, ..request };
        match &call.target.provider {
            Provider::Upstream(upstream) => {
                self.exchange(request, call.target, upstream, &granted.permit, continuing).await
            }
            Provider::Builtin(builtin) => {
                Box::pin(self.serve(request, call.target, builtin, &granted.permit)).await
            }
        }
    }

    async fn exchange(
        &self,
        request: Request<'_>,
        target: &Target,
        upstream: &Arc<octroi_upstream::Upstream>,
        permit: &Permit,
        continuing: Continuing<'_>,
    ) -> (Answer, RecordedOutcome) {
        let Request { view, caller, envelope, params } = request;
        let sender = (caller.era == Era::Legacy).then(|| Sender {
            capabilities: Some(caller.capabilities.json().clone()),
            info: caller.info.clone(),
            log_level: caller.log_level.clone(),
        });
        Exchange {
            shared: &self.exchanges,
            continuing,
            view,
            caller,
            envelope,
            params,
            target,
            upstream,
            sender: sender.as_ref(),
            permit,
        }
        .run()
        .await
    }

    /// Records how the call went.
    async fn record_end(
        &self,
        record: CallRecord,
        granted: Granted,
        outcome: RecordedOutcome,
        answer: &Answer,
    ) {
        record.end(outcome.as_str(), answer.json()).await;
        match granted.approval {
            // The client will come back to it.
            Some(approval) if outcome == RecordedOutcome::InputRequired => approval.leave_open(),
            Some(approval) => Box::pin(approval.finish(outcome.as_str())).await,
            None => {}
        }
    }
}

/// The message with the arguments of other parameters. Members are found by position, so the parameters
/// must be those of the message.
fn with_arguments_of(envelope: &Envelope, params: &Params) -> Option<Box<(Envelope, Params)>> {
    let arguments = params.arguments()?;
    let json = envelope.with(envelope.id().as_ref(), &[Edit::Set("arguments", &arguments)]);
    let envelope = Envelope::parse(json).ok()?;
    let params = Params::read(envelope.params()).ok()?;
    Some(Box::new((envelope, params)))
}
