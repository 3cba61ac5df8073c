//! Background tasks: each has a name, and an owner that can wait until it ends.
//!
//! `clippy.toml` forbids spawning a task in any other way. When a shutdown takes too long, the names show
//! which tasks are still running.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

/// The background tasks of one owner. Clones share the same set.
#[derive(Clone)]
pub struct BackgroundTasks {
    tracker: TaskTracker,
    main: Handle,
    running: Arc<Mutex<BTreeMap<&'static str, usize>>>,
}

#[expect(clippy::disallowed_methods, reason = "this is the one place where tasks are started")]
impl BackgroundTasks {
    /// Creates an owner without tasks. `main` runs the tasks that outlive the thread that spawns them.
    pub fn new(main: Handle) -> Self {
        Self { tracker: TaskTracker::new(), main, running: Arc::default() }
    }

    /// Spawns a task on the runtime of the caller.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &'static str,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.tracker.spawn(self.named(name, task))
    }

    /// Spawns a task on the main runtime: a worker thread's own runtime ends before state that threads share.
    pub fn spawn_on_main<T: Send + 'static>(
        &self,
        name: &'static str,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.tracker.spawn_on(self.named(name, task), &self.main)
    }

    /// Runs blocking or CPU-heavy work on the thread pool for blocking work.
    pub fn spawn_blocking<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let running = RunningTask::new(&self.running, name);
        let work = move || {
            let _running = running;
            work()
        };
        self.tracker.spawn_blocking_on(work, &self.main)
    }

    /// The same on the runtime of the caller, for work that must not depend on the main runtime.
    pub fn spawn_blocking_here<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let running = RunningTask::new(&self.running, name);
        self.tracker.spawn_blocking(move || {
            let _running = running;
            work()
        })
    }

    /// Waits until all tasks have ended, including those that are spawned meanwhile.
    pub async fn wait(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }

    /// The names of the running tasks with their counts: `connection (3), sweep`.
    pub fn names(&self) -> String {
        let running = self.running.lock();
        let names = running.iter().map(|(name, n_running)| match n_running {
            1 => (*name).to_owned(),
            n_running => format!("{name} ({n_running})"),
        });
        names.collect::<Vec<_>>().join(", ")
    }

    /// Counts the task as running from now on, so that a task that was never polled is listed too.
    fn named<F: Future>(&self, name: &'static str, task: F) -> impl Future<Output = F::Output> + use<F> {
        let running = RunningTask::new(&self.running, name);
        async move {
            let _running = running;
            task.await
        }
    }
}

impl fmt::Debug for BackgroundTasks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("BackgroundTasks").field(&self.names()).finish()
    }
}

/// Counts a task under its name for as long as it exists, however it ends.
struct RunningTask {
    counts: Arc<Mutex<BTreeMap<&'static str, usize>>>,
    name: &'static str,
}

impl RunningTask {
    fn new(counts: &Arc<Mutex<BTreeMap<&'static str, usize>>>, name: &'static str) -> Self {
        *counts.lock().entry(name).or_default() += 1;
        Self { counts: Arc::clone(counts), name }
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        let mut counts = self.counts.lock();
        match counts.get_mut(self.name) {
            Some(n_running) if *n_running > 1 => *n_running -= 1,
            _ => {
                counts.remove(self.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn tasks_have_names_until_they_end() {
        let tasks = BackgroundTasks::new(Handle::current());
        let (end, ended) = oneshot::channel::<()>();
        let forever = tasks.spawn("forever", std::future::pending::<()>());
        let _never_polled = tasks.spawn("forever", std::future::pending::<()>()).abort_handle();
        let _waiting = tasks.spawn_on_main("waiting", ended);
        assert_eq!(tasks.names(), "forever (2), waiting");
        forever.abort();
        let _ = forever.await;
        assert_eq!(tasks.names(), "forever, waiting");
        drop(end);
        assert_eq!(tasks.spawn_blocking("sum", || 1 + 1).await.ok(), Some(2));
        assert_eq!(tasks.spawn_blocking_here("sum", || 1 + 2).await.ok(), Some(3));
        // One of them never ends, so `wait` does not return.
        let waited = tokio::time::timeout(Duration::from_millis(50), tasks.wait()).await;
        assert!(waited.is_err());
        assert_eq!(tasks.names(), "forever");
    }

    #[tokio::test]
    async fn a_panic_ends_a_task_like_any_other() {
        let tasks = BackgroundTasks::new(Handle::current());
        let failed = tasks.spawn("fails", async { panic!("on purpose") });
        assert!(failed.await.is_err());
        tasks.wait().await;
        assert_eq!(tasks.names(), "");
    }
}
