//! Faults of the process: its start, its stderr, and its shutdown.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use super::Fault;
use crate::peer::options::PeerOptions;
use crate::peer::world::World;

/// More than any pipe buffers: a client that does not read stderr blocks the server.
const FLOOD_AT_START: usize = 1024 * 1024;
const FLOOD_PER_CALL: usize = 256 * 1024;

/// Runs before anything is read or listened on.
pub(crate) async fn before_start(options: &PeerOptions) -> io::Result<()> {
    match options.fault {
        Some(Fault::NoStart) => Err(io::Error::other("this server never starts")),
        Some(Fault::SlowStart) => {
            tokio::time::sleep(Duration::from_millis(options.delay_ms)).await;
            Ok(())
        }
        Some(Fault::StderrFlood) => {
            flood(FLOOD_AT_START);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Runs before a tool answers.
pub(crate) fn before_answer(fault: Option<Fault>) {
    if fault == Some(Fault::StderrFlood) {
        flood(FLOOD_PER_CALL);
    }
}

/// Runs when stdin has ended: returns if the server should exit.
pub(crate) async fn at_stdin_end(fault: Option<Fault>) {
    if fault == Some(Fault::IgnoreTerm) {
        std::future::pending().await
    }
}

pub(crate) fn obeys_signals(fault: Option<Fault>) -> bool {
    fault != Some(Fault::IgnoreTerm)
}

/// Catches the termination signals and ignores them.
#[cfg(unix)]
pub(crate) fn swallow_signals(world: &Arc<World>) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    world.tasks.spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
    });
    Ok(())
}

/// Other systems have no SIGTERM to ignore.
#[cfg(not(unix))]
pub(crate) fn swallow_signals(_world: &Arc<World>) -> io::Result<()> {
    Ok(())
}

/// Blocks on purpose: a server that logs synchronously stops when nobody reads.
fn flood(n_bytes: usize) {
    let line = format!("{}\n", "stderr ".repeat(16));
    let mut stderr = io::stderr().lock();
    for _ in 0..n_bytes / line.len() {
        if stderr.write_all(line.as_bytes()).is_err() {
            return;
        }
    }
}
