//! Profiles: named levels of strictness.

use super::gate::Gate;
use crate::tool::Risk;

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

/// A named set of gate effects and defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Every gate denies, and everything that no rule allows needs approval.
    Strict,
    /// Reads are allowed, writes need approval.
    #[default]
    Guarded,
    /// Everything that is not denied is allowed, and recorded.
    Open,
}

impl Profile {
    /// All profiles, strictest first.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Guarded, Self::Open];

    /// Its name in configuration and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Guarded => "guarded",
            Self::Open => "open",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == word)
    }

    /// The effect of this gate's objection.
    pub const fn effect(self, gate: Gate) -> Effect {
        match (self, gate) {
            (Self::Guarded, Gate::SpecFrozen | Gate::ProjectBinding | Gate::AdminToken) => Effect::Ask,
            (Self::Open, Gate::Mode | Gate::SpecFrozen | Gate::ProjectBinding | Gate::AdminToken) => {
                Effect::Off
            }
            (Self::Strict | Self::Guarded | Self::Open, _) => Effect::Deny,
        }
    }

    /// The default for a call that no rule matches.
    pub const fn otherwise(self, risk: Risk) -> Otherwise {
        match (self, risk) {
            (Self::Open, _) | (Self::Guarded, Risk::Low | Risk::Medium) => Otherwise::Allow,
            (Self::Guarded, Risk::High | Risk::Critical) | (Self::Strict, _) => Otherwise::Ask,
        }
    }
}
