//! What the profiles mean for gates and for calls that no rule matches.

use super::gate::Gate;
use crate::agent::{AgentContext, Profile};
use crate::pin::NewTools;
use crate::tool::{Risk, Source, ToolDescriptor};

/// The effect of a gate's objection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The call is denied.
    Deny,
    /// The call needs approval.
    Ask,
    /// The objection is ignored.
    Off,
}

/// The default for a call that no rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Otherwise {
    /// The call is allowed.
    Allow,
    /// The call needs approval.
    Ask,
}

impl Profile {
    /// The effect of this gate's objection for an agent. Under `guarded`, specification and project bind only
    /// an agent that was given one.
    pub fn effect(self, gate: Gate, context: &AgentContext) -> Effect {
        match (self, gate) {
            (Self::Guarded, Gate::SpecFrozen) if context.is_spec_frozen || context.spec_hash.is_some() => {
                Effect::Ask
            }
            (Self::Guarded, Gate::AdminToken) => Effect::Ask,
            (Self::Guarded, Gate::SpecFrozen | Gate::ProjectBinding)
            | (Self::Open, Gate::SpecFrozen | Gate::ProjectBinding | Gate::AdminToken) => Effect::Off,
            (Self::Strict | Self::Guarded | Self::Open, _) => Effect::Deny,
        }
    }

    /// The default for a call that no rule matches. Under `guarded` only what is known to read is allowed. Octroi's
    /// own tools for agents are allowed under every profile: what they do is decided by a person anyway.
    pub fn otherwise(self, tool: &ToolDescriptor) -> Otherwise {
        match self {
            _ if is_harmless_builtin(tool) => Otherwise::Allow,
            Self::Open => Otherwise::Allow,
            Self::Guarded if tool.risk <= Risk::Medium && tool.side_effects.only_read() => Otherwise::Allow,
            Self::Guarded | Self::Strict => Otherwise::Ask,
        }
    }

    /// The strictest of these; the usual one if there are none.
    pub fn strictest(profiles: impl IntoIterator<Item = Self>) -> Self {
        let rank = |profile: &Self| Self::ALL.iter().position(|one| one == profile);
        profiles.into_iter().min_by_key(rank).unwrap_or_default()
    }

    /// What happens to new tools of a known server, unless the configuration says otherwise.
    pub const fn new_tools(self) -> NewTools {
        match self {
            Self::Strict => NewTools::Review,
            Self::Guarded => NewTools::Notice,
            Self::Open => NewTools::Allow,
        }
    }

    /// The defaults as sentences.
    pub const fn describe_defaults(self) -> &'static [&'static str] {
        match self {
            Self::Strict => &["every call needs approval, except of Octroi's own tools"],
            Self::Guarded => &[
                "a call of a tool that is known to read is allowed",
                "a call of a tool that writes, or whose effect is unknown, needs approval",
            ],
            Self::Open => &["every call is allowed"],
        }
    }
}

fn is_harmless_builtin(tool: &ToolDescriptor) -> bool {
    tool.source == Source::Builtin && tool.risk == Risk::Low && tool.side_effects.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_profile_says_what_happens_to_new_tools() {
        use Profile::{Guarded, Open, Strict};

        for (profiles, expected) in [
            (&[Open][..], NewTools::Allow),
            (&[Open, Open], NewTools::Allow),
            (&[Open, Guarded], NewTools::Notice),
            (&[Guarded, Open], NewTools::Notice),
            (&[Guarded], NewTools::Notice),
            (&[Open, Strict], NewTools::Review),
            (&[Strict, Guarded, Open], NewTools::Review),
            (&[], NewTools::Notice),
        ] {
            assert_eq!(Profile::strictest(profiles.iter().copied()).new_tools(), expected, "{profiles:?}");
        }
    }
}
