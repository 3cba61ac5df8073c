//! Which configuration a start puts into effect: the one on disk, as far as it was accepted.

use std::path::PathBuf;

use octroi_core::config::compare::ConfigChange;

use crate::config::Sources;
use crate::config::accepted::{Accepted, Agreement, ReadConfig, Review, diff_lines};
use crate::failure::Failure;
use crate::printer;

/// Who can agree to a configuration that has changed since the last run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accepting {
    /// `--accept-config` was given.
    Everything,
    /// The person at the terminal, if there is one.
    AskAtTerminal,
    /// Nobody.
    AcceptedOnly,
}

/// The configuration of a start.
pub(super) struct StartConfig {
    pub(super) accepted: Accepted,
    /// All differences from what was accepted before.
    pub(super) changes: Vec<ConfigChange>,
    /// Those that wait for a person.
    pub(super) waiting: Vec<ConfigChange>,
    /// Who agreed, for the record.
    pub(super) accepted_by: &'static str,
    pub(super) watched: Vec<PathBuf>,
}

impl StartConfig {
    /// Compares the configuration with the accepted one. A first start accepts what it finds.
    pub(super) fn decide(sources: &Sources, new: ReadConfig, accepting: Accepting) -> Result<Self, Failure> {
        let before = match Accepted::read(sources) {
            Ok(before) => before,
            // What was accepted does not matter any more.
            Err(_) if accepting == Accepting::Everything => None,
            Err(failure) => return Err(failure),
        };
        let Some(before) = before else {
            return Ok(Self {
                accepted: Accepted::all_of(&new),
                changes: Vec::new(),
                waiting: Vec::new(),
                accepted_by: "first start",
                watched: new.watched,
            });
        };
        let (review, accepted_by) = match accepting {
            Accepting::Everything => (before.review(&new, Agreement::Person), "--accept-config"),
            Accepting::AskAtTerminal | Accepting::AcceptedOnly => {
                let review = before.review(&new, Agreement::Nobody);
                if !review.waiting.is_empty() && is_agreed(&review, accepting) {
                    (before.review(&new, Agreement::Person), "terminal")
                } else {
                    (review, "nobody")
                }
            }
        };
        let Review { accepted, changes, waiting } = review;
        if let Some(problem) = accepted.complete.settings.listen_problem() {
            return Err(problem.into());
        }
        Ok(Self { accepted, changes, waiting, accepted_by, watched: new.watched })
    }
}

/// Shows what waits, and asks the person at the terminal, if there is one.
fn is_agreed(review: &Review, accepting: Accepting) -> bool {
    printer::warn("the configuration has changed since it was accepted:");
    for change in &review.waiting {
        for line in diff_lines(&change.setting, change.before.as_deref(), change.after.as_deref()) {
            printer::say(&format!("  {line}"));
        }
    }
    let answer = match accepting {
        Accepting::AskAtTerminal => printer::confirm("Accept these changes?"),
        Accepting::Everything | Accepting::AcceptedOnly => None,
    };
    if answer != Some(true) {
        printer::say(
            "  going on with the accepted configuration; accept the changes with `octroi reload`, or start \
             with `octroi up --accept-config`",
        );
    }
    answer == Some(true)
}
