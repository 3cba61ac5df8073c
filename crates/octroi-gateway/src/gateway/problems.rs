//! What people should know about: problems, and changes that wait for them.

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};

use super::{Gateway, WaitingChanges};

/// What was said to be wrong, and what waits.
#[derive(Default)]
pub(super) struct KnownProblems {
    /// Of the configuration.
    configuration: ArcSwap<Vec<String>>,
    /// Why a new certificate for clients is not in use.
    certificate: ArcSwapOption<String>,
    waiting: ArcSwap<WaitingChanges>,
}

impl Gateway {
    /// The problems of the configuration, and what else people should know about.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.problems.configuration.load().to_vec();
        problems.extend(self.problems.certificate.load().as_deref().cloned());
        problems.extend(self.notifier.problems());
        problems.extend(self.governance.ignored_settings());
        problems.extend(self.offers.problems());
        if self.persistence.as_ref().is_some_and(|persistence| !persistence.store().has_key()) {
            problems.push(
                "master.key of the data directory cannot be used, so no call can wait for approval; restore it from a \
                 backup, or move it away to make a new one, and restart"
                    .to_owned(),
            );
        }
        for upstream in self.servers.upstreams() {
            let server = &upstream.spec().key;
            let times = match upstream.n_killed_reapers() {
                0 => continue,
                1 => "once".to_owned(),
                n_times => format!("{n_times} times"),
            };
            problems.push(format!(
                "the reaper of server `{server}` was killed {times}, and what it watched was ended; see what the server \
                 wrote with `octroi logs {server}`"
            ));
        }
        problems
    }

    /// Changes of the configuration that wait for a person.
    pub fn waiting_changes(&self) -> Arc<WaitingChanges> {
        self.problems.waiting.load_full()
    }

    /// Sets the changes of the configuration that wait for a person.
    pub fn set_waiting_changes(&self, waiting: WaitingChanges) {
        self.problems.waiting.store(Arc::new(waiting));
        self.servers.announce_problems();
    }

    /// Sets why a new certificate for clients is not in use, if it is not.
    pub fn set_certificate_problem(&self, problem: Option<String>) {
        self.problems.certificate.store(problem.map(Arc::new));
        self.servers.announce_problems();
    }

    /// Sets the problems of the configuration.
    pub fn set_problems(&self, problems: Vec<String>) {
        self.problems.configuration.store(Arc::new(problems));
        self.servers.announce_problems();
    }
}
