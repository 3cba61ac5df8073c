//! What is wrong with a configuration, told where and what to do.

use std::fmt;
use std::path::Path;

use super::node::Origin;
use crate::suggest::did_you_mean;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Where it stands.
    pub origin: Origin,
    /// Which entry it is about.
    pub subject: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It was ignored.
    Warning,
    /// The entry cannot be used; the others go on without it.
    LeftOut,
    /// The configuration cannot be used.
    Fatal,
}

impl Severity {
    /// The word in machine-readable output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::LeftOut => "left_out",
            Self::Fatal => "fatal",
        }
    }
}

impl Problem {
    /// By this, problems stand in the order of the file.
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
pub(super) struct Notes {
    subject: Option<String>,
    error: Severity,
    unknown: Severity,
    pub(super) problems: Vec<Problem>,
}

impl Notes {
    /// For a part of the file without which nothing works.
    pub(super) fn of_section(unknown: Unknown) -> Self {
        Self::new(None, Severity::Fatal, unknown)
    }

    /// For an entry that others can do without.
    pub(super) fn of_entry(subject: String, unknown: Unknown) -> Self {
        Self::new(Some(subject), Severity::LeftOut, unknown)
    }

    /// For what restricts or records: without it a door would be open, so it is right or nothing works. That
    /// holds for a misspelt key as well, however leniently the rest is read.
    pub(super) fn of_restriction(subject: Option<String>) -> Self {
        Self::new(subject, Severity::Fatal, Unknown::IsAnError)
    }

    /// For a part of the same entry that restricts, where an unknown key is an error in any case.
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

    /// Makes errors warnings: what is switched off may be incomplete.
    pub(super) fn soften(&mut self) {
        for problem in &mut self.problems {
            problem.severity = Severity::Warning;
        }
    }
}

/// What becomes of an unknown key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Somebody misspelt a key.
    IsAnError,
    /// Another program put it there.
    IsIgnored,
}
