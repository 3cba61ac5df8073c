//! The management server: Octroi's own tools and resources, for people, and a few for agents.

use std::pin::Pin;
use std::sync::Arc;

use octroi_core::{Role, ServerName};
use octroi_gateway::{
    Caller, Desk, Gateway, Offered, Owned, PeopleProblem, Served, ServerStatus, TOOLS_URI, ToolFilter,
};
use octroi_mcp::{RpcError, code};
use serde_json::{Value, json};

mod agents;
mod approvals;
mod audit;
mod pins;
mod policies;
mod proposals;
mod servers;
mod tools;

const SERVERS: &str = "resource://servers/list";
const HEALTH: &str = "resource://health/servers";
const SERVER: &str = "resource://servers/";

/// What only the program around the gateway can do.
pub trait Control: Send + Sync {
    /// Reads the configuration again; says what changed, or why nothing did.
    fn reload<'a>(&'a self, gateway: &'a Arc<Gateway>) -> Reloading<'a>;
}

/// A reload on its way.
pub type Reloading<'a> = Pin<Box<dyn Future<Output = Result<Value, String>> + Send + 'a>>;

/// Answers for Octroi itself.
pub struct Management {
    control: Arc<dyn Control>,
}

impl Management {
    /// A desk with the program behind it.
    pub fn new(control: Arc<dyn Control>) -> Self {
        Self { control }
    }
}

impl Desk for Management {
    fn tools(&self) -> Vec<Value> {
        people_tools().map(servers::Tool::definition).chain(audit::tools()).collect()
    }

    fn resources(&self) -> Vec<Value> {
        let resource = |uri: &str, name: &str, description: &str| json!({"uri": uri, "name": name, "description": description, "mimeType": "application/json"});
        let mut resources = vec![
            resource(SERVERS, "servers", "Every server and how it is doing"),
            resource(HEALTH, "health", "How well every server answers"),
            resource(audit::RECENT, "audit", "What was recorded last, the newest first"),
            resource(approvals::PENDING, "approvals", "Every call that waits for a person"),
            resource(pins::HELD, "held definitions", "Every definition that is kept back, and what changed"),
            resource(agents::LIST, "agents", "Every agent and what is set about it"),
            resource(TOOLS_URI, "tools", "Every tool of every source as the gates see it"),
        ];
        resources.extend(proposals::resources("The policy for everybody"));
        resources
    }

    fn templates(&self) -> Vec<Value> {
        let template = |uri: &str, name: &str, description: &str| json!({"uriTemplate": uri, "name": name, "description": description, "mimeType": "application/json"});
        let mut all = vec![template("resource://servers/{id}", "server", "One server and how it is doing")];
        all.extend(approvals::TEMPLATES.map(|(uri, name, description)| template(uri, name, description)));
        all.extend(proposals::templates());
        all
    }

    fn has_resource(&self, uri: &str) -> bool {
        [HEALTH, audit::RECENT, pins::HELD, agents::LIST, TOOLS_URI].contains(&uri)
            || uri.starts_with(SERVER)
            || approvals::Wanted::of(uri).is_some()
            || self.has_agent_resource(uri)
    }

    fn for_agents(&self) -> Offered {
        Offered {
            tools: proposals::TOOLS.iter().map(servers::Tool::definition).collect(),
            resources: proposals::resources("This agent's policy"),
            templates: proposals::templates(),
        }
    }

    fn has_agent_resource(&self, uri: &str) -> bool {
        proposals::PolicyUri::parse(uri).is_some()
    }

    fn is_of_agent<'a>(&'a self, gateway: &'a Gateway, agent: &'a str, uri: &'a str) -> Owned<'a> {
        Box::pin(async move {
            match proposals::PolicyUri::parse(uri) {
                Some(policy) => policy.is_of(gateway, agent).await,
                None => false,
            }
        })
    }

    fn call<'a>(
        &'a self,
        gateway: &'a Arc<Gateway>,
        caller: &'a Caller,
        tool: &'a str,
        arguments: Value,
    ) -> Served<'a> {
        Box::pin(async move {
            let is_agent = caller.principal.role == Role::Agent;
            if !is_agent && audit::is_tool(tool) {
                return audit::call(gateway, caller, tool, arguments).await;
            }
            let known = if is_agent {
                proposals::TOOLS.iter().find(|known| known.name == tool)
            } else {
                people_tools().find(|known| known.name == tool)
            };
            let arguments = servers::Arguments::read(tool, known, arguments)?;
            let has = |tools: &[servers::Tool]| tools.iter().any(|known| known.name == tool);
            let served = if is_agent {
                proposals::run(gateway, caller, tool, &arguments).await
            } else if has(&policies::TOOLS) {
                policies::run(gateway, caller, tool, &arguments).await
            } else if has(&approvals::TOOLS) {
                approvals::run(gateway, caller, tool, &arguments).await
            } else if has(&pins::TOOLS) {
                pins::run(gateway, caller, tool, &arguments).await
            } else if has(&agents::TOOLS) {
                agents::run(gateway, caller, tool, &arguments).await
            } else if has(&tools::TOOLS) {
                tools::run(gateway, tool, &arguments)
            } else {
                self.run(gateway, tool, &arguments).await
            };
            Ok(match served {
                Ok(structured) => json!({
                    "content": [{"type": "text", "text": structured.to_string()}],
                    "structuredContent": structured,
                }),
                Err(reason) => json!({"content": [{"type": "text", "text": reason}], "isError": true}),
            })
        })
    }

    fn read<'a>(&'a self, gateway: &'a Arc<Gateway>, caller: &'a Caller, uri: &'a str) -> Served<'a> {
        Box::pin(async move {
            if let Some(policy) = proposals::PolicyUri::parse(uri) {
                let found = policy.read(gateway, caller).await.ok_or_else(|| not_found(uri))?;
                let (mime_type, text) = found;
                return Ok(json!({"contents": [{"uri": uri, "mimeType": mime_type, "text": text}]}));
            }
            if let Some(wanted) = approvals::Wanted::of(uri) {
                return approvals::read(gateway, uri, &wanted).await;
            }
            let value = match uri {
                audit::RECENT => audit::recent(gateway).await?,
                pins::HELD => pins::waiting(gateway).await.map_err(unavailable)?,
                TOOLS_URI => tools::list(gateway, &ToolFilter::default()),
                agents::LIST => agents::list(gateway).await.map_err(unavailable)?,
                SERVERS => json!({"servers": gateway.status(), "problems": *gateway.problems()}),
                HEALTH => json!(health(&gateway.status())),
                _ => {
                    let status = uri.strip_prefix(SERVER).and_then(|name| ServerName::parse(name).ok());
                    let status = status.and_then(|name| gateway.server_status(&name));
                    json!(status.ok_or_else(|| not_found(uri))?)
                }
            };
            Ok(json!({
                "contents": [{"uri": uri, "mimeType": "application/json", "text": value.to_string()}],
            }))
        })
    }
}

/// The tools that people have.
fn people_tools() -> impl Iterator<Item = &'static servers::Tool> {
    servers::TOOLS
        .iter()
        .chain(&policies::TOOLS)
        .chain(&approvals::TOOLS)
        .chain(&pins::TOOLS)
        .chain(&agents::TOOLS)
        .chain(&tools::TOOLS)
}

fn unavailable(reason: String) -> RpcError {
    RpcError::new(code::INTERNAL_ERROR, reason)
}

/// What went wrong, and what to do about it.
fn told(problem: &PeopleProblem) -> String {
    format!("{problem} ({})", problem.hint())
}

fn not_found(uri: &str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, format!("unknown resource `{uri}`"))
        .with_data(json!({"code": "resource_not_found", "uri": uri}))
}

/// Server to health, and what is behind it.
fn health(servers: &[ServerStatus]) -> Value {
    let of = |server: &ServerStatus| {
        let detail = json!({
            "health": server.health,
            "state": server.state,
            "response_time_ms": server.latency_ms,
            "consecutive_failures": server.consecutive_failures,
            "error": server.error,
        });
        (server.name.clone(), detail)
    };
    Value::Object(servers.iter().map(of).collect())
}
