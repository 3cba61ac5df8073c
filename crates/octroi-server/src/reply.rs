//! Responses: JSON, event streams, refusals.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use futures_util::Stream;
use octroi_api::ErrorCode;
use octroi_mcp::{Id, RpcError, code, envelope};
use serde_json::json;

use crate::access::AccessRefusal;
use crate::connections::Crowded;

/// How often an idle stream sends a keep-alive.
pub(crate) const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);
/// A request that takes longer is answered by a stream, which proxies and clients do not time out.
pub(crate) const STREAM_AFTER: Duration = Duration::from_secs(10);

/// hyper reads the headers of the next request into the map of those it has just written: one for all of them
/// is cheaper than one for each.
const N_HEADERS_NEXT: usize = 12;

pub(crate) type Reply = Response<Body>;

/// A JSON body.
pub(crate) fn json(status: StatusCode, body: Bytes) -> Reply {
    let mut reply = Response::new(Body::from(body));
    *reply.status_mut() = status;
    *reply.headers_mut() = HeaderMap::with_capacity(N_HEADERS_NEXT);
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

/// An error response, with the status of its code.
pub(crate) fn error(id: Option<&Id>, error: &RpcError) -> Reply {
    json(status_of(error.code), envelope::error(id, error))
}

/// An error response with another status.
pub(crate) fn error_with(status: StatusCode, id: Option<&Id>, error: &RpcError) -> Reply {
    json(status, envelope::error(id, error))
}

/// The HTTP status of a modern error.
pub(crate) fn status_of(code: i64) -> StatusCode {
    match code {
        code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        code::PARSE_ERROR
        | code::INVALID_REQUEST
        | code::HEADER_MISMATCH
        | code::MISSING_CAPABILITY
        | code::UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(Body::empty());
    *reply.status_mut() = status;
    reply
}

/// An event stream.
pub(crate) fn stream(events: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Reply {
    let mut reply = Response::new(Body::from_stream(events));
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    reply
}

/// A response after which the connection is closed.
pub(crate) fn closing(mut reply: Reply) -> Reply {
    reply.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    reply
}

/// The error for a request beyond a limit, and how the limit is raised.
pub(crate) fn limit_error(message: &str, hint: &str) -> RpcError {
    let spec = ErrorCode::LimitExceeded.spec();
    RpcError::new(spec.rpc, message).with_data(json!({"code": spec.word, "hint": hint}))
}

/// The response to a request beyond a limit.
pub(crate) fn limit(status: StatusCode, id: Option<&Id>, error: &RpcError) -> Reply {
    let mut reply = error_with(status, id, error);
    reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    reply
}

/// The response on a connection that is one too many.
pub(crate) fn crowded(crowded: Crowded) -> Reply {
    let (status, error) = match crowded {
        Crowded::Reserved => (
            StatusCode::SERVICE_UNAVAILABLE,
            limit_error(
                "there are too many connections; the last ones are kept for people",
                "close some, or raise `max_connections` under [server]",
            ),
        ),
        Crowded::Token { limit } => (
            StatusCode::TOO_MANY_REQUESTS,
            limit_error(
                &format!("there are {limit} connections with this token"),
                "close some, or raise `max_connections_per_token` under [server]",
            ),
        ),
    };
    closing(limit(status, None, &error))
}

/// The response to a client that sent too many wrong tokens.
pub(crate) fn wrong_tokens(rest: Duration) -> Reply {
    // Rounded up: one second earlier would be refused again.
    let seconds = rest.as_secs() + u64::from(rest.subsec_nanos() > 0);
    let error = limit_error(
        &format!("too many wrong tokens came from this address; it is refused for {seconds} s"),
        "send the right token, then wait; see `max_wrong_tokens_per_address` under [server]",
    );
    let mut reply = error_with(StatusCode::TOO_MANY_REQUESTS, None, &error);
    reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    reply
}

/// The response to a request that is not admitted.
pub(crate) fn refusal(refusal: AccessRefusal) -> Reply {
    let (status, kind, message) = match refusal {
        AccessRefusal::NoToken => (
            StatusCode::UNAUTHORIZED,
            "unauthenticated",
            "send `Authorization: Bearer TOKEN`; `octroi up` printed the token when it first started",
        ),
        AccessRefusal::UnknownToken => (
            StatusCode::UNAUTHORIZED,
            "unauthenticated",
            "the token is not known; see [[tokens]] in octroi.toml, or the token that `octroi up` printed",
        ),
        AccessRefusal::Service => (
            StatusCode::FORBIDDEN,
            "forbidden",
            "this is the token of a service, which may read /metrics only; use the token of an agent",
        ),
        AccessRefusal::Origin => (
            StatusCode::FORBIDDEN,
            "forbidden",
            "the Origin is not allowed; add it to `allowed_origins` under [server] if you trust that page",
        ),
        AccessRefusal::Host => (
            StatusCode::FORBIDDEN,
            "forbidden",
            "the Host is not allowed; add it to `allowed_hosts` under [server] if Octroi is reached by that name",
        ),
    };
    let error = RpcError::new(code::INVALID_REQUEST, message).with_data(json!({"code": kind}));
    let mut reply = error_with(status, None, &error);
    if status == StatusCode::UNAUTHORIZED {
        let challenge = match refusal {
            AccessRefusal::UnknownToken => "Bearer realm=\"octroi\", error=\"invalid_token\"",
            AccessRefusal::NoToken | AccessRefusal::Service | AccessRefusal::Origin | AccessRefusal::Host => {
                "Bearer realm=\"octroi\""
            }
        };
        reply.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    reply
}
