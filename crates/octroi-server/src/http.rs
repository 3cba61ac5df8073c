//! MCP over HTTP: one path, both eras.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use axum::BoxError;
use axum::Extension;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Method as HttpMethod, StatusCode, header};
use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use octroi_api::{ApiError, ErrorCode};
use octroi_core::Principal;
use octroi_gateway::{LARGE_REQUEST_BYTES, View, leave_worker};
use octroi_mcp::body;
use octroi_mcp::header as mcp_header;
use octroi_mcp::{Era, Incoming};

use crate::access::AccessRefusal;
use crate::admit::{era_of, read_params};
use crate::connection::{Connection, Phase};
use crate::endpoint::{HttpEndpoint, Post};
use crate::frontend::Frontend;
use crate::held_bytes::{HeldRequest, SMALL_BYTES};
use crate::reply::{self, Reply};
use crate::{batch, legacy, modern};

pub(crate) async fn single(
    State(endpoint): State<Arc<HttpEndpoint>>,
    Path(name): Path<String>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> Reply {
    admit(endpoint, Some(name), connection, request).await
}

/// What a principal sees at the endpoint of one server alone: one that everybody shares, or its own. Nobody learns
/// whether another user has one of this name.
pub(crate) fn view_of_server(
    endpoint: &HttpEndpoint,
    principal: &Principal,
    name: &str,
) -> Result<View, Box<Reply>> {
    match endpoint.gateway.servers().named_in_path(principal, name) {
        Some(key) => Ok(View::Server(key)),
        None => {
            let error = ApiError::new(ErrorCode::PathNotFound, format!("there is no server `{name}`"));
            Err(Box::new(reply::refuse(None, &error.for_agent())))
        }
    }
}

pub(crate) fn not_found() -> Reply {
    let message = "nothing is here; the MCP endpoint is /mcp";
    reply::refuse(None, &ApiError::new(ErrorCode::PathNotFound, message))
}

/// Authenticates a request and answers it, for all servers or the one that its path names.
pub(crate) fn admit<B: Body<Data = Bytes, Error: Into<BoxError>>>(
    endpoint: Arc<HttpEndpoint>,
    server: Option<String>,
    connection: Arc<Connection>,
    request: http::Request<B>,
) -> impl Future<Output = Reply> {
    let (parts, body) = request.into_parts();
    async move {
        let principal = match authenticate(&endpoint, &connection, &parts.headers).await {
            Ok(principal) => principal,
            Err(reply) => return *reply,
        };
        let view = match server {
            None => View::Merged,
            Some(name) => match view_of_server(&endpoint, &principal, &name) {
                Ok(view) => view,
                Err(unknown) => return *unknown,
            },
        };
        let Some(frontend) = Frontend::of(&principal, view) else {
            return endpoint.refuse_slowly(reply::refusal(AccessRefusal::Service)).await;
        };
        match parts.method {
            HttpMethod::POST => post(endpoint, frontend, principal, &connection, parts.headers, body).await,
            HttpMethod::GET => legacy::open_stream(&endpoint, &frontend, &principal, &parts.headers),
            HttpMethod::DELETE => legacy::end(&endpoint, &frontend, &principal, &parts.headers),
            _ => {
                let mut reply = reply::empty(StatusCode::METHOD_NOT_ALLOWED);
                let allowed = header::HeaderValue::from_static("POST, GET, DELETE");
                reply.headers_mut().insert(header::ALLOW, allowed);
                reply
            }
        }
    }
}

/// The principal that sends a request, if it is admitted and not one too many.
pub(crate) async fn authenticate(
    endpoint: &HttpEndpoint,
    connection: &Connection,
    headers: &HeaderMap,
) -> Result<Principal, Box<Reply>> {
    // Boxed, because refusing waits and admitting does not.
    let principal = match endpoint.admit_now(connection, headers) {
        Ok(principal) => principal,
        Err(refusal) => return Err(Box::new(Box::pin(endpoint.refuse_slowly(*refusal)).await)),
    };
    match endpoint.connections.authenticate(connection, &principal) {
        Ok(()) => Ok(principal),
        Err(crowded) => Err(Box::new(reply::crowded(crowded))),
    }
}

async fn post<B: Body<Data = Bytes, Error: Into<BoxError>>>(
    endpoint: Arc<HttpEndpoint>,
    frontend: Frontend,
    principal: Principal,
    connection: &Connection,
    headers: HeaderMap,
    body: B,
) -> Reply {
    // What is rare is boxed, so that it does not make the future of every request large.
    let (envelope, held) = match read_message(&endpoint, &principal, connection, &headers, body).await {
        Ok((Incoming::One(envelope), held)) => (envelope, held),
        Ok((Incoming::Batch(messages), held)) => {
            return Box::pin(batch::post(endpoint, frontend, principal, &headers, (messages, held))).await;
        }
        Err(reply) => return *reply,
    };
    // Boxed, because it is passed from future to future, and those are moved themselves.
    let post = match read_params(&envelope) {
        Ok(params) => {
            let base = endpoint.access.client_base(connection.address, &headers);
            Box::new(Post { endpoint, frontend, principal, envelope, params, base, _held: held })
        }
        Err(error) => {
            let reply = reply::refuse_with(envelope.id().as_ref(), &error);
            return Box::pin(endpoint.refuse_slowly(reply)).await;
        }
    };
    let version = headers.get(mcp_header::PROTOCOL_VERSION).map(header::HeaderValue::as_bytes);
    match era_of(&post.params, version) {
        Era::Modern => modern::post(post, headers).await,
        Era::Legacy => legacy::post(post, &headers).await,
    }
}

/// Reads the body of a request, and the message in it.
pub(crate) async fn read_message<B: Body<Data = Bytes, Error: Into<BoxError>>>(
    endpoint: &HttpEndpoint,
    principal: &Principal,
    connection: &Connection,
    headers: &HeaderMap,
    body: B,
) -> Result<(Incoming, Option<HeldRequest>), Box<Reply>> {
    let (body, held) = read_json(endpoint, principal, connection, headers, body).await?;
    if body.len() > LARGE_REQUEST_BYTES {
        leave_worker().await;
    }
    match Incoming::parse_of_client(body) {
        Ok(incoming) => Ok((incoming, held)),
        Err(malformed) => {
            let reply = reply::refuse_with(malformed.id.as_ref(), &malformed.to_error());
            Err(Box::new(Box::pin(endpoint.refuse_slowly(reply)).await))
        }
    }
}

/// Reads the body of a request that is declared to be JSON.
pub(crate) async fn read_json<B: Body<Data = Bytes, Error: Into<BoxError>>>(
    endpoint: &HttpEndpoint,
    principal: &Principal,
    connection: &Connection,
    headers: &HeaderMap,
    body: B,
) -> Result<(Bytes, Option<HeldRequest>), Box<Reply>> {
    if !is_json(headers) {
        let message = "the Content-Type must be application/json";
        let error = ApiError::new(ErrorCode::UnsupportedMediaType, message);
        return Err(Box::new(reply::refuse(None, &error)));
    }
    let mut held = hold(endpoint, principal, connection, &body)?;
    let limit = endpoint.settings.body_bytes;
    let body = match &mut held {
        Some(held) if body.size_hint().upper().is_none() => {
            Box::pin(read_unsized(body, limit, connection, held)).await
        }
        Some(_) | None => read_body(body, limit, connection).await,
    }?;
    connection.enter(Phase::Busy);
    Ok((body, held))
}

fn is_json(headers: &HeaderMap) -> bool {
    const JSON: &[u8] = b"application/json";
    headers.get(header::CONTENT_TYPE).is_some_and(|value| {
        let value = value.as_bytes();
        value.len() >= JSON.len()
            && value[..JSON.len()].eq_ignore_ascii_case(JSON)
            && matches!(value.get(JSON.len()), None | Some(b';' | b' '))
    })
}

/// Counts a large request among what is held for its token, before anything of it is read.
fn hold<B: Body>(
    endpoint: &HttpEndpoint,
    principal: &Principal,
    connection: &Connection,
    body: &B,
) -> Result<Option<HeldRequest>, Box<Reply>> {
    let held = connection.held.get_or_init(|| endpoint.held.of(&principal.token().label));
    if held.is_over() {
        return Err(Box::new(too_much_held()));
    }
    let n_bytes = body.size_hint().upper().map_or(0, |n| usize::try_from(n).unwrap_or(usize::MAX));
    match body.size_hint().upper() {
        // It says nothing about its size, which is counted as it comes.
        None => Ok(Some(held.hold_always(0))),
        Some(_) if n_bytes <= SMALL_BYTES => Ok(None),
        // One that is too large is refused for that reason when it is read.
        Some(_) => match held.hold(n_bytes.min(endpoint.settings.body_bytes)) {
            Some(held) => Ok(Some(held)),
            None => Err(Box::new(too_much_held())),
        },
    }
}

/// The refusal of a request whose token has too much in progress. The rest of the request is not read.
pub(crate) fn too_much_held() -> Reply {
    let error = reply::limit_error(
        "the requests and answers of this token that are in progress are too large together",
        "read the answers, wait for some of them; a person can raise `max_held_bytes` under [server]",
    );
    reply::closing(reply::limit(None, &error))
}

/// Reads a body of unknown size, and counts it as it comes.
async fn read_unsized<B: Body<Data = Bytes, Error: Into<BoxError>>>(
    incoming: B,
    limit: usize,
    connection: &Connection,
    held: &mut HeldRequest,
) -> Result<Bytes, Box<Reply>> {
    let (mut incoming, mut read) = (pin!(incoming), BytesMut::new());
    loop {
        let frame = poll_fn(|context| match incoming.as_mut().poll_frame(context) {
            Poll::Pending if connection.ending().is_some() => Poll::Ready(None),
            frame => frame.map(Some),
        });
        let data = match frame.await {
            None => return Err(Box::new(too_slow())),
            Some(None) => return Ok(read.freeze()),
            Some(Some(Err(_))) => return Err(Box::new(reply::empty(StatusCode::BAD_REQUEST))),
            Some(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
        };
        if read.len() + data.len() > limit {
            return Err(Box::new(too_large(limit)));
        }
        if !held.grow(data.len()) {
            return Err(Box::new(too_much_held()));
        }
        read.extend_from_slice(&data);
    }
}

async fn read_body<B: Body<Data = Bytes, Error: Into<BoxError>>>(
    incoming: B,
    limit: usize,
    connection: &Connection,
) -> Result<Bytes, Box<Reply>> {
    let mut collecting = pin!(Limited::new(incoming, limit).collect());
    // A sweep of all connections notices one that is too slow, and wakes its task.
    let collected = poll_fn(|context| match collecting.as_mut().poll(context) {
        Poll::Pending if connection.ending().is_some() => Poll::Ready(None),
        collected => collected.map(Some),
    });
    match collected.await {
        Some(Ok(collected)) => Ok(body::detached(collected.to_bytes())),
        Some(Err(error)) if error.is::<LengthLimitError>() => Err(Box::new(too_large(limit))),
        Some(Err(_)) => Err(Box::new(reply::empty(StatusCode::BAD_REQUEST))),
        None => Err(Box::new(too_slow())),
    }
}

fn too_large(limit: usize) -> Reply {
    let message = format!("the request is larger than {limit} bytes");
    reply::refuse(None, &ApiError::new(ErrorCode::RequestTooLarge, message))
}

fn too_slow() -> Reply {
    let message = "the body of the request came too slowly";
    reply::closing(reply::refuse(None, &ApiError::new(ErrorCode::RequestTooSlow, message)))
}
