//! `TestClient`: an MCP client of both eras that hides the era and the transport from a test, and nothing
//! else.
//!
//! A test for every pair is written once: `request`, `start`, `watch` do what the era requires (inline
//! requests or `input_required`, `resources/subscribe` or `subscriptions/listen`, `notifications/cancelled`
//! or a closed stream). Results are the server's own values, unchanged.

pub mod error;
mod http;
pub mod in_flight;
mod modern;
mod old_sse;
pub mod options;
pub mod raw;
pub mod sse;
mod stdio;
pub mod watch;

use std::fmt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::peer::rpc;
use error::ClientError;
use http::HttpLink;
use in_flight::{InFlight, NOTICES_KEPT};
use old_sse::OldSseLink;
use options::{ClientOptions, Era, Transport};
use raw::RawResponse;
use stdio::StdioLink;
use watch::{Watch, Watcher};

/// The limit of input rounds of one request.
const MAX_ROUNDS: usize = 10;

/// A connected client.
pub struct TestClient {
    core: Arc<Core>,
    hello: Value,
    /// Stops the client's tasks, and with them the server's process.
    _on_drop: DropGuard,
}

struct Core {
    era: Era,
    options: ClientOptions,
    link: Link,
    ids: AtomicU64,
    notifications: broadcast::Sender<Value>,
    tasks: TaskTracker,
}

enum Link {
    Http(HttpLink),
    Sse(OldSseLink),
    Stdio(StdioLink),
}

impl TestClient {
    /// Connects and opens with `initialize` in the legacy era, `server/discover` in the modern one.
    pub async fn connect(
        transport: Transport,
        era: Era,
        options: ClientOptions,
    ) -> Result<Self, ClientError> {
        let notifications = broadcast::channel(NOTICES_KEPT).0;
        let closed = CancellationToken::new();
        let handler = Arc::clone(&options.on_request);
        let link = match transport {
            Transport::Http { url, token } => {
                Link::Http(HttpLink::new(url, token, era, handler, notifications.clone(), closed.clone()))
            }
            Transport::Sse { url, token } => Link::Sse(
                OldSseLink::open(&url, token, handler, notifications.clone(), closed.clone()).await?,
            ),
            Transport::Stdio { command, args, env } => Link::Stdio(StdioLink::spawn(
                command,
                &args,
                &env,
                handler,
                notifications.clone(),
                closed.clone(),
            )?),
        };
        let core =
            Core { era, options, link, ids: AtomicU64::new(1), notifications, tasks: TaskTracker::new() };
        let mut client = Self { core: Arc::new(core), hello: Value::Null, _on_drop: closed.drop_guard() };
        client.hello = match era {
            Era::Legacy(version) => client.initialize(version).await?,
            Era::Modern => client.request("server/discover", json!({})).await?,
        };
        Ok(client)
    }

    /// The server's description of itself: the result of `initialize` or of `server/discover`.
    pub fn hello(&self) -> &Value {
        &self.hello
    }

    /// The era of this client.
    pub fn era(&self) -> Era {
        self.core.era
    }

    /// Sends a request and returns the `result`, after all rounds of input that the server asks for.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, ClientError> {
        self.start(method, params).finish().await
    }

    /// Calls a tool.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<Value, ClientError> {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Calls a tool and returns the text of its first content; empty if there is none.
    pub async fn call_text(&self, tool: &str, arguments: Value) -> Result<String, ClientError> {
        let result = self.call(tool, arguments).await?;
        Ok(result["content"][0]["text"].as_str().unwrap_or_default().to_owned())
    }

    /// Sends a request and leaves its response, its notifications and its cancellation to the caller.
    pub fn start(&self, method: &str, params: Value) -> InFlight {
        self.begin(method, params, Some(self.core.options.timeout))
    }

    /// Sends a request with a progress token, and returns its result with the progress notifications in
    /// order.
    pub async fn request_with_progress(
        &self,
        method: &str,
        mut params: Value,
    ) -> (Result<Value, ClientError>, Vec<Value>) {
        params["_meta"]["progressToken"] =
            json!(format!("progress-{}", self.core.ids.fetch_add(1, Ordering::SeqCst)));
        let (outcome, mut notifications) = self.start(method, params).finish_with_notifications().await;
        notifications.retain(|notification| notification["method"] == "notifications/progress");
        (outcome, notifications)
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Value) -> Result<(), ClientError> {
        let message = rpc::notification(method, &params);
        match &self.core.link {
            Link::Http(link) => link.post(&message).await,
            Link::Sse(link) => link.post(&message).await,
            Link::Stdio(link) => link.write(&message).await,
        }
    }

    /// Subscribes to changes.
    pub async fn watch(&self, watch: Watch) -> Result<Watcher, ClientError> {
        Watcher::open(self, watch).await
    }

    /// The definitions of all tools, from all pages.
    pub async fn list_tools(&self) -> Result<Vec<Value>, ClientError> {
        let tools = self.list("tools/list", "tools").await?;
        if let Link::Http(link) = &self.core.link {
            link.mirrored().learn(&tools);
        }
        Ok(tools)
    }

    /// The items of any list method, from all pages.
    pub async fn list(&self, method: &str, field: &str) -> Result<Vec<Value>, ClientError> {
        let mut items = Vec::new();
        let mut params = json!({});
        loop {
            let mut page = self.request(method, params).await?;
            match page[field].take() {
                Value::Array(found) => items.extend(found),
                other => return Err(ClientError::Transport(format!("`{field}` is not an array: {other}"))),
            }
            match page["nextCursor"].take() {
                Value::Null => return Ok(items),
                cursor => params = json!({ "cursor": cursor }),
            }
        }
    }

    /// The legacy HTTP session, once the server has assigned one.
    pub fn session_id(&self) -> Option<String> {
        match &self.core.link {
            Link::Http(link) => link.session(),
            Link::Sse(_) | Link::Stdio(_) => None,
        }
    }

    /// HTTP+SSE only: where messages go, as the server said.
    pub fn messages_url(&self) -> Option<&str> {
        match &self.core.link {
            Link::Sse(link) => Some(link.messages()),
            Link::Http(_) | Link::Stdio(_) => None,
        }
    }

    /// HTTP only: POSTs exactly these headers (and the token) and this body to the endpoint.
    pub async fn raw_post(
        &self,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<RawResponse, ClientError> {
        match &self.core.link {
            Link::Http(link) => link.raw_post(headers, body.into()).await,
            Link::Sse(link) => link.raw_post(headers, body.into()).await,
            Link::Stdio(_) => Err(ClientError::Transport("stdio has no POST".to_owned())),
        }
    }

    /// stdio only: writes this line verbatim.
    pub async fn raw_line(&self, line: &str) -> Result<(), ClientError> {
        match &self.core.link {
            Link::Http(_) | Link::Sse(_) => Err(ClientError::Transport("HTTP has no lines".to_owned())),
            Link::Stdio(link) => link.write_line(line).await,
        }
    }

    /// stdio only: lines that answered nothing, such as noise and duplicate responses.
    pub fn strays(&self) -> Vec<String> {
        match &self.core.link {
            Link::Http(_) | Link::Sse(_) => Vec::new(),
            Link::Stdio(link) => link.strays(),
        }
    }

    /// stdio only: the server's stderr so far.
    pub fn stderr(&self) -> String {
        match &self.core.link {
            Link::Http(_) | Link::Sse(_) => String::new(),
            Link::Stdio(link) => link.stderr(),
        }
    }

    /// stdio only: the server's stderr, once it contains these words. Output may arrive a moment after the
    /// process exited.
    pub async fn stderr_with(&self, words: &str, within: Duration) -> Result<String, ClientError> {
        let begun = Instant::now();
        loop {
            let stderr = self.stderr();
            if stderr.contains(words) {
                return Ok(stderr);
            }
            if begun.elapsed() > within {
                return Err(ClientError::Transport(format!("`{words}` is not in: {stderr}")));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// stdio only: the id of the server's process.
    pub async fn process_id(&self) -> Option<u32> {
        match &self.core.link {
            Link::Http(_) | Link::Sse(_) => None,
            Link::Stdio(link) => link.process_id().await,
        }
    }

    /// Closes the client: DELETE of a session, or the end of stdin and of the process, whose status it
    /// returns.
    pub async fn close(self) -> Result<Option<ExitStatus>, ClientError> {
        match &self.core.link {
            Link::Http(link) => link.delete_session().await.map(|()| None),
            // The end of the stream is the end of the session.
            Link::Sse(_) => Ok(None),
            Link::Stdio(link) => link.close().await.map(Some),
        }
    }

    /// A request without a timeout, for listening.
    pub(crate) fn start_endless(&self, method: &str, params: Value) -> InFlight {
        self.begin(method, params, None)
    }

    /// The notifications outside of requests.
    pub(crate) fn unasked(&self) -> broadcast::Receiver<Value> {
        self.core.notifications.subscribe()
    }

    fn begin(&self, method: &str, params: Value, limit: Option<Duration>) -> InFlight {
        let (notify, notices) = mpsc::channel(NOTICES_KEPT);
        let cancelled = CancellationToken::new();
        let core = Arc::clone(&self.core);
        let method = method.to_owned();
        let stop = cancelled.clone();
        let outcome = self.core.tasks.spawn(async move {
            let rounds = core.run_rounds(&method, params, &notify, &stop);
            match limit {
                None => rounds.await,
                Some(limit) => tokio::time::timeout(limit, rounds).await.unwrap_or(Err(ClientError::Timeout)),
            }
        });
        InFlight { notices, outcome, on_drop: cancelled.clone().drop_guard(), cancelled }
    }

    async fn initialize(&self, version: &str) -> Result<Value, ClientError> {
        let options = &self.core.options;
        let params = json!({
            "protocolVersion": version,
            "capabilities": options.capabilities,
            "clientInfo": { "name": options.name, "version": "0" },
        });
        let result = self.request("initialize", params).await?;
        if let Link::Http(link) = &self.core.link {
            link.set_version(result["protocolVersion"].as_str().unwrap_or(version));
        }
        self.notify("notifications/initialized", Value::Null).await?;
        if let Link::Http(link) = &self.core.link {
            link.open_stream().await?;
        }
        Ok(result)
    }
}

impl fmt::Debug for TestClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TestClient").field("era", &self.core.era).finish_non_exhaustive()
    }
}

impl Core {
    /// Sends a request, and again with the answers for as long as the server asks for input.
    async fn run_rounds(
        &self,
        method: &str,
        mut params: Value,
        notices: &mpsc::Sender<Value>,
        cancelled: &CancellationToken,
    ) -> Result<Value, ClientError> {
        for _ in 0..MAX_ROUNDS {
            if self.era == Era::Modern {
                modern::add_meta(&mut params, &self.options);
            }
            let id = json!(self.ids.fetch_add(1, Ordering::SeqCst));
            let message = rpc::request(&id, method, &params);
            let result = match &self.link {
                Link::Http(link) => link.exchange(&message, notices, cancelled).await?,
                Link::Sse(link) => link.exchange(&message, notices, cancelled).await?,
                Link::Stdio(link) => link.exchange(&message, notices, cancelled).await?,
            };
            match self.era {
                Era::Legacy(_) => return Ok(result),
                Era::Modern => match modern::next_round(&result, &params, &self.options).await? {
                    None => return Ok(result),
                    Some(retry) => params = retry,
                },
            }
        }
        Err(ClientError::Transport(format!("the server asked for input {MAX_ROUNDS} times")))
    }
}
