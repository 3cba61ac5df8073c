//! Operations on the tools of all servers, and calling one as an agent.

use octroi_core::tool::{Risk, Source};
use octroi_core::trust::Trust;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<ToolsListCatalog>(),
    OperationEntry::of::<ToolsGet>(),
    OperationEntry::of::<ToolsCall>(),
];

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

    fn object(_: &CatalogRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
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

/// Calls a tool as an agent.
pub struct ToolsCall;

/// The tool to call, and the agent to call it as.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallRequest {
    /// The agent whose gates apply to the call
    pub agent: String,
    /// The tool: its canonical id, `server.tool`, or the name that clients call it by
    pub tool: String,
    /// The arguments of the call [default: none]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
}

/// The result of a call. Its members depend on the outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallResponse {
    /// The outcome of the call
    pub outcome: CallOutcome,
    /// The pending approval, ap_…
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Why approval is needed
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// When the approval expires
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Why there is no result
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The error, with its `code` and `hint`; the server's own if it answered with one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Map<String, Value>>,
    /// The tool's answer: a result of MCP's `tools/call`, with `content`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Map<String, Value>>,
    /// The agent as which it was called
    pub agent: String,
    /// The tool, as the request names it
    pub tool: String,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum CallOutcome {
    /// The tool answered.
    Completed,
    /// The tool ran and reported an error.
    ToolError,
    /// It needs approval; after that the identical call is allowed.
    Waiting,
    /// A gate, a policy or a person denied it.
    Denied,
    /// Nobody decided in time.
    Expired,
    /// It could not be made, or its outcome is unknown.
    Failed,
}

impl Operation for ToolsCall {
    type Request = CallRequest;
    type Response = CallResponse;

    const NAME: &'static str = "tools_call";
    const TITLE: &'static str = "Call a tool as an agent";
    const DESCRIPTION: &'static str = "Call a server's tool as an agent: its gates apply, and its name and yours are recorded. A call \
         that needs approval is not waited for; approve it and call again with the same arguments.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Calls;
    // The outcome of a call is an answer, not an error, as soon as a tool was found.
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::StorageUnavailable];
    const DESTRUCTIVE: bool = true;

    fn object(request: &CallRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent)
    }
}
