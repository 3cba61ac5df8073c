//! The only place that prints. Data goes to standard output, talk to standard error.

use std::io::Write as _;

use owo_colors::OwoColorize as _;

use crate::commands::Failure;

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
