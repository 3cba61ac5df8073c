//! Towards a server that the relay starts: calls of all clients share its pipes, told apart by their ids.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use octroi_mcp::{Envelope, Id, Kind};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdout, Command};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};

use super::{Answer, Asked, FloorResult, read, renamed};

const WAITING: usize = 1_024;

/// A server below the relay.
#[derive(Clone)]
pub(super) struct StdioServer {
    lines: mpsc::Sender<Vec<u8>>,
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    calls: HashMap<u64, oneshot::Sender<Envelope>>,
}

impl StdioServer {
    pub(super) fn start(runtime: &Runtime, command: &[String]) -> FloorResult<Self> {
        let (program, arguments) = command.split_first().ok_or("no command")?;
        let _entered = runtime.enter();
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut stdin = child.stdin.take().ok_or("no input")?;
        let stdout = child.stdout.take().ok_or("no output")?;
        let (lines, mut written) = mpsc::channel::<Vec<u8>>(WAITING);
        let waiting = Arc::<Mutex<Waiting>>::default();
        let server = Self { lines, waiting };
        runtime.spawn(server.clone().listen(stdout));
        runtime.spawn(async move {
            // Ends with the relay.
            let _child = child;
            while let Some(mut line) = written.recv().await {
                while let Ok(next) = written.try_recv() {
                    line.extend_from_slice(&next);
                }
                stdin.write_all(&line).await?;
            }
            std::io::Result::Ok(())
        });
        Ok(server)
    }

    async fn listen(self, stdout: ChildStdout) -> FloorResult<()> {
        let mut lines = BufReader::new(stdout).split(b'\n');
        while let Some(line) = lines.next_segment().await? {
            let message = Envelope::parse(Bytes::from(line)).map_err(|_| "not a message")?;
            let number = message.id().and_then(|id| id.as_number());
            let waiting = number.and_then(|number| self.waiting.lock().ok()?.calls.remove(&number));
            if let Some(call) = waiting {
                let _ = call.send(message);
            }
        }
        Ok(())
    }

    pub(super) async fn answer(&self, request: Asked) -> Answer {
        let (message, tool) = read(request.into_body()).await?;
        let Some(own) = message.id().filter(|_| message.kind() == Kind::Request) else {
            self.write(renamed(&message, None, None)).await?;
            let mut accepted = Response::new(Full::default());
            *accepted.status_mut() = hyper::StatusCode::ACCEPTED;
            return Ok(accepted);
        };
        let (call, answered) = oneshot::channel();
        let number = {
            let mut waiting = self.waiting.lock().map_err(|_| "poisoned")?;
            waiting.last += 1;
            let number = waiting.last;
            waiting.calls.insert(number, call);
            number
        };
        self.write(renamed(&message, Some(&Id::number(number)), tool.as_deref())).await?;
        let answer = answered.await?.with(Some(&own), &[]);
        Ok(Response::builder()
            .header("content-type", "application/json")
            // A session is all the same to the relay; clients of the legacy era want one.
            .header("mcp-session-id", "floor")
            .body(Full::new(answer))?)
    }

    async fn write(&self, message: Bytes) -> FloorResult<()> {
        let mut line = Vec::with_capacity(message.len() + 1);
        line.extend_from_slice(&message);
        line.push(b'\n');
        Ok(self.lines.send(line).await?)
    }
}
