//! The management server: Octroi's own tools and resources, for people.

use std::pin::Pin;
use std::sync::Arc;

use octroi_core::ServerName;
use octroi_gateway::{Caller, Desk, Gateway, Served, ServerStatus};
use octroi_mcp::{RpcError, code};
use serde_json::{Value, json};

mod audit;
mod servers;

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
        servers::TOOLS.iter().map(servers::Tool::definition).chain(audit::tools()).collect()
    }

    fn resources(&self) -> Vec<Value> {
        let resource = |uri: &str, name: &str, description: &str| json!({"uri": uri, "name": name, "description": description, "mimeType": "application/json"});
        vec![
            resource(SERVERS, "servers", "Every server and how it is doing"),
            resource(HEALTH, "health", "How well every server answers"),
            resource(audit::RECENT, "audit", "What was recorded last, the newest first"),
        ]
    }

    fn templates(&self) -> Vec<Value> {
        vec![json!({
            "uriTemplate": "resource://servers/{id}",
            "name": "server",
            "description": "One server and how it is doing",
            "mimeType": "application/json",
        })]
    }

    fn has_resource(&self, uri: &str) -> bool {
        uri == audit::RECENT || uri == HEALTH || uri.starts_with(SERVER)
    }

    fn call<'a>(
        &'a self,
        gateway: &'a Arc<Gateway>,
        caller: &'a Caller,
        tool: &'a str,
        arguments: Value,
    ) -> Served<'a> {
        Box::pin(async move {
            if audit::is_tool(tool) {
                return audit::call(gateway, caller, tool, arguments).await;
            }
            let arguments = servers::Arguments::read(tool, arguments)?;
            Ok(match self.run(gateway, tool, &arguments).await {
                Ok(structured) => json!({
                    "content": [{"type": "text", "text": structured.to_string()}],
                    "structuredContent": structured,
                }),
                Err(reason) => json!({"content": [{"type": "text", "text": reason}], "isError": true}),
            })
        })
    }

    fn read<'a>(&'a self, gateway: &'a Arc<Gateway>, _caller: &'a Caller, uri: &'a str) -> Served<'a> {
        Box::pin(async move {
            let value = match uri {
                audit::RECENT => audit::recent(gateway).await?,
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
