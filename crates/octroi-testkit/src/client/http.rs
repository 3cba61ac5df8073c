//! The client side of Streamable HTTP, in both eras.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Response};
use serde_json::Value;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::error::{ClientError, RpcError};
use super::modern::{self, Mirrored};
use super::options::{Era, Handler, answer};
use super::raw::{self, HttpClient, RawResponse};
use super::sse::SseReader;
use crate::peer::guarded::Guarded;
use crate::peer::rpc::{self, Message};

/// A server should open its stream immediately; one that waits for the first message must not block the test.
const STREAM_OPENS_WITHIN: Duration = Duration::from_secs(5);

const ACCEPT_BOTH: &str = "application/json, text/event-stream";

/// A client's link to one endpoint; clones share the session.
#[derive(Clone)]
pub(crate) struct HttpLink(Arc<Shared>);

struct Shared {
    url: String,
    token: Option<String>,
    era: Era,
    client: HttpClient,
    handler: Handler,
    session: Guarded<Option<String>>,
    version: Guarded<Option<String>>,
    mirrored: Mirrored,
    notifications: broadcast::Sender<Value>,
    tasks: TaskTracker,
    closed: CancellationToken,
}

impl HttpLink {
    pub(crate) fn new(
        url: String,
        token: Option<String>,
        era: Era,
        handler: Handler,
        notifications: broadcast::Sender<Value>,
        closed: CancellationToken,
    ) -> Self {
        Self(Arc::new(Shared {
            url,
            token,
            era,
            client: raw::new_http_client(),
            handler,
            session: Guarded::default(),
            version: Guarded::default(),
            mirrored: Mirrored::default(),
            notifications,
            tasks: TaskTracker::new(),
            closed,
        }))
    }

    pub(crate) fn session(&self) -> Option<String> {
        self.0.session.with(|session| session.clone())
    }

    /// Sets the version header of all following requests.
    pub(crate) fn set_version(&self, version: &str) {
        self.0.version.with(|current| *current = Some(version.to_owned()));
    }

    pub(crate) fn mirrored(&self) -> &Mirrored {
        &self.0.mirrored
    }

    /// Sends a request and reads its stream up to the response.
    pub(crate) async fn exchange(
        &self,
        message: &Value,
        notices: &mpsc::Sender<Value>,
        cancelled: &CancellationToken,
    ) -> Result<Value, ClientError> {
        tokio::select! {
            outcome = self.exchange_undisturbed(message, notices) => outcome,
            () = cancelled.cancelled() => {
                // Leaving this select closed the response stream, which is how a modern server notices.
                if let Era::Legacy(_) = self.0.era {
                    let params = serde_json::json!({ "requestId": message["id"], "reason": "cancelled by the test" });
                    self.post(&rpc::notification("notifications/cancelled", &params)).await?;
                }
                Err(ClientError::Cancelled)
            }
        }
    }

    /// POSTs a message that expects no response.
    pub(crate) async fn post(&self, message: &Value) -> Result<(), ClientError> {
        let response = raw::read(self.send(message).await?).await?;
        match response.status {
            200..=299 => Ok(()),
            _ => Err(not_mcp(&response)),
        }
    }

    /// Opens the stream for messages outside of requests; servers may have none.
    pub(crate) async fn open_stream(&self) -> Result<(), ClientError> {
        let headers = self.headers(None);
        let mut headers: Vec<_> = borrowed(&headers);
        headers.push(("accept", "text/event-stream"));
        let opening = raw::send_with(&self.0.client, Method::GET, &self.0.url, &headers, Bytes::new());
        let Ok(response) = tokio::time::timeout(STREAM_OPENS_WITHIN, opening).await else { return Ok(()) };
        let response = response?;
        if response.status().as_u16() == 405 {
            return Ok(());
        }
        if !is_sse(&response) {
            return Err(not_mcp(&raw::read(response).await?));
        }
        let link = self.clone();
        let closed = self.0.closed.clone();
        self.0.tasks.spawn(async move {
            let mut events = SseReader::new(response.into_body());
            while let Some(Ok(Some(event))) = closed.run_until_cancelled(events.next()).await {
                if let Some(message) = parse(&event.data) {
                    link.receive_unasked(message);
                }
            }
        });
        Ok(())
    }

    /// Ends the session.
    pub(crate) async fn delete_session(&self) -> Result<(), ClientError> {
        if self.session().is_none() {
            return Ok(());
        }
        let headers = self.headers(None);
        let sent =
            raw::send_with(&self.0.client, Method::DELETE, &self.0.url, &borrowed(&headers), Bytes::new())
                .await?;
        raw::read(sent).await.map(|_| ())
    }

    /// POSTs exactly these headers (and the token) and this body.
    pub(crate) async fn raw_post(
        &self,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<RawResponse, ClientError> {
        let authorization = self.authorization();
        let mut headers = headers.to_vec();
        headers.extend(authorization.as_deref().map(|value| ("authorization", value)));
        raw::read(raw::send_with(&self.0.client, Method::POST, &self.0.url, &headers, body).await?).await
    }

    async fn exchange_undisturbed(
        &self,
        message: &Value,
        notices: &mpsc::Sender<Value>,
    ) -> Result<Value, ClientError> {
        let response = self.send(message).await?;
        if let Some(session) = response.headers().get("mcp-session-id").and_then(|value| value.to_str().ok())
        {
            self.0.session.with(|current| *current = Some(session.to_owned()));
        }
        if response.status().is_success() && is_sse(&response) {
            return self.read_stream(response, &message["id"], notices).await;
        }
        let response = raw::read(response).await?;
        match parse(&String::from_utf8_lossy(&response.body)) {
            Some(Message::Response { outcome, .. }) => {
                outcome.map_err(|error| ClientError::Rpc(RpcError::read(&error, Some(response.status))))
            }
            Some(Message::Request { .. } | Message::Notification { .. }) | None => Err(not_mcp(&response)),
        }
    }

    async fn read_stream(
        &self,
        response: Response<Incoming>,
        id: &Value,
        notices: &mpsc::Sender<Value>,
    ) -> Result<Value, ClientError> {
        let status = response.status().as_u16();
        let mut events = SseReader::new(response.into_body());
        while let Some(event) =
            events.next().await.map_err(|error| ClientError::Transport(error.to_string()))?
        {
            match parse(&event.data) {
                Some(Message::Response { id: answered, outcome }) if answered == *id => {
                    return outcome.map_err(|error| ClientError::Rpc(RpcError::read(&error, Some(status))));
                }
                Some(Message::Notification { method, params }) => {
                    let notification = rpc::notification(&method, &params);
                    // The test may not be reading; that must not block the stream.
                    let _ = notices.try_send(notification.clone());
                    let _ = self.0.notifications.send(notification);
                }
                Some(Message::Request { id, method, params }) => self.answer_later(id, method, params),
                // An event without a message, or a response to something else.
                Some(Message::Response { .. }) | None => {}
            }
        }
        Err(ClientError::NoResponse)
    }

    fn receive_unasked(&self, message: Message) {
        match message {
            Message::Notification { method, params } => {
                let _ = self.0.notifications.send(rpc::notification(&method, &params));
            }
            Message::Request { id, method, params } => self.answer_later(id, method, params),
            Message::Response { .. } => {}
        }
    }

    /// In its own task, so that the stream is still read while the handler runs.
    fn answer_later(&self, id: Value, method: String, params: Value) {
        let link = self.clone();
        let closed = self.0.closed.clone();
        self.0.tasks.spawn(async move {
            let reply = async {
                let response = answer(&link.0.handler, &id, method, params).await;
                let _ = link.post(&response).await;
            };
            closed.run_until_cancelled(reply).await
        });
    }

    async fn send(&self, message: &Value) -> Result<Response<Incoming>, ClientError> {
        let headers = self.headers(Some(message));
        let mut headers = borrowed(&headers);
        headers.push(("content-type", "application/json"));
        headers.push(("accept", ACCEPT_BOTH));
        raw::send_with(&self.0.client, Method::POST, &self.0.url, &headers, Bytes::from(message.to_string()))
            .await
    }

    fn headers(&self, message: Option<&Value>) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        headers.extend(self.authorization().map(|value| ("authorization".to_owned(), value)));
        match (self.0.era, message) {
            (Era::Modern, Some(message)) => headers.extend(modern::headers(message, &self.0.mirrored)),
            (Era::Modern, None) => {}
            (Era::Legacy(_), _) => {
                headers.extend(self.session().map(|session| ("mcp-session-id".to_owned(), session)));
                let version = self.0.version.with(|version| version.clone());
                // Only versions from 2025-06-18 on know the header.
                let version = version.filter(|version| version.as_str() >= "2025-06-18");
                headers.extend(version.map(|version| ("mcp-protocol-version".to_owned(), version)));
            }
        }
        headers
    }

    fn authorization(&self) -> Option<String> {
        self.0.token.as_ref().map(|token| format!("Bearer {token}"))
    }
}

fn borrowed(headers: &[(String, String)]) -> Vec<(&str, &str)> {
    headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

fn parse(text: &str) -> Option<Message> {
    Message::sort(serde_json::from_str(text).ok()?).ok()
}

fn is_sse(response: &Response<Incoming>) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|content_type| content_type.starts_with("text/event-stream"))
}

pub(super) fn not_mcp(response: &RawResponse) -> ClientError {
    let body = String::from_utf8_lossy(&response.body).chars().take(500).collect();
    match parse(&String::from_utf8_lossy(&response.body)) {
        Some(Message::Response { outcome: Err(error), .. }) => {
            ClientError::Rpc(RpcError::read(&error, Some(response.status)))
        }
        _ => ClientError::Http { status: response.status, body },
    }
}
