//! MCP over HTTP: one path, both eras.

use std::sync::Arc;
use std::time::Duration;

use axum::BoxError;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Method as HttpMethod, StatusCode, header};
use bytes::Bytes;
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use octroi_core::{Principal, Role, ServerName};
use octroi_gateway::{Gateway, View};
use octroi_mcp::body;
use octroi_mcp::header as mcp_header;
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Era, Id, Incoming, RpcError, code};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::{Access, Refusal};
use crate::admit::{era_of, read_params};
use crate::front::Front;
use crate::lanes::Lanes;
use crate::page::Tickets;
use crate::reply::{self, Reply};
use crate::sessions::Sessions;
use crate::{batch, legacy, modern};

const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// Limits of the door.
#[derive(Clone, Copy, Debug)]
pub struct DoorSettings {
    /// Largest request body.
    pub body_bytes: usize,
    /// Legacy sessions that nobody uses this long are ended.
    pub session_idle: Duration,
    /// How long calls may go on after the door was asked to close.
    pub drain: Duration,
}

impl Default for DoorSettings {
    fn default() -> Self {
        Self { body_bytes: 4 << 20, session_idle: Duration::from_mins(30), drain: Duration::from_secs(10) }
    }
}

/// Everything a request needs.
pub struct Door {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) access: Arc<Access>,
    pub(crate) sessions: Sessions,
    /// Who has signed in to the page about an approval.
    pub(crate) tickets: Tickets,
    pub(crate) settings: DoorSettings,
    /// Calls that go on after their client hung up.
    pub(crate) tasks: TaskTracker,
    /// Ends streams that would go on for ever.
    pub(crate) closing: CancellationToken,
    /// Ends everything else, once calls had their time.
    pub(crate) closed: CancellationToken,
}

impl Door {
    /// A door to a gateway.
    pub fn new(gateway: Arc<Gateway>, access: Arc<Access>, settings: DoorSettings) -> Arc<Self> {
        Arc::new(Self {
            gateway,
            access,
            sessions: Sessions::new(settings.session_idle),
            tickets: Tickets::default(),
            settings,
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            closed: CancellationToken::new(),
        })
    }
}

/// Serves until `shutdown`, then lets calls finish.
pub async fn serve(
    door: Arc<Door>,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    door.tasks.spawn(sweep(Arc::clone(&door)));
    let n_lanes = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut lanes = Lanes::start(n_lanes, &Front::new(&door), &door.closing)?;
    tokio::select! {
        biased;
        () = shutdown.cancelled() => {}
        filled = lanes.fill(listener) => filled?,
    }
    door.closing.cancel();
    let limit = async {
        tokio::time::sleep(door.settings.drain).await;
        door.closed.cancel();
        // Streams end now; a moment to say so.
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    tokio::select! {
        served = lanes.served() => served?,
        () = limit => tracing::warn!("some calls did not finish in time"),
    }
    door.closed.cancel();
    door.tasks.close();
    let _ = tokio::time::timeout(Duration::from_secs(1), door.tasks.wait()).await;
    Ok(())
}

async fn sweep(door: Arc<Door>) {
    let every = SWEEP_EVERY.min(door.settings.session_idle);
    loop {
        tokio::select! {
            biased;
            () = door.closing.cancelled() => return,
            () = tokio::time::sleep(every) => {
                for session in door.sessions.sweep() {
                    door.gateway.end_session(&session).await;
                }
            }
        }
    }
}

pub(crate) async fn single(
    State(door): State<Arc<Door>>,
    Path(name): Path<String>,
    request: Request,
) -> Reply {
    let known = ServerName::parse(&name).ok().filter(|name| door.gateway.upstream(name).is_some());
    match known {
        Some(name) => admit(door, Some(View::Server(name)), request).await,
        // Who may not come in at all must not learn which servers exist.
        None => match door.access.admit(request.headers()) {
            Err(refusal) => refuse(&door, refusal),
            Ok(_) => {
                let error = RpcError::new(code::INVALID_REQUEST, format!("there is no server `{name}`"));
                reply::error_with(StatusCode::NOT_FOUND, None, &error)
            }
        },
    }
}

/// Turns somebody away, and writes down who guesses tokens.
pub(crate) fn refuse(door: &Door, refusal: Refusal) -> Reply {
    if refusal == Refusal::UnknownToken {
        door.gateway.note_refused("the token is not known");
    }
    reply::refusal(refusal)
}

pub(crate) async fn not_found() -> Reply {
    let error = RpcError::new(code::INVALID_REQUEST, "nothing is here; the MCP endpoint is /mcp");
    reply::error_with(StatusCode::NOT_FOUND, None, &error)
}

/// Lets a request in that may come in, and answers it.
pub(crate) fn admit<B: Body<Data = Bytes, Error: Into<BoxError>>>(
    door: Arc<Door>,
    view: Option<View>,
    request: http::Request<B>,
) -> impl Future<Output = Reply> {
    let (parts, body) = request.into_parts();
    async move {
        let principal = match door.access.admit(&parts.headers) {
            Ok(principal) => principal,
            Err(refusal) => return refuse(&door, refusal),
        };
        let view = view.unwrap_or(match principal.role {
            // A person sees what there is to manage as well.
            Role::Human => View::Managed,
            Role::Agent => View::Merged,
        });
        match parts.method {
            HttpMethod::POST => post(door, view, principal, &parts.headers, body).await,
            HttpMethod::GET => legacy::open_stream(&door, &view, &principal, &parts.headers),
            HttpMethod::DELETE => legacy::end(&door, &view, &principal, &parts.headers),
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
    door: Arc<Door>,
    view: View,
    principal: Principal,
    headers: &HeaderMap,
    body: B,
) -> Reply {
    if !is_json(headers) {
        let error = RpcError::new(code::INVALID_REQUEST, "the Content-Type must be application/json");
        return reply::error_with(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, &error);
    }
    let body = match read_body(body, door.settings.body_bytes).await {
        Ok(body) => body,
        Err(reply) => return *reply,
    };
    let post = match Incoming::parse(body) {
        Ok(Incoming::One(envelope)) => Post::read(door, view, principal, envelope),
        // Boxed, so that what is rarely needed does not make the future of every request large.
        Ok(Incoming::Batch(messages)) => {
            return Box::pin(batch::post(door, view, principal, headers, messages)).await;
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

/// A message that was let in.
pub(crate) struct Post {
    pub(crate) door: Arc<Door>,
    pub(crate) view: View,
    pub(crate) principal: Principal,
    pub(crate) envelope: Envelope,
    pub(crate) params: Params,
}

impl Post {
    /// Boxed, because it is handed on from future to future, and those are moved themselves.
    fn read(
        door: Arc<Door>,
        view: View,
        principal: Principal,
        envelope: Envelope,
    ) -> Result<Box<Self>, Box<Reply>> {
        match read_params(&envelope) {
            Ok(params) => Ok(Box::new(Self { door, view, principal, envelope, params })),
            Err(error) => Err(Box::new(bad_request(envelope.id().as_ref(), &error))),
        }
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
    coming: B,
    limit: usize,
) -> Result<Bytes, Box<Reply>> {
    match Limited::new(coming, limit).collect().await {
        Ok(collected) => Ok(body::detached(collected.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => {
            let error =
                RpcError::new(code::INVALID_REQUEST, format!("the request is larger than {limit} bytes"));
            Err(Box::new(reply::error_with(StatusCode::PAYLOAD_TOO_LARGE, None, &error)))
        }
        Err(_) => Err(Box::new(reply::empty(StatusCode::BAD_REQUEST))),
    }
}
