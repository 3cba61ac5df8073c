//! The HTTP transports: Streamable HTTP at `/mcp` for both eras, and the HTTP+SSE of 2024-11-05 at `/sse`.

mod headers;
mod legacy;
mod modern;
mod old_sse;
mod wire;

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use axum::routing::{any, get, post};
use axum::serve::ListenerExt as _;
use serde_json::Value;
use tokio::net::TcpListener;

use super::duplex::Duplex;
use super::guarded::Guarded;
use super::modern::META_VERSION;
use super::options::{Eras, LEGACY_VERSIONS, Transport};
use super::rpc::{INVALID_REQUEST, LEGACY_BAD_REQUEST, PARSE_ERROR, RpcError};
use super::world::World;

/// How long requests in flight may take after shutdown started.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The state that the handlers share.
pub(crate) struct HttpServer {
    world: Arc<World>,
    /// Streamable HTTP's sessions, by id.
    sessions: Guarded<HashMap<String, Arc<legacy::HttpSession>>>,
    /// HTTP+SSE's connections, by id.
    connections: Guarded<HashMap<String, Arc<Duplex>>>,
}

/// Listens, prints the address on stdout, and serves until shutdown.
pub(crate) async fn serve(world: Arc<World>) -> io::Result<()> {
    let listener = TcpListener::bind(world.options.listen).await?;
    let address = listener.local_addr()?;
    let (router, path) = match world.options.transport {
        Transport::Sse => (
            Router::new().route("/sse", get(old_sse::open)).route("/messages", post(old_sse::receive)),
            "/sse",
        ),
        Transport::Http | Transport::Stdio => (Router::new().route("/mcp", any(streamable)), "/mcp"),
    };
    writeln!(io::stdout(), "listening on http://{address}{path}")?;
    let shutdown = world.shutdown.clone();
    let server =
        Arc::new(HttpServer { world, sessions: Guarded::default(), connections: Guarded::default() });
    let router = router.layer(DefaultBodyLimit::disable()).with_state(server);
    // Small messages in both directions: Nagle's algorithm would delay each of them by 40 ms.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let serving = axum::serve(listener, router).with_graceful_shutdown(shutdown.clone().cancelled_owned());
    tokio::select! {
        served = serving => served,
        () = async { shutdown.cancelled().await; tokio::time::sleep(LAST_WORDS).await } => Ok(()),
    }
}

async fn streamable(
    State(server): State<Arc<HttpServer>>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if !headers::is_local_origin(&headers) {
        return wire::error(StatusCode::FORBIDDEN, &RpcError::new(INVALID_REQUEST, "foreign origin"));
    }
    let has_sessions = server.world.options.era != Eras::Modern;
    match method {
        Method::POST => receive(&server, &headers, &body).await,
        Method::GET if has_sessions => legacy::open_stream(&server, &headers).await,
        Method::DELETE if has_sessions => legacy::delete(&server, &headers),
        _ => wire::empty(StatusCode::METHOD_NOT_ALLOWED),
    }
}

async fn receive(server: &Arc<HttpServer>, headers: &HeaderMap, body: &[u8]) -> Response {
    if !headers::content_type_is_json(headers) {
        let error = RpcError::new(LEGACY_BAD_REQUEST, "Content-Type must be application/json");
        return wire::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
    }
    if !headers::accepts_both(headers) {
        let error =
            RpcError::new(LEGACY_BAD_REQUEST, "Accept must list application/json and text/event-stream");
        return wire::error(StatusCode::NOT_ACCEPTABLE, &error);
    }
    let Ok(message) = serde_json::from_slice::<Value>(body) else {
        return wire::error(StatusCode::BAD_REQUEST, &RpcError::new(PARSE_ERROR, "Parse error"));
    };
    if is_modern(server.world.options.era, headers, &message) {
        modern::receive(server, headers, message).await
    } else {
        legacy::receive(server, headers, message).await
    }
}

/// A server of both eras treats a request as modern if its body or its version header is.
fn is_modern(era: Eras, headers: &HeaderMap, message: &Value) -> bool {
    match era {
        Eras::Legacy => false,
        Eras::Modern => true,
        Eras::Both => {
            let version = headers::text(headers, headers::PROTOCOL_VERSION);
            message["params"]["_meta"].get(META_VERSION).is_some()
                || version.is_some_and(|version| !LEGACY_VERSIONS.contains(&version))
        }
    }
}
