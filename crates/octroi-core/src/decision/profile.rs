//! How strict the gates are, by name.

use super::gate::Gate;
use crate::tool::Risk;

/// What becomes of a call that a gate objects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It is refused.
    Deny,
    /// A person is asked.
    Ask,
    /// Nothing.
    Off,
}

/// What becomes of a call that no rule speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Otherwise {
    /// It is made.
    Allow,
    /// A person is asked.
    Ask,
}

/// A named set of effects and starting rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Every gate denies, and what is not allowed is asked.
    Strict,
    /// What reads goes through, what writes is asked.
    #[default]
    Guarded,
    /// Everything that is not forbidden goes through, and is recorded.
    Open,
}

impl Profile {
    /// All of them, the strictest first.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Guarded, Self::Open];

    /// The word for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Guarded => "guarded",
            Self::Open => "open",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == word)
    }

    /// What a gate's objection means here.
    pub const fn effect(self, gate: Gate) -> Effect {
        match (self, gate) {
            (Self::Guarded, Gate::SpecFrozen | Gate::ProjectBinding | Gate::AdminToken) => Effect::Ask,
            (Self::Open, Gate::Mode | Gate::SpecFrozen | Gate::ProjectBinding | Gate::AdminToken) => {
                Effect::Off
            }
            (Self::Strict | Self::Guarded | Self::Open, _) => Effect::Deny,
        }
    }

    /// What becomes of a call that no rule speaks of.
    pub const fn otherwise(self, risk: Risk) -> Otherwise {
        match (self, risk) {
            (Self::Open, _) | (Self::Guarded, Risk::Low | Risk::Medium) => Otherwise::Allow,
            (Self::Guarded, Risk::High | Risk::Critical) | (Self::Strict, _) => Otherwise::Ask,
        }
    }
}
