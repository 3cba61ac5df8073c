//! Policies: rules that people write, at three levels.
//!
//! Within a level the strongest word wins: abort, deny, ask, allow; the order of writing does not matter.
//! Between levels: a denial anywhere is final, and so is what the floor asks; an agent's own policy may answer
//! what the global one asks. What nobody speaks of is left to the agent's profile.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::decision::Call;

mod check;
mod document;
mod index;
mod predicate;
mod rule;
mod sentence;

pub use check::{Complaint, Known, Tested};
pub use document::{Document, Example, Expected, TestCase};
pub use rule::{Rule, ToolPattern, Word};

/// Where a policy holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// For everybody, and nothing loosens it.
    Floor,
    /// For everybody.
    Global,
    /// For one agent.
    Agent,
}

impl Level {
    /// All of them, the strictest first.
    pub const ALL: [Self; 3] = [Self::Floor, Self::Global, Self::Agent];

    /// The word for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Global => "global",
            Self::Agent => "agent",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

/// What a policy says of a call, and by which clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyVerdict {
    /// What.
    pub word: Word,
    /// The rule or clause.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
}

/// A policy in a language of its own.
pub trait Program: Send + Sync + fmt::Debug {
    /// What it says; an error refuses the call.
    fn judge(&self, call: &Call<'_>) -> Result<Option<PolicyVerdict>, String>;
}

/// One level's policy, ready to be asked.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Its rules.
    pub document: Document,
    /// Its program, if it has one.
    pub program: Option<Arc<dyn Program>>,
    /// Greater than that of every policy before it, at whatever level; 0 if there was never one.
    pub version: u64,
}

impl Policy {
    /// The strongest that it says of a call.
    pub fn judge(&self, call: &Call<'_>) -> Result<Option<PolicyVerdict>, String> {
        let by_rule = self.document.strongest(call).map(|rule| PolicyVerdict {
            word: rule.word,
            by: rule.name.clone(),
            reason: rule.reason.clone(),
        });
        let by_program = match &self.program {
            Some(program) => program.judge(call)?,
            None => None,
        };
        Ok(match (by_rule, by_program) {
            (Some(rule), Some(program)) if program.word > rule.word => Some(program),
            (None, program) => program,
            (rule, _) => rule,
        })
    }
}

/// The active policies of all levels.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    /// What nothing loosens.
    pub floor: Policy,
    /// For everybody.
    pub global: Policy,
    /// By agent.
    pub agents: HashMap<Arc<str>, Policy>,
}

impl Policies {
    /// Grows with every change of what holds for an agent, and with no other.
    pub fn revision(&self, agent: &str) -> u64 {
        let own = self.agents.get(agent).map_or(0, |policy| policy.version);
        self.floor.version.max(self.global.version).max(own)
    }
}

#[cfg(test)]
mod tests;
