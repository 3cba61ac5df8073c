//! The stdio transport: one message per line.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;

use super::call::OUTBOX_SIZE;
use super::duplex::Duplex;
use super::rpc::{self, PARSE_ERROR, RpcError};
use super::world::World;
use crate::peer::faults::{self, Fault};

/// How long requests in flight may take after stdin has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Serves the one client on stdin and stdout.
pub(crate) async fn serve(world: Arc<World>) -> io::Result<()> {
    let (outbox, messages) = mpsc::channel(OUTBOX_SIZE);
    let writer = world.tasks.spawn(write_lines(messages, world.options.fault));
    let duplex = Duplex::new(Arc::clone(&world), outbox);
    let mut stdin = BufReader::new(tokio::io::stdin());
    let mut line = Vec::new();
    loop {
        line.clear();
        let n_read = tokio::select! {
            biased;
            () = world.shutdown.cancelled() => break,
            n_read = stdin.read_until(b'\n', &mut line) => n_read?,
        };
        if n_read == 0 {
            faults::process::at_stdin_end(world.options.fault).await;
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(message) => duplex.receive(message).await,
            Err(_) => {
                duplex.send(rpc::response(&Value::Null, Err(RpcError::new(PARSE_ERROR, "Parse error")))).await
            }
        }
    }
    // Listeners send their final results now; the writer ends when the last sender is dropped.
    world.shutdown.cancel();
    drop(duplex);
    match tokio::time::timeout(LAST_WORDS, writer).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) | Err(_) => Ok(()),
    }
}

async fn write_lines(mut messages: mpsc::Receiver<Value>, fault: Option<Fault>) -> io::Result<()> {
    let mut stdout = tokio::io::stdout();
    while let Some(message) = messages.recv().await {
        stdout.write_all(&faults::lines::render(fault, &message)).await?;
        stdout.flush().await?;
    }
    Ok(())
}
