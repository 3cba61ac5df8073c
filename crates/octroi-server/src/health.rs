//! `GET /health`, for people and for monitoring.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use octroi_core::{Lifecycle, Principal};
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
    if let Some(person) = principal.filter(Principal::is_person) {
        let servers = endpoint.gateway.servers().status_for(&person);
        let running = servers.iter().filter(|server| server.state.0 == Lifecycle::Running).count();
        body["version"] = json!(env!("CARGO_PKG_VERSION"));
        body["servers"] = json!({"total": servers.len(), "running": running, "list": servers});
        body["sessions"] = json!(endpoint.sessions.count());
        // Problems of the configuration name files, and what belongs to others.
        let problems = if person.is_admin() { endpoint.gateway.problems() } else { Vec::new() };
        body["problems"] = json!(problems);
    }
    reply::json(StatusCode::OK, Bytes::from(body.to_string()))
}
