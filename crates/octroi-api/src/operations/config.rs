//! Operations on the configuration.

use octroi_core::audit::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};

/// In listing order.
pub static OPERATIONS: &[OperationEntry] =
    &[OperationEntry::of::<ConfigReload>(), OperationEntry::of::<ConfigShow>()];

/// Reloads the configuration.
pub struct ConfigReload;

/// What to accept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReloadRequest {
    /// Accept everything that waits, if the files still have this digest [default: accept nothing]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The changes of a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigChanges {
    /// New servers
    pub added: Vec<String>,
    /// Changed servers
    pub changed: Vec<String>,
    /// Removed servers
    pub removed: Vec<String>,
    /// The number of unchanged servers
    pub unchanged: u64,
    /// Problems of the configuration
    pub problems: Vec<String>,
    /// Changes that wait for a person
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<ConfigDifference>,
    /// The digest of the files, to accept what waits
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_digest: Option<String>,
}

/// A difference between the configuration on disk and the accepted one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigDifference {
    /// What differs
    pub setting: String,
    /// The accepted value, without secrets
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The value on disk, without secrets
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl Operation for ConfigReload {
    type Request = ReloadRequest;
    type Response = ConfigChanges;

    const NAME: &'static str = "config_reload";
    const TITLE: &'static str = "Reload the configuration";
    const DESCRIPTION: &'static str = "Reload the configuration. What needs a person waits, unless you give the digest of the \
         files that you have looked at; other files are refused. Unchanged servers keep running; an invalid file \
         changes nothing.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = Effect::Changes { audit: Kind::ConfigReloaded };
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::Conflict, ErrorCode::InvalidConfig];
    const IDEMPOTENT: bool = true;

    fn object(_: &ReloadRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Shows the configuration in effect.
pub struct ConfigShow;

/// The configuration in effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShownConfig {
    /// Every section, with each setting's value and where it comes from; secrets are masked
    pub configuration: Value,
}

impl Operation for ConfigShow {
    type Request = NoArguments;
    type Response = ShownConfig;

    const NAME: &'static str = "config_show";
    const TITLE: &'static str = "Show the configuration";
    const DESCRIPTION: &'static str = "The configuration in effect: every setting with the file and line, variable or default it comes from.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
