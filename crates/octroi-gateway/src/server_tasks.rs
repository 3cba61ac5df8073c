//! Tasks that servers made of calls: each belongs to the principal whose call it was.
//!
//! Servers know one client, the gateway, and cannot tell its callers apart. So a request about a task is forwarded only
//! for the principal that made it. Owners are kept in memory; after a restart a task has none and is unknown.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use octroi_core::{Principal, ServerKey};
use parking_lot::Mutex;

/// How long a task is remembered after the last request about it.
const KEPT: Duration = Duration::from_hours(24);
/// How many tasks of one principal are remembered; the one that was used least recently is forgotten first.
const TASKS_MAX_EACH: usize = 1_000;

/// The tasks of servers, and their owners.
#[derive(Debug, Default)]
pub(crate) struct ServerTasks {
    by_owner: Mutex<HashMap<Arc<str>, OwnTasks>>,
}

#[derive(Debug)]
struct OwnTasks {
    owner: Principal,
    /// When each was last used.
    used_at_ms: HashMap<TaskKey, i64>,
}

/// A task: its server, and its id there.
type TaskKey = (ServerKey, Box<str>);

impl ServerTasks {
    /// Remembers that a call of this principal became a task. A server that restarted may use an id again, so an
    /// earlier owner loses it.
    pub(crate) fn begin(&self, server: &ServerKey, id: &str, owner: &Principal, now_ms: i64) {
        let mut by_owner = self.by_owner.lock();
        let key: TaskKey = (server.clone(), id.into());
        for tasks in by_owner.values_mut() {
            tasks.used_at_ms.remove(&key);
        }
        let own = by_owner
            .entry(Arc::clone(owner.id()))
            .or_insert_with(|| OwnTasks { owner: owner.clone(), used_at_ms: HashMap::new() });
        let own = &mut own.used_at_ms;
        if own.len() >= TASKS_MAX_EACH {
            let oldest = own.iter().min_by_key(|(_, used_at_ms)| **used_at_ms).map(|(key, _)| key.clone());
            oldest.and_then(|key| own.remove(&key));
        }
        own.insert(key, now_ms);
    }

    /// Whether a task belongs to this principal.
    pub(crate) fn is_of(&self, server: &ServerKey, id: &str, principal: &Principal, now_ms: i64) -> bool {
        let mut by_owner = self.by_owner.lock();
        let used = by_owner
            .get_mut(principal.id())
            .and_then(|own| own.used_at_ms.get_mut(&(server.clone(), id.into())));
        match used {
            Some(used_at_ms) => {
                *used_at_ms = now_ms;
                true
            }
            None => false,
        }
    }

    /// Forgets tasks that nobody asked for in a long time.
    pub(crate) fn sweep(&self, now_ms: i64) {
        let kept_ms = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
        self.by_owner.lock().retain(|_, own| {
            own.used_at_ms.retain(|_, used_at_ms| now_ms.saturating_sub(*used_at_ms) < kept_ms);
            !own.used_at_ms.is_empty()
        });
    }

    /// The tasks of an agent, with the principal that each belongs to.
    pub(crate) fn of_agent(&self, agent: &str) -> Vec<(Principal, ServerKey, Box<str>)> {
        let by_owner = self.by_owner.lock();
        let own = by_owner.values().filter(|own| own.owner.agent_id().is_some_and(|id| **id == *agent));
        let each = |own: &OwnTasks| {
            let task = |(server, id): &TaskKey| (own.owner.clone(), server.clone(), id.clone());
            own.used_at_ms.keys().map(task).collect::<Vec<_>>()
        };
        own.flat_map(each).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_known_to_its_owner_alone() {
        let tasks = ServerTasks::default();
        let (one, other) = (Principal::local(), Principal::default_agent());
        let (files, git) = (ServerKey::parse("files").unwrap(), ServerKey::parse("git").unwrap());
        tasks.begin(&files, "t1", &one, 0);
        assert!(tasks.is_of(&files, "t1", &one, 1));
        assert!(!tasks.is_of(&files, "t1", &other, 1));
        assert!(!tasks.is_of(&git, "t1", &one, 1));
        assert!(!tasks.is_of(&files, "t2", &one, 1));
        tasks.begin(&files, "t2", &one, 1);
        tasks.begin(&files, "t2", &other, 1);
        assert!(!tasks.is_of(&files, "t2", &one, 1) && tasks.is_of(&files, "t2", &other, 1));
        let day_ms = i64::try_from(KEPT.as_millis()).unwrap();
        tasks.sweep(day_ms);
        assert!(tasks.is_of(&files, "t1", &one, day_ms));
        tasks.sweep(2 * day_ms);
        assert!(!tasks.is_of(&files, "t1", &one, 2 * day_ms));
    }

    #[test]
    fn one_principal_cannot_use_up_the_memory_of_another() {
        let tasks = ServerTasks::default();
        let (one, other) = (Principal::local(), Principal::default_agent());
        let server = ServerKey::parse("files").unwrap();
        tasks.begin(&server, "kept", &one, 0);
        for number in 0..5_000 {
            tasks.begin(&server, &number.to_string(), &other, number);
        }
        assert!(tasks.is_of(&server, "kept", &one, 1) && tasks.is_of(&server, "4999", &other, 1));
        assert_eq!(tasks.by_owner.lock()[other.id()].used_at_ms.len(), TASKS_MAX_EACH);
        assert_eq!(tasks.of_agent("local"), [(one, server, "kept".into())]);
    }
}
