//! Streamable HTTP of 2026-07-28: stateless, one POST per request; closing the response cancels it.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::wire::{self, Opening};
use super::{HttpServer, headers};
use crate::peer::call::{OUTBOX_SIZE, ServedCall, Side};
use crate::peer::faults::{self, lies};
use crate::peer::modern::ModernRequest;
use crate::peer::rpc::{self, INVALID_REQUEST, Message, RpcError};
use crate::peer::world::World;

/// Handles one POSTed message.
pub(crate) async fn receive(server: &Arc<HttpServer>, headers: &HeaderMap, message: Value) -> Response {
    let (id, method, params) = match Message::sort(message) {
        Err(error) => return wire::error(StatusCode::BAD_REQUEST, &error),
        // This version defines no client notifications over HTTP; they are accepted and ignored.
        Ok(Message::Notification { .. }) => return wire::empty(StatusCode::ACCEPTED),
        Ok(Message::Response { .. }) => {
            let error = RpcError::new(INVALID_REQUEST, "clients must not send responses");
            return wire::error(StatusCode::BAD_REQUEST, &error);
        }
        Ok(Message::Request { id, method, params }) => (id, method, params),
    };
    let request = match check(&server.world, headers, &method, &params) {
        Ok(request) => request,
        Err((status, error)) => return wire::json(status, &rpc::response(&id, Err(error))),
    };
    if let Some(response) = faults::http::intercept(server.world.options.fault, &method, &params).await {
        return response;
    }
    let (outbox, messages) = mpsc::channel(OUTBOX_SIZE);
    let call = ServedCall { world: Arc::clone(&server.world), outbox, side: Side::Modern(request) };
    let cancelled = CancellationToken::new();
    let on_close = cancelled.clone().drop_guard();
    server.world.tasks.spawn(call.serve(id, method, params, cancelled));
    wire::reply(messages, Some(on_close), Opening::Modern).await
}

fn check(
    world: &World,
    headers: &HeaderMap,
    method: &str,
    params: &Value,
) -> Result<ModernRequest, (StatusCode, RpcError)> {
    headers::check_presence(headers, method).map_err(|error| (StatusCode::BAD_REQUEST, error))?;
    let request = ModernRequest::read(method, params).map_err(|error| {
        let status = match wire::modern_status(error.code) {
            // A malformed `_meta`, unlike an invalid argument, makes the whole request invalid.
            StatusCode::OK => StatusCode::BAD_REQUEST,
            status => status,
        };
        (status, error)
    });
    // A request without `_meta` has nothing to compare the headers with; any other is compared before it is
    // validated.
    if !matches!(&request, Err((_, error)) if error.code == rpc::INVALID_PARAMS) {
        let region = lies::region_header(world);
        headers::check_values(headers, method, params, region)
            .map_err(|error| (StatusCode::BAD_REQUEST, error))?;
    }
    request
}
