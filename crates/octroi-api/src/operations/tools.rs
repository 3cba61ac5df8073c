//! Operations about the tools of all servers, and calling one as an agent.

use octroi_core::server::Trust;
use octroi_core::tool::{Risk, Source};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

/// In the order in which lists have them.
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
    /// Its name at its server
    pub name: String,
    /// The name that clients call it by
    pub wire_name: String,
    /// What its server says that it does
    pub description: Option<String>,
    /// Where it comes from
    pub source_type: Wire<Source>,
    /// Its server, or what else offers it
    pub source_id: String,
    /// The version of its source, if known
    pub source_version: Option<String>,
    /// How risky it is taken to be
    pub risk_level: Wire<Risk>,
    /// What it does to the world, as `fs.write`
    pub side_effect_tags: Vec<String>,
    /// Whether calls need the admin token
    pub requires_admin_token: bool,
    /// How far its server is trusted
    pub trust: Wire<Trust>,
    /// How long a call may take, in milliseconds
    pub timeout_ms: u64,
    /// Whether it is switched on
    pub enabled: bool,
    /// Whether clients see it
    pub visible: bool,
    /// Why they do not, if they do not
    pub hidden_because: Option<String>,
}

/// Lists tools of all sources.
pub struct ToolsListCatalog;

/// Which tools to list. What is empty does not matter.
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

/// The tools that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCatalog {
    /// How many there are
    pub count: u64,
    /// The tools, by id
    pub tools: Vec<ToolSummary>,
}

impl Operation for ToolsListCatalog {
    type Request = CatalogRequest;
    type Response = ToolCatalog;

    const NAME: &'static str = "tools_list_catalog";
    const TITLE: &'static str = "List tools";
    const DESCRIPTION: &'static str = "Every tool of every source as the gates see it: its risk, its side effects, and whether clients see it.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[];

    fn object(_: &CatalogRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Looks at one tool.
pub struct ToolsGet;

/// Which tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolRequest {
    /// Its id, `server.tool`, or the name that clients call it by
    pub tool_id: String,
}

/// A tool with its schemas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDetail {
    /// What the list says of it.
    #[serde(flatten)]
    pub summary: ToolSummary,
    /// The hash of its definition, which pins compare
    pub definition_hash: String,
    /// The JSON Schema of its arguments; null if it has none
    pub input_schema: Value,
    /// The JSON Schema of its result; null if it has none
    pub output_schema: Value,
    /// The hints of its server; null if there are none
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

/// Which tool to call as which agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallRequest {
    /// The agent whose gates the call passes
    pub agent: String,
    /// The tool: its canonical id, `server.tool`, or the name that clients call it by
    pub tool: String,
    /// The arguments of the call [default: none]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
}

/// What came of a call. Which members there are depends on the outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallResponse {
    /// What became of it
    pub outcome: CallOutcome,
    /// The approval that the call waits for, ap_…
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Why a person is asked
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// When the approval expires
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Why the tool gave no result
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The error, with its `code` and `hint`; the server's own if it answered with one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Map<String, Value>>,
    /// What the tool answered: a result of MCP's `tools/call`, with `content`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Map<String, Value>>,
    /// The agent as which it was called
    pub agent: String,
    /// The tool, as the request names it
    pub tool: String,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum CallOutcome {
    /// The tool answered.
    Completed,
    /// The tool ran and reported an error.
    ToolError,
    /// A person has to approve it; the identical call then goes through.
    Waiting,
    /// A gate, a policy or a person refused it.
    Denied,
    /// Nobody decided in time.
    Expired,
    /// It could not be made, or nobody knows what became of it.
    Failed,
}

impl Operation for ToolsCall {
    type Request = CallRequest;
    type Response = CallResponse;

    const NAME: &'static str = "tools_call";
    const TITLE: &'static str = "Call a tool as an agent";
    const DESCRIPTION: &'static str = "Call a server's tool as an agent: past the gates of that agent, recorded with its name and yours. A call \
         that needs approval is not waited for; approve it and call again with the same arguments.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Calls;
    // What becomes of a call that a tool was found for is an answer, not an error.
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::StorageUnavailable];
    const DESTRUCTIVE: bool = true;

    fn object(request: &CallRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent)
    }
}
