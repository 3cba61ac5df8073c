//! What an operation is, and the form in which tables hold it.

use octroi_core::audit::Kind;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Serialize};
use serde_json::{Value, json};

use crate::access::{Access, AgentSetting, Face, ObjectRef};
use crate::error::ErrorCode;
use crate::schema;

/// Something that a principal can have done. Each operation is one unit type; it is never constructed.
pub trait Operation: 'static {
    /// What it takes. Unknown members are refused.
    type Request: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    /// What it answers. Unknown members are ignored, so that an older client reads a newer gateway.
    type Response: Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    /// The name on the wire.
    const NAME: &'static str;
    /// A name for people.
    const TITLE: &'static str;
    /// What it does, for people and models.
    const DESCRIPTION: &'static str;
    /// Who may.
    const ACCESS: Access;
    /// The most that it does to the gateway.
    const EFFECT: Effect;
    /// Why it can fail, besides what [`OperationEntry::all_errors`] adds for every operation of its kind.
    const ERRORS: &'static [ErrorCode];
    /// Without which agents do not have it.
    const AGENT_SETTING: Option<AgentSetting> = None;
    /// Whether something is lost that cannot be had back by another operation.
    const DESTRUCTIVE: bool = false;
    /// Whether doing it twice is the same as doing it once.
    const IDEMPOTENT: bool = false;

    /// What a request is about.
    fn object(request: &Self::Request) -> ObjectRef<'_>;

    /// What this very request does; less than [`Operation::EFFECT`] if it only previews.
    fn effect(_request: &Self::Request) -> Effect {
        Self::EFFECT
    }
}

/// What an operation does to the gateway, and so which record it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing; it leaves no record.
    Reads,
    /// It changes something, and is recorded before the change takes effect.
    Changes {
        /// The kind of the record.
        audit: Kind,
    },
    /// It calls a tool past the gates, and is recorded as that call.
    Calls,
}

/// An operation without its types.
pub struct OperationEntry {
    /// The name on the wire. Unique at its face.
    pub name: &'static str,
    /// A name for people.
    pub title: &'static str,
    /// What it does.
    pub description: &'static str,
    /// Who may.
    pub access: Access,
    /// The most that it does to the gateway.
    pub effect: Effect,
    /// Why it can fail in ways of its own.
    pub errors: &'static [ErrorCode],
    /// Without which agents do not have it.
    pub agent_setting: Option<AgentSetting>,
    is_destructive: bool,
    is_idempotent: bool,
    input_schema: fn() -> Value,
    output_schema: fn() -> Value,
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
            is_destructive: O::DESTRUCTIVE,
            is_idempotent: O::IDEMPOTENT,
            input_schema: schema::of_request::<O::Request>,
            output_schema: schema::of_response::<O::Response>,
            response_shape: SchemaGenerator::subschema_for::<O::Response>,
            read: |arguments| O::Request::deserialize(arguments).map(|_| ()),
        }
    }

    /// Whether it is offered at a face.
    pub const fn has_face(&self, face: Face) -> bool {
        self.access.has_face(face)
    }

    /// Whether it only looks.
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

    /// Its answer as a schema with references, which the reference page turns into links.
    pub(crate) fn response_shape(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.response_shape)(generator)
    }

    /// Whether arguments can be read as its request.
    pub fn check(&self, arguments: &Value) -> Result<(), serde_json::Error> {
        (self.read)(arguments)
    }

    /// Everything it can fail with: its own reasons, and those of every operation of its kind.
    pub fn all_errors(&self) -> Vec<ErrorCode> {
        let mut errors = vec![ErrorCode::Unauthenticated, ErrorCode::InvalidParams];
        if !self.has_face(Face::Agent) {
            errors.push(ErrorCode::PeopleOnly);
        }
        if matches!(self.effect, Effect::Changes { .. } | Effect::Calls) {
            errors.push(ErrorCode::AuditUnavailable);
        }
        errors.extend(self.errors.iter().filter(|own| !matches!(own, ErrorCode::AuditUnavailable)));
        errors.push(ErrorCode::InternalError);
        errors
    }

    /// The operation as an MCP tool.
    pub fn tool_definition(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema(),
            "outputSchema": self.output_schema(),
            "annotations": {
                "readOnlyHint": self.is_read_only(),
                "destructiveHint": self.is_destructive,
                "idempotentHint": self.is_idempotent || self.is_read_only(),
                // Only a call of a tool reaches beyond the gateway and the servers it runs.
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
