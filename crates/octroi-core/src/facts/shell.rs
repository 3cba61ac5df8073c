//! The programs that a command line would run.
//!
//! This is no shell. It finds the places where a command may begin and says what stands there; where quotes or
//! comments could be read in two ways, both readings count. What only the shell itself knows, such as the value of
//! a variable, is reported as unknown.

mod argv;
mod lexer;

pub(super) use argv::arguments;

use super::INCOMPLETE;

/// So deep are command lines looked into that stand in command lines: `sh -c "sh -c …"`.
const NESTED_MAX: usize = 3;

/// A word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Word {
    /// Without quotes and backslashes.
    text: String,
    /// As written, if a backslash was taken out: it may have been a path of Windows.
    raw: Option<String>,
}

/// Reports the programs of a script.
pub(super) fn script(text: &str, found: &mut dyn FnMut(&str)) {
    nested(text, NESTED_MAX, found);
    // Quotes in a here-document quote nothing. Read by itself each line shows what it holds.
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

/// Whether a character stands between words, roughly.
pub(super) fn is_cut(character: char) -> bool {
    character.is_whitespace() || "\"'`;|&<>()=,".contains(character)
}

/// The words of a text, roughly: cut at spaces, quotes and what separates commands.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_cut).filter(|word| !word.is_empty())
}
