//! Programs that run once: each gets a text on its standard input and has a limited time.

use std::sync::Arc;
use std::time::Duration;

use octroi_core::server::Program;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use crate::child::{LaunchSpec, Process, ProcessList, Streams};
use crate::context::Context;
use crate::logs::Logs;
use crate::reaper::Memory;

/// How much memory such a program may use.
const MEMORY_MIB: usize = 256;

/// Why a program that runs once did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// It could not be started; the reason names the program.
    #[error("{0}")]
    Start(String),
    /// It failed; the text is its status and what it wrote last.
    #[error("it ended with {0}")]
    Failed(String),
    /// It was ended, because it took too long.
    #[error("it did not end within {} ms", .0.as_millis())]
    Late(Duration),
    /// Octroi is shutting down.
    #[error("Octroi is shutting down")]
    Stopping,
}

/// Runs a program to its end, in its own process group and with a clean environment. What it writes to its standard
/// output is ignored. Once the limit is over, it and all its descendants are ended.
pub async fn run_once(
    name: &str,
    program: &Program,
    input: &[u8],
    limit: Duration,
    context: &Context,
) -> Result<(), HookError> {
    let logs = Arc::new(Logs::of_program(program, &context.clock, &context.redactor));
    let launch = LaunchSpec { name, program, memory: Some(Memory::mebibytes(MEMORY_MIB)) };
    let kept = (&logs, &Arc::<ProcessList>::default());
    let spawned = Process::spawn(launch, &context.spawner, kept, &context.tasks).await;
    let (mut process, streams) = spawned.map_err(|error| HookError::Start(error.to_string()))?;
    let ended = tokio::select! {
        biased;
        () = context.shutdown.cancelled() => Err(HookError::Stopping),
        ended = timeout(limit, talk(&mut process, streams, input)) => match ended {
            Ok(ended) => ended.map_err(HookError::Failed),
            Err(_) => Err(HookError::Late(limit)),
        },
    };
    process.stop(Duration::ZERO).await;
    ended
}

/// Writes the input, and waits until the program ends.
async fn talk(process: &mut Process, streams: Streams, input: &[u8]) -> Result<(), String> {
    let Streams { mut stdin, mut stdout } = streams;
    let write = async move {
        // A program may end without reading it.
        let _ = stdin.write_all(input).await;
    };
    let streaming = async {
        let mut nowhere = tokio::io::sink();
        let _ = tokio::join!(write, tokio::io::copy(&mut stdout, &mut nowhere));
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = process.succeeded() => ended,
        () = streaming => Ok(()),
    }
}
