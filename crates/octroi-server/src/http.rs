//! MCP over HTTP: one path, both eras.

use std::sync::Arc;

use axum::BoxError;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Method as HttpMethod, StatusCode, header};
use bytes::Bytes;
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use octroi_core::{Principal, ServerKey};
use octroi_gateway::View;
use octroi_mcp::body;
use octroi_mcp::header as mcp_header;
use octroi_mcp::{Envelope, Era, Id, Incoming, RpcError, code};

use crate::admit::{era_of, read_params};
use crate::endpoint::{HttpEndpoint, Post};
use crate::frontend::Frontend;
use crate::reply::{self, Reply};
use crate::{batch, legacy, modern};

pub(crate) async fn single(
    State(endpoint): State<Arc<HttpEndpoint>>,
    Path(name): Path<String>,
    request: Request,
) -> Reply {
    let known = ServerKey::parse(&name).filter(|key| endpoint.gateway.servers().upstream(key).is_some());
    match known {
        Some(key) => admit(endpoint, View::Server(key), request).await,
        // A client without a valid token must not learn which servers exist.
        None => match endpoint.access.admit(request.headers()) {
            Err(refusal) => endpoint.refuse(refusal),
            Ok(_) => {
                let error = RpcError::new(code::INVALID_REQUEST, format!("there is no server `{name}`"));
                reply::error_with(StatusCode::NOT_FOUND, None, &error)
            }
        },
    }
}

pub(crate) async fn not_found() -> Reply {
    let error = RpcError::new(code::INVALID_REQUEST, "nothing is here; the MCP endpoint is /mcp");
    reply::error_with(StatusCode::NOT_FOUND, None, &error)
}

/// Authenticates a request and answers it.
pub(crate) fn admit<B: Body<Data = Bytes, Error: Into<BoxError>>>(
    endpoint: Arc<HttpEndpoint>,
    view: View,
    request: http::Request<B>,
) -> impl Future<Output = Reply> {
    let (parts, body) = request.into_parts();
    async move {
        let principal = match endpoint.access.admit(&parts.headers) {
            Ok(principal) => principal,
            Err(refusal) => return endpoint.refuse(refusal),
        };
        let frontend = Frontend::of(&principal, view);
        match parts.method {
            HttpMethod::POST => post(endpoint, frontend, principal, &parts.headers, body).await,
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

async fn post<B: Body<Data = Bytes, Error: Into<BoxError>>>(
    endpoint: Arc<HttpEndpoint>,
    frontend: Frontend,
    principal: Principal,
    headers: &HeaderMap,
    body: B,
) -> Reply {
    if !is_json(headers) {
        let error = RpcError::new(code::INVALID_REQUEST, "the Content-Type must be application/json");
        return reply::error_with(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, &error);
    }
    let body = match read_body(body, endpoint.settings.body_bytes).await {
        Ok(body) => body,
        Err(reply) => return *reply,
    };
    let post = match Incoming::parse_of_client(body) {
        Ok(Incoming::One(envelope)) => read(endpoint, frontend, principal, envelope),
        // Boxed, so that batches, which are rare, do not make the future of every request large.
        Ok(Incoming::Batch(messages)) => {
            return Box::pin(batch::post(endpoint, frontend, principal, headers, messages)).await;
        }
        Err(malformed) => Err(Box::new(bad_request(malformed.id.as_ref(), &malformed.to_error()))),
    };
    let post = match post {
        Ok(post) => post,
        Err(reply) => return *reply,
    };
    let version = headers.get(mcp_header::PROTOCOL_VERSION).map(header::HeaderValue::as_bytes);
    match era_of(&post.params, version) {
        Era::Modern => modern::post(post, headers).await,
        Era::Legacy => legacy::post(post, headers).await,
    }
}

/// Boxed, because it is passed from future to future, and those are moved themselves.
fn read(
    endpoint: Arc<HttpEndpoint>,
    frontend: Frontend,
    principal: Principal,
    envelope: Envelope,
) -> Result<Box<Post>, Box<Reply>> {
    match read_params(&envelope) {
        Ok(params) => Ok(Box::new(Post { endpoint, frontend, principal, envelope, params })),
        Err(error) => Err(Box::new(bad_request(envelope.id().as_ref(), &error))),
    }
}

fn bad_request(id: Option<&Id>, error: &RpcError) -> Reply {
    reply::error_with(StatusCode::BAD_REQUEST, id, error)
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

async fn read_body<B: Body<Data = Bytes, Error: Into<BoxError>>>(
    incoming: B,
    limit: usize,
) -> Result<Bytes, Box<Reply>> {
    match Limited::new(incoming, limit).collect().await {
        Ok(collected) => Ok(body::detached(collected.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => {
            let error =
                RpcError::new(code::INVALID_REQUEST, format!("the request is larger than {limit} bytes"));
            Err(Box::new(reply::error_with(StatusCode::PAYLOAD_TOO_LARGE, None, &error)))
        }
        Err(_) => Err(Box::new(reply::empty(StatusCode::BAD_REQUEST))),
    }
}
