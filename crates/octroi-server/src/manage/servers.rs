//! Tools about servers.

use std::sync::Arc;

use octroi_core::ServerName;
use octroi_gateway::{Gateway, ServerStatus};
use octroi_mcp::RpcError;
use serde_json::{Map, Value, json};

use super::{Management, health};

const LOG_LINES: u64 = 100;
/// How much of a server's past `servers_get` tells.
const CHECKS_SHOWN: u32 = 10;

/// A tool and what it takes.
pub(super) struct Tool {
    pub(super) name: &'static str,
    description: &'static str,
    /// Name, type, whether it is needed, what it is.
    arguments: &'static [(&'static str, &'static str, bool, &'static str)],
    is_read_only: bool,
}

const NAME: (&str, &str, bool, &str) = ("name", "string", true, "The server");

/// All of them.
pub(super) const TOOLS: [Tool; 9] = [
    tool(
        "servers_list",
        "Every server, and every program that is asked about calls, and how they are doing.",
        &[],
        true,
    ),
    tool("servers_get", "One server and how it is doing.", &[NAME], true),
    tool(
        "servers_toggle",
        "Switch a server on or off. It stays so until it is switched again.",
        &[NAME, ("enabled", "boolean", true, "Whether it may be used")],
        false,
    ),
    tool(
        "servers_restart",
        "End a server and start it again, or start a stopped one. Calls in flight are cut off.",
        &[NAME],
        false,
    ),
    tool("servers_test", "Connect to a server and ask it whether it is well.", &[NAME], true),
    tool(
        "servers_refresh",
        "Ask a server, or every one, for its lists again.",
        &[("name", "string", false, "The server [default: all that are switched on]")],
        true,
    ),
    tool(
        "servers_logs",
        "What a server last wrote to its standard error.",
        &[
            NAME,
            ("lines", "integer", false, "How many lines at most [default: 100]"),
            ("from", "integer", false, "The number of the first line wanted"),
        ],
        true,
    ),
    tool("health_check_all", "Ask every server that runs whether it is well.", &[], true),
    tool("config_reload", "Read the configuration file again.", &[], false),
];

pub(super) const fn tool(
    name: &'static str,
    description: &'static str,
    arguments: &'static [(&'static str, &'static str, bool, &'static str)],
    is_read_only: bool,
) -> Tool {
    Tool { name, description, arguments, is_read_only }
}

impl Tool {
    pub(super) fn definition(&self) -> Value {
        let properties: Map<String, Value> = self
            .arguments
            .iter()
            .map(|(name, kind, _, description)| {
                ((*name).to_owned(), json!({"type": kind, "description": description}))
            })
            .collect();
        let required: Vec<&str> =
            self.arguments.iter().filter(|argument| argument.2).map(|argument| argument.0).collect();
        json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            },
            "annotations": {"readOnlyHint": self.is_read_only},
        })
    }
}

/// Arguments that fit their tool.
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    pub(super) fn read(name: &str, tool: Option<&Tool>, arguments: Value) -> Result<Self, RpcError> {
        let members = match arguments {
            Value::Object(members) => members,
            Value::Null => Map::new(),
            _ => return Err(RpcError::invalid_params("arguments must be an object")),
        };
        let known = tool.map_or(&[][..], |tool| tool.arguments);
        for (argument, kind, is_needed, _) in known {
            let fits = match (members.get(*argument), *kind) {
                (None, _) => !is_needed,
                (Some(value), "string") => value.is_string(),
                (Some(value), "boolean") => value.is_boolean(),
                (Some(value), "object") => value.is_object(),
                (Some(value), "array") => {
                    value.as_array().is_some_and(|all| all.iter().all(Value::is_string))
                }
                (Some(value), _) => value.is_u64(),
            };
            if !fits {
                return Err(RpcError::invalid_params(format!("`{name}` needs `{argument}` as {kind}")));
            }
        }
        match members.keys().find(|member| !known.iter().any(|argument| argument.0 == *member)) {
            Some(unknown) => Err(RpcError::invalid_params(format!("`{name}` does not take `{unknown}`"))),
            None => Ok(Self(members)),
        }
    }

    /// A number that may be missing.
    pub(super) fn integer(&self, name: &str) -> Option<i64> {
        self.0.get(name).and_then(Value::as_i64)
    }

    /// Anything that may be missing.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// A text that may be missing.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// An object; an empty one if it is missing.
    pub(super) fn object(&self, name: &str) -> Value {
        self.0.get(name).cloned().unwrap_or_else(|| json!({}))
    }

    /// A flag; not set if it is missing.
    pub(super) fn is(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// One of a few words; `None` if it was not given.
    pub(super) fn word<T>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Option<T>,
        expected: &str,
    ) -> Result<Option<T>, String> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        parse(text).map(Some).ok_or_else(|| format!("`{name}` must be {expected}, not `{text}`"))
    }

    pub(super) fn number(&self, name: &str, default: u64) -> u64 {
        self.0.get(name).and_then(Value::as_u64).unwrap_or(default)
    }

    /// The server that is meant.
    fn server(&self, gateway: &Gateway) -> Result<(ServerName, ServerStatus), String> {
        let name = self.0.get("name").and_then(Value::as_str).unwrap_or_default();
        let found = ServerName::parse(name).ok().and_then(|name| Some((gateway.server_status(&name)?, name)));
        let (status, name) = found.ok_or_else(|| {
            let known: Vec<String> = gateway.status().into_iter().map(|server| server.name).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            format!("there is no server `{name}`; there are: {known}")
        })?;
        Ok((name, status))
    }
}

/// The last checks of a server, newest first.
async fn history(gateway: &Gateway, name: &ServerName) -> Result<Value, String> {
    let Some(memory) = gateway.memory() else {
        return Ok(json!([]));
    };
    let checks = memory.checks(name, CHECKS_SHOWN).await;
    let checks = checks.map_err(|error| format!("{error} ({})", error.hint()))?;
    let shown = checks.iter().map(|check| {
        json!({
            "at": check.at_ms,
            "health": check.health.as_str(),
            "latency_ms": check.latency_ms,
            "error": check.error,
        })
    });
    Ok(shown.collect())
}

impl Management {
    pub(super) async fn run(
        &self,
        gateway: &Arc<Gateway>,
        tool: &str,
        arguments: &Arguments,
    ) -> Result<Value, String> {
        match tool {
            "servers_list" => {
                return Ok(json!({
                    "servers": gateway.status(),
                    "problems": *gateway.problems(),
                    "gates": gateway.gate_status(),
                }));
            }
            "health_check_all" => {
                gateway.check_all().await;
                return Ok(json!({"servers": health(&gateway.status())}));
            }
            "servers_refresh" if arguments.get("name").is_none() => {
                let refreshed = gateway.refresh_servers().await;
                return Ok(json!({"refreshed": refreshed.n_servers, "failed": refreshed.failed}));
            }
            "config_reload" => return self.control.reload(gateway).await,
            _ => {}
        }
        let (name, status) = arguments.server(gateway)?;
        let unavailable =
            |error: &dyn std::fmt::Display| format!("server `{name}` is not available: {error}");
        let upstream = gateway.upstream(&name).ok_or_else(|| format!("there is no server `{name}`"))?;
        match tool {
            "servers_get" => {
                let mut told = json!(status);
                told["checks"] = history(gateway, &name).await?;
                return Ok(told);
            }
            "servers_logs" => {
                let n = usize::try_from(arguments.number("lines", LOG_LINES)).unwrap_or(usize::MAX);
                return Ok(json!({"lines": upstream.logs().last(n, arguments.number("from", 0))}));
            }
            "servers_toggle" => {
                let enabled = arguments.0.get("enabled").and_then(Value::as_bool).unwrap_or_default();
                gateway
                    .switch(&name, enabled)
                    .await
                    .map_err(|error| format!("{error} ({})", error.hint()))?;
            }
            "servers_restart" => upstream.restart().await.map_err(|error| unavailable(&error))?,
            "servers_test" => {
                upstream.check_now().await.map_err(|error| unavailable(&error))?;
            }
            "servers_refresh" => gateway.refresh_all(&upstream).await.map_err(|error| unavailable(&error))?,
            other => return Err(format!("there is no tool `{other}`")),
        }
        Ok(json!(gateway.server_status(&name)))
    }
}
