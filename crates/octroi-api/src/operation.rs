//! The definition of an operation, and its entry in the table.

use octroi_core::audit::Kind;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Serialize};
use serde_json::{Value, json};

use crate::access::{Access, AgentSetting, Face, ObjectRef};
use crate::error::ErrorCode;
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

    /// The object of a request.
    fn object(request: &Self::Request) -> ObjectRef<'_>;

    /// The effect of this request; weaker than [`Operation::EFFECT`] for a preview.
    fn effect(_request: &Self::Request) -> Effect {
        Self::EFFECT
    }
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

    /// Whether a face offers it.
    pub const fn has_face(&self, face: Face) -> bool {
        self.access.has_face(face)
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
                "destructiveHint": self.is_destructive,
                "idempotentHint": self.is_idempotent || self.is_read_only(),
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
