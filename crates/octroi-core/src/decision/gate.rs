//! The gates, in the order in which a call passes them.

use super::context::{AgentContext, Mode};
use crate::tool::{Risk, ToolDescriptor};

/// One station of the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// May this principal see the server, and is it on.
    Scope,
    /// Do the arguments fit the tool.
    Arguments,
    /// What the server's entry allows and denies.
    Access,
    /// Is the tool on.
    Disabled,
    /// Planning does not touch.
    Mode,
    /// Acting needs a settled specification.
    SpecFrozen,
    /// Acting needs a project.
    ProjectBinding,
    /// Side effects the agent must not have.
    Blacklist,
    /// What only an administrator may do.
    AdminToken,
    /// Is the definition the one that was approved.
    Pinning,
    /// Gates of one's own.
    Custom,
    /// How much is too much.
    Quota,
    /// The floor's policy.
    Floor,
    /// The policy for everybody.
    Global,
    /// The agent's own policy.
    Agent,
    /// How far the server is trusted.
    Trust,
    /// What holds if nobody spoke.
    Profile,
    /// What a person said.
    Person,
}

impl Gate {
    /// The word for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scope => "scope",
            Self::Arguments => "arguments",
            Self::Access => "access",
            Self::Disabled => "disabled",
            Self::Mode => "mode",
            Self::SpecFrozen => "spec_frozen",
            Self::ProjectBinding => "project_binding",
            Self::Blacklist => "blacklist",
            Self::AdminToken => "admin_token",
            Self::Pinning => "pinning",
            Self::Custom => "custom",
            Self::Quota => "quota",
            Self::Floor => "floor",
            Self::Global => "global",
            Self::Agent => "agent",
            Self::Trust => "trust",
            Self::Profile => "profile",
            Self::Person => "person",
        }
    }
}

/// The six that ask about the agent's state, in their order.
pub const SIX: [Gate; 6] =
    [Gate::Disabled, Gate::Mode, Gate::SpecFrozen, Gate::ProjectBinding, Gate::Blacklist, Gate::AdminToken];

/// What one of the six has against a call; `None` if nothing.
pub(super) fn objection(
    gate: Gate,
    tool: &ToolDescriptor,
    context: &AgentContext,
    has_admin_token: bool,
) -> Option<String> {
    match gate {
        Gate::Disabled => (!tool.enabled).then(|| match &tool.off_because {
            Some(reason) => format!("Tool is disabled: {reason}"),
            None => "Tool is disabled".to_owned(),
        }),
        Gate::Mode => (context.mode == Mode::Planning && !tool.side_effects.is_empty())
            .then(|| "Planning mode cannot use tools with side effects".to_owned()),
        Gate::SpecFrozen => {
            let is_settled = context.is_spec_frozen && context.spec_hash.is_some();
            (context.mode == Mode::Execution && tool.risk >= Risk::High && !is_settled)
                .then(|| "Execution mode requires spec_frozen=True".to_owned())
        }
        Gate::ProjectBinding => (tool.risk >= Risk::Medium && context.project.is_none())
            .then(|| "Tool requires project_id".to_owned()),
        Gate::Blacklist => tool
            .side_effects
            .iter()
            .find(|tag| context.blacklist.contains(*tag))
            .map(|tag| format!("Side effect {tag} is blacklisted")),
        Gate::AdminToken => {
            (tool.requires_admin && !has_admin_token).then(|| "Tool requires admin_token".to_owned())
        }
        Gate::Scope
        | Gate::Arguments
        | Gate::Access
        | Gate::Pinning
        | Gate::Custom
        | Gate::Quota
        | Gate::Floor
        | Gate::Global
        | Gate::Agent
        | Gate::Trust
        | Gate::Profile
        | Gate::Person => None,
    }
}
