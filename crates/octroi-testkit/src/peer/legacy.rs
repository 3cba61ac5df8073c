//! The legacy era: `initialize`, the session it opens, and the session's state.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::call::{Interrupt, Outbox, ServedCall};
use super::guarded::Guarded;
use super::rpc::{self, INTERNAL_ERROR, INVALID_PARAMS, RpcError};
use super::running::RunningRequests;
use super::world::{PeerChange, World};
use super::{contents, features};
use crate::peer::faults::{Fault, forge};

/// Least severe first.
pub(crate) const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Starts with `initialize` and ends with the connection (stdio) or with DELETE (HTTP).
#[derive(Debug)]
pub(crate) struct PeerSession {
    pub(crate) id: String,
    pub(crate) version: &'static str,
    pub(crate) capabilities: Value,
    /// Its requests on HTTP, where each has its own connection.
    pub(crate) running: RunningRequests,
    pub(crate) ended: CancellationToken,
    /// The number of tool calls it has served, for the fault `session-lost`.
    pub(crate) n_calls: AtomicU64,
    subscriptions: Guarded<BTreeSet<String>>,
    log_level: Guarded<usize>,
    questions: Guarded<HashMap<String, oneshot::Sender<Result<Value, Value>>>>,
    n_questions: AtomicU64,
}

impl PeerSession {
    /// Serves `initialize`: returns the session, and the result.
    ///
    /// Changes go to `unasked`, the outbox for messages outside of requests.
    pub(crate) fn open(
        world: &Arc<World>,
        params: &Value,
        unasked: Outbox,
    ) -> Result<(Arc<Self>, Value), RpcError> {
        let requested = params["protocolVersion"]
            .as_str()
            .ok_or_else(|| RpcError::new(INVALID_PARAMS, "`protocolVersion` must be a string"))?;
        if !params["capabilities"].is_object() || !params["clientInfo"].is_object() {
            return Err(RpcError::new(INVALID_PARAMS, "`capabilities` and `clientInfo` must be objects"));
        }
        let versions = world.options.legacy_versions();
        let newest = versions.last().copied().unwrap_or("2024-11-05");
        let version = versions.iter().copied().find(|version| *version == requested).unwrap_or(newest);
        let session = Arc::new(Self {
            id: new_session_id(),
            version,
            capabilities: params["capabilities"].clone(),
            running: RunningRequests::default(),
            ended: world.shutdown.child_token(),
            n_calls: AtomicU64::new(0),
            subscriptions: Guarded::default(),
            log_level: Guarded::default(),
            questions: Guarded::default(),
            n_questions: AtomicU64::new(0),
        });
        world.tasks.spawn(forward_changes(Arc::clone(&session), world.changes.subscribe(), unasked));
        let result = json!({
            "protocolVersion": version,
            "capabilities": features::capabilities(world, version >= "2025-03-26"),
            "serverInfo": features::server_info(&world.options.name),
            "instructions": features::instructions(world),
        });
        Ok((session, result))
    }

    /// Sends a request to the client and waits for its answer; cancelling the caller ends the wait.
    pub(crate) async fn ask(&self, outbox: &Outbox, method: &str, params: &Value) -> Result<Value, Value> {
        let id = json!(format!("peer-{}", self.n_questions.fetch_add(1, Ordering::SeqCst) + 1));
        let (answer_here, answer) = oneshot::channel();
        self.questions.with(|questions| questions.insert(rpc::id_key(&id), answer_here));
        let gone = || json!({ "code": -32000, "message": "the client has gone" });
        if outbox.send(rpc::request(&id, method, params)).await.is_err() {
            return Err(gone());
        }
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Passes a client's response to whoever asked; an unexpected response is dropped.
    pub(crate) fn receive_response(&self, id: &Value, outcome: Result<Value, Value>) {
        if let Some(asker) = self.questions.with(|questions| questions.remove(&rpc::id_key(id))) {
            let _ = asker.send(outcome);
        }
    }

    pub(crate) fn wants_log(&self, level: &str) -> bool {
        level_rank(level) >= Some(self.log_level.with(|least| *least))
    }

    pub(crate) fn end(&self) {
        self.ended.cancel();
        self.running.cancel_all();
    }
}

/// Answers a request of an open session.
pub(crate) async fn answer(
    call: &ServedCall,
    session: &PeerSession,
    method: &str,
    params: &Value,
) -> Result<Value, RpcError> {
    match method {
        "ping" if call.world.options.fault == Some(Fault::PingError) => {
            Err(RpcError::new(INTERNAL_ERROR, "not well"))
        }
        "ping" => Ok(json!({})),
        "logging/setLevel" => {
            let level = params["level"].as_str().and_then(level_rank);
            let level = level.ok_or_else(|| RpcError::new(INVALID_PARAMS, "unknown log level"))?;
            session.log_level.with(|least| *least = level);
            Ok(json!({}))
        }
        "resources/subscribe" => {
            if let Some(error) = forge::refusal(call.world.options.fault, params) {
                return Err(error);
            }
            let uri = known_uri(params)?;
            session.subscriptions.with(|subscriptions| subscriptions.insert(uri));
            Ok(json!({}))
        }
        "resources/unsubscribe" => {
            let uri = known_uri(params)?;
            session.subscriptions.with(|subscriptions| subscriptions.remove(&uri));
            Ok(json!({}))
        }
        "initialize" => Err(RpcError::new(rpc::INVALID_REQUEST, "Server already initialized")),
        method => features::answer(call, method, params).await.map_err(|interrupt| match interrupt {
            Interrupt::Error(error) => error,
            // Legacy tools ask inline; this arm would be a bug of the peer, which a client should see.
            Interrupt::InputRequired(_) => RpcError::new(-32603, "input_required in a legacy session"),
        }),
    }
}

/// The rank of a level by severity.
pub(crate) fn level_rank(level: &str) -> Option<usize> {
    LOG_LEVELS.iter().position(|known| *known == level)
}

fn known_uri(params: &Value) -> Result<String, RpcError> {
    match params["uri"].as_str() {
        Some(uri) if contents::exists(uri) => Ok(uri.to_owned()),
        _ => Err(RpcError::new(rpc::LEGACY_RESOURCE_NOT_FOUND, "Resource not found")),
    }
}

async fn forward_changes(
    session: Arc<PeerSession>,
    mut changes: broadcast::Receiver<PeerChange>,
    unasked: Outbox,
) {
    loop {
        let change = tokio::select! {
            biased;
            () = session.ended.cancelled() => return,
            change = changes.recv() => change,
        };
        let message = match change {
            Ok(PeerChange::Tools) => rpc::notification("notifications/tools/list_changed", &Value::Null),
            Ok(PeerChange::Prompts) => rpc::notification("notifications/prompts/list_changed", &Value::Null),
            Ok(PeerChange::Resources) => {
                rpc::notification("notifications/resources/list_changed", &Value::Null)
            }
            Ok(PeerChange::Resource(uri)) => {
                if !session.subscriptions.with(|subscriptions| subscriptions.contains(&uri)) {
                    continue;
                }
                rpc::notification("notifications/resources/updated", &json!({ "uri": uri }))
            }
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        // A client that never opened its stream, or does not read it, loses changes instead of blocking the
        // server.
        match unasked.try_send(message) {
            Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => {}
            Err(mpsc::error::TrySendError::Closed(_)) => return,
        }
    }
}

/// Hard to guess by accident, which is enough for a test.
fn new_session_id() -> String {
    let chance = RandomState::new();
    format!("{:016x}{:016x}", chance.hash_one(0), chance.hash_one(1))
}
