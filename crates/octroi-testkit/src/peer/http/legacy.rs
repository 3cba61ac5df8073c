//! Streamable HTTP of 2025-03-26 to 2025-11-25: sessions, a stream for unsolicited messages, and explicit
//! cancellation.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::stream;
use serde_json::Value;
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::wire::{self, Opening};
use super::{HttpServer, headers};
use crate::peer::call::{OUTBOX_SIZE, ServedCall, Side};
use crate::peer::faults::{self, Fault};
use crate::peer::guarded::Guarded;
use crate::peer::legacy::PeerSession;
use crate::peer::options::UnknownSession;
use crate::peer::rpc::{self, LEGACY_BAD_REQUEST, LEGACY_SESSION_NOT_FOUND, Message, RpcError};

/// A session and its stream of unsolicited messages.
#[derive(Debug)]
pub(crate) struct HttpSession {
    session: Arc<PeerSession>,
    /// Buffers messages while no stream is open.
    unasked: Arc<Mutex<mpsc::Receiver<Value>>>,
    /// Ends the open stream when a newer one replaces it.
    stream: Guarded<CancellationToken>,
}

/// Handles one POSTed message.
pub(crate) async fn receive(server: &Arc<HttpServer>, headers: &HeaderMap, message: Value) -> Response {
    let message = match Message::sort(message) {
        Ok(message) => message,
        Err(error) => return wire::error(StatusCode::BAD_REQUEST, &error),
    };
    if let Message::Request { id, method, params } = &message
        && method == "initialize"
    {
        return initialize(server, id, params);
    }
    let http_session = match find(server, headers) {
        Ok(http_session) => http_session,
        Err(refusal) => return refusal.answer(server, &message),
    };
    let session = Arc::clone(&http_session.session);
    match message {
        Message::Notification { method, params } => {
            if method == "notifications/cancelled" {
                session.running.cancel(&params);
            }
            wire::empty(StatusCode::ACCEPTED)
        }
        Message::Response { id, outcome } => {
            session.receive_response(&id, outcome);
            wire::empty(StatusCode::ACCEPTED)
        }
        Message::Request { id, method, params } => {
            if method == "tools/call" && is_lost(server, &session) {
                return Refusal::unknown_session(server).answer_request(server, &id);
            }
            if let Some(response) =
                faults::http::intercept(server.world.options.fault, &method, &params).await
            {
                return response;
            }
            serve(server, session, id, method, params).await
        }
    }
}

/// GET: the stream of unsolicited messages. A newer stream replaces an older one.
pub(crate) async fn open_stream(server: &Arc<HttpServer>, headers: &HeaderMap) -> Response {
    if !headers::accepts(headers, "text/event-stream") {
        let error = RpcError::new(LEGACY_BAD_REQUEST, "Accept must list text/event-stream");
        return wire::error(StatusCode::NOT_ACCEPTABLE, &error);
    }
    let http_session = match find(server, headers) {
        Ok(http_session) => http_session,
        Err(refusal) => return refusal.into_response(),
    };
    let current = http_session.session.ended.child_token();
    http_session.stream.with(|stream| std::mem::replace(stream, current.clone())).cancel();
    let unasked = Arc::clone(&http_session.unasked).lock_owned().await;
    wire::sse(stream::unfold((true, unasked, current), |(is_first, mut unasked, current)| async move {
        if is_first {
            return Some((
                Ok(axum::body::Bytes::from_static(b": stream open\n\n")),
                (false, unasked, current),
            ));
        }
        let chunk = tokio::select! {
            biased;
            () = current.cancelled() => None,
            chunk = wire::next_event(&mut unasked) => chunk,
        };
        Some((Ok(chunk?), (false, unasked, current)))
    }))
}

/// DELETE: the client ends its session.
pub(crate) fn delete(server: &Arc<HttpServer>, headers: &HeaderMap) -> Response {
    match find(server, headers) {
        Err(refusal) => refusal.into_response(),
        Ok(http_session) => {
            forget(server, &http_session.session);
            wire::empty(StatusCode::OK)
        }
    }
}

fn initialize(server: &Arc<HttpServer>, id: &Value, params: &Value) -> Response {
    let (unasked, messages) = mpsc::channel(OUTBOX_SIZE);
    let (session, result) = match PeerSession::open(&server.world, params, unasked) {
        Ok(opened) => opened,
        Err(error) => return wire::json(StatusCode::OK, &rpc::response(id, Err(error))),
    };
    let mut response = wire::json(StatusCode::OK, &rpc::response(id, Ok(result)));
    if let Ok(value) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(HeaderName::from_static(headers::SESSION_ID), value);
    }
    let http_session = Arc::new(HttpSession {
        session: Arc::clone(&session),
        unasked: Arc::new(Mutex::new(messages)),
        stream: Guarded::default(),
    });
    server.sessions.with(|sessions| sessions.insert(session.id.clone(), http_session));
    response
}

async fn serve(
    server: &Arc<HttpServer>,
    session: Arc<PeerSession>,
    id: Value,
    method: String,
    params: Value,
) -> Response {
    let (outbox, messages) = mpsc::channel(OUTBOX_SIZE);
    let opening = match session.version {
        "2025-11-25" => {
            Opening::LegacyPrimed(format!("{}-{}", session.id, rpc::id_key(&id).replace('"', "")))
        }
        _ => Opening::Legacy,
    };
    let running = session.running.clone();
    let cancelled = running.begin(&id);
    let call = ServedCall { world: Arc::clone(&server.world), outbox, side: Side::Legacy(session) };
    server.world.tasks.spawn(async move {
        call.serve(id.clone(), method, params, cancelled).await;
        running.finish(&id);
    });
    // No guard: in this era a lost connection is not a cancellation.
    wire::reply(messages, None, opening).await
}

/// Why a request is refused, in the words of the common SDKs.
struct Refusal {
    status: StatusCode,
    error: RpcError,
}

impl Refusal {
    fn bad_request(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, error: RpcError::new(LEGACY_BAD_REQUEST, message) }
    }

    fn unknown_session(server: &HttpServer) -> Self {
        use UnknownSession as How;
        let (status, code, message) = match server.world.options.unknown_session {
            How::NotFound => (StatusCode::NOT_FOUND, LEGACY_SESSION_NOT_FOUND, "Session not found"),
            How::BadRequest => {
                (StatusCode::BAD_REQUEST, LEGACY_BAD_REQUEST, "Bad Request: No valid session ID provided")
            }
            How::NotInitialized => {
                (StatusCode::BAD_REQUEST, LEGACY_BAD_REQUEST, "Bad Request: Server not initialized")
            }
            How::Unauthorized => {
                (StatusCode::UNAUTHORIZED, LEGACY_SESSION_NOT_FOUND, "Unauthorized: Session not found")
            }
            How::Unprocessable => (
                StatusCode::UNPROCESSABLE_ENTITY,
                LEGACY_BAD_REQUEST,
                "Unexpected message, expect initialize request",
            ),
            How::Ok | How::OkAnswered | How::OkStreamed => {
                (StatusCode::OK, LEGACY_SESSION_NOT_FOUND, "Session not found")
            }
        };
        Self { status, error: RpcError::new(code, message) }
    }

    fn answer(self, server: &HttpServer, message: &Message) -> Response {
        match message {
            Message::Request { id, .. } => self.answer_request(server, id),
            Message::Notification { .. } | Message::Response { .. } => self.into_response(),
        }
    }

    fn answer_request(self, server: &HttpServer, id: &Value) -> Response {
        let answer = rpc::response(id, Err(self.error.clone()));
        match server.world.options.unknown_session {
            _ if self.status != StatusCode::OK => self.into_response(),
            UnknownSession::OkAnswered => wire::json(self.status, &answer),
            UnknownSession::OkStreamed => {
                let event = Ok(axum::body::Bytes::from(format!("data: {answer}\n\n")));
                wire::sse(stream::once(async move { event }))
            }
            _ => self.into_response(),
        }
    }

    fn into_response(self) -> Response {
        wire::error(self.status, &self.error)
    }
}

/// The session of a request.
fn find(server: &HttpServer, headers: &HeaderMap) -> Result<Arc<HttpSession>, Refusal> {
    let supported = server.world.options.legacy_versions();
    if let Some(version) = headers::text(headers, headers::PROTOCOL_VERSION)
        && !supported.contains(&version)
    {
        let supported = supported.join(", ");
        let message = format!("Bad Request: Unsupported protocol version (supported versions: {supported})");
        return Err(Refusal::bad_request(message));
    }
    let Some(id) = headers::text(headers, headers::SESSION_ID) else {
        return Err(Refusal::bad_request("Bad Request: Mcp-Session-Id header is required"));
    };
    server.sessions.with(|sessions| sessions.get(id).cloned()).ok_or_else(|| Refusal::unknown_session(server))
}

fn forget(server: &HttpServer, session: &PeerSession) {
    server.sessions.with(|sessions| sessions.remove(&session.id));
    session.end();
}

/// The fault `session-lost`: the server forgets the session after this many calls.
fn is_lost(server: &HttpServer, session: &PeerSession) -> bool {
    let n_calls = session.n_calls.fetch_add(1, Ordering::SeqCst);
    let is_lost =
        server.world.options.fault == Some(Fault::SessionLost) && n_calls >= server.world.options.lost_after;
    if is_lost {
        forget(server, session);
    }
    is_lost
}
