//! Operations on the configuration.

use octroi_core::audit::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[OperationEntry::of::<ConfigReload>()];

/// Reloads the configuration.
pub struct ConfigReload;

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
    type Request = NoArguments;
    type Response = ConfigChanges;

    const NAME: &'static str = "config_reload";
    const TITLE: &'static str = "Reload the configuration";
    const DESCRIPTION: &'static str = "Reload the configuration and accept it: everything that waited for a person takes \
         effect. Unchanged servers keep running; an invalid file changes nothing.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::ConfigReloaded };
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::InvalidConfig];
    const IDEMPOTENT: bool = true;

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
