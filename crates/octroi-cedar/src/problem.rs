//! Problems of a text of policies, with their positions.

use std::fmt;
use std::ops::Range;

use cedar_policy::ffi::DetailedError;
use octroi_core::suggest::are_close;

/// One problem of a text of policies. Any problem prevents the whole text from being loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CedarProblem {
    /// The policy, where known.
    pub policy: Option<String>,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// The message.
    pub message: String,
    /// How to fix it, where known.
    pub help: Option<String>,
}

impl std::error::Error for CedarProblem {}

impl fmt::Display for CedarProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: ", self.line, self.column)?;
        if let Some(policy) = &self.policy {
            write!(formatter, "policy `{policy}`: ")?;
        }
        formatter.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(formatter, " ({help})"),
            None => Ok(()),
        }
    }
}

impl CedarProblem {
    /// A problem at a position of the text.
    pub(crate) fn at(text: &str, offset: usize, policy: Option<&str>, message: String) -> Self {
        let (line, column) = position(text, offset);
        Self { policy: policy.map(visible), line, column, message: visible(&message), help: None }
    }

    pub(crate) fn with_help(self, help: Option<String>) -> Self {
        Self { help: help.as_deref().map(visible), ..self }
    }

    /// Drops implausible suggestions: Cedar suggests the closest name, however different it is.
    pub(crate) fn with_believable_help(self) -> Self {
        let between_ticks = |text: &str| text.split('`').nth(1).map(str::to_owned);
        let guess =
            self.help.as_deref().filter(|help| help.starts_with("did you mean")).and_then(between_ticks);
        let written =
            between_ticks(&self.message).map(|path| path.rsplit('.').next().unwrap_or_default().to_owned());
        match (guess, written) {
            (Some(guess), Some(written)) if !are_close(&written, &guess) => self.with_help(None),
            _ => self,
        }
    }

    /// A problem reported by Cedar. Without a position it refers to the whole policy.
    pub(crate) fn from_cedar(
        text: &str,
        policy: Option<(&str, &Range<usize>)>,
        error: &DetailedError,
    ) -> Self {
        let place = error.source_locations.first().map(|label| label.loc.start);
        let offset = place.or(policy.map(|(_, span)| span.start)).unwrap_or_default();
        let id = policy.map(|(id, _)| id);
        let prefix = id.map(|id| format!("for policy `{id}`, ")).unwrap_or_default();
        let message = error.message.strip_prefix(&prefix).unwrap_or(&error.message);
        let label = error.source_locations.first().and_then(|label| label.label.clone());
        let help = error.help.clone().or(label);
        let help = help.map(|help| help.strip_prefix(&prefix).map(str::to_owned).unwrap_or(help));
        Self::at(text, offset, id, message.to_owned()).with_help(help)
    }
}

/// Names come from servers and may contain characters that move the cursor or reorder text.
fn visible(text: &str) -> String {
    let turns = |character| matches!(character, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || turns(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Line and column of a position, from 1.
pub(crate) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(line_start..).unwrap_or_default().chars().count();
    (before.matches('\n').count() + 1, column + 1)
}
