//! A scripted MCP server of both eras, on every transport, written by hand from the specification.
//!
//! It shares no code with the gateway: where the two disagree, one of them has misread the specification. The
//! tools are deterministic (`tools`), so a test knows the expected output; counters (`cancelled_count`,
//! `calls_count`) let a test prove what arrived. It has no authorization.

mod call;
mod contents;
mod duplex;
pub mod faults;
mod features;
pub(crate) mod guarded;
mod http;
mod legacy;
mod modern;
pub mod options;
pub mod process;
mod request_state;
pub(crate) mod rpc;
mod running;
mod stdio;
pub(crate) mod tools;
pub(crate) mod world;

use std::io;
use std::sync::Arc;

use options::{PeerOptions, Transport};
use tokio::io::AsyncReadExt as _;
use tokio_util::sync::CancellationToken;

use crate::peer::faults::process as process_faults;
use world::World;

/// Serves until stdin ends, a signal arrives or the listener fails.
pub async fn run(options: PeerOptions) -> io::Result<()> {
    process_faults::before_start(&options).await?;
    let world = Arc::new(World::new(options));
    if process_faults::obeys_signals(world.options.fault) {
        world.tasks.spawn(cancel_on_signal(world.shutdown.clone()));
    } else {
        process_faults::swallow_signals(&world)?;
    }
    match world.options.transport {
        Transport::Stdio => stdio::serve(world).await,
        Transport::Http | Transport::Sse => {
            if world.options.exit_with_stdin {
                world.tasks.spawn(cancel_on_stdin_end(world.shutdown.clone()));
            }
            http::serve(world).await
        }
    }
}

async fn cancel_on_stdin_end(shutdown: CancellationToken) {
    let mut ignored = [0; 1024];
    let mut stdin = tokio::io::stdin();
    while matches!(stdin.read(&mut ignored).await, Ok(n_read) if n_read > 0) {}
    shutdown.cancel();
}

#[cfg(unix)]
async fn cancel_on_signal(shutdown: CancellationToken) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = shutdown.cancelled() => {}
    }
    shutdown.cancel();
}

#[cfg(not(unix))]
async fn cancel_on_signal(shutdown: CancellationToken) {
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = shutdown.cancelled() => {}
    }
    shutdown.cancel();
}
