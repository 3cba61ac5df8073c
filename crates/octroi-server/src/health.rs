//! `GET /health`, for people and for monitoring.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use serde_json::json;

use crate::endpoint::HttpEndpoint;
use crate::reply::{self, Reply};

/// Without a token the answer holds only counts; with one also the names of servers and the problems.
pub(crate) async fn health(State(endpoint): State<Arc<HttpEndpoint>>, headers: HeaderMap) -> Reply {
    if let Err(refusal) = endpoint.access.check_sender(&headers) {
        return reply::refusal(refusal);
    }
    let servers = endpoint.gateway.servers().status();
    let running = servers.iter().filter(|server| server.state == "running").count();
    let mut body = json!({
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "servers": {"total": servers.len(), "running": running},
        "sessions": endpoint.sessions.count(),
        "problems": endpoint.gateway.problems().len(),
    });
    if endpoint.access.authenticate(&headers).is_ok() {
        body["servers"]["list"] = json!(servers);
        body["problems"] = json!(*endpoint.gateway.problems());
    }
    reply::json(StatusCode::OK, Bytes::from(body.to_string()))
}
