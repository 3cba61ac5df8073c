//! Which configuration a start puts into effect: the one on disk, as far as it was accepted.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use octroi_core::ServerKey;
use octroi_core::config::SecretUse;
use octroi_core::config::compare::ConfigChange;

use crate::config::Sources;
use crate::config::accepted::{Accepted, Agreement, Kept, ReadConfig, Review, diff_lines};
use crate::failure::Failure;
use crate::printer;

/// Who agreed, in the record of a start.
const NOBODY: &str = "nobody";
const ACCEPT_CONFIG: &str = "--accept-config";

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
    /// The servers that a person has seen in it and accepted.
    pub(super) agreed: HashSet<ServerKey>,
    /// Whether what was accepted before is gone.
    pub(super) is_lost: bool,
    /// Identifies the configuration on disk.
    pub(super) digest: String,
    pub(super) watched: Vec<PathBuf>,
    /// Who refers to which stored secret.
    pub(super) secret_uses: Vec<SecretUse>,
}

impl StartConfig {
    /// Compares the configuration with the accepted one. A first start accepts what it finds.
    pub(super) fn decide(sources: &Sources, new: ReadConfig, accepting: Accepting) -> Result<Self, Failure> {
        let kept = match Accepted::read(sources) {
            Ok(kept) => kept,
            // What was accepted does not matter any more.
            Err(_) if accepting == Accepting::Everything => Kept::Lost,
            Err(failure) => return Err(failure),
        };
        let is_lost = matches!(kept, Kept::Lost);
        let (review, accepted_by, agreed) = match kept {
            Kept::NothingYet => {
                let accepted = Accepted::all_of(&new);
                let agreed = new.changed_servers(None);
                (Review { accepted, changes: Vec::new(), waiting: Vec::new() }, "first start", agreed)
            }
            Kept::Lost => {
                let (review, by) = after_loss(sources, &new, accepting)?;
                (review, by, new.changed_servers(None))
            }
            Kept::Accepted(before) => {
                let (review, by) = compared(&before, &new, accepting);
                let agreed = match by {
                    NOBODY => HashSet::new(),
                    ACCEPT_CONFIG => new.changed_servers(None),
                    _ => new.changed_servers(Some(&before)),
                };
                (review, by, agreed)
            }
        };
        let Review { accepted, changes, waiting } = review;
        if let Some(problem) = accepted.complete.settings.listen_problem() {
            return Err(problem.into());
        }
        let digest = new.digest();
        let secret_uses = secret_uses(&accepted, &new);
        Ok(Self {
            accepted,
            changes,
            waiting,
            accepted_by,
            agreed,
            is_lost,
            digest,
            watched: new.watched,
            secret_uses,
        })
    }
}

/// Who refers to which stored secret, in what is in effect and in what may be soon.
pub(super) fn secret_uses(accepted: &Accepted, new: &ReadConfig) -> Vec<SecretUse> {
    let all = [&accepted.complete, &new.complete].into_iter().flat_map(|one| &one.settings.secret_uses);
    let all: BTreeSet<SecretUse> = all.cloned().collect();
    all.into_iter().collect()
}

/// What takes effect of a configuration, and who agreed to it.
fn compared(before: &Accepted, new: &ReadConfig, accepting: Accepting) -> (Review, &'static str) {
    if accepting == Accepting::Everything {
        return (before.review(new, Agreement::Person), ACCEPT_CONFIG);
    }
    let review = before.review(new, Agreement::Nobody);
    if review.waiting.is_empty() {
        return (review, NOBODY);
    }
    printer::warn("the configuration has changed since it was accepted:");
    show(&review.waiting);
    if is_agreed(accepting) {
        return (before.review(new, Agreement::Person), "terminal");
    }
    printer::say(
        "  going on with the accepted configuration; accept the changes with `octroi reload`, or start with \
         `octroi up --accept-config`",
    );
    (review, NOBODY)
}

/// Nobody can tell any more what was accepted, so a person has to agree to all of it again.
fn after_loss(
    sources: &Sources,
    new: &ReadConfig,
    accepting: Accepting,
) -> Result<(Review, &'static str), Failure> {
    let review = Accepted::nothing(sources)?.review(new, Agreement::Person);
    let lost = format!("{} has lost the accepted configuration", sources.data.display());
    let by = match accepting {
        Accepting::Everything => ACCEPT_CONFIG,
        Accepting::AskAtTerminal | Accepting::AcceptedOnly => {
            printer::warn(&format!("{lost}; this is the one on disk:"));
            show(&review.changes);
            if !is_agreed(accepting) {
                return Err(Failure::new(lost).hint(
                    "look at the configuration file, then accept it with `octroi up --accept-config`, which \
                     is recorded",
                ));
            }
            "terminal"
        }
    };
    Ok((review, by))
}

/// Shows differences as a person reads them.
fn show(changes: &[ConfigChange]) {
    for change in changes {
        for line in diff_lines(&change.setting, change.before.as_deref(), change.after.as_deref()) {
            printer::say(&format!("  {line}"));
        }
    }
}

/// Asks the person at the terminal, if there is one.
fn is_agreed(accepting: Accepting) -> bool {
    match accepting {
        Accepting::AskAtTerminal => printer::confirm("Accept this configuration?") == Some(true),
        Accepting::Everything | Accepting::AcceptedOnly => false,
    }
}
