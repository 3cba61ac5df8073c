//! Operations on presets: agents that are described once, to be created by name.

use octroi_core::agent::{Mode, Profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[OperationEntry::of::<PresetsList>()];

/// An agent that is described once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preset {
    /// Its name
    pub name: String,
    /// What the agent is for
    pub description: Option<String>,
    /// What the agent's model is told first
    pub system_prompt: Option<String>,
    /// The servers that the agent has; its owner's whole pool, if none is named
    pub servers: Vec<String>,
    /// The policy of the agent's level, as text
    pub policy: Option<String>,
    /// The project it works on
    pub project: Option<String>,
    /// planning: it may only read; execution: it may act
    pub mode: Option<Wire<Mode>>,
    /// How strict the gates are
    pub profile: Option<Wire<Profile>>,
    /// The file; only administrators see it
    pub file: Option<String>,
    /// When the file was last changed
    pub modified_at: Option<String>,
}

/// Lists presets.
pub struct PresetsList;

/// Presets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PresetList {
    /// The presets, by name
    pub presets: Vec<Preset>,
    /// The number of presets
    pub count: u64,
    /// Files that cannot be used, and why; only administrators see them
    pub problems: Vec<String>,
}

impl Operation for PresetsList {
    type Request = NoArguments;
    type Response = PresetList;

    const NAME: &'static str = "presets_list";
    const TITLE: &'static str = "List presets";
    const DESCRIPTION: &'static str = "Agents that are described once, for `agents_create` with `preset`.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
