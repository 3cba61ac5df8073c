//! The HTTP+SSE transport of 2024-11-05, for clients that speak no newer one.
//!
//! `GET /sse` opens a stream, whose first event names where to send messages. The stream brings everything
//! else: answers, questions and notifications. The session begins with `initialize` and is one like all
//! others; it ends soon after its stream, unless the client opens another with the id of the last event.
//!
//! Many clients open another stream when Octroi was restarted, and go on without either. Their session begins with
//! their next request: who they are and what they may do depends on their token only, and what a session knows of
//! its client besides is what it can be asked, which is nothing then.

mod reader;

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method as HttpMethod, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Collected};
use octroi_api::{ApiError, ErrorCode};
use octroi_core::Principal;
use octroi_gateway::{Asked, Client, Movable, View};
use octroi_mcp::header as mcp_header;
use octroi_mcp::{Era, Incoming, Kind, Method, Version, envelope, sse};

use crate::access::AccessRefusal;
use crate::admit::{era_of, read_params};
use crate::connection::Connection;
use crate::endpoint::{HttpEndpoint, Post};
use crate::frontend::Frontend;
use crate::http::{authenticate, read_message, too_much_held, view_of_server};
use crate::legacy;
use crate::old_streams::OldStream;
use crate::reply::{self, Reply};
use crate::session::{InitializeParams, SendMessage};
use crate::sessions::{HttpSession, SessionRefusal};

/// Where a stream is opened, below the path of an endpoint.
pub(crate) const STREAM_PATH: &str = "/sse";
/// Where messages are sent, below the path of an endpoint.
pub(crate) const MESSAGES_PATH: &str = "/messages";
/// The parameter of an address for messages that names its stream.
const STREAM_ID: &str = "sessionId";

/// `GET /sse`
pub(crate) async fn open_merged(
    State(endpoint): State<Arc<HttpEndpoint>>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> Reply {
    open(&endpoint, &connection, None, request).await.unwrap_or_else(|refusal| *refusal)
}

/// `GET /mcp/servers/NAME/sse`
pub(crate) async fn open_single(
    State(endpoint): State<Arc<HttpEndpoint>>,
    Path(name): Path<String>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> Reply {
    open(&endpoint, &connection, Some(&name), request).await.unwrap_or_else(|refusal| *refusal)
}

/// `POST /messages`
pub(crate) async fn receive_merged(
    State(endpoint): State<Arc<HttpEndpoint>>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> Reply {
    receive(endpoint, &connection, None, request).await.unwrap_or_else(|refusal| *refusal)
}

/// `POST /mcp/servers/NAME/messages`
pub(crate) async fn receive_single(
    State(endpoint): State<Arc<HttpEndpoint>>,
    Path(name): Path<String>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> Reply {
    receive(endpoint, &connection, Some(&name), request).await.unwrap_or_else(|refusal| *refusal)
}

/// Who sends a request, and what it is about: all servers, or the named one. The path has one method only.
async fn enter(
    endpoint: &HttpEndpoint,
    connection: &Connection,
    server: Option<&str>,
    request: &Parts,
    allowed: &HttpMethod,
) -> Result<(Principal, Frontend), Box<Reply>> {
    let principal = authenticate(endpoint, connection, &request.headers).await?;
    if request.method != allowed {
        let mut reply = reply::empty(StatusCode::METHOD_NOT_ALLOWED);
        if let Ok(allowed) = HeaderValue::from_str(allowed.as_str()) {
            reply.headers_mut().insert(header::ALLOW, allowed);
        }
        return Err(Box::new(reply));
    }
    let view = server.map_or(Ok(View::Merged), |name| view_of_server(endpoint, &principal, name))?;
    match Frontend::of(&principal, view) {
        Some(frontend) => Ok((principal, frontend)),
        None => Err(Box::new(reply::refusal(AccessRefusal::Service))),
    }
}

/// Opens a stream, or goes on with the session that the client's last stream had.
async fn open(
    endpoint: &Arc<HttpEndpoint>,
    connection: &Connection,
    server: Option<&str>,
    request: Request,
) -> Result<Reply, Box<Reply>> {
    let (parts, _) = request.into_parts();
    let (principal, frontend) = enter(endpoint, connection, server, &parts, &HttpMethod::GET).await?;
    let (path, headers) = (parts.uri.path(), &parts.headers);
    let resumed = headers
        .get(mcp_header::LAST_EVENT_ID)
        .and_then(|id| id.to_str().ok())
        .and_then(|id| legacy::find_by_id(endpoint, &frontend, &principal, id).ok());
    let lease = endpoint.access.lease(&principal);
    let held = endpoint.held.of(&principal.token().label);
    let Ok(opened) = endpoint.old_streams.open(principal, frontend, held, resumed) else {
        return Ok(legacy::refuse_session(&SessionRefusal::NoRandom, None));
    };
    let messages = path.strip_suffix(STREAM_PATH).unwrap_or_default();
    // A client whose stream breaks opens another soon: until then its messages go to a stream that is no more.
    let first = format!(
        "retry: 1000\nevent: endpoint\ndata: {messages}{MESSAGES_PATH}?{STREAM_ID}={}\n\n",
        opened.0.id()
    );
    Ok(reply::stream(reader::follow(endpoint, opened, Bytes::from(first), lease)))
}

/// Takes one message. Whatever answers it comes on the stream.
async fn receive(
    endpoint: Arc<HttpEndpoint>,
    connection: &Arc<Connection>,
    server: Option<&str>,
    request: Request,
) -> Result<Reply, Box<Reply>> {
    let (parts, body) = request.into_parts();
    let (principal, frontend) = enter(&endpoint, connection, server, &parts, &HttpMethod::POST).await?;
    let Some(stream) =
        stream_id(parts.uri.query()).and_then(|id| endpoint.old_streams.find(id, &principal, &frontend))
    else {
        return Ok(no_stream());
    };
    let (envelope, held) = match read_message(&endpoint, &principal, connection, &parts.headers, body).await?
    {
        (Incoming::One(envelope), held) => (envelope, held),
        (Incoming::Batch(_), _) => {
            return Ok(reply::invalid_request("batches are not part of this transport"));
        }
    };
    let params = match read_params(&envelope) {
        Ok(params) => params,
        Err(error) => {
            return Ok(reply::refuse_with(envelope.id().as_ref(), &error));
        }
    };
    if era_of(&params, None) == Era::Modern {
        return Ok(reply::invalid_request("this transport has only the versions with sessions; use /mcp"));
    }
    let base = endpoint.access.client_base(connection.address, &parts.headers);
    let post = Post { endpoint, frontend, principal, envelope, params, base, _held: held };
    let is_initialize = *post.envelope.method() == Method::Initialize;
    Ok(match (post.envelope.kind(), stream.session()) {
        (Kind::Request, None) if is_initialize => Box::pin(initialize(post, &stream)).await,
        (Kind::Request, Some(_)) if is_initialize => {
            reply::invalid_request("the session of this stream has begun already")
        }
        // A client may send it before it begins.
        (Kind::Request, None) if *post.envelope.method() == Method::Ping => {
            if let Some(id) = post.envelope.id() {
                stream.push(sse::write(&envelope::result(&id, b"{}"), None));
            }
            reply::empty(StatusCode::ACCEPTED)
        }
        (Kind::Request, None) => match go_on(&post, &stream) {
            Ok(session) => {
                let id = session.id.clone();
                call(post, &parts.headers, stream, session, Some(id))
            }
            Err(refusal) => legacy::refuse_session(&refusal, post.envelope.id().as_ref()),
        },
        // They belong to a session that is no more.
        (Kind::Notification | Kind::Response, None) => reply::empty(StatusCode::ACCEPTED),
        (Kind::Request, Some(session)) => call(post, &parts.headers, stream, session, None),
        (Kind::Notification | Kind::Response, Some(session)) => {
            session.session.receive(&post.endpoint.frontends, &post.envelope);
            reply::empty(StatusCode::ACCEPTED)
        }
    })
}

/// Begins the session, as `initialize` does on every transport over HTTP.
async fn initialize(post: Post, stream: &Arc<OldStream>) -> Reply {
    let endpoint = Arc::clone(&post.endpoint);
    let (principal, frontend) = (post.principal.clone(), post.frontend.clone());
    let reply = legacy::initialize(post).await;
    if reply.status() != StatusCode::OK {
        return reply;
    }
    let id = reply.headers().get(mcp_header::SESSION_ID).and_then(|id| id.to_str().ok());
    let session = id.and_then(|id| endpoint.sessions.find(id, &principal, &frontend));
    let body = reply.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
    let Some(session) = session else {
        stream.push(sse::write(&body, None));
        return reply::empty(StatusCode::ACCEPTED);
    };
    // The id names the session to a client that comes back: all it sends then is the last id it has seen.
    let answer = sse::write(&body, Some(&session.id));
    if stream.begin(Arc::clone(&session)) {
        stream.push(answer);
        reply::empty(StatusCode::ACCEPTED)
    } else {
        // Another `initialize` was faster, or the client is gone.
        legacy::end_session(&endpoint, &session.id);
        reply::invalid_request("the stream is over, or its session has begun already")
    }
}

/// Begins the session of a client that goes on without `initialize`. It may have missed changes.
fn go_on(post: &Post, stream: &OldStream) -> Result<Arc<HttpSession>, SessionRefusal> {
    let Post { endpoint, frontend, principal, .. } = post;
    let client = InitializeParams::unknown(Version::V2024_11_05);
    let (session, ended) =
        endpoint.sessions.open(&endpoint.frontends, frontend.clone(), principal.clone(), client)?;
    if let Some(ended) = ended {
        legacy::end_at_servers(endpoint, ended);
    }
    if !stream.begin(Arc::clone(&session)) {
        // Another request was faster, or the client is gone.
        legacy::end_session(endpoint, &session.id);
        return Ok(stream.session().unwrap_or(session));
    }
    tracing::debug!("client goes on without `initialize`, its session begins anew");
    session.announce_missed();
    Ok(session)
}

/// Answers a request in the background: the client sends its next message when this one was accepted, and
/// that may be the answer to a question of this one. The id names the session to a client that comes back.
fn call(
    post: Post,
    headers: &HeaderMap,
    stream: Arc<OldStream>,
    session: Arc<HttpSession>,
    id: Option<Box<str>>,
) -> Reply {
    let endpoint = Arc::clone(&post.endpoint);
    let Some(running) = stream.run() else {
        return too_much_held();
    };
    let client = Arc::new(OldClient { stream: Arc::clone(&stream), session: Arc::clone(&session) });
    let mut caller = session.session.caller(client, endpoint.access.is_admin(headers));
    caller.base.clone_from(&post.base);
    let work = Box::pin(async move {
        let _running = running;
        let Post { endpoint, envelope, params, .. } = &post;
        let answer = session.session.answer(&endpoint.frontends, envelope, params, &caller).await?;
        stream.push(sse::write(&answer.to_message(&envelope.id()?), id.as_deref()));
        Some(())
    });
    let work = Movable::new(work, endpoint.heavy.as_ref(), || None);
    endpoint.tasks.spawn_on_main("old-sse-call", work);
    reply::empty(StatusCode::ACCEPTED)
}

fn stream_id(query: Option<&str>) -> Option<&str> {
    query?.split('&').find_map(|pair| pair.strip_prefix(STREAM_ID)?.strip_prefix('='))
}

fn no_stream() -> Reply {
    let message = "there is no such stream; open one with `GET /sse`";
    reply::refuse(
        None,
        &ApiError::new(ErrorCode::SessionNotFound, message).with_hint("open one with `GET /sse`"),
    )
}

/// The client during one request.
struct OldClient {
    stream: Arc<OldStream>,
    session: Arc<HttpSession>,
}

impl Client for OldClient {
    fn notify(&self, message: Bytes) {
        self.stream.push_if_read(sse::write(&message, None));
    }

    fn ask(&self, method: &Method, params: Bytes) -> Asked<'_> {
        let stream = Arc::clone(&self.stream);
        let send: SendMessage = Arc::new(move |message| stream.push(sse::write(&message, None)));
        self.session.session.ask(method, &params, send)
    }
}
