//! The thread that starts processes.
//!
//! The kernel tells a child of its parent's death when the *thread* that started it ends. So all are
//! started by one thread that lives as long as the gateway.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::processes::kill_marked;

/// The variable by which a process is known as one of ours, whatever became of its parents.
const MARK: &str = "OCTROI_PROCESS";
const WAITING: usize = 16;

/// Starts processes and marks them.
#[derive(Debug)]
pub struct Spawner {
    orders: mpsc::Sender<Order>,
    reaper: Option<PathBuf>,
    owner: String,
    started: AtomicU64,
}

struct Order {
    command: Command,
    reply: oneshot::Sender<io::Result<Child>>,
}

impl Spawner {
    /// Starts the thread. `owner` marks every process; it must be the same after a restart and
    /// different from that of any other gateway. `reaper` is a program that calls
    /// [`take_over`](crate::take_over) first of all; without one, a process that leaves its
    /// group may be left behind.
    pub fn new(owner: String, reaper: Option<PathBuf>, runtime: Handle) -> io::Result<Self> {
        let (orders, mut received) = mpsc::channel::<Order>(WAITING);
        std::thread::Builder::new().name("spawner".to_owned()).spawn(move || {
            while let Some(mut order) = received.blocking_recv() {
                let _context = runtime.enter();
                // Whoever wanted it has given up meanwhile.
                if let Err(Ok(child)) = order.reply.send(order.command.spawn()) {
                    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
                    if let Some(id) = id {
                        let _ = kill_process(id, Signal::TERM);
                    }
                }
            }
        })?;
        Ok(Self { orders, reaper, owner, started: AtomicU64::new(0) })
    }

    /// Kills what an earlier gateway with the same mark left behind; says how many processes.
    pub fn kill_leftovers(&self) -> usize {
        kill_marked(MARK, |mark| mark.splitn(3, '.').nth(2) == Some(&self.owner))
    }

    pub(crate) fn reaper(&self) -> Option<&PathBuf> {
        self.reaper.as_ref()
    }

    /// Starts a command; the mark says which processes came of it.
    pub(crate) async fn spawn(&self, mut command: Command) -> io::Result<(Child, Mark)> {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}.{number}.{}", std::process::id(), self.owner);
        command.env(MARK, &mark);
        let (reply, spawned) = oneshot::channel();
        let gone = || io::Error::other("Octroi is stopping");
        self.orders.send(Order { command, reply }).await.map_err(|_| gone())?;
        Ok((spawned.await.map_err(|_| gone())??, Mark(mark)))
    }
}

/// What all processes of one start have in common.
#[derive(Debug)]
pub(crate) struct Mark(String);

impl Mark {
    /// Kills whatever carries the mark, also what is started meanwhile.
    pub(crate) fn kill(&self) {
        const ROUNDS: usize = 20;
        for _ in 0..ROUNDS {
            if kill_marked(MARK, |mark| mark == self.0) == 0 {
                return;
            }
        }
    }
}
