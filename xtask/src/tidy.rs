//! Rules that no compiler checks: how crates and modules depend on each other, sizes, and names that must not
//! appear in files.
//!
//! Each rule is a file below. A rule returns [`Finding`]s; those that `exceptions.rs` names are excused,
//! and an exception that excuses nothing is a finding itself.

use crate::shell::{Failure, say};

mod arrows;
mod cycles;
mod exceptions;
mod files;
mod glossary;
mod json_rpc;
mod sizes;
mod source;
mod words;

/// Which rule a finding is about, so that an exception can name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A crate or a library that a crate must not depend on.
    Arrow,
    /// Modules of one crate that import each other in a circle.
    ModuleCycle,
    /// A function with too many lines.
    FunctionLines,
    /// A struct with too many fields.
    StructFields,
    /// A file with too many lines.
    FileLines,
    /// A file that does not say what it is for.
    FileHeader,
    /// A path or host that belongs to one machine.
    Stray,
    /// Code in a doc comment.
    DocExample,
    /// JSON-RPC written outside the crate that knows it.
    JsonRpc,
    /// A name in the glossary that is not in the code.
    Glossary,
    /// An error code or a kind of record that nothing emits.
    UnusedWord,
}

/// Something that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) rule: Rule,
    /// What an exception names: stays the same when lines move.
    pub(crate) place: String,
    /// The problem, with file and line.
    pub(crate) message: String,
}

/// Checks everything and reports all problems at once.
pub(crate) fn check() -> Result<(), Failure> {
    let files = files::tracked()?;
    let targets = source::targets(&files).map_err(|unreadable| {
        Failure::new(format!("{unreadable} cannot be parsed"), "does it compile? `cargo check --workspace`")
    })?;
    let mut findings = arrows::check()?;
    findings.extend(files::check(&files));
    findings.extend(glossary::check(&files, &targets));
    for target in &targets {
        findings.extend(cycles::check(target));
        findings.extend(sizes::check(target));
        findings.extend(json_rpc::check(target));
    }
    findings.extend(words::check(&targets));
    say(&files::summary(&files));
    let complaints = exceptions::apply(exceptions::EXCEPTIONS, findings);
    if complaints.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("{} rules are broken", complaints.len()), complaints.join("\n      ")))
}
