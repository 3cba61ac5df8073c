//! The way of a request: resolve, decide, ask, record, call, record, answer.

use std::sync::Arc;

use bytes::Bytes;
use octroi_core::audit::CallId;
use octroi_core::decision::{AgentContext, Denial};
use octroi_core::{Decision, Permit};
use octroi_mcp::json::Edit;
use octroi_mcp::params::Params;
use octroi_mcp::result::ResultView;
use octroi_mcp::translate::{self, Sender};
use octroi_mcp::{Envelope, Era, Method, RpcError};
use octroi_upstream::Context;
use serde_json::Value;
use tracing::error;

use crate::answer::Answer;
use crate::approvals::{ApprovalInUse, Approvals, Asking, GrantedCall, Settled};
use crate::audit_recorder::{AuditRecorder, CallRecord, DescribedCall, Initiator};
use crate::caller::Caller;
use crate::catalogue::Tool;
use crate::denial;
use crate::exchange::{Exchange, Exchanges};
use crate::governance::{CallToDecide, Counting, Governance, QuotaReservation};
use crate::outcome::Outcome;
use crate::persistence::Persistence;
use crate::provider::{BuiltinProvider, Provider};
use crate::registry::Registry;
use crate::request_state::{self, Position, Sealer, State};
use crate::servers::{Servers, Target};
use crate::tasks::{self, Tasks};
use crate::view::View;

mod lists;
mod other;
mod quota;
mod serve_task;
mod task_call;

/// What a request passes through.
pub(crate) struct Pipeline {
    pub(crate) context: Arc<Context>,
    pub(crate) persistence: Option<Arc<Persistence>>,
    pub(crate) recorder: Arc<AuditRecorder>,
    pub(crate) governance: Arc<Governance>,
    pub(crate) registry: Arc<Registry>,
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

/// A tool call on its way.
struct ToolCall<'a> {
    request: Request<'a>,
    target: &'a Target,
    tool: &'a Arc<Tool>,
    id: CallId,
    initiator: Initiator,
    /// The state of whoever calls.
    context: Arc<AgentContext>,
    arguments: Option<Bytes>,
    /// Where a call that is made again stands.
    state: Option<State>,
    now_ms: i64,
}

/// A tool call that may be made.
struct Granted {
    permit: Permit,
    approval: Option<ApprovalInUse>,
    /// The request with the arguments that a person put in place of the caller's.
    edited: Option<Box<(Envelope, Params)>>,
    reservation: QuotaReservation,
}

impl ToolCall<'_> {
    fn to_decide(&self) -> CallToDecide<'_> {
        let Target { provider, held, .. } = self.target;
        CallToDecide {
            principal: &self.request.caller.principal,
            has_admin_token: self.request.caller.has_admin_token,
            server: provider.key(),
            is_enabled: provider.is_enabled(),
            access: provider.access(),
            tool: self.tool,
            held: held.as_deref(),
            arguments: self.arguments.as_deref(),
            counting: self.counting(),
            now_ms: self.now_ms,
        }
    }

    /// Whoever comes back because a person was asked has not made the call yet.
    fn counting(&self) -> Counting {
        match self.state.as_ref().map(|state| &state.round) {
            None | Some(Position::Approval(_)) => Counting::Call,
            Some(Position::Server(_) | Position::Pending(_) | Position::Again) => Counting::Continuation,
        }
    }

    /// The call as a person is asked about it.
    fn asking(&self) -> Asking<'_> {
        let Request { view, caller, envelope, params } = self.request;
        Asking {
            view,
            caller,
            envelope,
            target: self.target,
            tool: self.tool,
            params,
            call: self.id,
            context: &self.context,
            position: self.state.as_ref().map(|state| &state.round),
            grant: self.state.as_ref().and_then(|state| state.grant.as_ref()),
            digest: self.request.digest(self.target),
        }
    }

    fn described<'b>(&'b self, arguments: &'b [u8], approval: Option<&'b str>) -> DescribedCall<'b> {
        let Self { initiator, context, tool, .. } = self;
        DescribedCall { initiator, context, tool: &tool.descriptor, arguments, approval }
    }
}

impl Request<'_> {
    fn digest(&self, target: &Target) -> [u8; 32] {
        request_state::digest_of(self.envelope.method(), target.provider.key(), &target.subject, self.params)
    }

    /// An answer that was made here has the shape of the legacy era.
    fn in_era(&self, answer: Answer) -> Answer {
        answer.in_era(self.caller.era, self.envelope.method())
    }
}

impl Pipeline {
    /// Answers a request. Dropping the future cancels it.
    ///
    /// What happens rarely is boxed, here and below: the future of every call would have room for it.
    pub(crate) async fn request(
        self: &Arc<Self>,
        view: &View,
        caller: &Caller,
        envelope: &Envelope,
        params: &Params,
    ) -> Answer {
        if let Some(task) = tasks::own_id(envelope.method(), params) {
            return Box::pin(self.serve_task(caller, envelope, params, &task)).await;
        }
        match envelope.method() {
            Method::Discover => Box::pin(self.discover(view)).await,
            method @ (Method::ToolsList
            | Method::PromptsList
            | Method::ResourcesList
            | Method::TemplatesList) => {
                Box::pin(self.list(view, method, caller, params.cursor().as_deref())).await
            }
            _ => self.call(view, caller, envelope, params).await,
        }
    }

    /// Makes a request that goes to a provider.
    pub(crate) async fn call(
        self: &Arc<Self>,
        view: &View,
        caller: &Caller,
        envelope: &Envelope,
        params: &Params,
    ) -> Answer {
        let target = match self.servers.resolve(view, caller, envelope.method(), params).await {
            Ok(target) => target,
            Err(error) => return error.into(),
        };
        let request = Request { view, caller, envelope, params };
        let answered = match &target.tool {
            Some(tool) => self.call_tool(request, &target, tool).await,
            None => Box::pin(self.call_other(request, &target)).await,
        };
        match answered {
            Ok(answer) | Err(answer) => answer,
        }
    }

    /// A tool call. `Err` is the answer to one that is not made.
    async fn call_tool(
        self: &Arc<Self>,
        request: Request<'_>,
        target: &Target,
        tool: &Arc<Tool>,
    ) -> Result<Answer, Answer> {
        let call = self.identify(request, target, tool)?;
        let decision = self.governance.decide(call.to_decide(), &call.context).await;
        let mut granted = self.ask(&call, decision).await?;
        let record = self.record_begin(&call, &mut granted).await?;
        let (answer, outcome) = self.make(&call, &granted).await;
        self.record_end(record, granted, outcome, &answer).await;
        Ok(answer)
    }

    /// Who calls, and what the call carries on from.
    fn identify<'a>(
        &self,
        request: Request<'a>,
        target: &'a Target,
        tool: &'a Arc<Tool>,
    ) -> Result<ToolCall<'a>, Answer> {
        let principal = &request.caller.principal;
        let now_ms = self.context.clock.now_ms();
        Ok(ToolCall {
            request,
            target,
            tool,
            id: self.recorder.call_id(now_ms),
            initiator: Initiator::of_caller(request.caller),
            context: self.governance.context(principal),
            arguments: request.params.arguments(),
            state: self.open_state(request, target)?,
            now_ms,
        })
    }

    /// Where a call that is made again stands; `None` for a first try.
    fn open_state(&self, request: Request<'_>, target: &Target) -> Result<Option<State>, RpcError> {
        let Request { caller, envelope, params, .. } = request;
        if caller.era == Era::Legacy || !envelope.method().may_ask() {
            return Ok(None);
        }
        let Some(sealed) = params.request_state() else {
            return Ok(None);
        };
        let now_ms = u64::try_from(self.context.clock.now_ms()).unwrap_or_default();
        self.sealer.open(&sealed, &caller.principal.id, &request.digest(target), now_ms).map(Some)
    }

    /// Has a person asked where the decision says so, and takes what the call needs of its quotas.
    async fn ask(self: &Arc<Self>, call: &ToolCall<'_>, decision: Decision) -> Result<Granted, Answer> {
        let settled = match decision {
            Decision::Allow(permit) => match &call.state {
                None => match self.governance.reserve(call.to_decide(), &call.context) {
                    Ok(reservation) => {
                        return Ok(Granted { permit, approval: None, edited: None, reservation });
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
        let GrantedCall { permit, approval, edited, reservation } = granted;
        let approval = approval.map(|id| ApprovalInUse::new(&self.approvals, id));
        let edited = match edited.map(|edited| with_arguments_of(call.request.envelope, &edited)) {
            None => None,
            Some(Some(edited)) => Some(edited),
            Some(None) => {
                return Err(denial::evaluator_error("the edited arguments cannot be put into the call"));
            }
        };
        Ok(Granted { permit, approval, edited, reservation })
    }

    /// Records a denial, and says how the client hears of it.
    async fn deny(&self, call: &ToolCall<'_>, denial: &Denial) -> Answer {
        let described = call.described(call.arguments.as_deref().unwrap_or(b"{}"), None);
        if let Err(error) = self.recorder.deny(call.id, described, denial, call.now_ms).await {
            error!(%error, hint = error.hint(), "a denial was not recorded");
        }
        let style = self.governance.denial_style(call.request.caller);
        call.request.in_era(denial::denied(denial, style))
    }

    /// Records that the call is about to be made, before its provider sees a byte: a crash must leave a trace of the
    /// attempt. What cannot be recorded is not made.
    async fn record_begin(&self, call: &ToolCall<'_>, granted: &mut Granted) -> Result<CallRecord, Answer> {
        let edited = granted.edited.as_deref().and_then(|(_, params)| params.arguments());
        let arguments = edited.as_deref().or(call.arguments.as_deref()).unwrap_or(b"{}");
        let described = call.described(arguments, granted.approval.as_ref().map(ApprovalInUse::id));
        // A person may have taken their time.
        let has_waited = granted.approval.is_some();
        let now_ms = if has_waited { self.context.clock.now_ms() } else { call.now_ms };
        match self.recorder.begin(call.id, described, granted.permit.trace(), now_ms).await {
            Ok(record) => {
                granted.reservation.make();
                let agent = call.request.caller.principal.agent_id.as_deref().unwrap_or_default();
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

    /// Makes the call: the provider does what it is asked for.
    async fn make(&self, call: &ToolCall<'_>, granted: &Granted) -> (Answer, Outcome) {
        let request = call.request;
        let (envelope, params) = match granted.edited.as_deref() {
            Some((envelope, params)) => (envelope, params),
            None => (request.envelope, request.params),
        };
        let continuing = Continuing {
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
            Provider::Builtin(builtin) => Box::pin(self.serve(request, call.target, builtin)).await,
        }
    }

    async fn exchange(
        &self,
        request: Request<'_>,
        target: &Target,
        upstream: &Arc<octroi_upstream::Upstream>,
        permit: &Permit,
        continuing: Continuing<'_>,
    ) -> (Answer, Outcome) {
        let Request { view, caller, envelope, params } = request;
        let sender = (caller.era == Era::Legacy).then(|| Sender {
            capabilities: Some(caller.capabilities.json().clone()),
            info: caller.info.clone(),
            log_level: caller.log_level.clone(),
        });
        Exchange {
            shared: &self.exchanges,
            view,
            caller,
            envelope,
            params,
            target,
            upstream,
            sender: sender.as_ref(),
            permit,
            position: continuing.position,
            approval: continuing.approval,
            max_runtime: continuing.max_runtime,
            sent: continuing.sent,
        }
        .run()
        .await
    }

    /// Has Octroi itself answer.
    async fn serve(
        &self,
        request: Request<'_>,
        target: &Target,
        builtin: &Arc<dyn BuiltinProvider>,
    ) -> (Answer, Outcome) {
        let Request { caller, envelope, params, .. } = request;
        let served = match (&target.subject.name, &target.subject.uri) {
            (Some(tool), _) => {
                let arguments = params.arguments().and_then(|json| serde_json::from_slice(&json).ok());
                builtin
                    .call(caller, tool, arguments.unwrap_or_else(|| Value::Object(serde_json::Map::new())))
                    .await
            }
            (None, Some(uri)) => builtin.read(caller, uri).await,
            (None, None) => Err(RpcError::method_not_found(envelope.method().as_str())),
        };
        match served {
            Err(error) => (error.into(), Outcome::Failed),
            Ok(result) => {
                let outcome = if result["isError"] == true { Outcome::ToolError } else { Outcome::Completed };
                let result = Bytes::from(result.to_string());
                let view = ResultView::read(&result);
                let result = translate::result(&view, Era::Legacy, caller.era, envelope.method(), None, None);
                (Answer::Result(result), outcome)
            }
        }
    }

    /// Records how the call went.
    async fn record_end(&self, record: CallRecord, granted: Granted, outcome: Outcome, answer: &Answer) {
        record.end(outcome.as_str(), answer.json()).await;
        match granted.approval {
            // The client comes back to it.
            Some(approval) if outcome == Outcome::InputRequired => approval.leave_open(),
            Some(approval) => Box::pin(approval.finish(outcome.as_str())).await,
            None => {}
        }
    }
}

/// What a call carries on from.
struct Continuing<'a> {
    position: Option<Position>,
    approval: Option<&'a str>,
    max_runtime: Option<std::time::Duration>,
    /// The parameters as the client sent them, and will send them again.
    sent: &'a Params,
}

/// The same message with the arguments of other parameters. Members are found by where they stand, so the
/// parameters must be those of the message.
fn with_arguments_of(envelope: &Envelope, params: &Params) -> Option<Box<(Envelope, Params)>> {
    let arguments = params.arguments()?;
    let json = envelope.with(envelope.id().as_ref(), &[Edit::Set("arguments", &arguments)]);
    let envelope = Envelope::parse(json).ok()?;
    let params = Params::read(envelope.params()).ok()?;
    Some(Box::new((envelope, params)))
}
