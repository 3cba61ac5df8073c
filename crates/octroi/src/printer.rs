//! The only place that prints. Data goes to standard output, messages to standard error.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use octroi_core::escape_hidden;
use owo_colors::OwoColorize as _;
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::table::{Table, table_width};

/// A count with its noun.
pub(crate) use octroi_core::count;
/// Makes text of agents and servers safe to print in one line.
pub(crate) use octroi_core::visible;

/// How failures are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs: `--json` was given.
    Json,
}

/// Prints the output of a command.
pub(crate) fn data(text: &str) {
    let mut out = anstream::stdout().lock();
    // A closed pipe is no error: the reader has seen enough.
    let _ = writeln!(out, "{text}");
}

/// Prints the output of a command as JSON in one line.
pub(crate) fn json(value: &impl Serialize) {
    data(&json_text(value));
}

/// A value as JSON in one line. Commands print what they read from JSON, so serializing does not fail. What
/// would move a cursor or reorder text is escaped: JSON is read in terminals too.
pub(crate) fn json_text(value: &impl Serialize) -> String {
    escape_hidden(&serde_json::to_string(value).unwrap_or_default()).into_owned()
}

/// Prints the output of a command as JSON for people, over several lines.
pub(crate) fn json_lines(value: &impl Serialize) {
    data(&escape_hidden(&serde_json::to_string_pretty(value).unwrap_or_default()));
}

/// Prints one of many lines; `false` if nobody reads them any more.
pub(crate) fn is_still_read(text: &str) -> bool {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).is_ok()
}

/// Prints a table, as wide as the terminal.
pub(crate) fn table(table: &Table) {
    table.lines(table_width()).iter().for_each(|line| data(line));
}

/// Prints a label and its value, aligned.
pub(crate) fn fact(label: &str, value: &str) {
    let mut out = anstream::stderr().lock();
    // A closed terminal is no reason to stop serving.
    let _ = writeln!(out, "  {:<10} {}", label.bold(), value.cyan());
}

/// Prints a message.
pub(crate) fn say(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = writeln!(out, "{text}");
}

/// Prints a warning.
pub(crate) fn warn(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = writeln!(out, "{} {text}", "warning:".yellow().bold());
}

/// Prints a question, without a line break.
pub(crate) fn ask(question: &str) {
    let mut out = anstream::stderr().lock();
    let _ = write!(out, "{question}");
    let _ = out.flush();
}

/// Asks the person at the terminal; `None` where there is none.
pub(crate) fn confirm(question: &str) -> Option<bool> {
    if !std::io::stdin().is_terminal() {
        return None;
    }
    ask(&format!("{question} [y/N] "));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).ok()?;
    Some(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Prints what failed, why, and what to do next.
pub(crate) fn failure(failure: &Failure, format: Format) {
    let mut out = anstream::stderr().lock();
    if format == Format::Json {
        let _ = writeln!(out, "{}", json_text(&failure.to_json()));
        return;
    }
    if failure.is_answered {
        return;
    }
    let _ = writeln!(out, "{} {}", "error:".red().bold(), failure.message);
    for cause in &failure.causes {
        let _ = writeln!(out, "  {} {cause}", "caused by:".red());
    }
    if let Some(hint) = &failure.hint {
        let _ = writeln!(out, "{} {hint}", "hint:".cyan().bold());
    }
}

/// Makes text of agents and servers safe to print: only its line breaks and tabs are kept.
pub(crate) fn visible_lines(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(visible).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The JSON string of a value from a closed set.
pub(crate) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(_) | Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use octroi_api::operations::policies::PolicyStatus;
    use octroi_api::operations::servers::GateState;

    use super::*;

    #[test]
    fn texts_of_others_move_no_terminal() {
        for (text, expected) in
            [("a\tb\nc", "a\tb\nc"), ("\u{1b}[2Ja", "\\u{1b}[2Ja"), ("a\r\n\u{202e}b", "a\\r\n\\u{202e}b")]
        {
            assert_eq!(visible_lines(text), expected);
        }
    }

    #[test]
    fn json_moves_no_terminal_either() {
        let value = serde_json::json!({"name": "\u{9b}2J\u{202e}x"});
        assert_eq!(json_text(&value), r#"{"name":"\u009b2J\u202ex"}"#);
    }

    #[test]
    fn words_are_those_of_the_wire() {
        assert_eq!(word(&GateState::Failing), "failing");
        assert_eq!(word(&PolicyStatus::Superseded), "superseded");
        assert_eq!(word(&3), "");
    }
}
