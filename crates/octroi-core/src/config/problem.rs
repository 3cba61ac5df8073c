//! Errors and warnings of a configuration, with their position and a hint.

use std::fmt;
use std::path::Path;

use crate::suggest::did_you_mean;
use crate::syntax::Origin;

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its severity.
    pub severity: Severity,
    /// Where it was written.
    pub origin: Origin,
    /// The entry that it is about.
    pub subject: Option<String>,
    /// The message.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
}

/// The severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Only reported; the configuration is still used.
    Warning,
    /// The entry cannot be used; the others still are.
    LeftOut,
    /// The configuration cannot be used.
    Fatal,
}

impl Severity {
    /// The word used in machine-readable output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::LeftOut => "left_out",
            Self::Fatal => "fatal",
        }
    }
}

impl Problem {
    /// The sort key that puts problems into the order of the file.
    pub(super) fn place(&self) -> Option<(&Path, usize)> {
        match &self.origin {
            Origin::File { path, line } => Some((path, *line)),
            Origin::Default | Origin::Directory(_) | Origin::Environment(_) | Origin::Flag(_) => None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.origin != Origin::Default {
            write!(formatter, "{}: ", self.origin)?;
        }
        match (&self.subject, self.severity) {
            (Some(subject), Severity::LeftOut) => write!(formatter, "{subject} is left out: ")?,
            (Some(subject), Severity::Warning | Severity::Fatal) => write!(formatter, "{subject}: ")?,
            (None, _) => {}
        }
        formatter.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(formatter, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// Collects the problems of one entry or section.
#[derive(Clone, Debug)]
pub(super) struct ProblemLog {
    subject: Option<String>,
    error: Severity,
    unknown: Severity,
    pub(super) problems: Vec<Problem>,
}

impl ProblemLog {
    /// For a section without which nothing works.
    pub(super) fn of_section(unknown: Unknown) -> Self {
        Self::new(None, Severity::Fatal, unknown)
    }

    /// For an entry that can be left out.
    pub(super) fn of_entry(subject: String, unknown: Unknown) -> Self {
        Self::new(Some(subject), Severity::LeftOut, unknown)
    }

    /// For entries that restrict or record: leaving one out would remove a protection, so every error is
    /// fatal. That includes unknown keys, even if they are otherwise ignored.
    pub(super) fn of_restriction(subject: Option<String>) -> Self {
        Self::new(subject, Severity::Fatal, Unknown::IsAnError)
    }

    /// For a restricting part of an entry, where an unknown key is always an error.
    pub(super) fn of_restricting_part(&self) -> Self {
        Self { unknown: self.error, problems: Vec::new(), ..self.clone() }
    }

    fn new(subject: Option<String>, error: Severity, unknown: Unknown) -> Self {
        let unknown = match unknown {
            Unknown::IsAnError => error,
            Unknown::IsIgnored => Severity::Warning,
        };
        Self { subject, error, unknown, problems: Vec::new() }
    }

    pub(super) fn error(&mut self, origin: &Origin, message: impl Into<String>) {
        self.add(self.error, origin, message.into(), None);
    }

    pub(super) fn error_with_hint(&mut self, origin: &Origin, message: impl Into<String>, hint: String) {
        self.add(self.error, origin, message.into(), Some(hint));
    }

    pub(super) fn warn(&mut self, origin: &Origin, message: impl Into<String>) {
        self.add(Severity::Warning, origin, message.into(), None);
    }

    pub(super) fn unknown_key<'a>(
        &mut self,
        origin: &Origin,
        key: &str,
        known: impl Iterator<Item = &'a str>,
    ) {
        let hint = did_you_mean(key, known);
        self.add(self.unknown, origin, format!("unknown key `{key}`"), hint);
    }

    fn add(&mut self, severity: Severity, origin: &Origin, message: String, hint: Option<String>) {
        let subject = self.subject.clone();
        self.problems.push(Problem { severity, origin: origin.clone(), subject, message, hint });
    }

    /// Whether the entry or section cannot be used.
    pub(super) fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity > Severity::Warning)
    }

    /// Turns errors into warnings: a disabled entry may be incomplete.
    pub(super) fn soften(&mut self) {
        for problem in &mut self.problems {
            problem.severity = Severity::Warning;
        }
    }
}

/// How to treat an unknown key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// As a misspelling.
    IsAnError,
    /// As a key of another program.
    IsIgnored,
}
