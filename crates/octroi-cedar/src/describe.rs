//! Policies in displayable form.

use std::ops::Range;

use crate::effect::CedarEffect;
use crate::policies::Policies;

/// One policy, for listings and explanations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described<'a> {
    /// Its `@id`, or `policy` and its number.
    pub id: &'a str,
    /// Its effect.
    pub effect: CedarEffect,
    /// Its `@reason`.
    pub reason: Option<&'a str>,
    /// Its first line, from 1.
    pub line: usize,
    /// Its byte range in the text.
    pub span: Range<usize>,
    /// Its source text.
    pub source: &'a str,
    /// The tools it can match, as `server.tool`.
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
