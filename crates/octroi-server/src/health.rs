//! Whether Octroi is well, for people and for machines that watch it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use serde_json::json;

use crate::door::Door;
use crate::reply::{self, Reply};

/// Without a token only that it lives and how many servers do; names are for those who may come in.
pub(crate) async fn health(State(door): State<Arc<Door>>, headers: HeaderMap) -> Reply {
    if let Err(refusal) = door.access.check_sender(&headers) {
        return reply::refusal(refusal);
    }
    let servers = door.gateway.servers().status();
    let running = servers.iter().filter(|server| server.state == "running").count();
    let mut body = json!({
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "servers": {"total": servers.len(), "running": running},
        "sessions": door.sessions.count(),
        "problems": door.gateway.problems().len(),
    });
    if door.access.authenticate(&headers).is_ok() {
        body["servers"]["list"] = json!(servers);
        body["problems"] = json!(*door.gateway.problems());
    }
    reply::json(StatusCode::OK, Bytes::from(body.to_string()))
}
