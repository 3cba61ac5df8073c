//! What agents are doing: their calls under way, and how a person aborts them.
//!
//! Every call passes here, so beginning and ending one costs a lookup and two counters. Subscribers hear of changes
//! from a task of its own, at most once in a while for each agent.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use octroi_api::ResourceChange;
use octroi_core::{Clock, Principal};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio_util::sync::CancellationToken;

use crate::subscriptions::Subscriptions;

/// How long the changes of agents are gathered before subscribers hear of them.
const WINDOW: Duration = Duration::from_millis(50);

/// What all agents are doing.
pub(crate) struct Activities {
    clock: Clock,
    by_agent: RwLock<HashMap<Arc<str>, Arc<Activity>>>,
    changed: Notify,
}

/// What one agent is doing.
#[derive(Debug, Default)]
struct Activity {
    n_running: AtomicU32,
    /// How often it began to do something after it had been idle.
    n_runs: AtomicU64,
    /// When the run began, or the last one ended.
    since_ms: AtomicI64,
    /// Whether subscribers are still to hear of a change.
    is_changed: AtomicBool,
    aborted: Notify,
    /// Who aborted it last, and why.
    abort: Mutex<Arc<str>>,
}

/// What an agent was doing at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentRun {
    /// Its calls under way.
    pub n_running: u32,
    /// How often it began to do something since Octroi started.
    pub n_runs: u64,
    /// When what it does now began, or when it became idle; `None` if it has done nothing yet.
    pub since_ms: Option<i64>,
}

/// A call of an agent that is under way until this is dropped.
pub(crate) struct CallUnderWay<'a> {
    activities: &'a Activities,
    activity: Arc<Activity>,
}

impl Activities {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, by_agent: RwLock::default(), changed: Notify::new() }
    }

    /// Notes that a call is about to be made; `None` if it is not one of an agent.
    pub(crate) fn begin(&self, principal: &Principal, now_ms: i64) -> Option<CallUnderWay<'_>> {
        let agent = principal.agent_id()?;
        let known = self.by_agent.read().get(&**agent).map(Arc::clone);
        let activity = known.unwrap_or_else(|| {
            let mut by_agent = self.by_agent.write();
            Arc::clone(by_agent.entry(Arc::clone(agent)).or_default())
        });
        if activity.n_running.fetch_add(1, Ordering::AcqRel) == 0 {
            activity.n_runs.fetch_add(1, Ordering::Relaxed);
            self.has_changed(&activity, now_ms);
        }
        Some(CallUnderWay { activities: self, activity })
    }

    /// What an agent is doing now.
    pub(crate) fn of(&self, agent: &str) -> AgentRun {
        match self.by_agent.read().get(agent) {
            None => AgentRun::default(),
            Some(activity) => AgentRun {
                n_running: activity.n_running.load(Ordering::Acquire),
                n_runs: activity.n_runs.load(Ordering::Relaxed),
                since_ms: Some(activity.since_ms.load(Ordering::Relaxed)),
            },
        }
    }

    /// Cancels the calls of an agent that are under way.
    pub(crate) fn abort(&self, agent: &str, why: &str) {
        if let Some(activity) = self.by_agent.read().get(agent) {
            *activity.abort.lock() = why.into();
            activity.aborted.notify_waiters();
        }
    }

    /// Forgets an agent that was removed.
    pub(crate) fn forget(&self, agent: &str) {
        self.by_agent.write().remove(agent);
    }

    fn has_changed(&self, activity: &Activity, now_ms: i64) {
        activity.since_ms.store(now_ms, Ordering::Relaxed);
        if !activity.is_changed.swap(true, Ordering::AcqRel) {
            self.changed.notify_one();
        }
    }

    /// Tells subscribers what agents do, until `closing`.
    pub(crate) async fn announce(&self, subscriptions: &Subscriptions, closing: &CancellationToken) {
        loop {
            let next = async {
                self.changed.notified().await;
                tokio::time::sleep(WINDOW).await;
            };
            tokio::select! {
                biased;
                () = closing.cancelled() => return,
                () = next => {}
            }
            let is_changed = |activity: &Activity| activity.is_changed.swap(false, Ordering::AcqRel);
            let changed: Vec<Arc<str>> = {
                let by_agent = self.by_agent.read();
                let changed = by_agent.iter().filter(|(_, activity)| is_changed(activity));
                changed.map(|(agent, _)| Arc::clone(agent)).collect()
            };
            for agent in &changed {
                subscriptions.announce(&ResourceChange::Agent { agent });
            }
        }
    }
}

impl CallUnderWay<'_> {
    /// Resolves once a person aborts what the agent does, from the moment this is called.
    pub(crate) fn aborted(&self) -> Notified<'_> {
        self.activity.aborted.notified()
    }

    /// Who aborted it, and why.
    pub(crate) fn why(&self) -> Arc<str> {
        Arc::clone(&self.activity.abort.lock())
    }
}

impl Drop for CallUnderWay<'_> {
    fn drop(&mut self) {
        if self.activity.n_running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.activities.has_changed(&self.activity, self.activities.clock.now_ms());
        }
    }
}

#[cfg(test)]
mod tests {
    use octroi_core::principal::TokenName;

    use super::*;

    #[tokio::test]
    async fn an_agent_runs_from_its_first_call_to_its_last() {
        let activities = Activities::new(octroi_upstream::system_clock());
        let coder = Principal::agent("coder", "ana", TokenName::labelled("t"));
        assert_eq!(activities.of("coder"), AgentRun::default());
        let one = activities.begin(&coder, 5).expect("an agent");
        let other = activities.begin(&coder, 7).expect("an agent");
        assert_eq!(activities.of("coder"), AgentRun { n_running: 2, n_runs: 1, since_ms: Some(5) });
        drop(one);
        assert_eq!(activities.of("coder").since_ms, Some(5), "it is still under way");
        drop(other);
        let idle = activities.of("coder");
        assert_eq!((idle.n_running, idle.n_runs), (0, 1));
        assert!(idle.since_ms.is_some_and(|since_ms| since_ms > 7));
        let next = activities.begin(&coder, 9);
        assert_eq!(activities.of("coder").n_runs, 2);
        drop(next);
    }

    #[tokio::test]
    async fn one_agent_is_aborted_and_no_other() {
        let activities = Activities::new(octroi_upstream::system_clock());
        let principal = |agent| Principal::agent(agent, "ana", TokenName::labelled("t"));
        let coder = activities.begin(&principal("coder"), 1).expect("an agent");
        let other = activities.begin(&principal("other"), 1).expect("an agent");
        let (aborted, spared) = (coder.aborted(), other.aborted());
        activities.abort("coder", "ana: it loops");
        tokio::select! {
            biased;
            () = spared => panic!("another agent's call was aborted"),
            () = aborted => {}
        }
        assert_eq!(&*coder.why(), "ana: it loops");
        // A call that begins afterwards is not aborted.
        let later = activities.begin(&principal("coder"), 2).expect("an agent");
        let later = tokio::time::timeout(Duration::from_millis(20), later.aborted()).await;
        assert!(later.is_err());
    }
}
