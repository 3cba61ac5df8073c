//! Responses: JSON, event streams, refusals.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use futures_util::Stream;
use octroi_api::{ApiError, ErrorCode};
use octroi_gateway::{error_message, rpc_error};
use octroi_mcp::{Id, RpcError};

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

/// The error that a refusal reports, for an interface that has another form for it.
#[derive(Clone)]
pub(crate) struct Refused(pub(crate) ApiError);

/// The refusal of a request, with the HTTP status that the table of errors gives its code.
pub(crate) fn refuse(id: Option<&Id>, error: &ApiError) -> Reply {
    let mut reply = json(status(error.http_status()), error_message(id, &rpc_error(error)));
    reply.extensions_mut().insert(Refused(error.clone()));
    reply
}

/// The refusal of a request that the protocol does not allow.
pub(crate) fn invalid_request(message: impl Into<String>) -> Reply {
    refuse(None, &ApiError::new(ErrorCode::InvalidRequest, message))
}

/// The refusal of a request for an error that says its code itself, or is one of the protocol.
pub(crate) fn refuse_with(id: Option<&Id>, error: &RpcError) -> Reply {
    let own = error.data.as_ref().and_then(|data| data["code"].as_str()).and_then(ErrorCode::parse);
    let code = own.or_else(|| ErrorCode::of_protocol(error.code)).unwrap_or(ErrorCode::InvalidRequest);
    let mut reply = json(status(code.spec().http), error_message(id, error));
    let read = ApiError::from_rpc(error.code, &error.message, error.data.as_ref());
    reply.extensions_mut().insert(Refused(ApiError { code, ..read }));
    reply
}

/// The HTTP status of a modern answer with this error. Only errors of the protocol have one of their own; whatever
/// else a request led to is an answer to it.
pub(crate) fn status_of(code: i64) -> StatusCode {
    ErrorCode::of_protocol(code).map_or(StatusCode::OK, |code| status(code.spec().http))
}

pub(crate) fn status(number: u16) -> StatusCode {
    // Every number of the table is a status, which a test checks.
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
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
    rpc_error(&ApiError::new(ErrorCode::LimitExceeded, message).with_hint(hint))
}

/// The response to a request beyond a limit.
pub(crate) fn limit(id: Option<&Id>, error: &RpcError) -> Reply {
    let mut reply = refuse_with(id, error);
    reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    reply
}

/// The response on a connection that is one too many.
pub(crate) fn crowded(crowded: Crowded) -> Reply {
    let error = match crowded {
        Crowded::Reserved => rpc_error(&ApiError::new(
            ErrorCode::TooManyConnections,
            "there are too many connections; the last ones are kept for people",
        )),
        Crowded::Token { limit } => limit_error(
            &format!("there are {limit} connections with this token"),
            "close some; a person can raise `max_connections_per_token` under [server]",
        ),
    };
    closing(limit(None, &error))
}

/// The response to a client that sent too many wrong tokens.
pub(crate) fn wrong_tokens(rest: Duration) -> Reply {
    // Rounded up: one second earlier would be refused again.
    let seconds = rest.as_secs() + u64::from(rest.subsec_nanos() > 0);
    let error = limit_error(
        &format!("too many wrong tokens came from this address; it is refused for {seconds} s"),
        "send the right token, then wait; a person can raise `max_wrong_tokens_per_address` under [server]",
    );
    let mut reply = refuse_with(None, &error);
    reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    reply
}

/// The response to a request that is not admitted.
pub(crate) fn refusal(refusal: AccessRefusal) -> Reply {
    let (code, message) = match refusal {
        AccessRefusal::NoToken => (
            ErrorCode::Unauthenticated,
            "send `Authorization: Bearer TOKEN`; `octroi up` printed the token when it first started",
        ),
        AccessRefusal::UnknownToken => (
            ErrorCode::Unauthenticated,
            "the token is not known; see [[tokens]] in octroi.toml, or the token that `octroi up` printed",
        ),
        AccessRefusal::Service => (
            ErrorCode::Forbidden,
            "this is the token of a service, which may read /metrics only; use the token of an agent",
        ),
        AccessRefusal::Origin => (
            ErrorCode::Forbidden,
            "the Origin is not allowed; add it to `allowed_origins` under [server] if you trust that page",
        ),
        AccessRefusal::Host => (
            ErrorCode::Forbidden,
            "the Host is not allowed; add it to `allowed_hosts` under [server] if Octroi is reached by that name",
        ),
    };
    let error = ApiError::new(code, message);
    let error = match refusal {
        AccessRefusal::NoToken | AccessRefusal::UnknownToken => error,
        AccessRefusal::Service => error.with_hint("use the token of an agent"),
        // Nobody knows yet who asks, and it may be an agent.
        AccessRefusal::Origin | AccessRefusal::Host => error.for_agent(),
    };
    let mut reply = refuse(None, &error);
    if code == ErrorCode::Unauthenticated {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_that_of_the_table() {
        for code in ErrorCode::ALL {
            let error = ApiError::new(code, "m");
            let status = StatusCode::from_u16(code.spec().http).expect("a status");
            assert_eq!(refuse(None, &error).status(), status, "{code}");
            assert_eq!(refuse_with(None, &rpc_error(&error)).status(), status, "{code}");
        }
        for (refused, status) in [
            (AccessRefusal::NoToken, 401),
            (AccessRefusal::UnknownToken, 401),
            (AccessRefusal::Service, 403),
            (AccessRefusal::Origin, 403),
            (AccessRefusal::Host, 403),
        ] {
            assert_eq!(refusal(refused).status(), status, "{refused:?}");
        }
        assert_eq!(crowded(Crowded::Reserved).status(), 503);
        assert_eq!(crowded(Crowded::Token { limit: 1 }).status(), 429);
    }

    #[test]
    fn only_errors_of_the_protocol_change_the_status_of_an_answer() {
        for (code, status) in [
            (-32_700, 400),
            (-32_600, 400),
            (-32_601, 404),
            (-32_020, 400),
            (-32_021, 400),
            (-32_022, 400),
            (-32_602, 200),
            (-32_603, 200),
            (-32_950, 200),
            (-32_954, 200),
            (5, 200),
        ] {
            assert_eq!(status_of(code), status, "{code}");
        }
    }
}
