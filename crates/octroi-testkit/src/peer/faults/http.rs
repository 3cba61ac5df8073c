//! Faults of the HTTP transport, on tool calls only; `echo` stays healthy so that a test can prove the server
//! is alive.

use std::io;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::stream;
use serde_json::Value;

use super::Fault;

/// The faulty response, if the fault affects this request.
pub(crate) async fn intercept(fault: Option<Fault>, method: &str, params: &Value) -> Option<Response> {
    if method != "tools/call" || params["name"] == "echo" {
        return None;
    }
    match fault? {
        Fault::Http500 => Some(text(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", "internal error")),
        Fault::HttpHtml => Some(text(StatusCode::OK, "text/html", "<!doctype html><title>Sign in</title>")),
        Fault::HttpCut => Some(cut()),
        Fault::HttpHang => std::future::pending().await,
        _ => None,
    }
}

fn text(status: StatusCode, content_type: &'static str, body: &'static str) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// The error in the stream makes the HTTP server drop the connection at that point.
fn cut() -> Response {
    let beginning = Ok(Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"res"));
    let chunks = stream::iter([beginning, Err(io::Error::other("cut on purpose"))]);
    let mut response = Response::new(Body::from_stream(chunks));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
