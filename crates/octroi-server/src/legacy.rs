//! Requests of the legacy era: a session, its streams, its end.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use bytes::Bytes;
use octroi_api::{ApiError, ErrorCode};
use octroi_core::Principal;
use octroi_gateway::{Asked, BackgroundTasks, Client, Movable};
use octroi_mcp::header as mcp_header;
use octroi_mcp::{Id, Kind, Method, Version};
use tokio::sync::Notify;

use crate::accept::prefers_stream;
use crate::endpoint::{HttpEndpoint, Post};
use crate::event_log::{EventId, EventLog, FollowUntil};
use crate::frontend::Frontend;
use crate::reply::{self, Reply, STREAM_AFTER};
use crate::session::{InitializeParams, SendMessage};
use crate::sessions::{HttpSession, SessionRefusal};

pub(crate) async fn post(post: Box<Post>, headers: &HeaderMap) -> Reply {
    let Post { endpoint, frontend, principal, envelope, .. } = &*post;
    if *envelope.method() == Method::Initialize && envelope.kind() == Kind::Request {
        return Box::pin(initialize(*post)).await;
    }
    let session = match find(endpoint, frontend, principal, headers) {
        Ok(session) => session,
        Err(reply) => return *reply,
    };
    match envelope.kind() {
        Kind::Notification | Kind::Response => {
            session.session.receive(&endpoint.frontends, envelope);
            reply::empty(StatusCode::ACCEPTED)
        }
        Kind::Request => {
            let is_admin = endpoint.access.is_admin(headers);
            let form = if prefers_stream(headers) { AnswerForm::Stream } else { AnswerForm::Json };
            let stream = PostStream::new(session, envelope.id(), form);
            let mut caller = stream.session.session.caller(Arc::clone(&stream) as _, is_admin);
            caller.base.clone_from(&post.base);
            let (endpoint, client) = (Arc::clone(endpoint), Arc::clone(&stream));
            let work = Box::pin(async move {
                let Post { endpoint, envelope, params, .. } = &*post;
                let session = &client.session.session;
                let answer = session.answer(&endpoint.frontends, envelope, params, &caller).await?;
                Some(answer.to_message(&envelope.id()?))
            });
            respond(&endpoint, stream, work).await
        }
    }
}

/// Opens a session; the answer names it in a header.
pub(crate) async fn initialize(post: Post) -> Reply {
    let Post { endpoint, frontend, principal, envelope: request, .. } = post;
    let id = request.id();
    let params = match InitializeParams::read(&request.params()) {
        Ok(params) => params,
        Err(error) => return reply::refuse_with(id.as_ref(), &error),
    };
    if let Err(error) = params.check_size(endpoint.settings.limits.client_info_bytes) {
        return reply::refuse_with(id.as_ref(), &error);
    }
    let answer = endpoint.frontends.initialize(&frontend, &principal, params.version).await;
    let Some(id) = id else {
        return reply::invalid_request("`initialize` needs an id");
    };
    let mut reply = reply::json(StatusCode::OK, answer.to_message(&id));
    if answer.code().is_none() {
        match endpoint.sessions.open(&endpoint.frontends, frontend, principal, params) {
            Ok((session, ended)) => {
                if let Ok(value) = HeaderValue::from_str(&session.id) {
                    reply.headers_mut().insert(mcp_header::SESSION_ID, value);
                }
                if let Some(ended) = ended {
                    end_at_servers(&endpoint, ended);
                }
            }
            Err(refusal) => return refuse_session(&refusal, Some(&id)),
        }
    }
    reply
}

/// The answer when no session can be opened.
pub(crate) fn refuse_session(refusal: &SessionRefusal, id: Option<&Id>) -> Reply {
    match refusal {
        SessionRefusal::TooMany { limit } => {
            let error = reply::limit_error(
                &format!("{limit} sessions with this token are in use"),
                "end some; a person can raise `max_sessions` under [server]",
            );
            reply::limit(id, &error)
        }
        SessionRefusal::NoRandom => {
            let message = "the operating system provides no random numbers";
            reply::refuse(id, &ApiError::new(ErrorCode::InternalError, message))
        }
    }
}

/// Ends a session, here and at servers.
pub(crate) fn end_session(endpoint: &HttpEndpoint, id: &str) {
    if let Some(owner) = endpoint.sessions.close(id) {
        end_at_servers(endpoint, owner);
    }
}

/// Closes the connections to servers that a session had for itself.
pub(crate) fn end_at_servers(endpoint: &HttpEndpoint, owner: Arc<str>) {
    let gateway = Arc::clone(&endpoint.gateway);
    endpoint.tasks.spawn("end-session", async move { gateway.servers().end_session(&owner).await });
}

/// The session a request names.
pub(crate) fn find(
    endpoint: &HttpEndpoint,
    frontend: &Frontend,
    principal: &Principal,
    headers: &HeaderMap,
) -> Result<Arc<HttpSession>, Box<Reply>> {
    if let Some(version) = headers.get(mcp_header::PROTOCOL_VERSION)
        && version.to_str().ok().and_then(Version::parse).is_none()
    {
        let message = "the MCP-Protocol-Version header names a version that is not supported";
        return Err(Box::new(reply::invalid_request(message)));
    }
    let Some(id) = headers.get(mcp_header::SESSION_ID) else {
        let message = "the Mcp-Session-Id header is missing; begin with `initialize`";
        return Err(Box::new(reply::invalid_request(message)));
    };
    find_by_id(endpoint, frontend, principal, id.to_str().unwrap_or_default())
}

/// The session of this id.
pub(crate) fn find_by_id(
    endpoint: &HttpEndpoint,
    frontend: &Frontend,
    principal: &Principal,
    id: &str,
) -> Result<Arc<HttpSession>, Box<Reply>> {
    if let Some(session) = endpoint.sessions.find(id, principal, frontend) {
        return Ok(session);
    }
    match endpoint.sessions.restore(&endpoint.frontends, id, principal, frontend) {
        Ok(Some((session, ended))) => {
            if let Some(ended) = ended {
                end_at_servers(endpoint, ended);
            }
            Ok(session)
        }
        Ok(None) => {
            let message = "the session is over; begin again with `initialize`";
            Err(Box::new(reply::refuse(None, &ApiError::new(ErrorCode::SessionNotFound, message))))
        }
        Err(refusal) => Err(Box::new(refuse_session(&refusal, None))),
    }
}

/// GET: the session's own stream, or one that the client resumes.
pub(crate) fn open_stream(
    endpoint: &HttpEndpoint,
    frontend: &Frontend,
    principal: &Principal,
    headers: &HeaderMap,
) -> Reply {
    let accepts = headers
        .get(axum::http::header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|accept| accept.contains("text/event-stream") || accept.contains("*/*"));
    if !accepts {
        return reply::empty(StatusCode::NOT_ACCEPTABLE);
    }
    let session = match find(endpoint, frontend, principal, headers) {
        Ok(session) => session,
        Err(reply) => return *reply,
    };
    let last_event = headers.get(mcp_header::LAST_EVENT_ID).and_then(|value| value.to_str().ok());
    let last_event = last_event.and_then(EventId::parse);
    let resumed = last_event.and_then(|EventId { stream, event, origin }| {
        let known = session.stream(stream, origin.run).map(|log| (log, event));
        known.or_else(|| session.lost_request(&origin).map(|log| (log, 0)))
    });
    let (log, after) = match resumed {
        Some((log, event)) => (log, Some(event)),
        // A stream that is no longer known cannot be resumed; the client gets the session's own.
        None => (session.own_stream(), None),
    };
    let first = (after.is_none() && wants_priming(&session)).then(|| log.priming());
    // The stream holds the session, so that a session with an open stream does not expire.
    let events = log.follow(after, first, FollowUntil::Over, endpoint.access.lease(principal));
    reply::stream(SessionStream { events: Box::pin(events), _session: session })
}

/// DELETE: the client is done.
pub(crate) fn end(
    endpoint: &HttpEndpoint,
    frontend: &Frontend,
    principal: &Principal,
    headers: &HeaderMap,
) -> Reply {
    match find(endpoint, frontend, principal, headers) {
        Ok(session) => {
            end_session(endpoint, &session.id);
            reply::empty(StatusCode::NO_CONTENT)
        }
        Err(reply) => *reply,
    }
}

/// Streams of 2025-11-25 begin with an event to resume from; older clients do not expect one.
fn wants_priming(session: &HttpSession) -> bool {
    session.session.version >= Version::V2025_11_25
}

pub(crate) type LegacyWork = Pin<Box<dyn Future<Output = Option<Bytes>> + Send>>;

/// Answers with JSON if nothing has to be sent before the answer and the client does not prefer a stream, with a
/// stream otherwise. The work continues when the client disconnects: in this era that is not a cancellation.
pub(crate) async fn respond(
    endpoint: &Arc<HttpEndpoint>,
    stream: Arc<PostStream>,
    work: LegacyWork,
) -> Reply {
    let mut work = Detached { tasks: &endpoint.tasks, work: Some(work) };
    tokio::select! {
        biased;
        () = stream.opened.notified() => {}
        answer = work.wait() => {
            work.work = None;
            match (answer, stream.log.get(), stream.form) {
                (Some(answer), None, AnswerForm::Json) => return reply::json(StatusCode::OK, answer),
                (None, None, _) => return reply::empty(StatusCode::ACCEPTED),
                (Some(answer), None, AnswerForm::Stream) | (Some(answer), Some(_), _) => {
                    let log = stream.log();
                    log.push(answer);
                    log.finish();
                }
                (None, Some(log), _) => log.finish(),
            }
        }
        () = tokio::time::sleep(STREAM_AFTER) => {}
    }
    let log = stream.log();
    if let Some(work) = work.work.take() {
        let log = Arc::clone(&log);
        let work = Movable::new(work, endpoint.heavy.as_ref(), || None);
        endpoint.tasks.spawn("legacy-call", async move {
            if let Some(answer) = work.await {
                log.push(answer);
            }
            log.finish();
        });
    }
    let first = wants_priming(&stream.session).then(|| log.priming());
    reply::stream(log.follow(Some(0), first, FollowUntil::Released, endpoint.closed.clone()))
}

/// Work that continues in the background when its waiter is dropped.
struct Detached<'a> {
    tasks: &'a BackgroundTasks,
    work: Option<LegacyWork>,
}

impl Detached<'_> {
    async fn wait(&mut self) -> Option<Bytes> {
        match &mut self.work {
            Some(work) => work.await,
            None => None,
        }
    }
}

impl Drop for Detached<'_> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            // Not on this runtime: the thread may be one for large messages.
            self.tasks.spawn_on_main("legacy-call", work);
        }
    }
}

/// The form of an answer that nothing has to be sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    /// One message.
    Json,
    /// A stream with one event, which the client can resume.
    Stream,
}

/// The client during one POST. Its stream is created when there is something to send before the answer.
pub(crate) struct PostStream {
    session: Arc<HttpSession>,
    /// The id of the request; `None` for a batch.
    request: Option<Id>,
    form: AnswerForm,
    log: OnceLock<Arc<EventLog>>,
    opened: Notify,
    this: std::sync::Weak<Self>,
}

impl PostStream {
    pub(crate) fn new(session: Arc<HttpSession>, request: Option<Id>, form: AnswerForm) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            session,
            request,
            form,
            log: OnceLock::new(),
            opened: Notify::new(),
            this: this.clone(),
        })
    }

    fn log(&self) -> Arc<EventLog> {
        let log = self.log.get_or_init(|| self.session.new_stream(self.request.clone()));
        self.opened.notify_one();
        Arc::clone(log)
    }
}

impl Client for PostStream {
    fn notify(&self, message: Bytes) {
        self.log().push(message);
    }

    fn ask(&self, method: &Method, params: Bytes) -> Asked<'_> {
        let this = self.this.clone();
        let send: SendMessage = Arc::new(move |message| {
            if let Some(stream) = this.upgrade() {
                stream.log().push(message);
            }
        });
        self.session.session.ask(method, &params, send)
    }

    fn release(&self) {
        // Older clients do not expect a stream to end before the answer, and of others only those that prefer streams are
        // trusted to come back for it: everybody else is kept waiting here, as if the server had not let go.
        if self.form == AnswerForm::Stream && wants_priming(&self.session) {
            self.log().release();
        }
    }
}

/// A stream of events that keeps its session from expiring.
struct SessionStream<S> {
    events: Pin<Box<S>>,
    _session: Arc<HttpSession>,
}

impl<S: futures_util::Stream> futures_util::Stream for SessionStream<S> {
    type Item = S::Item;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.events.as_mut().poll_next(context)
    }
}
