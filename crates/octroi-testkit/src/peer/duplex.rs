//! A connection with interleaved messages of both directions: stdio, and the HTTP+SSE of 2024-11-05.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use serde_json::Value;

use super::call::{Outbox, ServedCall, Side};
use super::guarded::Guarded;
use super::legacy::PeerSession;
use super::modern::{META_VERSION, ModernRequest};
use super::options::{Eras, Transport};
use super::rpc::{self, INVALID_PARAMS, Message, RpcError};
use super::running::RunningRequests;
use super::world::World;

/// One client's connection.
#[derive(Debug)]
pub(crate) struct Duplex {
    world: Arc<World>,
    outbox: Outbox,
    session: Guarded<Option<Arc<PeerSession>>>,
    running: RunningRequests,
    /// How many tool calls came over HTTP+SSE.
    pub(crate) n_calls: AtomicU64,
}

impl Duplex {
    pub(crate) fn new(world: Arc<World>, outbox: Outbox) -> Self {
        Self {
            world,
            outbox,
            session: Guarded::default(),
            running: RunningRequests::default(),
            n_calls: AtomicU64::new(0),
        }
    }

    /// Handles one message from the client; requests run in their own tasks.
    pub(crate) async fn receive(&self, message: Value) {
        match Message::sort(message) {
            Err(error) => self.send(rpc::response(&Value::Null, Err(error))).await,
            Ok(Message::Request { id, method, params }) => self.receive_request(id, method, params).await,
            Ok(Message::Notification { method, params }) => {
                // `notifications/initialized` and `notifications/roots/list_changed` need no action here.
                if method == "notifications/cancelled" {
                    self.running.cancel(&params);
                }
            }
            Ok(Message::Response { id, outcome }) => {
                if let Some(session) = self.session() {
                    session.receive_response(&id, outcome);
                }
            }
        }
    }

    pub(crate) async fn send(&self, message: Value) {
        let _ = self.outbox.send(message).await;
    }

    /// Cancels all running requests of the client.
    pub(crate) fn end(&self) {
        if let Some(session) = self.session() {
            session.end();
        }
        self.running.cancel_all();
    }

    fn session(&self) -> Option<Arc<PeerSession>> {
        self.session.with(|session| session.clone())
    }

    async fn receive_request(&self, id: Value, method: String, params: Value) {
        let side = if self.is_modern(&method, &params) {
            ModernRequest::read(&method, &params).map(Side::Modern)
        } else {
            match self.session() {
                Some(session) => Ok(Side::Legacy(session)),
                None if method == "initialize" => return self.initialize(&id, &params).await,
                None if self.world.options.probe_silence => return,
                None => return self.answer_uninitialized(&id, &method).await,
            }
        };
        let side = match side {
            Ok(side) => side,
            Err(error) => return self.send(rpc::response(&id, Err(error))).await,
        };
        let call = ServedCall { world: Arc::clone(&self.world), outbox: self.outbox.clone(), side };
        let running = self.running.clone();
        let cancelled = running.begin(&id);
        self.world.tasks.spawn(async move {
            call.serve(id.clone(), method, params, cancelled).await;
            running.finish(&id);
        });
    }

    /// A server of both eras follows the client: `_meta` makes a request modern, `initialize` starts the
    /// legacy era.
    fn is_modern(&self, method: &str, params: &Value) -> bool {
        match (self.world.options.transport, self.world.options.era) {
            (Transport::Sse, _) | (_, Eras::Legacy) => false,
            (_, Eras::Modern) => true,
            (_, Eras::Both) => {
                params["_meta"].get(META_VERSION).is_some()
                    || (method != "initialize" && self.session().is_none())
            }
        }
    }

    async fn initialize(&self, id: &Value, params: &Value) {
        let outcome = PeerSession::open(&self.world, params, self.outbox.clone()).map(|(session, result)| {
            self.session.with(|current| *current = Some(session));
            result
        });
        self.send(rpc::response(id, outcome)).await;
    }

    /// What the common legacy SDKs do before `initialize`: an unknown method (a modern probe) is unknown, a
    /// known one is refused as premature.
    async fn answer_uninitialized(&self, id: &Value, method: &str) {
        let outcome = match method {
            "ping" => Ok(serde_json::json!({})),
            "tools/list"
            | "tools/call"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "prompts/list"
            | "prompts/get"
            | "completion/complete"
            | "logging/setLevel" => {
                Err(RpcError::new(INVALID_PARAMS, "Received request before initialization was complete"))
            }
            unknown => Err(RpcError::method_not_found(unknown)),
        };
        self.send(rpc::response(id, outcome)).await;
    }
}
