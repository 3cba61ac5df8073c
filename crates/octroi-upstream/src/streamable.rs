//! Streamable HTTP: every message is a separate POST, answered with JSON or with a stream.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method as HttpMethod, Request, Response, header};
use http_body_util::Full;
use octroi_mcp::header as mcp_header;
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Era, Id, Kind, Method, Version, envelope};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::background::BackgroundTasks;
use crate::error::UpstreamError;
use crate::event::{CallEvent, EventSink, Owner, ReplyChannel, ServerQuestion};
use crate::event_queue::CallEventQueue;
use crate::heavy_work::{LARGE_ANSWER_BYTES, leave_worker};
use crate::held_questions::{self, HeldQuestions};
use crate::http::{Address, HttpClient, collect, failure, is_type, status_error};
use crate::identity::negotiated_version;
use crate::wire::Body;

mod call;
mod listener;
mod lost_session;

pub(crate) use call::HttpCall;
use lost_session::WholeResponse;

/// How long to wait for the server's response when a session is closed.
const GOODBYE: std::time::Duration = std::time::Duration::from_secs(2);

/// One remote server in one era; in the legacy era, with one session.
#[derive(Debug)]
pub(crate) struct Streamable {
    client: HttpClient,
    address: Address,
    era: Era,
    session: ArcSwap<LegacySession>,
    /// The parameters for opening a lost session again.
    initialize_params: Bytes,
    reopening: tokio::sync::Mutex<()>,
    next_id: AtomicU64,
    calls: Mutex<HashMap<u64, Active>>,
    questions: Mutex<HashMap<Id, CancellationToken>>,
    /// Questions that came while there was no call.
    pub(crate) held: HeldQuestions,
    events: EventSink,
    tasks: BackgroundTasks,
    closed: CancellationToken,
    limit: usize,
}

/// The current legacy session; a modern server has none.
#[derive(Debug, Default)]
pub(crate) struct LegacySession {
    id: Option<HeaderValue>,
    /// The headers of every request.
    headers: HeaderMap,
    /// The headers of every POST: the same, plus content type, accepted types and content length.
    posting: HeaderMap,
}

/// A call in flight; questions on the session stream may belong to it.
#[derive(Debug)]
struct Active {
    events: Arc<CallEventQueue>,
    owner: Owner,
    may_be_asked: bool,
}

/// The headers that mirror parts of a request's body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mirror {
    pub(crate) name: Option<String>,
    pub(crate) params: Vec<(String, String)>,
}

/// The parts of a [`Streamable`].
pub(crate) struct Setup {
    pub(crate) client: HttpClient,
    pub(crate) address: Address,
    pub(crate) initialize_params: Bytes,
    pub(crate) events: EventSink,
    pub(crate) tasks: BackgroundTasks,
    pub(crate) closed: CancellationToken,
    pub(crate) limit: usize,
}

impl Streamable {
    pub(crate) fn new(setup: Setup, era: Era) -> Arc<Self> {
        let version = match era {
            Era::Modern => Some(Version::LATEST_MODERN),
            Era::Legacy => None,
        };
        let session = LegacySession::new(&setup.address.headers, None, version);
        Arc::new(Self {
            client: setup.client,
            address: setup.address,
            era,
            session: ArcSwap::from_pointee(session),
            initialize_params: setup.initialize_params,
            reopening: tokio::sync::Mutex::default(),
            next_id: AtomicU64::new(1),
            calls: Mutex::default(),
            questions: Mutex::default(),
            held: HeldQuestions::default(),
            events: setup.events,
            tasks: setup.tasks,
            closed: setup.closed,
            limit: setup.limit,
        })
    }

    pub(crate) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    pub(crate) fn sweep(&self) {
        self.address.idle.sweep();
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Opens a legacy session; returns the server's answer to `initialize`.
    pub(crate) async fn initialize(&self) -> Result<Bytes, UpstreamError> {
        let id = Id::number(self.next_id());
        self.session.store(Arc::new(LegacySession::new(&self.address.headers, None, None)));
        let message = envelope::request(&id, &Method::Initialize, &self.initialize_params);
        let response = self.post(&Method::Initialize, &Mirror::default(), message).await?;
        let session = response.headers().get(mcp_header::SESSION_ID).cloned();
        let answer = self.read_answer(response, &id).await?;
        let result = match (answer.result(), answer.error()) {
            (Some(result), _) => result,
            (None, error) => return Err(UpstreamError::refused(error)),
        };
        let version = negotiated_version(&result)?;
        let session = LegacySession::new(&self.address.headers, session, Some(version));
        self.session.store(Arc::new(session));
        self.notify(&Method::Initialized, b"{}").await?;
        Ok(result)
    }

    /// Opens a new session after the server lost the old one. If several calls notice at the same time,
    /// one of them does it.
    async fn reopen(&self, lost: &Arc<LegacySession>) -> Result<(), UpstreamError> {
        let _turn = self.reopening.lock().await;
        if !Arc::ptr_eq(lost, &self.session.load_full()) {
            return Ok(());
        }
        tracing::info!(address = %self.address.display, "server lost the session, opening a new one");
        self.initialize().await.map(drop)
    }

    /// Closes the session at the server.
    pub(crate) async fn end_session(&self) {
        self.closed.cancel();
        let session = self.session.load_full();
        if session.id.is_some() {
            let request = self.request(HttpMethod::DELETE, &session.headers, Bytes::new());
            // Best effort: a server that does not answer must not delay the close.
            let _ = tokio::time::timeout(GOODBYE, self.client.send(&self.address, request)).await;
        }
    }

    pub(crate) async fn notify(&self, method: &Method, params: &[u8]) -> Result<(), UpstreamError> {
        let message = envelope::notification(method, params);
        let response = self.post(method, &Mirror::default(), message).await?;
        if response.status().is_success() { Ok(()) } else { Err(status_error(response.status())) }
    }

    /// Posts one message.
    pub(crate) async fn post(
        &self,
        method: &Method,
        mirror: &Mirror,
        message: Bytes,
    ) -> Result<Response<Body>, UpstreamError> {
        self.client.send(&self.address, self.message(method, mirror, message)?).await
    }

    fn message(
        &self,
        method: &Method,
        mirror: &Mirror,
        message: Bytes,
    ) -> Result<Request<Full<Bytes>>, UpstreamError> {
        let length = HeaderValue::from(message.len());
        let mut request = self.request(HttpMethod::POST, &self.session.load().posting, message);
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_LENGTH, length);
        // A modern server wants it on every request, also on the one that finds out whether it speaks the legacy era.
        if self.era == Era::Modern || *method == Method::Initialize {
            headers.insert(METHOD, written(method.as_str())?);
        }
        if self.era == Era::Modern {
            if let Some(name) = &mirror.name {
                headers.insert(NAME, written(name)?);
            }
            for (name, value) in &mirror.params {
                let unwritable =
                    || UpstreamError::Protocol(format!("`{name}` cannot be written as a header"));
                let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unwritable())?;
                headers.insert(key, HeaderValue::from_str(value).map_err(|_| unwritable())?);
            }
        }
        Ok(request)
    }

    fn request(&self, method: HttpMethod, headers: &HeaderMap, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.address.path.clone();
        *request.headers_mut() = headers.clone();
        request
    }

    /// Reads the answer to a request of Octroi itself: JSON, or a stream that ends with it.
    pub(crate) async fn read_answer(
        &self,
        response: Response<Body>,
        id: &Id,
    ) -> Result<Envelope, UpstreamError> {
        let status = response.status();
        // Before the body is read: authentication is missing, whatever the body contains.
        if status == http::StatusCode::UNAUTHORIZED {
            return Err(UpstreamError::NeedsAuth);
        }
        if status.is_success() && is_type(&response, "text/event-stream") {
            let mut stream = call::Stream::new(response.into_body(), self.limit);
            while let Some(message) = stream.next().await? {
                if message.kind() == Kind::Response && message.id().as_ref() == Some(id) {
                    stream.wind_up(&self.tasks);
                    return Ok(message);
                }
            }
            return Err(UpstreamError::Closed("the stream ended without an answer".to_owned()));
        }
        let is_json = is_type(&response, "application/json");
        if !is_json && !status.is_success() {
            return Err(failure(&response));
        }
        let body = collect(response.into_body(), self.limit).await?;
        if body.len() > LARGE_ANSWER_BYTES {
            leave_worker().await;
        }
        WholeResponse { status, is_json, body }.answer()
    }

    /// Handles a request of the server: answers it, or forwards it to the call it belongs to.
    fn question(
        self: &Arc<Self>,
        request: &Envelope,
        queue: Option<&CallEventQueue>,
    ) -> Option<ServerQuestion> {
        let id = request.id()?;
        if *request.method() == Method::Ping {
            Arc::clone(self).reply(&id, envelope::result(&id, b"{}"));
            return None;
        }
        let withdrawn = CancellationToken::new();
        self.questions.lock().insert(id.clone(), withdrawn.clone());
        let question = ServerQuestion::new(request, withdrawn, self)?;
        let Some(queue) = queue else {
            return Some(question);
        };
        let mut question = self.without_roots(question)?;
        self.held.follow(&mut question);
        // A full queue drops the question, and a dropped question is refused.
        queue.push(CallEvent::Question(question));
        None
    }

    /// The call that a message on the session stream must belong to: the newest, if all calls in
    /// flight belong to one owner.
    fn only_owner(&self, that_may_be_asked: bool) -> Option<(Arc<CallEventQueue>, Owner)> {
        let calls = self.calls.lock();
        let (newest, owner) = only_owner(&calls, that_may_be_asked)?;
        calls.get(&newest).map(|call| (Arc::clone(&call.events), Arc::clone(owner)))
    }

    /// Answers a question for roots that a client must not be asked; returns any other.
    fn without_roots(&self, question: ServerQuestion) -> Option<ServerQuestion> {
        if question.method != Method::RootsList {
            return Some(question);
        }
        // Held while roots are given: a call of another client comes before that, and makes it ambiguous, or finds
        // the connection taken.
        let calls = self.calls.lock();
        let is_given = only_owner(&calls, true).map(|(_, owner)| self.held.gives_roots(owner));
        drop(calls);
        match is_given {
            Some(true) => return Some(question),
            Some(false) => held_questions::answer_for_nobody(self.events.server(), question),
            None => {
                question.refuse(&held_questions::ambiguous());
                let events = self.events.clone();
                self.tasks.spawn("report-question", async move { events.it_asked_clients().await });
            }
        }
        None
    }

    /// Forwards a notification to its call; some servers send them on the session stream.
    fn notification_outside(&self, notification: &Envelope) -> bool {
        let queue = match notification.method() {
            Method::LogMessage => self.only_owner(false).map(|(queue, _)| queue),
            Method::Progress => {
                let token =
                    Params::read(notification.params()).ok().and_then(|params| params.notified_token());
                let id = token.map(Id::from_json).as_ref().and_then(Id::as_number);
                id.and_then(|id| self.calls.lock().get(&id).map(|call| Arc::clone(&call.events)))
            }
            _ => return false,
        };
        if let Some(queue) = queue {
            // A full queue means that the client is too slow; it misses the notification.
            queue.push(CallEvent::Notification(notification.clone()));
        }
        true
    }

    /// Handles a server request on the session stream, which does not name the call it belongs to.
    async fn question_outside(self: &Arc<Self>, request: &Envelope) {
        let caller = self.only_owner(true);
        let Some(question) = self.question(request, caller.as_ref().map(|(queue, _)| &**queue)) else {
            // The next question may come while another client calls, too.
            if let Some((_, owner)) = caller
                && *request.method() != Method::Ping
                && self.held.asks(&owner)
            {
                self.events.it_asked_clients().await;
            }
            return;
        };
        let is_called = self.calls.lock().values().any(|call| call.may_be_asked);
        if is_called {
            question.refuse(&held_questions::ambiguous());
            self.events.it_asked_clients().await;
        } else if let Some(question) = self.held.hold(question) {
            held_questions::answer_for_nobody(self.events.server(), question);
        }
    }

    fn withdraw(&self, notification: &Envelope) {
        let params = Params::read(notification.params()).ok();
        let id = params.and_then(|params| params.request_id()).map(Id::from_json);
        if let Some(withdrawn) = id.and_then(|id| self.questions.lock().remove(&id)) {
            withdrawn.cancel();
        }
    }

    async fn report(&self, notification: &Envelope) {
        if let Some(event) = EventSink::event_of(notification) {
            self.events.send(event).await;
        }
    }
}

impl LegacySession {
    fn new(configured: &HeaderMap, id: Option<HeaderValue>, version: Option<Version>) -> Self {
        let mut headers = configured.clone();
        if let Some(version) = version {
            let name = HeaderName::from_static(mcp_header::PROTOCOL_VERSION);
            headers.insert(name, HeaderValue::from_static(version.as_str()));
        }
        if let Some(id) = &id {
            headers.insert(HeaderName::from_static(mcp_header::SESSION_ID), id.clone());
        }
        let mut posting = headers.clone();
        posting.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        posting.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        // A placeholder that every message overwrites, so that the map need not grow for it.
        posting.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        Self { id, headers, posting }
    }
}

/// The newest call and its owner, if all calls in flight belong to one owner.
fn only_owner(calls: &HashMap<u64, Active>, that_may_be_asked: bool) -> Option<(u64, &Owner)> {
    let mut calls = calls.iter().filter(|(_, call)| call.may_be_asked || !that_may_be_asked);
    let (first, call) = calls.next()?;
    let newest = calls
        .try_fold(*first, |newest, (id, other)| (other.owner == call.owner).then_some(newest.max(*id)))?;
    Some((newest, &call.owner))
}

const METHOD: HeaderName = HeaderName::from_static(mcp_header::METHOD);
const NAME: HeaderName = HeaderName::from_static(mcp_header::NAME);

/// A value as a header, encoded where necessary.
fn written(value: &str) -> Result<HeaderValue, UpstreamError> {
    HeaderValue::from_str(&mcp_header::encode(value))
        .map_err(|_| UpstreamError::Protocol("the request cannot be written as HTTP".to_owned()))
}

impl ReplyChannel for Streamable {
    fn reply(self: Arc<Self>, id: &Id, message: Bytes) {
        self.questions.lock().remove(id);
        let link = Arc::clone(&self);
        self.tasks.spawn("http-answer", async move {
            let posted = link.post(&Method::Other("".into()), &Mirror::default(), message).await;
            if let Err(error) = posted {
                tracing::debug!(address = %link.address.display, %error, "answer to a question could not be delivered");
            }
        });
    }
}

#[cfg(test)]
mod tests;
