//! Operations on stored secrets. No response has a value.

use octroi_core::Secret as Value;
use octroi_core::audit::Kind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::config::ConfigDifference;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<SecretsList>(),
    OperationEntry::of::<SecretsSet>(),
    OperationEntry::of::<SecretsRemove>(),
];

const CHANGES: Effect = Effect::Changes { audit: Kind::SecretChanged };
const CHANGING: &[ErrorCode] = &[
    ErrorCode::NotFound,
    ErrorCode::InvalidArguments,
    ErrorCode::Conflict,
    ErrorCode::InvalidConfig,
    ErrorCode::StorageUnavailable,
];

/// A stored secret, without its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Secret {
    /// Its name
    pub name: String,
    /// The user it belongs to; none for one of the gateway
    pub user: Option<String>,
    /// How often it was set
    pub revision: u64,
    /// When it was set first
    pub created_at: String,
    /// Who set it first
    pub created_by: String,
    /// When it was set last
    pub updated_at: String,
    /// Who set it last
    pub updated_by: String,
    /// Whether it can be decrypted; otherwise it must be set again
    pub readable: bool,
    /// The servers that refer to it
    pub servers: Vec<String>,
    /// Whether anything else in the configuration refers to it
    pub used_elsewhere: bool,
}

/// Whose secrets an operation is about.
fn object(user: Option<&String>) -> ObjectRef<'_> {
    match user {
        Some(user) => ObjectRef::User(user),
        None => ObjectRef::Administration,
    }
}

/// Lists secrets.
pub struct SecretsList;

/// Which secrets to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSecretsRequest {
    /// Only those of this user
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// Secrets, without their values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretList {
    /// The secrets: those of the gateway first, then by user and name
    pub secrets: Vec<Secret>,
    /// The number of secrets
    pub count: u64,
}

impl Operation for SecretsList {
    type Request = ListSecretsRequest;
    type Response = SecretList;

    const NAME: &'static str = "secrets_list";
    const TITLE: &'static str = "List secrets";
    const DESCRIPTION: &'static str = "Stored secrets without their values, and the servers that refer to them: all for \
        administrators, their own for members.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::StorageUnavailable];

    fn object(request: &ListSecretsRequest) -> ObjectRef<'_> {
        request.user.as_ref().map_or(ObjectRef::Gateway, |user| ObjectRef::User(user))
    }
}

/// The value of a secret in a request. It is never displayed.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(pub Value);

impl std::fmt::Debug for SecretValue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("***")
    }
}

impl Serialize for SecretValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose())
    }
}

impl<'de> Deserialize<'de> for SecretValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|value| Self(Value::new(value)))
    }
}

impl JsonSchema for SecretValue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SecretValue".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "writeOnly": true })
    }
}

/// Sets a secret.
pub struct SecretsSet;

/// A secret to set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSecretRequest {
    /// Its name: up to 64 letters, digits, `.`, `_` and `-`
    pub name: String,
    /// Its value, from 8 characters to 64 KiB, or 4 KiB for a user's; nothing shows it again
    pub value: SecretValue,
    /// The user it belongs to; the gateway if omitted
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// A changed secret, and what changed with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedSecret {
    /// The secret
    pub secret: Secret,
    /// Servers that were added, because all they need is set now
    pub added: Vec<String>,
    /// Servers that were started again with the new value
    pub changed: Vec<String>,
    /// Servers that are left out, because something they need is not set
    pub removed: Vec<String>,
    /// Problems of the configuration
    pub problems: Vec<String>,
    /// Changes of the configuration that wait for a person
    pub waiting: Vec<ConfigDifference>,
}

impl Operation for SecretsSet {
    type Request = SetSecretRequest;
    type Response = ChangedSecret;

    const NAME: &'static str = "secrets_set";
    const TITLE: &'static str = "Set a secret";
    const DESCRIPTION: &'static str = "Store a secret for `${secret:NAME}`, or replace its value. Servers that refer to it \
        start again with it. Nothing shows the value again. Members set their own.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = CHANGING;

    fn object(request: &SetSecretRequest) -> ObjectRef<'_> {
        object(request.user.as_ref())
    }
}

/// Removes a secret.
pub struct SecretsRemove;

/// The secret to remove.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveSecretRequest {
    /// Its name
    pub name: String,
    /// The user it belongs to; the gateway if omitted
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Also while servers refer to it, which are left out then
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

impl Operation for SecretsRemove {
    type Request = RemoveSecretRequest;
    type Response = ChangedSecret;

    const NAME: &'static str = "secrets_remove";
    const TITLE: &'static str = "Remove a secret";
    const DESCRIPTION: &'static str = "Remove a stored secret. Refused while something refers to it; with `force` the servers that do are stopped.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = CHANGING;
    const DESTRUCTIVE: bool = true;

    fn object(request: &RemoveSecretRequest) -> ObjectRef<'_> {
        object(request.user.as_ref())
    }
}
