//! The client side of HTTP+SSE of 2024-11-05: one stream for everything the server says, one POST for every
//! message of the client.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, Uri};
use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::error::{ClientError, RpcError};
use super::http::not_mcp;
use super::options::{Handler, answer};
use super::raw::{self, HttpClient};
use super::sse::SseReader;
use super::stdio::belongs_to;
use crate::peer::guarded::Guarded;
use crate::peer::rpc::{self, Message};

/// How long a server may take to say where messages go.
const ENDPOINT_WITHIN: Duration = Duration::from_secs(5);

/// A client's stream; clones share it.
#[derive(Clone)]
pub(crate) struct OldSseLink(Arc<Shared>);

struct Shared {
    /// Where messages go, as the server said.
    messages: String,
    token: Option<String>,
    client: HttpClient,
    waiting: Guarded<HashMap<String, oneshot::Sender<Result<Value, Value>>>>,
    /// Cancelled when the stream ends: no waiting request will be answered.
    ended: CancellationToken,
    notifications: broadcast::Sender<Value>,
    handler: Handler,
    tasks: TaskTracker,
}

impl OldSseLink {
    /// Opens the stream and waits for its first event.
    pub(crate) async fn open(
        url: &str,
        token: Option<String>,
        handler: Handler,
        notifications: broadcast::Sender<Value>,
        closed: CancellationToken,
    ) -> Result<Self, ClientError> {
        let client = raw::new_http_client();
        let authorization = token.as_ref().map(|token| format!("Bearer {token}"));
        let mut headers = vec![("accept", "text/event-stream")];
        headers.extend(authorization.as_deref().map(|value| ("authorization", value)));
        let response = raw::send_with(&client, Method::GET, url, &headers, Bytes::new()).await?;
        if !response.status().is_success() {
            return Err(not_mcp(&raw::read(response).await?));
        }
        let mut events = SseReader::new(response.into_body());
        let first = tokio::time::timeout(ENDPOINT_WITHIN, events.next())
            .await
            .map_err(|_| ClientError::Timeout)?
            .map_err(|error| ClientError::Transport(error.to_string()))?
            .ok_or(ClientError::NoResponse)?;
        if first.event != "endpoint" {
            return Err(ClientError::Transport(format!("{first:?} came before the endpoint")));
        }
        let link = Self(Arc::new(Shared {
            messages: join(url, &first.data)?,
            token,
            client,
            waiting: Guarded::default(),
            ended: CancellationToken::new(),
            notifications,
            handler,
            tasks: TaskTracker::new(),
        }));
        let reader = link.clone();
        link.0.tasks.spawn(async move {
            while let Some(Ok(Some(event))) = closed.run_until_cancelled(events.next()).await {
                let message = serde_json::from_str(&event.data).ok();
                if let Some(message) = message.and_then(|value| Message::sort(value).ok()) {
                    reader.receive(message);
                }
            }
            reader.0.ended.cancel();
        });
        Ok(link)
    }

    /// Sends a request and waits for its response on the stream.
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
        self.post(message).await?;
        loop {
            tokio::select! {
                // In this order, so that everything sent before the response is delivered before it.
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
                    let params = json!({ "requestId": id, "reason": "cancelled by the test" });
                    self.post(&rpc::notification("notifications/cancelled", &params)).await?;
                    return Err(ClientError::Cancelled);
                }
                () = self.0.ended.cancelled() => return Err(ClientError::NoResponse),
            }
        }
    }

    /// Sends a message; the server only says that it has it.
    pub(crate) async fn post(&self, message: &Value) -> Result<(), ClientError> {
        self.raw_post(&[("content-type", "application/json")], Bytes::from(message.to_string()))
            .await
            .and_then(|response| match response.status {
                202 => Ok(()),
                _ => Err(not_mcp(&response)),
            })
    }

    /// POSTs exactly these headers (and the token) and this body.
    pub(crate) async fn raw_post(
        &self,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<raw::RawResponse, ClientError> {
        let authorization = self.0.token.as_ref().map(|token| format!("Bearer {token}"));
        let mut headers = headers.to_vec();
        headers.extend(authorization.as_deref().map(|value| ("authorization", value)));
        raw::read(raw::send_with(&self.0.client, Method::POST, &self.0.messages, &headers, body).await?).await
    }

    /// Where messages go, as the server said.
    pub(crate) fn messages(&self) -> &str {
        &self.0.messages
    }

    fn receive(&self, message: Message) {
        match message {
            Message::Notification { method, params } => {
                let _ = self.0.notifications.send(rpc::notification(&method, &params));
            }
            Message::Request { id, method, params } => {
                let link = self.clone();
                self.0.tasks.spawn(async move {
                    let response = answer(&link.0.handler, &id, method, params).await;
                    let _ = link.post(&response).await;
                });
            }
            Message::Response { id, outcome } => {
                if let Some(asker) = self.0.waiting.with(|waiting| waiting.remove(&rpc::id_key(&id))) {
                    let _ = asker.send(outcome);
                }
            }
        }
    }
}

/// The address for messages, which a server may name by its path alone.
fn join(base: &str, endpoint: &str) -> Result<String, ClientError> {
    if !endpoint.starts_with('/') {
        return Ok(endpoint.to_owned());
    }
    let base: Uri = base.parse().map_err(|_| ClientError::Transport(format!("{base} is no address")))?;
    Ok(format!(
        "{}://{}{endpoint}",
        base.scheme_str().unwrap_or("http"),
        base.authority().map_or("", |authority| authority.as_str())
    ))
}
