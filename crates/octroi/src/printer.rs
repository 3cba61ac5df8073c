//! The only place that prints. Data goes to standard output, talk to standard error.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use owo_colors::OwoColorize as _;

use crate::commands::Failure;

/// For texts of agents and servers.
pub(crate) use octroi_core::visible;

/// What was asked for.
pub(crate) fn data(text: &str) {
    let mut out = anstream::stdout().lock();
    // Whoever read the other end has seen enough.
    let _ = writeln!(out, "{text}");
}

/// One of many lines to come; says whether anybody still reads them.
pub(crate) fn goes_on(text: &str) -> bool {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).is_ok()
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
