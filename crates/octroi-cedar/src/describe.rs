//! Policies as people are shown them.

use std::fmt;
use std::ops::Range;

use crate::policies::Policies;

/// What a policy does to a call that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It allows.
    Permit,
    /// A person is asked.
    Ask,
    /// It refuses.
    Deny,
    /// It refuses and stops the agent.
    Abort,
}

impl Effect {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permit => "permit",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Abort => "abort",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One policy, for listings and explanations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described<'a> {
    /// Its `@id`, or `policy` and its number.
    pub id: &'a str,
    /// What it does.
    pub effect: Effect,
    /// Its `@reason`.
    pub reason: Option<&'a str>,
    /// The line it begins in, from 1.
    pub line: usize,
    /// Where it stands in the text, in bytes.
    pub span: Range<usize>,
    /// Its own text.
    pub source: &'a str,
    /// The tools it can apply to, as `server.tool`.
    pub tools: &'a [String],
}

impl Policies {
    /// Every policy, in the order of the text.
    pub fn describe(&self) -> impl Iterator<Item = Described<'_>> {
        self.loaded.iter().map(|loaded| Described {
            id: &loaded.id,
            effect: loaded.effect,
            reason: loaded.reason.as_deref(),
            line: loaded.line,
            span: loaded.span.clone(),
            source: self.text.get(loaded.span.clone()).unwrap_or_default(),
            tools: &loaded.tools,
        })
    }
}
