//! The thread that starts processes.
//!
//! The kernel signals the death of a parent when the *thread* that started the child ends. So all children
//! are started by one thread that lives as long as the gateway.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::processes::kill_marked;

/// The environment variable that identifies a process as ours, whatever its parents are now.
const MARK: &str = "OCTROI_PROCESS";
const WAITING: usize = 16;

/// Starts processes and marks them with an environment variable.
#[derive(Debug)]
pub struct Spawner {
    requests: mpsc::Sender<SpawnRequest>,
    reaper: Option<PathBuf>,
    owner: String,
    started: AtomicU64,
}

struct SpawnRequest {
    command: Command,
    reply: oneshot::Sender<io::Result<Child>>,
}

impl Spawner {
    /// Starts the thread. `owner` marks every process; it must stay the same over restarts and differ from
    /// that of any other gateway. `reaper` is a program that calls [`take_over`](crate::take_over) first;
    /// without one, a process that leaves its group may be left behind.
    pub fn new(owner: String, reaper: Option<PathBuf>, runtime: Handle) -> io::Result<Self> {
        let (requests, mut received) = mpsc::channel::<SpawnRequest>(WAITING);
        std::thread::Builder::new().name("spawner".to_owned()).spawn(move || {
            while let Some(mut request) = received.blocking_recv() {
                let _context = runtime.enter();
                // The caller gave up meanwhile.
                if let Err(Ok(child)) = request.reply.send(request.command.spawn()) {
                    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
                    if let Some(id) = id {
                        let _ = kill_process(id, Signal::TERM);
                    }
                }
            }
        })?;
        Ok(Self { requests, reaper, owner, started: AtomicU64::new(0) })
    }

    /// Kills processes that an earlier gateway with the same mark left behind; returns how many.
    pub fn kill_leftovers(&self) -> usize {
        kill_marked(MARK, |mark| mark.splitn(3, '.').nth(2) == Some(&self.owner))
    }

    pub(crate) fn reaper(&self) -> Option<&PathBuf> {
        self.reaper.as_ref()
    }

    /// Starts a command; the mark identifies all processes that descend from it.
    pub(crate) async fn spawn(&self, mut command: Command) -> io::Result<(Child, Mark)> {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}.{number}.{}", std::process::id(), self.owner);
        command.env(MARK, &mark);
        let (reply, spawned) = oneshot::channel();
        let gone = || io::Error::other("Octroi is stopping");
        self.requests.send(SpawnRequest { command, reply }).await.map_err(|_| gone())?;
        Ok((spawned.await.map_err(|_| gone())??, Mark(mark)))
    }
}

/// The mark that all processes of one start share.
#[derive(Debug)]
pub(crate) struct Mark(String);

impl Mark {
    /// Kills all processes with the mark, including those started meanwhile.
    pub(crate) fn kill(&self) {
        const ROUNDS: usize = 20;
        for _ in 0..ROUNDS {
            if kill_marked(MARK, |mark| mark == self.0) == 0 {
                return;
            }
        }
    }
}
