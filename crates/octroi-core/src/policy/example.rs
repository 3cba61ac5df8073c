//! Calls that a policy is tested with, and what it must say about them.

use serde_json::Value;

use super::rule::Word;
use crate::agent::Mode;

/// A hypothetical call.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// `server.tool`.
    pub tool: String,
    /// The calling agent.
    pub agent: Option<String>,
    /// The arguments of the call.
    pub arguments: Value,
    /// The mode of the agent.
    pub mode: Option<Mode>,
    /// The line in the document.
    pub line: usize,
}

/// A call, and the verdict it must get.
#[derive(Clone, Debug, PartialEq)]
pub struct TestCase {
    /// The name of the test.
    pub name: String,
    /// The call.
    pub call: Example,
    /// The expected verdict.
    pub expected: Expected,
}

/// An expected verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// This effect.
    Word(Word),
    /// No rule matches.
    Silence,
}

impl Expected {
    /// Its name in tests and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Word(word) => word.as_str(),
            Self::Silence => "silent",
        }
    }

    pub(super) const ALL: [Self; 5] = [
        Self::Word(Word::Allow),
        Self::Word(Word::Ask),
        Self::Word(Word::Deny),
        Self::Word(Word::Abort),
        Self::Silence,
    ];
}
