//! The definition of an operation, and its entry in the table.

use octroi_core::audit::Kind;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Serialize};
use serde_json::{Value, json};

use crate::access::{Access, AgentSetting, Face, ObjectRef};
use crate::error::{ApiError, ErrorCode};
use crate::route::Route;
use crate::schema;

/// An operation of the control plane. Each is one unit type, which is never constructed.
pub trait Operation: 'static {
    /// Its arguments. Unknown members are refused.
    type Request: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    /// Its answer. Unknown members are ignored, so that an older client can read a newer gateway's answer.
    type Response: Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    /// The name on the wire.
    const NAME: &'static str;
    /// Its title for people.
    const TITLE: &'static str;
    /// Its description for people and models.
    const DESCRIPTION: &'static str;
    /// Who may use it.
    const ACCESS: Access;
    /// Its strongest possible effect on the gateway.
    const EFFECT: Effect;
    /// Its specific errors; [`OperationEntry::all_errors`] adds those of every operation of its kind.
    const ERRORS: &'static [ErrorCode];
    /// The setting without which agents do not have it.
    const AGENT_SETTING: Option<AgentSetting> = None;
    /// Whether it loses something that no other operation can restore.
    const DESTRUCTIVE: bool = false;
    /// Whether repeating it has no further effect.
    const IDEMPOTENT: bool = false;
    /// Its routes in REST.
    const REST: &'static [Route] = &[];
    /// How REST answers a response that says how something ended; without one every response is a success.
    const REST_OUTCOME: Option<RestOutcome> = None;
    /// Whether it is a tool of MCP. An operation that MCP has in another form is in REST only.
    const IS_TOOL: bool = true;

    /// The object of a request.
    fn object(request: &Self::Request) -> ObjectRef<'_>;

    /// The effect of this request; weaker than [`Operation::EFFECT`] for a preview.
    fn effect(_request: &Self::Request) -> Effect {
        Self::EFFECT
    }
}

/// How REST answers the response of an operation that says itself how something ended.
#[derive(Clone, Copy, Debug)]
pub struct RestOutcome {
    /// What a response may report as a failure, besides the errors of the operation.
    pub errors: &'static [ErrorCode],
    /// Whether a response may say that nothing was done yet.
    pub may_wait: bool,
    /// Reads a response.
    pub read: fn(&Value) -> RestAnswer,
}

/// What a response is in REST.
#[derive(Clone, Debug, PartialEq)]
pub enum RestAnswer {
    /// A success.
    Done,
    /// Nothing was done yet.
    Waiting,
    /// A failure.
    Failed(Box<ApiError>),
}

/// The effect of an operation on the gateway, and thus its audit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// None; it leaves no record.
    Reads,
    /// It changes something, and is recorded before the change takes effect.
    Changes {
        /// The kind of the record.
        audit: Kind,
    },
    /// It calls a tool through the gates, and is recorded as that call.
    Calls,
}

/// What clients are told of an operation.
#[derive(Clone, Copy, Debug)]
struct Hints {
    is_tool: bool,
    is_destructive: bool,
    is_idempotent: bool,
}

/// An operation without its types.
pub struct OperationEntry {
    /// The name on the wire. Unique at its face.
    pub name: &'static str,
    /// Its title for people.
    pub title: &'static str,
    /// Its description for people and models.
    pub description: &'static str,
    /// Who may use it.
    pub access: Access,
    /// Its strongest possible effect on the gateway.
    pub effect: Effect,
    /// Its specific errors.
    pub errors: &'static [ErrorCode],
    /// The setting without which agents do not have it.
    pub agent_setting: Option<AgentSetting>,
    /// Its routes in REST.
    pub rest: &'static [Route],
    /// How REST answers a response that says how something ended.
    pub rest_outcome: Option<RestOutcome>,
    hints: Hints,
    input_schema: fn() -> Value,
    output_schema: fn() -> Value,
    request_shape: fn(&mut SchemaGenerator) -> Schema,
    response_shape: fn(&mut SchemaGenerator) -> Schema,
    read: fn(&Value) -> Result<(), serde_json::Error>,
}

impl OperationEntry {
    /// The entry of an operation.
    pub const fn of<O: Operation>() -> Self {
        Self {
            name: O::NAME,
            title: O::TITLE,
            description: O::DESCRIPTION,
            access: O::ACCESS,
            effect: O::EFFECT,
            errors: O::ERRORS,
            agent_setting: O::AGENT_SETTING,
            rest: O::REST,
            rest_outcome: O::REST_OUTCOME,
            hints: Hints {
                is_tool: O::IS_TOOL,
                is_destructive: O::DESTRUCTIVE,
                is_idempotent: O::IDEMPOTENT,
            },
            input_schema: schema::of_request::<O::Request>,
            output_schema: schema::of_response::<O::Response>,
            request_shape: SchemaGenerator::subschema_for::<O::Request>,
            response_shape: SchemaGenerator::subschema_for::<O::Response>,
            read: |arguments| O::Request::deserialize(arguments).map(|_| ()),
        }
    }

    /// Whether a face offers it.
    pub const fn has_face(&self, face: Face) -> bool {
        self.access.has_face(face)
    }

    /// Whether a face offers it as a tool of MCP.
    pub const fn is_tool_of(&self, face: Face) -> bool {
        self.hints.is_tool && self.access.has_face(face)
    }

    /// Whether it is a tool of MCP.
    pub const fn is_tool(&self) -> bool {
        self.hints.is_tool
    }

    /// Whether it only reads.
    pub const fn is_read_only(&self) -> bool {
        matches!(self.effect, Effect::Reads)
    }

    /// The JSON Schema of its arguments.
    pub fn input_schema(&self) -> Value {
        (self.input_schema)()
    }

    /// The JSON Schema of its answer.
    pub fn output_schema(&self) -> Value {
        (self.output_schema)()
    }

    /// The schema of its arguments with references.
    pub(crate) fn request_shape(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.request_shape)(generator)
    }

    /// The schema of its answer with references, which the reference page turns into links.
    pub(crate) fn response_shape(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.response_shape)(generator)
    }

    /// Whether arguments can be parsed as its request.
    pub fn check(&self, arguments: &Value) -> Result<(), serde_json::Error> {
        (self.read)(arguments)
    }

    /// All its possible errors: its own, and those of every operation of its kind. Who may not see an operation gets
    /// the error of one that does not exist, which is no error of this one.
    pub fn all_errors(&self) -> Vec<ErrorCode> {
        let mut errors = vec![ErrorCode::Unauthenticated, ErrorCode::InvalidParams];
        if matches!(self.access, Access::Admins) {
            errors.push(ErrorCode::AdminsOnly);
        }
        if matches!(self.effect, Effect::Changes { .. } | Effect::Calls) {
            errors.push(ErrorCode::AuditUnavailable);
        }
        errors.extend(self.errors.iter().filter(|own| !matches!(own, ErrorCode::AuditUnavailable)));
        errors.push(ErrorCode::InternalError);
        errors
    }

    /// The operation as an MCP tool definition.
    pub fn tool_definition(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema(),
            "outputSchema": self.output_schema(),
            "annotations": {
                "readOnlyHint": self.is_read_only(),
                "destructiveHint": self.hints.is_destructive,
                "idempotentHint": self.hints.is_idempotent || self.is_read_only(),
                // Only a tool call reaches beyond the gateway and the servers it runs.
                "openWorldHint": matches!(self.effect, Effect::Calls),
            },
        })
    }
}

impl std::fmt::Debug for OperationEntry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("OperationEntry").field("name", &self.name).finish_non_exhaustive()
    }
}
