//! Octroi's own tools and resources, for the people who run it.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use octroi_core::{Role, ServerName, Subject};
use octroi_mcp::params::Params;
use octroi_mcp::result::ResultView;
use octroi_mcp::{Envelope, Era, Method, RpcError, translate};
use serde_json::Value;

use crate::answer::Answer;
use crate::caller::Caller;
use crate::denial::DENIED_CONTINUE;
use crate::gateway::Gateway;
use crate::view::View;

/// Under which Octroi's own things are decided and watched. No server may be called so.
pub(crate) static OCTROI: LazyLock<ServerName> =
    LazyLock::new(|| ServerName::parse("octroi").unwrap_or_else(|_| unreachable!("a valid name")));

/// A future that a desk returns: the result object of the request.
pub type Served<'a> = Pin<Box<dyn Future<Output = Result<Value, RpcError>> + Send + 'a>>;

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

/// A desk's definitions as they go out.
#[derive(Debug, Default)]
pub(crate) struct Builtins {
    pub(crate) tools: Vec<Bytes>,
    pub(crate) resources: Vec<Bytes>,
    pub(crate) templates: Vec<Bytes>,
    /// Of its tools; no server's tool gets one of them.
    pub(crate) names: HashSet<String>,
}

impl Builtins {
    pub(crate) fn of(desk: &dyn Desk) -> Self {
        let written =
            |definitions: &[Value]| definitions.iter().map(|value| Bytes::from(value.to_string())).collect();
        let tools = desk.tools();
        Self {
            names: tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect(),
            tools: written(&tools),
            resources: written(&desk.resources()),
            templates: written(&desk.templates()),
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
                Subject::Tool(name.as_deref().filter(|name| self.builtins.names.contains(*name))?)
            }
            Method::ResourcesRead => Subject::Resource(uri.as_deref().filter(|uri| desk.has_resource(uri))?),
            _ => return None,
        };
        if caller.principal.role != Role::Human {
            return Some(RpcError::new(DENIED_CONTINUE, "only people manage Octroi").into());
        }
        let served = match wish {
            Subject::Resource(uri) => desk.read(self, caller, uri).await,
            Subject::Tool(tool) => {
                let arguments = params.arguments().and_then(|json| serde_json::from_slice(&json).ok());
                desk.call(self, caller, tool, arguments.unwrap_or_default()).await
            }
            _ => return None,
        };
        Some(match served {
            Err(error) => error.into(),
            Ok(result) => {
                let result = Bytes::from(result.to_string());
                let view = ResultView::read(&result);
                let (method, era) = (envelope.method(), caller.era);
                Answer::Result(translate::result(&view, Era::Legacy, era, method, None, None))
            }
        })
    }

    pub(crate) fn is_own_resource(&self, view: &View, uri: &str) -> bool {
        *view == View::Managed && self.desk.as_ref().is_some_and(|desk| desk.has_resource(uri))
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
