//! The way of a request: identify, resolve, decide, call, answer.

use std::sync::Arc;

use octroi_core::decision::decide_other;
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
use crate::gateway::Gateway;
use crate::rounds::Run;
use crate::view::View;

/// A policy said no; the caller may go on with something else.
pub(crate) const POLICY_DENIED_CONTINUE: i64 = -32951;

/// What a request is about, found.
pub(crate) struct Target {
    pub(crate) upstream: Arc<Upstream>,
    /// In the server's own names.
    pub(crate) subject: Subject,
    pub(crate) headers: Arc<ParamHeaders>,
}

impl Gateway {
    /// Answers a request. Dropping the future cancels it.
    pub async fn request(
        self: &Arc<Self>,
        view: &View,
        caller: &Caller,
        envelope: &Envelope,
        params: &Params,
    ) -> Answer {
        if *view == View::Managed
            && let Some(answer) = self.manage(caller, envelope, params).await
        {
            return answer;
        }
        match envelope.method() {
            Method::Discover => self.discover(view).await,
            method @ (Method::ToolsList
            | Method::PromptsList
            | Method::ResourcesList
            | Method::TemplatesList) => self.list(view, method, caller.era, params.cursor().as_deref()).await,
            _ => self.call(view, caller, envelope, params).await,
        }
    }

    async fn call(
        self: &Arc<Self>,
        view: &View,
        caller: &Caller,
        envelope: &Envelope,
        params: &Params,
    ) -> Answer {
        let target = match self.resolve(view, envelope.method(), params).await {
            Ok(target) => target,
            Err(error) => return error.into(),
        };
        let permit = match permit(&target) {
            Ok(permit) => permit,
            Err(error) => return error.into(),
        };
        let sender = (caller.era == Era::Legacy).then(|| Sender {
            capabilities: Some(caller.capabilities.json().clone()),
            info: caller.info.clone(),
            log_level: caller.log_level.clone(),
        });
        Run {
            gateway: self,
            view,
            caller,
            envelope,
            params,
            target: &target,
            sender: sender.as_ref(),
            permit: &permit,
            tool_failed: std::sync::atomic::AtomicBool::new(false),
        }
        .answer()
        .await
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
        let mut subject = Subject::default();
        let missing = |member: &str| RpcError::invalid_params(format!("{method} needs `{member}`"));
        let server = match (method, view) {
            (Method::ToolsCall, View::Merged | View::Managed) => {
                let name = params.name().ok_or_else(|| missing("name"))?;
                let found = catalogue.tool(&name).map_err(|error| self.blame(error, &name))?;
                subject.name = Some(found.tool.descriptor.name.to_string());
                headers = Arc::clone(&found.headers);
                found.server.clone()
            }
            (Method::ToolsCall, View::Server(server)) => {
                let name = params.name().ok_or_else(|| missing("name"))?;
                if let Some(own) = catalogue.own_headers(server, &name) {
                    headers = Arc::clone(own);
                }
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
        Ok(Target { upstream, subject, headers })
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

/// Asks the gates.
fn permit(target: &Target) -> Result<Permit, RpcError> {
    match decide_other(&target.upstream.spec().name, None, None, 0) {
        Decision::Allow(permit) => Ok(permit),
        Decision::Ask(_) => Err(RpcError::new(POLICY_DENIED_CONTINUE, "a person would have to be asked")),
        Decision::Deny(denial) => Err(RpcError::new(POLICY_DENIED_CONTINUE, denial.reason)),
    }
}

/// A task's server and its id there. Server names hold no colon, so the first one divides.
fn task_of(shown: &str) -> Option<(ServerName, &str)> {
    let (server, own) = shown.split_once(':')?;
    Some((ServerName::parse(server).ok()?, own))
}
