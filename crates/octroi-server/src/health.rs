//! `GET /health`, for people and for monitoring.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use octroi_core::Lifecycle;
use octroi_gateway::ErrorDetail;
use serde_json::json;

use crate::access::bearer;
use crate::connection::Connection;
use crate::endpoint::HttpEndpoint;
use crate::reply::{self, Reply};

/// Whoever asks learns that the gateway works. What it has in it is only for people.
pub(crate) async fn health(
    State(endpoint): State<Arc<HttpEndpoint>>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
) -> Reply {
    if let Err(refusal) = endpoint.access.check_sender(&headers) {
        return reply::refusal(refusal);
    }
    let mut body = json!({"status": "ok"});
    // Monitoring sends none. A wrong one counts here as anywhere, or it could be guessed here.
    let principal = match bearer(&headers) {
        Err(_) => None,
        Ok(_) => match endpoint.admit_now(&connection, &headers) {
            Ok(principal) => Some(principal),
            Err(refused) if refused.status() == StatusCode::TOO_MANY_REQUESTS => {
                return endpoint.refuse_slowly(*refused).await;
            }
            Err(_) => None,
        },
    };
    let is_person = principal.is_some_and(|principal| principal.is_person());
    if is_person {
        let servers = endpoint.gateway.servers().status(ErrorDetail::Reason);
        let running = servers.iter().filter(|server| server.state.0 == Lifecycle::Running).count();
        body["version"] = json!(env!("CARGO_PKG_VERSION"));
        body["servers"] = json!({"total": servers.len(), "running": running, "list": servers});
        body["sessions"] = json!(endpoint.sessions.count());
        body["problems"] = json!(endpoint.gateway.problems());
    }
    reply::json(StatusCode::OK, Bytes::from(body.to_string()))
}
