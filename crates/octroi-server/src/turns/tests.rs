use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use futures_util::FutureExt as _;
use octroi_core::clock::TimeSource;
use octroi_gateway::BackgroundTasks;
use proptest::prelude::*;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{Notify, Semaphore};
use tokio::task::{JoinHandle, yield_now};

use super::*;

/// Time that passes only as tests say, so that no result depends on the machine.
#[derive(Clone)]
struct SetTime(Arc<Mutex<Instant>>);

impl SetTime {
    #[expect(clippy::disallowed_methods, reason = "only its differences matter")]
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    fn pass(&self, us: u64) {
        *self.0.lock() += Duration::from_micros(us);
    }
}

impl TimeSource for SetTime {
    fn wall_ms(&self) -> i64 {
        0
    }

    fn monotonic(&self) -> Instant {
        *self.0.lock()
    }
}

/// A worker thread with turns, as `Workers` makes it.
struct Case {
    runtime: Runtime,
    turns: Arc<Turns>,
    time: SetTime,
    order: Arc<Mutex<Vec<u64>>>,
}

impl Case {
    fn new() -> Self {
        let time = SetTime::new();
        let turns = Turns::new(Clock::new(time.clone()));
        let forgiving = Arc::clone(&turns);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_park(move || forgiving.forgive())
            .build()
            .unwrap();
        Self { runtime, turns, time, order: Arc::default() }
    }

    #[expect(clippy::async_yields_async, reason = "the task is waited for later, with all others")]
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        // From within, where connections are spawned: what comes from outside has a queue of its own.
        self.runtime.block_on(async { BackgroundTasks::new(Handle::current()).spawn("test", task) })
    }

    fn keep_rounds(&self) {
        drop(self.spawn(Arc::clone(&self.turns).keep_rounds().map(|never| match never {})));
    }

    /// A task of a principal that is ready `n` times, each time for so long.
    fn work(&self, key: u64, n: usize, us: u64) -> JoinHandle<()> {
        let (time, order) = (self.time.clone(), Arc::clone(&self.order));
        let work = async move {
            for _ in 0..n {
                time.pass(us);
                order.lock().push(key);
                yield_now().await;
            }
        };
        self.spawn(Arc::clone(&self.turns).take(move || TurnKey(key), work))
    }

    fn finish(&self, tasks: Vec<JoinHandle<()>>) -> Vec<u64> {
        self.runtime.block_on(async {
            for task in tasks {
                let ended = tokio::time::timeout(Duration::from_secs(20), task).await;
                ended.expect("nothing waits for ever").unwrap();
            }
        });
        self.order.lock().clone()
    }

    /// That nothing is kept for whoever has nothing here any more.
    fn is_empty(&self) -> bool {
        let is_empty = async {
            loop {
                {
                    let state = self.turns.state.lock();
                    if state.accounts.is_empty() && state.contended.is_empty() {
                        return;
                    }
                }
                yield_now().await;
            }
        };
        self.runtime.block_on(async { tokio::time::timeout(Duration::from_secs(5), is_empty).await }).is_ok()
    }
}

fn position(order: &[u64], key: u64) -> usize {
    order.iter().position(|polled| *polled == key).unwrap()
}

#[test]
fn a_long_queue_is_in_the_way_only_of_who_made_it() {
    let case = Case::new();
    case.keep_rounds();
    let mut tasks: Vec<_> = (0..250).map(|_| case.work(1, 1, 30)).collect();
    tasks.push(case.work(2, 1, 30));
    let order = case.finish(tasks);
    assert_eq!(order.len(), 251);
    assert!(position(&order, 2) <= 4, "{order:?}");
    assert!(case.is_empty());
}

#[test]
fn who_comes_later_waits_for_one_round() {
    let case = Case::new();
    case.keep_rounds();
    let mut tasks: Vec<_> =
        (1..=4).flat_map(|key| (0..100).map(move |_| key)).map(|key| case.work(key, 2, 30)).collect();
    let spawned = Arc::new(AtomicUsize::new(0));
    let (turns, order, at) = (Arc::clone(&case.turns), Arc::clone(&case.order), Arc::clone(&spawned));
    let late = case.spawn(async move {
        while order.lock().len() < 200 {
            yield_now().await;
        }
        at.store(order.lock().len(), Ordering::Relaxed);
        turns.take(|| TurnKey(9), async { order.lock().push(9) }).await;
    });
    tasks.push(late);
    let order = case.finish(tasks);
    let waited = position(&order, 9) - spawned.load(Ordering::Relaxed);
    assert!(waited <= 4 * 4, "{waited} polls");
    assert!(case.is_empty());
}

#[test]
fn long_polls_get_fewer_turns() {
    let case = Case::new();
    case.keep_rounds();
    let mut tasks: Vec<_> = (0..50).map(|_| case.work(1, 4, 1_000)).collect();
    tasks.extend((0..50).map(|_| case.work(2, 4, 50)));
    let order = case.finish(tasks);
    let until_done = order.iter().rposition(|key| *key == 2).unwrap();
    let n_long = order[..until_done].iter().filter(|key| **key == 1).count();
    // In a round 100 µs each: a poll of 1 ms is as much as twenty of 50 µs, of which there are 200.
    assert!((5..=15).contains(&n_long), "{n_long}");
}

#[test]
fn a_principal_alone_never_waits() {
    let case = Case::new();
    // Without rounds nothing that waits would go on.
    let tasks: Vec<_> = (0..100).map(|_| case.work(1, 10, 1_000)).collect();
    assert_eq!(case.finish(tasks).len(), 1_000);
    assert!(case.is_empty());
}

#[test]
fn what_kept_nobody_waiting_is_forgiven() {
    let case = Case::new();
    let members = [1, 1, 2].map(|key| Member::new(Arc::clone(&case.turns), TurnKey(key)));
    let [mut first, mut second, _other] = members;
    let context = Context::from_waker(std::task::Waker::noop());
    first.end(TurnKey(1), Duration::from_secs(1));
    case.runtime.block_on(yield_now());
    assert_eq!(second.begin(TurnKey(1), &context), None, "there was something to do");
    drop(second);
    // The queue is given up.
    case.turns.begin_round();
    case.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(1)).await });
    assert_eq!(first.begin(TurnKey(1), &context), Some(false), "there was nothing to do");
}

#[test]
fn who_changes_its_principal_pays_for_both() {
    let case = Case::new();
    case.keep_rounds();
    let current = Arc::new(AtomicUsize::new(1));
    let key = {
        let current = Arc::clone(&current);
        move || TurnKey(current.load(Ordering::Relaxed) as u64)
    };
    let time = case.time.clone();
    let work = async move {
        current.store(2, Ordering::Relaxed);
        time.pass(500);
        yield_now().await;
        std::future::pending::<()>().await;
    };
    let changing = case.spawn(Arc::clone(&case.turns).take(key, work));
    let other = case.spawn(Arc::clone(&case.turns).take(|| TurnKey(2), std::future::pending()));
    case.runtime.block_on(async {
        yield_now().await;
        let state = case.turns.state.lock();
        assert!(state.accounts[&TurnKey(2)].spent_ns >= 300_000, "{state:?}");
    });
    changing.abort();
    other.abort();
    assert!(case.is_empty());
}

/// One task of the property below.
#[derive(Clone, Debug)]
struct Plan {
    key: u64,
    /// What it does between two polls.
    steps: Vec<Step>,
    /// After so many rounds of the others it is dropped, wherever it is.
    dropped_after: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// It is ready again at once.
    Yield,
    /// It waits until another thread lets it go on.
    Wait,
    /// It works for another principal from now on.
    Change(u64),
    /// It takes so many microseconds.
    Pass(u64),
}

fn plan() -> impl Strategy<Value = Plan> {
    let step = prop_oneof![
        Just(Step::Yield),
        Just(Step::Wait),
        (0..4_u64).prop_map(Step::Change),
        (0..5_000_u64).prop_map(Step::Pass),
    ];
    (0..4_u64, prop::collection::vec(step, 0..8), prop::option::weighted(0.3, 0..20_usize))
        .prop_map(|(key, steps, dropped_after)| Plan { key, steps, dropped_after })
}

async fn carry_out(
    steps: Vec<Step>,
    key: Arc<AtomicUsize>,
    time: SetTime,
    permits: Arc<Semaphore>,
    asked: Arc<Notify>,
) {
    for step in steps {
        match step {
            Step::Yield => yield_now().await,
            Step::Wait => {
                asked.notify_one();
                permits.acquire().await.unwrap().forget();
            }
            Step::Change(other) => key.store(usize::try_from(other).unwrap(), Ordering::Relaxed),
            Step::Pass(us) => time.pass(us),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the others do, and whoever is dropped when, all the rest comes to its end.
    #[test]
    fn no_wake_up_is_lost(plans in prop::collection::vec(plan(), 1..60)) {
        let case = Case::new();
        case.keep_rounds();
        let (permits, asked) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
        let n_waits = plans.iter().flat_map(|plan| &plan.steps).filter(|step| matches!(step, Step::Wait)).count();
        let mut tasks = Vec::new();
        for plan in plans {
            let key = Arc::new(AtomicUsize::new(usize::try_from(plan.key).unwrap()));
            let current = { let key = Arc::clone(&key); move || TurnKey(key.load(Ordering::Relaxed) as u64) };
            let work = carry_out(plan.steps, key, case.time.clone(), Arc::clone(&permits), Arc::clone(&asked));
            let task = case.spawn(Arc::clone(&case.turns).take(current, work));
            match plan.dropped_after {
                None => tasks.push(task),
                Some(n_rounds) => drop(case.spawn(async move {
                    for _ in 0..n_rounds {
                        yield_now().await;
                    }
                    task.abort();
                })),
            }
        }
        // Wakes come from another thread, at any moment.
        std::thread::scope(|scope| {
            scope.spawn(|| for _ in 0..n_waits {
                permits.add_permits(1);
                std::thread::yield_now();
            });
            case.finish(tasks);
        });
        prop_assert!(case.is_empty());
    }
}
