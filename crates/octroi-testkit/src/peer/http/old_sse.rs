//! The HTTP+SSE transport of 2024-11-05: one stream for all messages of the server, and POSTs for those of
//! the client.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use futures_util::stream;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{HttpServer, headers, wire};
use crate::peer::call::OUTBOX_SIZE;
use crate::peer::duplex::Duplex;
use crate::peer::faults::Fault;
use crate::peer::rpc::{INVALID_REQUEST, LEGACY_SESSION_NOT_FOUND, PARSE_ERROR, RpcError};

/// GET: the stream. Its first event contains the URL for POSTs.
pub(crate) async fn open(State(server): State<Arc<HttpServer>>, headers: HeaderMap) -> Response {
    if !headers::is_local_origin(&headers) {
        return wire::error(StatusCode::FORBIDDEN, &RpcError::new(INVALID_REQUEST, "foreign origin"));
    }
    let id = format!("{:016x}", RandomState::new().hash_one("connection"));
    let (outbox, messages) = mpsc::channel(OUTBOX_SIZE);
    let duplex = Arc::new(Duplex::new(Arc::clone(&server.world), outbox));
    server.connections.with(|connections| connections.insert(id.clone(), duplex));
    let endpoint = format!("event: endpoint\ndata: /messages?sessionId={id}\n\n");
    let shutdown = server.world.shutdown.clone();
    let connection = Connection { server, id };
    wire::sse(stream::unfold(
        (Some(endpoint), messages, connection),
        move |(endpoint, mut messages, connection)| {
            let shutdown = shutdown.clone();
            async move {
                if let Some(endpoint) = endpoint {
                    return Some((Ok(Bytes::from(endpoint)), (None, messages, connection)));
                }
                let chunk = tokio::select! {
                    biased;
                    () = shutdown.cancelled() => None,
                    chunk = wire::next_event(&mut messages) => chunk,
                };
                Some((Ok(chunk?), (None, messages, connection)))
            }
        },
    ))
}

/// POST: one message for the connection in the query; the answer goes to its stream.
pub(crate) async fn receive(
    State(server): State<Arc<HttpServer>>,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> Response {
    let query = query.unwrap_or_default();
    let id = query.split('&').find_map(|pair| pair.strip_prefix("sessionId=")).unwrap_or_default();
    let unknown = || {
        let error = RpcError::new(LEGACY_SESSION_NOT_FOUND, "Session not found");
        wire::error(StatusCode::NOT_FOUND, &error)
    };
    let Some(duplex) = server.connections.with(|connections| connections.get(id).cloned()) else {
        return unknown();
    };
    let Ok(message) = serde_json::from_slice::<Value>(&body) else {
        return wire::error(StatusCode::BAD_REQUEST, &RpcError::new(PARSE_ERROR, "Parse error"));
    };
    if message["method"] == "tools/call" && is_lost(&server, &duplex) {
        return unknown();
    }
    duplex.receive(message).await;
    wire::empty(StatusCode::ACCEPTED)
}

/// The fault `session-lost`: the server no longer knows the session after this many calls, though its stream stays
/// open, as behind a proxy that does not notice a restart.
fn is_lost(server: &HttpServer, duplex: &Duplex) -> bool {
    let options = &server.world.options;
    let n_calls = duplex.n_calls.fetch_add(1, Ordering::SeqCst);
    options.fault == Some(Fault::SessionLost) && n_calls >= options.lost_after
}

/// Lives as long as the stream; the session ends with it.
struct Connection {
    server: Arc<HttpServer>,
    id: String,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(duplex) = self.server.connections.with(|connections| connections.remove(&self.id)) {
            duplex.end();
        }
    }
}
