//! The client side of stdio: the server is a child process of the client.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{Mutex, broadcast, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::error::{ClientError, RpcError};
use super::modern::META_SUBSCRIPTION;
use super::options::{Handler, answer};
use crate::peer::guarded::Guarded;
use crate::peer::rpc::{self, Message};

/// How long a server may take to exit after its stdin is closed.
const LEAVES_WITHIN: Duration = Duration::from_secs(5);

/// One server process and its streams; clones share it.
#[derive(Clone)]
pub(crate) struct StdioLink(Arc<Shared>);

struct Shared {
    child: Mutex<Child>,
    stdin: Mutex<Option<ChildStdin>>,
    waiting: Guarded<HashMap<String, oneshot::Sender<Result<Value, Value>>>>,
    /// Cancelled when stdout ends: no waiting request will be answered.
    ended: CancellationToken,
    strays: Guarded<Vec<String>>,
    stderr: Guarded<Vec<u8>>,
    notifications: broadcast::Sender<Value>,
    handler: Handler,
    tasks: TaskTracker,
}

impl StdioLink {
    pub(crate) fn spawn(
        command: PathBuf,
        args: &[String],
        env: &[(String, String)],
        handler: Handler,
        notifications: broadcast::Sender<Value>,
        closed: CancellationToken,
    ) -> Result<Self, ClientError> {
        let failed =
            |detail: String| ClientError::Transport(format!("cannot start {}: {detail}", command.display()));
        let mut child = Command::new(&command)
            .args(args)
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let stdin = child.stdin.take();
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(failed("no pipes".to_owned()));
        };
        let link = Self(Arc::new(Shared {
            child: Mutex::new(child),
            stdin: Mutex::new(stdin),
            waiting: Guarded::default(),
            ended: CancellationToken::new(),
            strays: Guarded::default(),
            stderr: Guarded::default(),
            notifications,
            handler,
            tasks: TaskTracker::new(),
        }));
        // The tasks own the process; `closed` ends them, so that dropping the client kills it.
        let reader = link.clone();
        let reading_ends = closed.clone();
        link.0.tasks.spawn(async move {
            reading_ends.run_until_cancelled(reader.read_messages(stdout)).await;
            reader.0.ended.cancel();
        });
        let drain = link.clone();
        link.0.tasks.spawn(async move { closed.run_until_cancelled(drain.read_stderr(stderr)).await });
        Ok(link)
    }

    /// Lines on stdout that answered nothing: noise, responses without a request, duplicate responses.
    pub(crate) fn strays(&self) -> Vec<String> {
        self.0.strays.with(|strays| strays.clone())
    }

    pub(crate) fn stderr(&self) -> String {
        self.0.stderr.with(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    pub(crate) async fn process_id(&self) -> Option<u32> {
        self.0.child.lock().await.id()
    }

    /// Sends a request and waits for its response.
    pub(crate) async fn exchange(
        &self,
        message: &Value,
        notices: &mpsc::Sender<Value>,
        cancelled: &CancellationToken,
    ) -> Result<Value, ClientError> {
        let id = &message["id"];
        let (respond, mut response) = oneshot::channel();
        self.0.waiting.with(|waiting| waiting.insert(rpc::id_key(id), respond));
        let mut notifications = self.0.notifications.subscribe();
        self.write(message).await?;
        loop {
            tokio::select! {
                // In this order, so that everything written before the response is delivered before it.
                biased;
                Ok(notification) = notifications.recv() => {
                    if belongs_to(&notification, message) {
                        let _ = notices.try_send(notification);
                    }
                }
                outcome = &mut response => {
                    return match outcome {
                        Ok(outcome) => outcome.map_err(|error| ClientError::Rpc(RpcError::read(&error, None))),
                        Err(_) => Err(ClientError::NoResponse),
                    };
                }
                () = cancelled.cancelled() => {
                    self.0.waiting.with(|waiting| waiting.remove(&rpc::id_key(id)));
                    let params = serde_json::json!({ "requestId": id, "reason": "cancelled by the test" });
                    self.write(&rpc::notification("notifications/cancelled", &params)).await?;
                    return Err(ClientError::Cancelled);
                }
                () = self.0.ended.cancelled() => {
                    return Err(ClientError::Transport("the server closed its stdout".to_owned()));
                }
            }
        }
    }

    /// Writes one message.
    pub(crate) async fn write(&self, message: &Value) -> Result<(), ClientError> {
        self.write_line(&message.to_string()).await
    }

    pub(crate) async fn write_line(&self, line: &str) -> Result<(), ClientError> {
        let mut stdin = self.0.stdin.lock().await;
        let Some(stdin) = stdin.as_mut() else {
            return Err(ClientError::Transport("stdin is closed".to_owned()));
        };
        let written = async {
            stdin.write_all(line.as_bytes()).await?;
            stdin.write_all(b"\n").await?;
            stdin.flush().await
        };
        written.await.map_err(|error| ClientError::Transport(error.to_string()))
    }

    /// Closes stdin and waits for the process; kills it if it does not exit.
    pub(crate) async fn close(&self) -> Result<ExitStatus, ClientError> {
        drop(self.0.stdin.lock().await.take());
        let mut child = self.0.child.lock().await;
        let status = match tokio::time::timeout(LEAVES_WITHIN, child.wait()).await {
            Ok(status) => status,
            Err(_) => {
                let _ = child.start_kill();
                child.wait().await
            }
        };
        status.map_err(|error| ClientError::Transport(error.to_string()))
    }

    async fn read_messages(&self, stdout: ChildStdout) {
        let mut lines = BufReader::new(stdout);
        let mut line = Vec::new();
        while matches!(lines.read_until(b'\n', &mut line).await, Ok(n_read) if n_read > 0) {
            self.receive(&line);
            line.clear();
        }
    }

    fn receive(&self, line: &[u8]) {
        let message = serde_json::from_slice(line).ok().and_then(|value| Message::sort(value).ok());
        match message {
            None => self.keep_stray(line),
            Some(Message::Notification { method, params }) => {
                let _ = self.0.notifications.send(rpc::notification(&method, &params));
            }
            Some(Message::Request { id, method, params }) => {
                let link = self.clone();
                self.0.tasks.spawn(async move {
                    let response = answer(&link.0.handler, &id, method, params).await;
                    let _ = link.write(&response).await;
                });
            }
            Some(Message::Response { id, outcome }) => {
                match self.0.waiting.with(|waiting| waiting.remove(&rpc::id_key(&id))) {
                    Some(asker) => {
                        let _ = asker.send(outcome);
                    }
                    None => self.keep_stray(line),
                }
            }
        }
    }

    fn keep_stray(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        if !text.is_empty() {
            self.0.strays.with(|strays| strays.push(text));
        }
    }

    async fn read_stderr(&self, mut stderr: ChildStderr) {
        let mut chunk = [0; 8192];
        while let Ok(n_read @ 1..) = stderr.read(&mut chunk).await {
            self.0.stderr.with(|bytes| bytes.extend_from_slice(&chunk[..n_read]));
        }
    }
}

/// Whether an interleaved notification may belong to a request.
pub(super) fn belongs_to(notification: &Value, request: &Value) -> bool {
    let params = &notification["params"];
    if let Some(subscription) = params["_meta"].get(META_SUBSCRIPTION) {
        return *subscription == request["id"];
    }
    match notification["method"].as_str() {
        Some("notifications/progress") => {
            params["progressToken"] == request["params"]["_meta"]["progressToken"]
        }
        // A log message names no request on stdio.
        Some("notifications/message") => request["method"] != "subscriptions/listen",
        _ => false,
    }
}
