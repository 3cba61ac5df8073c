//! Threads for large messages, so that nobody waits behind them.
//!
//! A worker thread serves many connections, one piece of work after the other. A message of some megabytes
//! takes longer to parse, check and rewrite than many calls together. So a request is [`Movable`]: where it
//! is about to process something large ([`leave_worker`]), it goes on on a thread of its own, with a lower
//! priority. The usual call never moves, and pays for the possibility with two accesses of a thread-local.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::background::BackgroundTasks;

/// Larger requests are processed elsewhere. Checking arguments against a schema costs much for each byte.
pub const LARGE_REQUEST_BYTES: usize = 16 << 10;

/// Larger answers and lists are processed elsewhere. They are only parsed and copied.
pub const LARGE_ANSWER_BYTES: usize = 256 << 10;

/// The priority of these threads: with few cores, small requests come first.
const NICENESS: i32 = 10;

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::Fixed) };
}

/// Whether the work of this thread can go on elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It cannot, or is there already.
    Fixed,
    /// It is a [`Movable`].
    Movable,
    /// It is a [`Movable`] that wants to be moved.
    Leaving,
}

/// The threads.
#[derive(Debug)]
pub struct HeavyThreads {
    runtime: Option<Runtime>,
    tasks: BackgroundTasks,
}

impl HeavyThreads {
    /// Starts the threads.
    pub fn start() -> io::Result<Arc<Self>> {
        // One core is left to small requests: a thread of lower priority still uses up its slice before
        // another one gets the core.
        let n_cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(n_cores.saturating_sub(1).max(1))
            .thread_name("heavy")
            .on_thread_start(|| lower_priority(NICENESS))
            .enable_all()
            .build()?;
        let tasks = BackgroundTasks::new(runtime.handle().clone());
        Ok(Arc::new(Self { runtime: Some(runtime), tasks }))
    }
}

impl Drop for HeavyThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Lowers the priority of this thread, where a thread has one of its own. Best effort.
pub fn lower_priority(niceness: i32) {
    // On Linux the id of a thread stands for its priority; elsewhere this would be that of the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), niceness);
    #[cfg(not(target_os = "linux"))]
    let _ = niceness;
}

/// To be called before something large or expensive is processed. A [`Movable`] goes on on another thread then.
pub async fn leave_worker() {
    if PLACE.get() == Place::Movable {
        PLACE.set(Place::Leaving);
        // Gives control back to the `Movable`, once.
        let mut has_left = false;
        poll_fn(|context| {
            if has_left {
                return Poll::Ready(());
            }
            has_left = true;
            // In case something between here and the `Movable` polls again instead of returning.
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

/// Work that can go on on another thread. Dropping it ends it, wherever it is.
pub struct Movable<T> {
    state: WorkState<T>,
    threads: Option<Arc<HeavyThreads>>,
    /// The result if the work panicked.
    lost: fn() -> T,
}

enum WorkState<T> {
    Here(Pin<Box<dyn Future<Output = T> + Send>>),
    Elsewhere(JoinHandle<T>),
    Done,
}

impl<T: Send + 'static> Movable<T> {
    /// Work that begins here. Without threads it stays here.
    pub fn new(
        work: Pin<Box<dyn Future<Output = T> + Send>>,
        threads: Option<&Arc<HeavyThreads>>,
        lost: fn() -> T,
    ) -> Self {
        Self { state: WorkState::Here(work), threads: threads.cloned(), lost }
    }

    fn go_elsewhere(&mut self) {
        let Some(threads) = &self.threads else { return };
        if let WorkState::Here(work) = std::mem::replace(&mut self.state, WorkState::Done) {
            self.state = WorkState::Elsewhere(threads.tasks.spawn_on_main("heavy-work", work));
        }
    }
}

impl<T: Send + 'static> Future for Movable<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let place = if self.threads.is_some() { Place::Movable } else { Place::Fixed };
        if let WorkState::Here(work) = &mut self.state {
            let before = PLACE.replace(place);
            let polled = work.as_mut().poll(context);
            if PLACE.replace(before) != Place::Leaving || polled.is_ready() {
                return polled;
            }
            self.go_elsewhere();
        }
        let joined = match &mut self.state {
            WorkState::Elsewhere(task) => std::task::ready!(Pin::new(task).poll(context)).ok(),
            WorkState::Here(_) | WorkState::Done => None,
        };
        self.state = WorkState::Done;
        let lost = self.lost;
        Poll::Ready(joined.unwrap_or_else(lost))
    }
}

impl<T> Drop for Movable<T> {
    fn drop(&mut self) {
        if let WorkState::Elsewhere(task) = &self.state {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread::ThreadId;

    use super::*;

    fn here() -> ThreadId {
        std::thread::current().id()
    }

    async fn threads_of(is_large: bool, threads: Option<&Arc<HeavyThreads>>) -> Option<[ThreadId; 2]> {
        let work = async move {
            let before = here();
            tokio::task::yield_now().await;
            if is_large {
                leave_worker().await;
            }
            Some([before, here()])
        };
        Movable::new(Box::pin(work), threads, || None).await
    }

    #[tokio::test]
    async fn only_large_work_moves() {
        let threads = HeavyThreads::start().unwrap();
        let small = threads_of(false, Some(&threads)).await.unwrap();
        assert_eq!(small, [here(), here()]);
        let large = threads_of(true, Some(&threads)).await.unwrap();
        assert_eq!(large[0], here());
        assert_ne!(large[1], here());
        let alone = threads_of(true, None).await.unwrap();
        assert_eq!(alone, [here(), here()]);
        leave_worker().await;
        assert_eq!(threads_of(false, Some(&threads)).await.unwrap(), [here(), here()]);
    }

    #[tokio::test]
    async fn what_is_dropped_ends_elsewhere_too() {
        let threads = HeavyThreads::start().unwrap();
        let (sender, dropped) = tokio::sync::oneshot::channel::<()>();
        let (start, started) = tokio::sync::oneshot::channel::<()>();
        let work = async move {
            leave_worker().await;
            let _ = start.send(());
            std::future::pending::<()>().await;
            drop(sender);
        };
        let mut work = Movable::new(Box::pin(work), Some(&threads), || ());
        tokio::select! {
            () = &mut work => {}
            _ = started => {}
        }
        drop(work);
        assert!(dropped.await.is_err());
    }

    #[tokio::test]
    async fn a_panic_elsewhere_is_a_result_here() {
        let threads = HeavyThreads::start().unwrap();
        let work = async {
            leave_worker().await;
            panic!("on purpose");
        };
        assert_eq!(Movable::new(Box::pin(work), Some(&threads), || 7).await, 7);
    }
}
