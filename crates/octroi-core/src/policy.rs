//! Policies: rules that people write, at three levels.
//!
//! Within a level the strongest effect wins: abort, deny, ask, allow; the order of the rules does not matter.
//! Between levels: a denial at any level is final, and so is a request for approval by the floor; an agent's
//! own policy may override a request by the global one, unless that says who may decide. The agent's profile decides where no policy does.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::approval::Approvers;
use crate::call::Call;
use crate::tool::ToolDescriptor;

mod address;
mod check;
mod document;
mod exact;
mod example;
mod index;
mod names;
mod number;
mod pattern;
mod predicate;
mod rule;
mod sentence;
mod spelling;

pub use check::{CheckContext, Complaint, Tested};
pub use document::Document;
pub use example::{Example, Expected, TestCase};
pub use rule::{Rule, ToolPattern, Word};

/// The level of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// For all agents; no other policy can loosen it.
    Floor,
    /// For all agents.
    Global,
    /// For one agent.
    Agent,
}

impl Level {
    /// All levels, strictest first.
    pub const ALL: [Self; 3] = [Self::Floor, Self::Global, Self::Agent];

    /// Its name in output and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Global => "global",
            Self::Agent => "agent",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

/// The verdict of a policy on a call, and the clause behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyVerdict {
    /// The effect.
    pub word: Word,
    /// The rule or clause that matched.
    pub by: String,
    /// The reason that the rule gives.
    pub reason: Option<String>,
    /// Who may decide, if it asks and says it.
    pub approvers: Approvers,
}

/// A policy in its own language, such as Cedar.
pub trait Program: Send + Sync + fmt::Debug {
    /// Evaluates it; an error denies the call.
    fn judge(&self, call: &Call<'_>) -> Result<Option<PolicyVerdict>, String>;
}

/// The compiled policy of one level.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Its rules.
    pub document: Document,
    /// Its program, if it has one.
    pub program: Option<Arc<dyn Program>>,
    /// Greater than that of every earlier policy at any level; 0 if there never was one.
    pub version: u64,
}

impl Policy {
    /// The strongest verdict of its rules and its program.
    pub fn judge(&self, call: &Call<'_>) -> Result<Option<PolicyVerdict>, String> {
        let by_rule = self.document.strongest(call).map(|rule| PolicyVerdict {
            word: rule.word,
            by: rule.name.clone(),
            reason: rule.reason.clone(),
            approvers: match rule.word {
                Word::Ask => self.document.approvers(call),
                Word::Allow | Word::Deny | Word::Abort => Approvers::default(),
            },
        });
        if call.has_too_many_tests() {
            return Err(
                "the rules about arguments would take too many steps for arguments like these".to_owned()
            );
        }
        let by_program = match &self.program {
            Some(program) => program.judge(call)?,
            None => None,
        };
        // A program sees arguments and no other params, so what it permits may be another call than the server sees.
        let by_program =
            by_program.filter(|verdict| verdict.word != Word::Allow || !call.has_undefined_params());
        Ok(match (by_rule, by_program) {
            (Some(rule), Some(program)) if program.word > rule.word => Some(program),
            (Some(mut rule), Some(program)) if program.word == rule.word => {
                rule.approvers.add(&program.approvers);
                Some(rule)
            }
            (None, program) => program,
            (rule, _) => rule,
        })
    }
}

/// The active policies of all levels.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    /// The policy that no other can loosen.
    pub floor: Policy,
    /// The policy for all agents.
    pub global: Policy,
    /// Policies of single agents, by id.
    pub agents: HashMap<Arc<str>, Policy>,
}

impl Policies {
    /// Grows with every change of the policies that apply to an agent, and only then.
    pub fn revision(&self, agent: &str) -> u64 {
        let own = self.agents.get(agent).map_or(0, |policy| policy.version);
        self.floor.version.max(self.global.version).max(own)
    }

    /// What is wrong with the names of arguments, if one can be taken for another that a rule of this agent tests.
    pub fn name_complaint(
        &self,
        agent: &str,
        tool: &ToolDescriptor,
        arguments: &Value,
        is_of_schema: &dyn Fn(&str) -> bool,
    ) -> Option<String> {
        let policies = [Some(&self.floor), Some(&self.global), self.agents.get(agent)];
        let mut documents = policies.into_iter().flatten().map(|policy| &policy.document);
        documents.find_map(|document| document.name_complaint(tool, arguments, is_of_schema))
    }
}

#[cfg(test)]
mod tests;
