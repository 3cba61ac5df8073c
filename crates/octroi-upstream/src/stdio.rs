//! A server as a child process, connected over its standard streams.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use octroi_core::server::{Program, ServerSpec};
use octroi_mcp::sse::one_line;
use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::child::{LaunchSpec, Process, ProcessList, Streams};
use crate::context::Context;
use crate::error::UpstreamError;
use crate::event::EventSink;
use crate::lines::{Line, Lines};
use crate::logs::Logs;
use crate::mux::Mux;

/// How many messages may be queued for a child that does not read.
const QUEUED: usize = 64;
/// How long a process that closed its input may take to end.
const CLOSED_INPUT: Duration = Duration::from_secs(1);

/// Starts the program and a channel to it. The channel closes when the process ends, and vice versa.
pub(crate) async fn start(
    spec: &ServerSpec,
    program: &Program,
    context: &Context,
    events: EventSink,
    kept: (&Arc<Logs>, &Arc<ProcessList>),
    shutdown: &CancellationToken,
) -> Result<Arc<Mux>, UpstreamError> {
    let Context { tasks, spawner, .. } = context;
    let launch = LaunchSpec { name: spec.name().as_str(), program, memory: None };
    let (process, Streams { stdin, stdout }) = Process::spawn(launch, spawner, kept, tasks).await?;
    let (writer, queue) = mpsc::channel(QUEUED);
    let limit = spec.limits.message_bytes;
    let mux = Mux::new(writer, events, limit, tasks.clone());
    tasks.spawn("stdio-write", write(stdin, queue, Arc::clone(&mux)));
    let reader = tasks.spawn("stdio-read", read(stdout, Arc::clone(&mux), limit));
    tasks.spawn(
        "stdio-supervise",
        supervise(process, Arc::clone(&mux), reader, spec.timeouts.shutdown, shutdown.clone()),
    );
    Ok(mux)
}

async fn write(mut stdin: ChildStdin, mut queue: mpsc::Receiver<Bytes>, mux: Arc<Mux>) {
    let closed = mux.closed().clone();
    let mut out = Vec::new();
    loop {
        let message = tokio::select! {
            biased;
            () = closed.cancelled() => return,
            message = queue.recv() => message,
        };
        let Some(message) = message else {
            return;
        };
        out.clear();
        one_line(&mut out, &message);
        out.push(b'\n');
        // Messages that were queued meanwhile go out in the same write.
        while let Ok(message) = queue.try_recv() {
            one_line(&mut out, &message);
            out.push(b'\n');
        }
        let written = tokio::select! {
            biased;
            () = closed.cancelled() => return,
            written = stdin.write_all(&out) => written,
        };
        if written.is_err() {
            // Either the process is ending, and its supervisor reports why, or it will never read again.
            if tokio::time::timeout(CLOSED_INPUT, closed.cancelled()).await.is_err() {
                mux.close("it closed its input");
            }
            return;
        }
        if out.capacity() > 1 << 20 {
            out = Vec::new();
        }
    }
}

async fn read(stdout: tokio::process::ChildStdout, mux: Arc<Mux>, limit: usize) {
    let mut lines = Lines::new(stdout, limit);
    loop {
        match lines.next().await {
            Ok(Some(Line::Whole(line))) if line.iter().all(u8::is_ascii_whitespace) => {}
            Ok(Some(Line::Whole(line))) => mux.receive(line).await,
            Ok(Some(Line::TooLong { head, tail })) => mux.receive_too_long(&head, &tail),
            Ok(None) | Err(_) => return,
        }
    }
}

async fn supervise(
    mut process: Process,
    mux: Arc<Mux>,
    reader: tokio::task::JoinHandle<()>,
    patience: Duration,
    shutdown: CancellationToken,
) {
    let mut reader = reader;
    tokio::select! {
        biased;
        how = process.ended() => {
            // Answers that are still in the pipe are read; a grandchild may hold it open for ever.
            let _ = tokio::time::timeout(Duration::from_millis(200), &mut reader).await;
            mux.close(how);
            // If its reaper was killed, the descendants are still there to end.
            process.stop(Duration::ZERO).await;
        }
        _ = &mut reader => {
            // A server that closes its output is done; give it time to exit with a status.
            let how = tokio::time::timeout(Duration::from_secs(1), process.ended()).await;
            mux.close(how.unwrap_or_else(|_| "it closed its output".to_owned()));
            process.stop(patience).await;
        }
        () = mux.closed().cancelled() => process.stop(patience).await,
        () = shutdown.cancelled() => {
            mux.close("Octroi is shutting down");
            process.stop(patience).await;
        }
    }
    reader.abort();
}
