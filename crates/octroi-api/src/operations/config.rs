//! Operations about the configuration.

use octroi_core::audit::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};

/// In the order in which lists have them.
pub static OPERATIONS: &[OperationEntry] = &[OperationEntry::of::<ConfigReload>()];

/// Reads the configuration again.
pub struct ConfigReload;

/// What a new configuration changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigChanges {
    /// Servers that were not there before
    pub added: Vec<String>,
    /// Servers that were replaced
    pub changed: Vec<String>,
    /// Servers that are gone
    pub removed: Vec<String>,
    /// How many stayed as they were
    pub unchanged: u64,
    /// What is wrong with the configuration
    pub problems: Vec<String>,
}

impl Operation for ConfigReload {
    type Request = NoArguments;
    type Response = ConfigChanges;

    const NAME: &'static str = "config_reload";
    const TITLE: &'static str = "Reload the configuration";
    const DESCRIPTION: &'static str = "Read the configuration again. Servers that did not change keep running; a file that cannot be used changes \
         nothing.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::ConfigReloaded };
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::InvalidConfig];
    const IDEMPOTENT: bool = true;

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
