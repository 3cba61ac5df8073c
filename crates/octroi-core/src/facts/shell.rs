//! The programs that a command line would run.
//!
//! This is not a shell. It finds the positions where a command may start and reports what is there; where
//! quotes or comments are ambiguous, both interpretations count. What only the shell knows, such as the value
//! of a variable, is reported as unknown.

mod argv;
mod lexer;

pub(super) use argv::arguments;

use super::INCOMPLETE;

/// How deep nested command lines are parsed: `sh -c "sh -c …"`.
const NESTED_MAX: usize = 3;

/// A word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Word {
    /// Without quotes and backslashes.
    text: String,
    /// The original text, if backslashes were removed: it may be a Windows path.
    raw: Option<String>,
}

/// Reports the programs of a script.
pub(super) fn script(text: &str, found: &mut dyn FnMut(&str)) {
    nested(text, NESTED_MAX, found);
    // Quotes in a here-document have no meaning, so each line is also read on its own.
    if text.contains("<<") && text.contains('\n') {
        for line in text.lines() {
            nested(line, NESTED_MAX, found);
        }
    }
}

fn nested(text: &str, levels_left: usize, found: &mut dyn FnMut(&str)) {
    let Some(levels_left) = levels_left.checked_sub(1) else { return found(INCOMPLETE) };
    let is_closed = lexer::commands(text, lexer::DoubleQuotes::Quote, levels_left, found);
    if !is_closed {
        lexer::commands(text, lexer::DoubleQuotes::Letter, levels_left, found);
    }
}

/// Whether a character separates words, approximately.
pub(super) fn is_cut(character: char) -> bool {
    character.is_whitespace() || "\"'`;|&<>()=,".contains(character)
}

/// The words of a text, approximately: split at spaces, quotes and command separators.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_cut).filter(|word| !word.is_empty())
}
