//! One request in either era: where its messages go, the client's capabilities, and how it ends.
//!
//! The tools are written once against `ServedCall`; the difference between asking the client inline (legacy)
//! and asking it to retry (modern) is in `ServedCall::ask`.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::legacy::{self, PeerSession};
use super::modern::{self, ModernRequest};
use super::rpc::{self, MISSING_CLIENT_CAPABILITY, RpcError};
use super::world::World;

/// The queue of messages to the client: a whole connection on stdio, one response stream on HTTP.
pub(crate) type Outbox = mpsc::Sender<Value>;

/// Bounded, so that a client that stops reading blocks the server and does not fill its memory.
pub(crate) const OUTBOX_SIZE: usize = 256;

/// One request that is being served.
#[derive(Debug)]
pub(crate) struct ServedCall {
    pub(crate) world: Arc<World>,
    pub(crate) outbox: Outbox,
    pub(crate) side: Side,
}

/// What is known about the client: from its session, or from the request alone.
#[derive(Debug)]
pub(crate) enum Side {
    Legacy(Arc<PeerSession>),
    Modern(ModernRequest),
}

/// Why a request ended without a regular result.
#[derive(Debug)]
pub(crate) enum Interrupt {
    Error(RpcError),
    /// Modern only: the fields of an `input_required` result.
    InputRequired(Value),
}

impl From<RpcError> for Interrupt {
    fn from(error: RpcError) -> Self {
        Self::Error(error)
    }
}

/// A question of a tool to its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolQuestion {
    Name,
    Sample,
    Roots,
}

/// The result of a question.
#[derive(Debug)]
pub(crate) enum Reply {
    Answered(Value),
    /// The client answered with a JSON-RPC error; only legacy clients can.
    Refused(Value),
    /// Not asked: the client did not declare the capability.
    Unsupported,
}

impl ServedCall {
    /// Serves the request and sends the response, or nothing if it was cancelled.
    pub(crate) async fn serve(self, id: Value, method: String, params: Value, cancelled: CancellationToken) {
        let answer = async {
            match &self.side {
                Side::Legacy(session) => legacy::answer(&self, session, &method, &params).await,
                Side::Modern(_) => modern::answer(&self, &id, &method, &params).await,
            }
        };
        let outcome = tokio::select! {
            // Cancellation first: after it the specification allows no further message for this request.
            biased;
            () = cancelled.cancelled() => {
                if method == "tools/call" {
                    self.world.count_cancelled();
                }
                return;
            }
            outcome = answer => outcome,
        };
        self.send(rpc::response(&id, outcome)).await;
    }

    /// Sends a message on the stream of this request; a disconnected client is noticed elsewhere.
    pub(crate) async fn send(&self, message: Value) {
        let _ = self.outbox.send(message).await;
    }

    pub(crate) async fn notify(&self, method: &str, params: Value) {
        self.send(rpc::notification(method, &params)).await;
    }

    /// Whether the negotiated version has a feature introduced in `since`.
    pub(crate) fn speaks(&self, since: &str) -> bool {
        match &self.side {
            Side::Legacy(session) => session.version >= since,
            Side::Modern(_) => true,
        }
    }

    /// Asks the client on behalf of a tool call and returns its answer.
    ///
    /// A legacy client is asked on the stream of the call. For a modern one the call ends with
    /// `input_required`; its retry runs this again and finds the answer in `inputResponses`.
    pub(crate) async fn ask(
        &self,
        question: ToolQuestion,
        tool: &str,
        arguments: &Value,
    ) -> Result<Reply, Interrupt> {
        match &self.side {
            Side::Legacy(session) => {
                if !question.is_declared_in(&session.capabilities) {
                    return Ok(Reply::Unsupported);
                }
                let params = question.params(session.version >= "2025-11-25");
                Ok(match session.ask(&self.outbox, question.method(), &params).await {
                    Ok(answer) => Reply::Answered(answer),
                    Err(error) => Reply::Refused(error),
                })
            }
            Side::Modern(_) if self.world.options.asks_legacy_only => {
                Err(RpcError::new(rpc::INTERNAL_ERROR, "only legacy clients can be asked").into())
            }
            Side::Modern(request) => {
                if !question.is_declared_in(&request.capabilities) {
                    let required = json!({ "requiredCapabilities": { question.capability(): {} } });
                    let message =
                        format!("this tool needs the client capability `{}`", question.capability());
                    return Err(RpcError::new(MISSING_CLIENT_CAPABILITY, message).with_data(required).into());
                }
                request.check_state(&self.world.states, tool, arguments)?;
                if let Some(answer) = request.input_response(question.key()) {
                    return Ok(Reply::Answered(answer.clone()));
                }
                Err(Interrupt::InputRequired(json!({
                    "inputRequests": { question.key(): { "method": question.method(), "params": question.params(true) } },
                    "requestState": self.world.states.issue(tool, arguments),
                })))
            }
        }
    }
}

impl ToolQuestion {
    fn method(self) -> &'static str {
        match self {
            Self::Name => "elicitation/create",
            Self::Sample => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    fn capability(self) -> &'static str {
        match self {
            Self::Name => "elicitation",
            Self::Sample => "sampling",
            Self::Roots => "roots",
        }
    }

    /// The key in `inputRequests`; deliberately not the method, so that nobody relies on that.
    fn key(self) -> &'static str {
        match self {
            Self::Name => "who",
            Self::Sample => "completion",
            Self::Roots => "folders",
        }
    }

    fn is_declared_in(self, capabilities: &Value) -> bool {
        let Some(capability) = capabilities.get(self.capability()) else { return false };
        match self {
            // An empty object means form; `{"url": {}}` alone means no form.
            Self::Name => capability.get("form").is_some() || capability.get("url").is_none(),
            Self::Sample | Self::Roots => true,
        }
    }

    fn params(self, has_modes: bool) -> Value {
        match self {
            Self::Name => {
                let mut params = json!({
                    "message": "What is your name?",
                    "requestedSchema": {
                        "type": "object",
                        "properties": { "name": { "type": "string" } },
                        "required": ["name"],
                    },
                });
                if has_modes {
                    params["mode"] = json!("form");
                }
                params
            }
            Self::Sample => json!({
                "messages": [{ "role": "user", "content": { "type": "text", "text": "Say something." } }],
                "maxTokens": 16,
            }),
            Self::Roots => json!({}),
        }
    }
}
