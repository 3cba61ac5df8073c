//! The thread that starts processes.
//!
//! The kernel signals the death of a parent when the *thread* that started the child ends. So all children
//! are started by one thread that lives as long as the gateway.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::processes::{children, kill_children, kill_marked};

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
    children: Arc<Children>,
}

/// The processes that were started and have not been waited for.
#[derive(Debug, Default)]
struct Children {
    started: Mutex<HashSet<Pid>>,
    /// Whether every other child of this process is an orphan of a reaper.
    adopts_orphans: AtomicBool,
}

impl Children {
    /// The children of this process that it did not start: they had a reaper that was killed.
    fn orphans(&self) -> Vec<Pid> {
        if !self.adopts_orphans.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let started = self.started.lock();
        children(getpid()).into_iter().filter(|id| !started.contains(id)).collect()
    }
}

struct SpawnRequest {
    command: Command,
    reply: oneshot::Sender<io::Result<Child>>,
}

impl Spawner {
    /// Starts the thread. `owner` marks every process; it must stay the same over restarts and differ from
    /// that of any other gateway. `reaper` is a program that calls [`take_over`](crate::take_over) first;
    /// without one, a process that leaves its group may be left behind.
    #[expect(
        clippy::disallowed_methods,
        reason = "a process is tied to the thread that starts it; this one ends with the spawner"
    )]
    pub fn new(owner: String, reaper: Option<PathBuf>, runtime: Handle) -> io::Result<Self> {
        let (requests, mut received) = mpsc::channel::<SpawnRequest>(WAITING);
        let children = Arc::<Children>::default();
        let known = Arc::clone(&children);
        std::thread::Builder::new().name("spawner".to_owned()).spawn(move || {
            while let Some(mut request) = received.blocking_recv() {
                let _context = runtime.enter();
                // Locked until it is known, or it could be taken for an orphan.
                let spawned = {
                    let mut known = known.started.lock();
                    let spawned = request.command.spawn();
                    known.extend(spawned.as_ref().ok().and_then(id_of));
                    spawned
                };
                // The caller gave up meanwhile.
                if let Err(Ok(child)) = request.reply.send(spawned)
                    && let Some(id) = id_of(&child)
                {
                    let _ = kill_process(id, Signal::TERM);
                }
            }
        })?;
        Ok(Self { requests, reaper, owner, started: AtomicU64::new(0), children })
    }

    /// Kills processes that an earlier gateway with the same mark left behind; returns how many.
    pub fn kill_leftovers(&self) -> usize {
        kill_marked(MARK, |mark| mark.splitn(3, '.').nth(2) == Some(&self.owner))
    }

    /// Makes this process the parent of what a reaper leaves behind when its own server kills it. Only for a
    /// process that starts no others.
    pub fn adopt_orphans(&self) -> io::Result<()> {
        // A shell that became Octroi may have started others before.
        self.children.started.lock().extend(children(getpid()));
        set_child_subreaper(Some(getpid()))?;
        self.children.adopts_orphans.store(true, Ordering::Relaxed);
        Ok(())
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
        Ok((spawned.await.map_err(|_| gone())??, Mark { mark, children: Arc::clone(&self.children) }))
    }
}

/// The mark that all processes of one start share.
#[derive(Debug)]
pub(crate) struct Mark {
    mark: String,
    children: Arc<Children>,
}

impl Mark {
    /// Kills all processes with the mark, and the orphans of reapers, which may have removed it. Includes
    /// those started meanwhile. Returns how many it found.
    pub(crate) fn kill(&self) -> usize {
        const ROUNDS: usize = 20;
        let mut n_found = 0;
        for _ in 0..ROUNDS {
            let n_marked = kill_marked(MARK, |mark| mark == self.mark);
            let orphans = self.children.orphans();
            kill_children(&orphans);
            if n_marked + orphans.len() == 0 {
                break;
            }
            // Killed ones are found again until they are gone.
            n_found = n_found.max(n_marked + orphans.len());
        }
        n_found
    }

    /// The process was waited for: its id may belong to another one from now on.
    pub(crate) fn forget(&self, process: Pid) {
        self.children.started.lock().remove(&process);
    }
}

fn id_of(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
}
