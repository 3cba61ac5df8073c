//! The gates, in their order of evaluation.

use crate::agent::{AgentContext, Mode};
use crate::tool::{Risk, ToolDescriptor};

/// One step of the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// Whether a person has paused the agent. In no trace of an agent that is not paused.
    Paused,
    /// Whether this principal may see the server, and the server is enabled.
    Scope,
    /// Whether the arguments match the tool's schema.
    Arguments,
    /// The tools that the server's entry allows and denies.
    Access,
    /// Whether the tool is enabled.
    Disabled,
    /// Planning mode allows no side effects.
    Mode,
    /// In execution mode, tools of high or critical risk need a frozen specification.
    SpecFrozen,
    /// Tools of medium risk or higher need a project.
    ProjectBinding,
    /// Side effects the agent must not have.
    Blacklist,
    /// Whether the tool needs the admin token.
    AdminToken,
    /// Whether the definition is the accepted one.
    Pinning,
    /// The custom gates.
    Custom,
    /// The limits on calls.
    Quota,
    /// The floor policy.
    Floor,
    /// The global policy.
    Global,
    /// The agent's own policy.
    Agent,
    /// The trust in the server.
    Trust,
    /// The default of the agent's profile, if no policy decides.
    Profile,
    /// The decision of a person.
    Person,
}

impl Gate {
    /// Its name in output and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Paused => "paused",
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

/// The six gates that check the agent's state, in their order.
pub const SIX: [Gate; 6] =
    [Gate::Disabled, Gate::Mode, Gate::SpecFrozen, Gate::ProjectBinding, Gate::Blacklist, Gate::AdminToken];

/// The objection of one of the six gates to a call; `None` if it has none.
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
        Gate::Paused
        | Gate::Scope
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
