//! `GET /health`, for people and for monitoring.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use octroi_core::{Lifecycle, Role};
use serde_json::json;

use crate::endpoint::HttpEndpoint;
use crate::reply::{self, Reply};

/// Whoever asks learns that the gateway works. What it has in it is only for people.
pub(crate) async fn health(State(endpoint): State<Arc<HttpEndpoint>>, headers: HeaderMap) -> Reply {
    if let Err(refusal) = endpoint.access.check_sender(&headers) {
        return reply::refusal(refusal);
    }
    let mut body = json!({"status": "ok"});
    let is_person =
        endpoint.access.authenticate(&headers).is_ok_and(|principal| principal.role == Role::Human);
    if is_person {
        let servers = endpoint.gateway.servers().status();
        let running = servers.iter().filter(|server| server.state.0 == Lifecycle::Running).count();
        body["version"] = json!(env!("CARGO_PKG_VERSION"));
        body["servers"] = json!({"total": servers.len(), "running": running, "list": servers});
        body["sessions"] = json!(endpoint.sessions.count());
        body["problems"] = json!(endpoint.gateway.problems());
    }
    reply::json(StatusCode::OK, Bytes::from(body.to_string()))
}
