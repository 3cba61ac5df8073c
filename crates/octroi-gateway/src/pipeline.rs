//! The way of a request: identify, resolve, decide, wait for a person if asked, record, call, record, answer.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use octroi_core::audit::CallId;
use octroi_core::config::DenialStyle;
use octroi_core::{Decision, Permit, ServerName};
use octroi_mcp::json::{self, Edit};
use octroi_mcp::param_header::ParamHeaders;
use octroi_mcp::params::Params;
use octroi_mcp::translate::{Sender, Subject};
use octroi_mcp::{Envelope, Era, Method, RpcError};
use octroi_upstream::Upstream;
use serde_json::json;

use crate::answer::Answer;
use crate::caller::Caller;
use crate::catalogue::Tool;
use crate::denial;
use crate::gateway::Gateway;
use crate::govern::approvals::{Asking, Granted, Settled};
use crate::govern::decide::Judged;
use crate::govern::ledger::{Described, Doer};
use crate::govern::tasks;
use crate::rounds::Run;
use crate::seal::{self, Position, State};
use crate::time::now_ms;
use crate::view::View;

/// What a request is about, found.
pub(crate) struct Target {
    pub(crate) upstream: Arc<Upstream>,
    /// In the server's own names.
    pub(crate) subject: Subject,
    pub(crate) headers: Arc<ParamHeaders>,
    /// What the gates know of the tool, for a tool call.
    pub(crate) tool: Option<Arc<Tool>>,
}

impl Gateway {
    /// Answers a request. Dropping the future cancels it.
    ///
    /// What happens rarely is boxed, here and below: the future of every call would have room for it.
    pub async fn request(
        self: &Arc<Self>,
        view: &View,
        caller: &Caller,
        envelope: &Envelope,
        params: &Params,
    ) -> Answer {
        let own = match view {
            View::Managed => self.manage(caller, envelope, params).await,
            View::Merged => self.serve_agent(caller, envelope, params).await,
            View::Server(_) => None,
        };
        if let Some(answer) = own {
            return answer;
        }
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

    /// Makes a request that goes to a server.
    pub(crate) async fn call(
        self: &Arc<Self>,
        view: &View,
        caller: &Caller,
        envelope: &Envelope,
        params: &Params,
    ) -> Answer {
        let method = envelope.method();
        let target = match self.resolve(view, method, params).await {
            Ok(target) => target,
            Err(error) => return error.into(),
        };
        let way = Way { view, caller, envelope, params, target: &target };
        match &target.tool {
            Some(tool) => self.call_tool(&way, tool).await,
            None => Box::pin(self.call_other(&way)).await,
        }
    }

    /// What is not a tool: read, fetched or completed.
    async fn call_other(self: &Arc<Self>, way: &Way<'_>) -> Answer {
        let Way { caller, params, target, .. } = *way;
        let method = way.envelope.method();
        let decision = self.judge_other(caller, target, method);
        let record = match self.note_request(caller, target, method, params, &decision).await {
            Ok(record) => record,
            Err(answer) => return answer,
        };
        match decision {
            Decision::Allow(permit) => {
                let (answer, outcome) = self.run(way, params, &permit, None).await;
                if let Some(record) = record {
                    record.end(outcome, answer.json()).await;
                }
                answer
            }
            Decision::Ask(_) => denial::evaluator_error("nobody can be asked about this"),
            Decision::Deny(denied) => denial::denied(&denied, DenialStyle::Rpc),
        }
    }

    async fn call_tool(self: &Arc<Self>, way: &Way<'_>, tool: &Arc<Tool>) -> Answer {
        let Way { caller, params, target, .. } = *way;
        // What is answered here has the shape of the legacy era.
        let here = |answer: Answer| answer.in_era(caller.era, way.envelope.method());
        let now_ms = now_ms();
        let (call, doer) = (self.ledger.call_id(now_ms), Doer::of(&caller.principal));
        let context = self.governor.context(&caller.principal);
        let raw = params.arguments();
        let arguments = raw.as_deref().unwrap_or(b"{}");
        let mut described =
            Described { doer: &doer, context: &context, tool: &tool.descriptor, arguments, approval: None };
        let state = match self.open_state(way) {
            Ok(state) => state,
            Err(error) => return error.into(),
        };
        let mut judged = self.judge(caller, target, tool, params, &[], now_ms);
        let custom = match &judged.decision {
            Decision::Deny(_) => Vec::new(),
            Decision::Allow(_) | Decision::Ask(_) if self.gates.is_empty() => Vec::new(),
            Decision::Allow(_) | Decision::Ask(_) => {
                Box::pin(self.ask_gates(&caller.principal, &context, tool, arguments)).await
            }
        };
        if !custom.is_empty() {
            drop(judged);
            judged = self.judge(caller, target, tool, params, &custom, now_ms);
        }
        let Judged { decision, mut taken } = judged;
        self.note_quota(&doer, &tool.descriptor, &taken.warnings);
        let asking = || way.asking(tool, call, state.as_ref());
        // In a block of its own, so that nothing of it stays while the call is made.
        let (permit, approval, edited) = {
            let settled = match decision {
                Decision::Allow(permit) => match &state {
                    None => Settled::Granted { permit, approval: None, edited: None },
                    Some(_) => Box::pin(self.allowed(permit, &asking())).await,
                },
                Decision::Deny(denied) => {
                    if let Err(error) = Box::pin(self.ledger.deny(call, described, &denied, now_ms)).await {
                        tracing::error!(%error, hint = error.hint(), "a denial was not recorded");
                    }
                    return here(denial::denied(&denied, self.style(caller)));
                }
                Decision::Ask(question) => {
                    taken.rest();
                    let settled = Box::pin(self.ask_person(question, &asking())).await;
                    taken.resume();
                    settled
                }
            };
            match settled {
                Settled::Refused(answer) => return answer,
                Settled::Granted { permit, approval, edited } => {
                    (permit, approval.map(|id| Granted::new(self, id)), edited)
                }
            }
        };
        let edited = edited.map(|edited| with_arguments_of(way.envelope, &edited));
        if let Some(None) = edited {
            return denial::evaluator_error("the edited arguments cannot be put into the call");
        }
        let edited = edited.flatten();
        let edited_arguments = edited.as_deref().and_then(|(_, params)| params.arguments());
        if let Some(edited) = &edited_arguments {
            described.arguments = edited;
        }
        described.approval = approval.as_ref().map(Granted::id);
        // The person took their time.
        let now_ms = if approval.is_some() { crate::time::now_ms() } else { now_ms };
        // Begun before the server sees a byte: a crash must leave a trace of the attempt.
        let record = match self.ledger.begin(call, described, permit.trace(), now_ms).await {
            Ok(record) => record,
            Err(error) => {
                if let Some(approval) = approval {
                    Box::pin(approval.finish("not_recorded")).await;
                }
                return here(denial::unrecorded(&error));
            }
        };
        taken.make();
        self.uses.count(caller.principal.agent_id.as_deref().unwrap_or_default(), &tool.descriptor, now_ms);
        let continuing = Continuing {
            position: state.map(|state| state.round),
            approval: approval.as_ref().map(Granted::id),
            max_runtime: taken.max_runtime,
        };
        let (envelope, edited) =
            edited.as_deref().map_or((way.envelope, params), |(envelope, params)| (envelope, params));
        let edited_way = Way { envelope, params: edited, ..*way };
        let (answer, outcome) = self.run(&edited_way, params, &permit, Some(continuing)).await;
        record.end(outcome, answer.json()).await;
        match approval {
            // The client comes back to it.
            Some(approval) if outcome == "input_required" => approval.leave_open(),
            Some(approval) => Box::pin(approval.finish(outcome)).await,
            None => {}
        }
        answer
    }

    /// Makes a call that is permitted.
    async fn run(
        self: &Arc<Self>,
        way: &Way<'_>,
        sent: &Params,
        permit: &Permit,
        continuing: Option<Continuing<'_>>,
    ) -> (Answer, &'static str) {
        let Way { view, caller, envelope, params, target } = *way;
        let sender = (caller.era == Era::Legacy).then(|| Sender {
            capabilities: Some(caller.capabilities.json().clone()),
            info: caller.info.clone(),
            log_level: caller.log_level.clone(),
        });
        let continuing = match continuing {
            Some(continuing) => continuing,
            None => match self.open_state(way) {
                Ok(state) => {
                    Continuing { position: state.map(|state| state.round), approval: None, max_runtime: None }
                }
                Err(error) => return (error.into(), "failed"),
            },
        };
        Run {
            gateway: self,
            view,
            caller,
            envelope,
            params,
            target,
            sender: sender.as_ref(),
            permit,
            position: continuing.position,
            approval: continuing.approval,
            max_runtime: continuing.max_runtime,
            sent,
            tool_failed: AtomicBool::new(false),
            is_interim: AtomicBool::new(false),
        }
        .answer()
        .await
    }

    /// Where a call that is made again stands; `None` for a first try.
    fn open_state(&self, way: &Way<'_>) -> Result<Option<State>, RpcError> {
        let caller = way.caller;
        if caller.era == Era::Legacy || !way.envelope.method().may_ask() {
            return Ok(None);
        }
        let Some(sealed) = way.params.request_state() else {
            return Ok(None);
        };
        let now_ms = u64::try_from(now_ms()).unwrap_or_default();
        self.sealer.open(&sealed, &caller.principal.id, &way.digest(), now_ms).map(Some)
    }

    /// How this caller is told of a denial.
    pub(crate) fn style(&self, caller: &Caller) -> DenialStyle {
        let settings = self.governor.settings();
        settings.errors_of.get(&caller.principal.token).copied().unwrap_or(settings.errors)
    }

    /// Finds the server a request is for, and what it is called there. What is known already waits for
    /// nobody; what is not may be at a server that is still starting.
    pub(crate) async fn resolve(
        &self,
        view: &View,
        method: &Method,
        params: &Params,
    ) -> Result<Target, RpcError> {
        if let View::Server(_) = view {
            self.settled(view).await;
        }
        let deadline = self.fleet.patience(view);
        loop {
            let found = self.find(view, method, params);
            if found.is_ok() {
                return found;
            }
            // The last server may have settled after the look above, so nobody left to wait for means
            // one more look.
            if !self.one_settled(view, deadline).await {
                return self.find(view, method, params);
            }
        }
    }

    fn find(&self, view: &View, method: &Method, params: &Params) -> Result<Target, RpcError> {
        let catalogue = self.catalogue();
        let mut headers = Arc::default();
        let mut tool = None;
        let mut subject = Subject::default();
        let missing = |member: &str| RpcError::invalid_params(format!("{method} needs `{member}`"));
        let server = match (method, view) {
            (Method::ToolsCall, View::Merged | View::Managed) => {
                let name = params.name().ok_or_else(|| missing("name"))?;
                let found = catalogue.tool(&name).map_err(|error| self.blame(error, &name))?;
                subject.name = Some(found.tool.descriptor.name.to_string());
                headers = Arc::clone(&found.headers);
                tool = Some(Arc::clone(&found.tool));
                found.server.clone()
            }
            (Method::ToolsCall, View::Server(server)) => {
                let name = params.name().ok_or_else(|| missing("name"))?;
                if let Some(own) = catalogue.own_headers(server, &name) {
                    headers = Arc::clone(own);
                }
                // What is not listed cannot be decided about.
                let known = catalogue.offer(server).and_then(|offer| offer.tools.get(&*name));
                tool = Some(Arc::clone(known.ok_or_else(|| unknown_tool(&name))?));
                subject.name = Some(name.into_owned());
                server.clone()
            }
            (Method::PromptsGet, View::Merged | View::Managed) => {
                let found = catalogue.prompt(&params.name().ok_or_else(|| missing("name"))?)?;
                subject.name = Some(found.name.clone());
                found.server.clone()
            }
            (Method::PromptsGet, View::Server(server)) => {
                subject.name = Some(params.name().ok_or_else(|| missing("name"))?.into_owned());
                server.clone()
            }
            (Method::ResourcesRead, _) => {
                let (server, own) = self.resource(view, &params.uri().ok_or_else(|| missing("uri"))?)?;
                subject.uri = Some(own);
                server
            }
            (Method::Complete, View::Merged | View::Managed) => {
                let reference = params.reference().ok_or_else(|| missing("ref"))?;
                let (server, edited) = self.reference(&reference)?;
                subject.reference = Some(edited);
                server
            }
            (
                Method::TasksGet | Method::TasksUpdate | Method::TasksCancel | Method::TasksResult,
                View::Merged | View::Managed,
            ) => {
                let shown = params.task_id().ok_or_else(|| missing("taskId"))?;
                let (server, own) = task_of(&shown)
                    .ok_or_else(|| RpcError::invalid_params(format!("unknown task `{shown}`")))?;
                subject.task_id = Some(own.to_owned());
                server
            }
            (Method::TasksGet | Method::TasksUpdate | Method::TasksCancel, View::Server(server)) => {
                subject.task_id = params.task_id().map(std::borrow::Cow::into_owned);
                server.clone()
            }
            (_, View::Server(server)) => server.clone(),
            (_, View::Merged | View::Managed) => return Err(RpcError::method_not_found(method.as_str())),
        };
        let upstream = self.upstream(&server).ok_or_else(|| {
            RpcError::invalid_params(format!("unknown server `{server}`"))
                .with_data(json!({"code": "not_found"}))
        })?;
        Ok(Target { upstream, subject, headers, tool })
    }

    /// Names the reason where an unknown tool would belong to a server that has shown no tools.
    fn blame(&self, error: RpcError, tool: &str) -> RpcError {
        const HINT: &str = "check the server's entry and its log; other servers are not affected";
        let silent = self.status().into_iter().find(|server| {
            server.tools == 0 && tool.strip_prefix(&server.name).is_some_and(|rest| rest.starts_with('_'))
        });
        let Some(server) = silent else {
            return error;
        };
        let reason = server.error.unwrap_or_else(|| "its list of tools could not be read".to_owned());
        let message =
            format!("unknown tool `{tool}`: server `{}` has shown no tools: {reason} ({HINT})", server.name);
        let data = json!({"code": "server_unavailable", "server": server.name, "hint": HINT});
        RpcError::invalid_params(message).with_data(data)
    }

    /// The arguments of a tool that a client must mirror into headers, if it has any.
    pub fn param_headers(&self, view: &View, name: Option<&str>) -> Option<Arc<ParamHeaders>> {
        let catalogue = self.catalogue();
        let headers = match view {
            View::Merged | View::Managed => Arc::clone(&catalogue.tool(name?).ok()?.headers),
            View::Server(server) => Arc::clone(catalogue.own_headers(server, name?)?),
        };
        (!headers.is_empty()).then_some(headers)
    }

    /// A resource's server and its URI there.
    pub(crate) fn resource(&self, view: &View, shown: &str) -> Result<(ServerName, String), RpcError> {
        match view {
            View::Server(server) => Ok((server.clone(), shown.to_owned())),
            View::Merged | View::Managed => self.catalogue().resource(shown),
        }
    }

    /// What a completion is about: a prompt or a resource template.
    fn reference(&self, reference: &bytes::Bytes) -> Result<(ServerName, bytes::Bytes), RpcError> {
        let value: serde_json::Value = serde_json::from_slice(reference).unwrap_or_default();
        if let Some(name) = value.get("name").and_then(serde_json::Value::as_str) {
            let catalogue = self.catalogue();
            let found = catalogue.prompt(name)?;
            let own = json::quote(&found.name);
            let edited = json::rewrite(reference, &[Edit::Set("name", own.as_bytes())]);
            return Ok((found.server.clone(), edited.into()));
        }
        if let Some(uri) = value.get("uri").and_then(serde_json::Value::as_str) {
            let (server, own) = self.catalogue().resource(uri)?;
            let own = json::quote(&own);
            let edited = json::rewrite(reference, &[Edit::Set("uri", own.as_bytes())]);
            return Ok((server, edited.into()));
        }
        Err(RpcError::invalid_params("`ref` names neither a prompt nor a resource template"))
    }
}

fn unknown_tool(name: &str) -> RpcError {
    RpcError::invalid_params(format!("unknown tool `{name}`")).with_data(json!({"code": "tool_not_found"}))
}

/// A request on its way.
#[derive(Clone, Copy)]
struct Way<'a> {
    view: &'a View,
    caller: &'a Caller,
    envelope: &'a Envelope,
    params: &'a Params,
    target: &'a Target,
}

/// What a tool call carries on from.
struct Continuing<'a> {
    position: Option<Position>,
    approval: Option<&'a str>,
    max_runtime: Option<Duration>,
}

impl<'a> Way<'a> {
    /// The call as a person is asked about it.
    fn asking(&self, tool: &'a Arc<Tool>, call: CallId, state: Option<&'a State>) -> Asking<'a> {
        Asking {
            view: self.view,
            caller: self.caller,
            envelope: self.envelope,
            target: self.target,
            tool,
            params: self.params,
            call,
            position: state.map(|state| &state.round),
            grant: state.and_then(|state| state.grant.as_ref()),
            digest: self.digest(),
        }
    }

    fn digest(&self) -> [u8; 32] {
        seal::digest_of(self.envelope, self.target, self.params)
    }
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

/// A task's server and its id there. Server names hold no colon, so the first one divides.
fn task_of(shown: &str) -> Option<(ServerName, &str)> {
    let (server, own) = shown.split_once(':')?;
    Some((ServerName::parse(server).ok()?, own))
}
