//! The only place that prints. Data goes to standard output, talk to standard error.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use owo_colors::OwoColorize as _;

use crate::commands::Failure;

/// What was asked for.
pub(crate) fn data(text: &str) {
    let mut out = anstream::stdout().lock();
    // Whoever read the other end has seen enough.
    let _ = writeln!(out, "{text}");
}

/// A label and what it says, aligned.
pub(crate) fn fact(label: &str, value: &str) {
    let mut out = anstream::stderr().lock();
    // A closed terminal is no reason to stop serving.
    let _ = writeln!(out, "  {:<10} {}", label.bold(), value.cyan());
}

/// A sentence.
pub(crate) fn say(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = writeln!(out, "{text}");
}

/// A warning.
pub(crate) fn warn(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = writeln!(out, "{} {text}", "warning:".yellow().bold());
}

/// Asks the person at the terminal; `None` where there is none.
pub(crate) fn confirm(question: &str) -> Option<bool> {
    if !std::io::stdin().is_terminal() {
        return None;
    }
    let mut out = anstream::stderr().lock();
    let _ = write!(out, "{question} [y/N] ");
    let _ = out.flush();
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).ok()?;
    Some(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// A text of an agent or a server as it can be shown: what would move the cursor, turn the text round or
/// not be seen at all is spelled out.
pub(crate) fn visible(text: &str) -> String {
    let is_hidden = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_hidden(letter) {
            out.extend(letter.escape_unicode());
        } else {
            out.push(letter);
        }
    }
    out
}

/// What failed, why, and what to do next.
pub(crate) fn failure(failure: &Failure) {
    let mut out = anstream::stderr().lock();
    let _ = writeln!(out, "{} {}", "error:".red().bold(), failure.message);
    for cause in &failure.causes {
        let _ = writeln!(out, "  {} {cause}", "caused by:".red());
    }
    if let Some(hint) = &failure.hint {
        let _ = writeln!(out, "{} {hint}", "hint:".cyan().bold());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides() {
        for (text, expected) in [
            ("plain ünïcode 漢字", "plain ünïcode 漢字"),
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("a\nb\tc", "a\\u{a}b\\u{9}c"),
            ("x\u{202e}y\u{200b}z\u{9b}", "x\\u{202e}y\\u{200b}z\\u{9b}"),
            ("\u{e0041}", "\\u{e0041}"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }
}
