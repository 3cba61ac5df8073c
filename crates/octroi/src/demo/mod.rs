//! A small MCP server inside Octroi's own binary, for a first try without installing anything. It supports
//! both eras over standard streams.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use octroi_gateway::BackgroundTasks;
use octroi_mcp::envelope::{self, Id};
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Era, Kind, Method, RpcError, Version, meta};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

mod tools;

/// A resource that changes by itself, to show subscriptions.
const CLOCK: &str = "demo://clock";
const TICK: Duration = Duration::from_secs(5);
const QUEUED: usize = 256;
/// When there are more notes, the oldest are dropped.
const NOTES_MAX: usize = 100;

/// Serves until standard input ends.
pub(crate) async fn serve() -> std::io::Result<()> {
    let (out, mut queue) = mpsc::channel::<bytes::Bytes>(QUEUED);
    let tasks = BackgroundTasks::new(Handle::current());
    tasks.spawn("write", async move {
        let mut stdout = tokio::io::stdout();
        while let Some(message) = queue.recv().await {
            let line = [&message[..], b"\n"].concat();
            if stdout.write_all(&line).await.is_err() || stdout.flush().await.is_err() {
                return;
            }
        }
    });
    let server =
        Arc::new(DemoServer { out, tasks, state: Mutex::default(), next_question: AtomicU64::new(1) });
    server.tasks.spawn("tick", Arc::clone(&server).tick());
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        if let Ok(message) = Envelope::parse(line.into()) {
            server.receive(message).await;
        }
    }
    Ok(())
}

struct DemoServer {
    out: mpsc::Sender<bytes::Bytes>,
    tasks: BackgroundTasks,
    state: Mutex<DemoState>,
    next_question: AtomicU64,
}

#[derive(Default)]
struct DemoState {
    ticks: u64,
    can_elicit: bool,
    is_subscribed: bool,
    /// Listen requests that subscribe to the clock.
    listening: HashSet<Id>,
    running: HashMap<Id, CancellationToken>,
    questions: HashMap<Id, oneshot::Sender<Value>>,
    /// Kept in memory only.
    notes: VecDeque<String>,
}

/// One request, parsed.
pub(crate) struct DemoRequest {
    pub(crate) era: Era,
    pub(crate) params: Value,
    pub(crate) progress_token: Option<Value>,
}

impl DemoServer {
    async fn receive(self: &Arc<Self>, message: Envelope) {
        match (message.kind(), message.id()) {
            (Kind::Request, Some(id)) => {
                let server = Arc::clone(self);
                let cancelled = CancellationToken::new();
                self.state.lock().await.running.insert(id.clone(), cancelled.clone());
                self.tasks.spawn("call", async move {
                    tokio::select! {
                        biased;
                        () = cancelled.cancelled() => {}
                        () = server.answer(&message, &id) => {}
                    }
                    let mut state = server.state.lock().await;
                    state.running.remove(&id);
                    state.listening.remove(&id);
                });
            }
            (Kind::Response, Some(id)) => {
                let waiting = self.state.lock().await.questions.remove(&id);
                if let (Some(waiting), Some(result)) = (waiting, message.result()) {
                    let _ = waiting.send(serde_json::from_slice(&result).unwrap_or_default());
                }
            }
            _ if *message.method() == Method::Cancelled => {
                let id = Params::read(message.params())
                    .ok()
                    .and_then(|params| params.request_id())
                    .map(Id::from_json);
                let running = match id {
                    Some(id) => self.state.lock().await.running.remove(&id),
                    None => None,
                };
                if let Some(cancelled) = running {
                    cancelled.cancel();
                }
            }
            _ => {}
        }
    }

    async fn answer(self: &Arc<Self>, message: &Envelope, id: &Id) {
        let params: Value = serde_json::from_slice(&message.params()).unwrap_or_default();
        let meta = params.get("_meta").cloned().unwrap_or_default();
        let era = if meta.get(meta::PROTOCOL_VERSION).is_some() { Era::Modern } else { Era::Legacy };
        let call = DemoRequest { era, params, progress_token: meta.get("progressToken").cloned() };
        let outcome = match message.method() {
            Method::Initialize if era == Era::Legacy => Ok(self.initialize(&call.params).await),
            Method::Discover => Ok(discovery()),
            Method::Ping if era == Era::Legacy => Ok(json!({})),
            Method::ToolsList => Ok(json!({"tools": tools::definitions()})),
            Method::ToolsCall => tools::call(self, &call).await,
            Method::ResourcesList => Ok(json!({"resources": [{
                "uri": CLOCK, "name": "clock", "mimeType": "text/plain",
                "description": "How often the demo server has ticked; changes every five seconds",
            }]})),
            Method::TemplatesList => Ok(json!({"resourceTemplates": []})),
            Method::ResourcesRead => self.read(&call.params).await,
            Method::ResourcesSubscribe | Method::ResourcesUnsubscribe if era == Era::Legacy => {
                self.state.lock().await.is_subscribed = *message.method() == Method::ResourcesSubscribe;
                Ok(json!({}))
            }
            Method::Listen if era == Era::Modern => return self.listen(&call.params, id).await,
            other => Err(RpcError::method_not_found(other.as_str())),
        };
        let answer = match outcome {
            Ok(mut result) => {
                if era == Era::Modern {
                    frame(&mut result, message.method());
                }
                envelope::result(id, result.to_string().as_bytes())
            }
            Err(error) => envelope::error(Some(id), &error),
        };
        self.send(answer).await;
    }

    async fn initialize(&self, params: &Value) -> Value {
        let requested = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        self.state.lock().await.can_elicit = params.pointer("/capabilities/elicitation").is_some();
        json!({
            "protocolVersion": Version::negotiate(requested).as_str(),
            "capabilities": capabilities(),
            "serverInfo": info(),
        })
    }

    async fn read(&self, params: &Value) -> Result<Value, RpcError> {
        match params.get("uri").and_then(Value::as_str) {
            Some(CLOCK) => {
                let text = format!("{} ticks", self.state.lock().await.ticks);
                Ok(json!({"contents": [{"uri": CLOCK, "mimeType": "text/plain", "text": text}]}))
            }
            other => Err(RpcError::invalid_params(format!("unknown resource {}", other.unwrap_or_default()))),
        }
    }

    /// Acknowledges, then stays until it is cancelled.
    async fn listen(&self, params: &Value, id: &Id) {
        let requested = params.pointer("/notifications/resourceSubscriptions").and_then(Value::as_array);
        let wants_clock = requested.is_some_and(|uris| uris.contains(&json!(CLOCK)));
        let honoured = if wants_clock { json!({"resourceSubscriptions": [CLOCK]}) } else { json!({}) };
        let subscription: Value = serde_json::from_slice(id.as_json()).unwrap_or_default();
        let params = json!({"_meta": {meta::SUBSCRIPTION_ID: subscription}, "notifications": honoured});
        self.send(envelope::notification(&Method::Acknowledged, params.to_string().as_bytes())).await;
        if wants_clock {
            self.state.lock().await.listening.insert(id.clone());
        }
        std::future::pending().await
    }

    async fn tick(self: Arc<Self>) {
        loop {
            tokio::time::sleep(TICK).await;
            let (is_subscribed, listening) = {
                let mut state = self.state.lock().await;
                state.ticks += 1;
                (state.is_subscribed, state.listening.clone())
            };
            if is_subscribed {
                let params = json!({"uri": CLOCK}).to_string();
                self.send(envelope::notification(&Method::ResourceUpdated, params.as_bytes())).await;
            }
            for id in listening {
                let subscription: Value = serde_json::from_slice(id.as_json()).unwrap_or_default();
                let params =
                    json!({"uri": CLOCK, "_meta": {meta::SUBSCRIPTION_ID: subscription}}).to_string();
                self.send(envelope::notification(&Method::ResourceUpdated, params.as_bytes())).await;
            }
        }
    }

    async fn send(&self, message: bytes::Bytes) {
        // Fails when the gateway has ended; then the input ends too.
        let _ = self.out.send(message).await;
    }

    /// Asks a legacy client, if it supports elicitation.
    pub(crate) async fn elicit(&self, params: &Value) -> Option<Value> {
        let id = Id::number(self.next_question.fetch_add(1, Ordering::Relaxed));
        let (sender, answer) = oneshot::channel();
        {
            let mut state = self.state.lock().await;
            if !state.can_elicit {
                return None;
            }
            state.questions.insert(id.clone(), sender);
        }
        self.send(envelope::request(&id, &Method::ElicitationCreate, params.to_string().as_bytes())).await;
        answer.await.ok()
    }

    /// Keeps a note; returns how many there are.
    pub(crate) async fn keep_note(&self, note: &str) -> usize {
        let notes = &mut self.state.lock().await.notes;
        notes.push_back(note.to_owned());
        if notes.len() > NOTES_MAX {
            notes.pop_front();
        }
        notes.len()
    }

    /// All notes, the oldest first.
    pub(crate) async fn notes(&self) -> Vec<String> {
        self.state.lock().await.notes.iter().cloned().collect()
    }

    pub(crate) async fn progress(&self, token: &Value, progress: u64, total: u64) {
        let params = json!({"progressToken": token, "progress": progress, "total": total}).to_string();
        self.send(envelope::notification(&Method::Progress, params.as_bytes())).await;
    }
}

fn info() -> Value {
    json!({"name": "octroi-demo", "version": env!("CARGO_PKG_VERSION")})
}

fn capabilities() -> Value {
    json!({"tools": {}, "resources": {"subscribe": true}})
}

fn discovery() -> Value {
    json!({"supportedVersions": [Version::LATEST_MODERN.as_str()], "capabilities": capabilities()})
}

/// Adds the members that every modern result has.
fn frame(result: &mut Value, method: &Method) {
    if result.get("resultType").is_none() {
        result["resultType"] = json!("complete");
    }
    if !matches!(method, Method::ToolsCall) {
        result["ttlMs"] = json!(0);
        result["cacheScope"] = json!("public");
    }
    result["_meta"][meta::SERVER_INFO] = info();
}
