//! Octroi's own tools and resources: for the people who run it, and a few for agents that may propose
//! policies for themselves.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use octroi_core::decision::Trace;
use octroi_core::server::Trust;
use octroi_core::tool::{Risk, SideEffects, Source, ToolDescriptor};
use octroi_core::{CanonicalId, Role, ServerName, Subject};
use octroi_mcp::params::Params;
use octroi_mcp::result::ResultView;
use octroi_mcp::{Envelope, Era, Method, RpcError, translate};
use serde_json::Value;

use crate::answer::Answer;
use crate::audit::AuditError;
use crate::caller::Caller;
use crate::denial::{self, DENIED_CONTINUE};
use crate::gateway::Gateway;
use crate::govern::ledger::{Described, Doer, Record};
use crate::hub::Listener;
use crate::time::now_ms;
use crate::view::View;

/// Under which Octroi's own things are decided and watched. No server may be called so.
pub(crate) static OCTROI: LazyLock<ServerName> =
    LazyLock::new(|| ServerName::parse("octroi").unwrap_or_else(|_| unreachable!("a valid name")));

/// A future that a desk returns: the result object of the request.
pub type Served<'a> = Pin<Box<dyn Future<Output = Result<Value, RpcError>> + Send + 'a>>;

/// A future that says whose something is.
pub type Owned<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

/// Whoever answers for Octroi itself.
pub trait Desk: Send + Sync {
    /// Definitions of tools, as `tools/list` has them.
    fn tools(&self) -> Vec<Value>;
    /// Definitions of resources, as `resources/list` has them.
    fn resources(&self) -> Vec<Value>;
    /// Definitions of resource templates.
    fn templates(&self) -> Vec<Value>;
    /// Whether this URI is one of its own.
    fn has_resource(&self, uri: &str) -> bool;
    /// The same for agents.
    fn for_agents(&self) -> Offered;
    /// Whether an agent that asks for this URI is answered here.
    fn has_agent_resource(&self, uri: &str) -> bool;
    /// Whether what this URI shows is this agent's own.
    fn is_of_agent<'a>(&'a self, gateway: &'a Gateway, agent: &'a str, uri: &'a str) -> Owned<'a>;
    /// Answers `tools/call`.
    fn call<'a>(
        &'a self,
        gateway: &'a Arc<Gateway>,
        caller: &'a Caller,
        tool: &'a str,
        arguments: Value,
    ) -> Served<'a>;
    /// Answers `resources/read`.
    fn read<'a>(&'a self, gateway: &'a Arc<Gateway>, caller: &'a Caller, uri: &'a str) -> Served<'a>;
}

/// Definitions as the lists have them.
#[derive(Clone, Debug, Default)]
pub struct Offered {
    /// As in `tools/list`.
    pub tools: Vec<Value>,
    /// As in `resources/list`.
    pub resources: Vec<Value>,
    /// As in `resources/templates/list`.
    pub templates: Vec<Value>,
}

/// A desk's definitions as they go out.
#[derive(Debug, Default)]
pub(crate) struct Builtins {
    /// What people see.
    pub(crate) people: Written,
    /// What agents see, where they may propose policies.
    pub(crate) agents: Written,
}

/// Definitions as they go out.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) tools: Vec<Bytes>,
    pub(crate) resources: Vec<Bytes>,
    pub(crate) templates: Vec<Bytes>,
    /// Of its tools; no server's tool gets one of them.
    pub(crate) names: HashSet<String>,
}

impl Builtins {
    pub(crate) fn of(desk: &dyn Desk) -> Self {
        let (tools, resources, templates) = (desk.tools(), desk.resources(), desk.templates());
        Self {
            people: Written::of(&Offered { tools, resources, templates }),
            agents: Written::of(&desk.for_agents()),
        }
    }

    /// Whether one of Octroi's own tools is called so.
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.people.names.contains(name) || self.agents.names.contains(name)
    }
}

impl Written {
    fn of(offered: &Offered) -> Self {
        let written =
            |definitions: &[Value]| definitions.iter().map(|value| Bytes::from(value.to_string())).collect();
        let name = |tool: &Value| tool["name"].as_str().map(str::to_owned);
        Self {
            names: offered.tools.iter().filter_map(name).collect(),
            tools: written(&offered.tools),
            resources: written(&offered.resources),
            templates: written(&offered.templates),
        }
    }
}

impl Gateway {
    /// Answers what concerns Octroi itself; `None` for everything else.
    pub(crate) async fn manage(
        self: &Arc<Self>,
        caller: &Caller,
        envelope: &Envelope,
        params: &Params,
    ) -> Option<Answer> {
        let desk = self.desk.as_ref()?;
        let (name, uri) = (params.name(), params.uri());
        let wish = match envelope.method() {
            Method::ToolsCall => {
                Subject::Tool(name.as_deref().filter(|name| self.builtins.people.names.contains(*name))?)
            }
            Method::ResourcesRead => Subject::Resource(uri.as_deref().filter(|uri| desk.has_resource(uri))?),
            _ => return None,
        };
        if caller.principal.role != Role::Human {
            return Some(RpcError::new(DENIED_CONTINUE, "only people manage Octroi").into());
        }
        let served = match wish {
            Subject::Resource(uri) => desk.read(self, caller, uri).await,
            Subject::Tool(tool) => desk.call(self, caller, tool, arguments_of(params)).await,
            _ => return None,
        };
        Some(answer(served, envelope, caller))
    }

    /// Answers an agent that proposes policies for itself; `None` for everything else. No gate stands
    /// before this, because a person decides about whatever comes of it; it is recorded like every call.
    pub(crate) async fn serve_agent(
        self: &Arc<Self>,
        caller: &Caller,
        envelope: &Envelope,
        params: &Params,
    ) -> Option<Answer> {
        let desk = self.desk.as_ref()?;
        let may_propose = || caller.principal.role == Role::Agent && self.governor.settings().proposals;
        match envelope.method() {
            Method::ToolsCall => {
                let name = params.name()?;
                self.builtins.agents.names.get(&*name)?;
                if !may_propose() {
                    return None;
                }
                let record = match self.begin_own(caller, &name, params).await {
                    Ok(record) => record,
                    Err(error) => return Some(denial::unrecorded(&error)),
                };
                let served = desk.call(self, caller, &name, arguments_of(params)).await;
                let outcome = match &served {
                    Err(_) => "failed",
                    Ok(result) if result["isError"] == true => "tool_error",
                    Ok(_) => "completed",
                };
                record.end(outcome, None).await;
                Some(answer(served, envelope, caller))
            }
            Method::ResourcesRead => {
                let uri = params.uri()?;
                if !desk.has_agent_resource(&uri) || !may_propose() {
                    return None;
                }
                Some(answer(desk.read(self, caller, &uri).await, envelope, caller))
            }
            _ => None,
        }
    }

    /// Writes down that one of Octroi's own tools is about to be called.
    async fn begin_own(&self, caller: &Caller, name: &str, params: &Params) -> Result<Record, AuditError> {
        let now_ms = now_ms();
        let doer = Doer::of(&caller.principal);
        let context = self.governor.context(&caller.principal);
        let tool = own_tool(name);
        let raw = params.arguments();
        let described = Described {
            doer: &doer,
            context: &context,
            tool: &tool,
            arguments: raw.as_deref().unwrap_or(b"{}"),
            approval: None,
        };
        self.ledger.begin(self.ledger.call_id(now_ms), described, &Trace::default(), now_ms).await
    }

    pub(crate) fn is_own_resource(&self, view: &View, uri: &str) -> bool {
        *view == View::Managed && self.desk.as_ref().is_some_and(|desk| desk.has_resource(uri))
    }

    /// Whether an agent may watch this as its own. Of what is another's it does not learn that it exists.
    pub(crate) async fn is_resource_of_agent(&self, listener: &Listener, uri: &str) -> bool {
        let (Some(desk), Some(agent)) = (&self.desk, listener.agent()) else {
            return false;
        };
        let may_propose = *listener.view() == View::Merged && self.governor.settings().proposals;
        may_propose && desk.has_agent_resource(uri) && desk.is_of_agent(self, agent, uri).await
    }

    /// Tells whoever watches them that the servers are not what they were.
    pub(crate) fn servers_changed(&self) {
        let mut uris = vec!["resource://servers/list".to_owned(), "resource://health/servers".to_owned()];
        uris.extend(self.fleet.members().keys().map(|name| format!("resource://servers/{name}")));
        for uri in uris {
            self.hub.resource_updated(&OCTROI, &uri);
        }
    }
}

fn arguments_of(params: &Params) -> Value {
    params.arguments().and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default()
}

fn answer(served: Result<Value, RpcError>, envelope: &Envelope, caller: &Caller) -> Answer {
    match served {
        Err(error) => error.into(),
        Ok(result) => {
            let result = Bytes::from(result.to_string());
            let view = ResultView::read(&result);
            let (method, era) = (envelope.method(), caller.era);
            Answer::Result(translate::result(&view, Era::Legacy, era, method, None, None))
        }
    }
}

/// One of Octroi's own tools as it is recorded.
pub(crate) fn own_tool(name: &str) -> ToolDescriptor {
    ToolDescriptor {
        id: CanonicalId::builtin(name),
        source: Source::Builtin,
        source_id: OCTROI.as_str().into(),
        name: name.into(),
        risk: Risk::Low,
        side_effects: SideEffects::default(),
        requires_admin: false,
        enabled: true,
        off_because: None,
        trust: Trust::High,
        timeout: std::time::Duration::from_secs(30),
        version: None,
        definition_hash: [0; 32],
    }
}
