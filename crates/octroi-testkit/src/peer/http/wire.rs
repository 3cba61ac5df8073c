//! HTTP responses: one JSON object, or a stream of server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::stream;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use crate::peer::rpc::{
    self, HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, RpcError, UNSUPPORTED_VERSION,
};

/// Frequent enough for the usual idle timeouts of proxies.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(crate) fn empty(status: StatusCode) -> Response {
    with_status(status, Response::new(Body::empty()))
}

pub(crate) fn json(status: StatusCode, message: &Value) -> Response {
    let mut response = Response::new(Body::from(message.to_string()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    with_status(status, response)
}

/// An error about the HTTP request itself: it has no request id.
pub(crate) fn error(status: StatusCode, error: &RpcError) -> Response {
    json(status, &rpc::response(&Value::Null, Err(error.clone())))
}

/// The status that 2026-07-28 requires for an error.
pub(crate) fn modern_status(code: i64) -> StatusCode {
    match code {
        HEADER_MISMATCH | MISSING_CLIENT_CAPABILITY | UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
        METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        // Errors of tools and resources are answers; the HTTP request itself is valid.
        _ => StatusCode::OK,
    }
}

/// The messages of one request: as JSON if the response comes first, else as a stream that ends after it.
///
/// `on_close` is dropped when the client disconnects, before the first message as well as after it.
pub(crate) async fn reply(
    mut messages: mpsc::Receiver<Value>,
    on_close: Option<DropGuard>,
    opening: Opening,
) -> Response {
    match messages.recv().await {
        Some(message) if is_response(&message) => {
            let status = match (opening, message["error"]["code"].as_i64()) {
                (Opening::Modern, Some(code)) => modern_status(code),
                (Opening::Legacy | Opening::LegacyPrimed(_) | Opening::Modern, _) => StatusCode::OK,
            };
            json(status, &message)
        }
        // No message at all: the request was cancelled, and the stream ends without a response.
        first => {
            let mut head = opening.first_event();
            if let Some(message) = first {
                head.extend_from_slice(&event(&message));
            }
            let state = (messages, on_close);
            sse(stream::unfold((Some(head), state), |(head, (mut messages, on_close))| async move {
                if let Some(head) = head {
                    return Some((Ok(Bytes::from(head)), (None, (messages, on_close))));
                }
                let chunk = next_event(&mut messages).await?;
                Some((Ok(chunk), (None, (messages, on_close))))
            }))
        }
    }
}

/// The start of a stream, which depends on the version.
pub(crate) enum Opening {
    Legacy,
    /// 2025-11-25: an event id and no data, so that a client could reconnect.
    LegacyPrimed(String),
    Modern,
}

impl Opening {
    fn first_event(&self) -> Vec<u8> {
        match self {
            Self::LegacyPrimed(event_id) => format!("id: {event_id}\ndata: \n\n").into_bytes(),
            // A comment, which clients must skip.
            Self::Legacy | Self::Modern => b": stream open\n\n".to_vec(),
        }
    }
}

/// A streaming response.
pub(crate) fn sse(
    events: impl stream::Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
) -> Response {
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// The next message as an event, or a keep-alive comment; `None` when there are no more.
pub(crate) async fn next_event(messages: &mut mpsc::Receiver<Value>) -> Option<Bytes> {
    match tokio::time::timeout(KEEP_ALIVE, messages.recv()).await {
        Ok(message) => message.map(|message| Bytes::from(event(&message))),
        Err(_) => Some(Bytes::from_static(b": keep-alive\n\n")),
    }
}

pub(crate) fn event(message: &Value) -> Vec<u8> {
    format!("event: message\ndata: {message}\n\n").into_bytes()
}

fn is_response(message: &Value) -> bool {
    message.get("result").is_some() || message.get("error").is_some()
}

fn with_status(status: StatusCode, mut response: Response) -> Response {
    *response.status_mut() = status;
    response
}
