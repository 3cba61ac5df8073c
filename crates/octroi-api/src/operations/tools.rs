//! Operations on the tools of all servers, and calling one as an agent.

mod call;

use octroi_core::tool::{Risk, Source};
use octroi_core::trust::Trust;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::route::Route;
use crate::wire::Wire;

pub use call::{CallOutcome, CallRequest, CallResponse, OwnCallRequest, ToolResult, ToolsCall, ToolsCallOwn};

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<ToolsListCatalog>(),
    OperationEntry::of::<ToolsGet>(),
    OperationEntry::of::<ToolsCall>(),
    OperationEntry::of::<ToolsListOwn>(),
    OperationEntry::of::<ToolsCallOwn>(),
];

/// The path of the list in REST.
const PATH: &str = "/api/mcp/tools";
/// Its parameters that have other names than the arguments.
const QUERY: &[(&str, &str)] = &[("server_id", "servers")];

/// A tool as the gates see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSummary {
    /// Its canonical id, as `mcp:server:tool`
    pub tool_id: String,
    /// The server's name for it
    pub name: String,
    /// The name that clients call it by
    pub wire_name: String,
    /// The description that its server gives
    pub description: Option<String>,
    /// The kind of its source
    pub source_type: Wire<Source>,
    /// The id of its source, such as its server
    pub source_id: String,
    /// The version of its source, if known
    pub source_version: Option<String>,
    /// Its risk level
    pub risk_level: Wire<Risk>,
    /// Its side effects, as `fs.write`
    pub side_effect_tags: Vec<String>,
    /// Whether calls need the admin token
    pub requires_admin_token: bool,
    /// The trust in its server
    pub trust: Wire<Trust>,
    /// The timeout of a call, in milliseconds
    pub timeout_ms: u64,
    /// Whether it is enabled
    pub enabled: bool,
    /// Whether clients see it
    pub visible: bool,
    /// Why they do not, if so
    pub hidden_because: Option<String>,
}

/// Lists the tools of all sources.
pub struct ToolsListCatalog;

/// Filters for tools. Empty filters match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CatalogRequest {
    /// Only tools of these servers
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// Only tools of these sources
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_types: Vec<Wire<Source>>,
    /// Only tools of these risks
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risk_levels: Vec<Wire<Risk>>,
    /// Only tools of this risk or a lower one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_level_max: Option<Wire<Risk>>,
    /// Only tools with one of these side effects, as `fs.write`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side_effect_tags: Vec<String>,
}

/// The matching tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCatalog {
    /// The number of tools
    pub count: u64,
    /// The tools, by id
    pub tools: Vec<ToolSummary>,
}

impl Operation for ToolsListCatalog {
    type Request = CatalogRequest;
    type Response = ToolCatalog;

    const NAME: &'static str = "tools_list_catalog";
    const TITLE: &'static str = "List tools";
    const DESCRIPTION: &'static str =
        "All tools of all sources as the gates see them: risk, side effects, and whether clients see them.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound];
    const REST: &'static [Route] = &[Route::get(PATH).query(QUERY)];

    fn object(_: &CatalogRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Lists the tools of an agent, for the agent. In MCP that is `tools/list`.
pub struct ToolsListOwn;

impl Operation for ToolsListOwn {
    type Request = CatalogRequest;
    type Response = ToolCatalog;

    const NAME: &'static str = "tools_list_catalog";
    const TITLE: &'static str = "List your tools";
    const DESCRIPTION: &'static str = "The tools that you may see, with their risk and side effects.";
    const ACCESS: Access = Access::OwnAgent;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound];
    const REST: &'static [Route] = &[Route::get(PATH).query(QUERY)];
    const IS_TOOL: bool = false;

    fn object(_: &CatalogRequest) -> ObjectRef<'_> {
        ObjectRef::Caller
    }
}

/// Shows one tool.
pub struct ToolsGet;

/// The tool to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolRequest {
    /// Its id, `server.tool`, or the name that clients call it by
    pub tool_id: String,
}

/// A tool with its schemas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDetail {
    /// Its entry in the list.
    #[serde(flatten)]
    pub summary: ToolSummary,
    /// The hash of its definition, which pins compare
    pub definition_hash: String,
    /// The JSON Schema of its arguments; null if it has none
    pub input_schema: Value,
    /// The JSON Schema of its result; null if it has none
    pub output_schema: Value,
    /// The annotations of its server; null if there are none
    pub annotations: Value,
}

impl Operation for ToolsGet {
    type Request = ToolRequest;
    type Response = ToolDetail;

    const NAME: &'static str = "tools_get";
    const TITLE: &'static str = "Show a tool";
    const DESCRIPTION: &'static str = "One tool as the gates see it, with its schemas.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound];

    fn object(request: &ToolRequest) -> ObjectRef<'_> {
        ObjectRef::Tool(&request.tool_id)
    }
}
