//! One call over Streamable HTTP.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method as HttpMethod, Response, header};
use octroi_mcp::header as mcp_header;
use octroi_mcp::{Envelope, Era, Id, Kind, Method, envelope};

use super::lost_session::{self, Delivered};
use super::{Active, LegacySession, Mirror, Streamable};
use crate::background::BackgroundTasks;
use crate::error::UpstreamError;
use crate::event::{CallEvent, CancelReason, Owner};
use crate::event_queue::CallEventQueue;
use crate::events::EventStream;
use crate::heavy_work::{LARGE_ANSWER_BYTES, leave_worker};
use crate::held_questions::OpeningQuestions;
use crate::http::{is_type, status_error};
use crate::wire::Body;

/// How often a stream that breaks before the answer is resumed.
const RESUME_ATTEMPTS: u32 = 5;
const RESUME_DELAY: Duration = Duration::from_secs(1);
const RESUME_DELAY_MAX: Duration = Duration::from_secs(30);

/// A request that was sent or is about to be sent.
pub(crate) struct HttpCall {
    link: Arc<Streamable>,
    id: u64,
    method: Method,
    /// Questions from the session stream, which only legacy servers have.
    events: Option<Arc<CallEventQueue>>,
    /// What it waits for before it is sent.
    opening: Option<Box<OpeningQuestions>>,
    /// What is sent again, once, if the server lost the session and has not looked at it. Nothing as soon as the
    /// server asked or reported.
    unread: Option<Bytes>,
    state: HttpCallState,
    cancel_reason: CancelReason,
}

enum HttpCallState {
    /// Waiting for the response.
    Sending(Pin<Box<dyn Future<Output = Result<HttpAnswer, UpstreamError>> + Send>>),
    Streaming {
        stream: Box<Stream>,
        session: Arc<LegacySession>,
        resumed: u32,
        /// Whether the caller was told that the server closed the stream to answer later.
        was_released: bool,
    },
    Done,
}

/// How a server answers a request.
enum HttpAnswer {
    /// With a single message.
    Once(Envelope),
    /// With a stream that ends with the answer.
    Stream(Box<Stream>, Arc<LegacySession>),
    /// It does not know the session. With an error that answers the request itself, which a tool may have said too.
    SessionLost(Arc<LegacySession>, Option<Envelope>),
}

impl HttpCall {
    pub(crate) fn new(
        link: Arc<Streamable>,
        id: u64,
        method: Method,
        mirror: Mirror,
        message: Bytes,
        owner: Option<Owner>,
    ) -> Self {
        let events = match (link.era, owner) {
            (Era::Legacy, Some(owner)) => {
                let events = Arc::<CallEventQueue>::default();
                let may_be_asked = method.may_ask();
                link.calls.lock().insert(id, Active { events: Arc::clone(&events), owner, may_be_asked });
                Some(events)
            }
            (Era::Legacy | Era::Modern, _) => None,
        };
        let mut opening = match &events {
            Some(_) if method.may_ask() => link.held.take(),
            Some(_) | None => None,
        };
        if let (Some(opening), Some(events)) = (&mut opening, &events) {
            opening.questions.drain(..).for_each(|question| events.push(CallEvent::Question(question)));
        }
        let unread = (link.era == Era::Legacy).then(|| message.clone());
        let sending = Box::pin(send(Arc::clone(&link), id, method.clone(), mirror, message));
        let (state, cancel_reason) = (HttpCallState::Sending(sending), CancelReason::Client);
        Self { link, id, method, events, opening, unread, state, cancel_reason }
    }

    /// Its time is up, which its server is told when this is dropped.
    pub(crate) fn time_out(&mut self) {
        self.cancel_reason = CancelReason::Timeout;
    }

    /// The next event.
    pub(crate) async fn next(&mut self) -> Result<CallEvent, UpstreamError> {
        if let Some(opening) = &self.opening {
            tokio::select! {
                biased;
                event = next_queued(self.events.as_deref()) => return Ok(event),
                () = opening.answered() => {}
            }
            self.opening = None;
        }
        loop {
            match &mut self.state {
                HttpCallState::Sending(sending) => {
                    let answered = tokio::select! {
                        biased;
                        event = next_queued(self.events.as_deref()) => {
                            self.unread = None;
                            return Ok(event);
                        }
                        answered = sending => answered?,
                    };
                    match answered {
                        HttpAnswer::Stream(stream, session) => {
                            self.state =
                                HttpCallState::Streaming { stream, session, resumed: 0, was_released: false };
                        }
                        HttpAnswer::Once(answer) => {
                            self.finish();
                            return Ok(CallEvent::Answer(answer));
                        }
                        HttpAnswer::SessionLost(session, answer) => self.send_again(session, answer),
                    }
                }
                HttpCallState::Streaming { stream, .. } => {
                    let received = tokio::select! {
                        biased;
                        event = next_queued(self.events.as_deref()) => {
                            self.unread = None;
                            return Ok(event);
                        }
                        received = stream.next() => received,
                    };
                    match received {
                        Ok(Some(message)) => match self.receive(message) {
                            Received::Event(event) => return Ok(event),
                            Received::Report(message) => Box::pin(self.link.report(&message)).await,
                            Received::SessionLost(session, answer) => self.send_again(session, answer),
                            Received::Nothing => {}
                        },
                        Ok(None) if self.is_released() => return Ok(CallEvent::Released),
                        Ok(None) | Err(UpstreamError::Closed(_)) => Box::pin(self.resume()).await?,
                        Err(error) => return Err(error),
                    }
                }
                HttpCallState::Done => return Err(UpstreamError::Closed("the call is over".to_owned())),
            }
        }
    }

    fn receive(&mut self, message: Envelope) -> Received {
        match message.kind() {
            Kind::Response => {
                let is_own = message.id().as_ref().and_then(Id::as_number) == Some(self.id);
                if let HttpCallState::Streaming { session, .. } = &self.state
                    && lost_session::is_session_error(session, &message)
                {
                    return Received::SessionLost(Arc::clone(session), is_own.then_some(message));
                }
                if !is_own {
                    return Received::Nothing;
                }
                self.finish();
                Received::Event(CallEvent::Answer(message))
            }
            Kind::Request => {
                self.unread = None;
                match self.link.question(&message, None).and_then(|asked| self.link.without_roots(asked)) {
                    Some(question) => Received::Event(CallEvent::Question(question)),
                    None => Received::Nothing,
                }
            }
            Kind::Notification => match message.method() {
                Method::Cancelled if self.method != Method::Listen => {
                    self.link.withdraw(&message);
                    Received::Nothing
                }
                Method::Progress | Method::LogMessage => {
                    self.unread = None;
                    Received::Event(CallEvent::Notification(message))
                }
                _ if self.method == Method::Listen => Received::Event(CallEvent::Notification(message)),
                _ => Received::Report(message),
            },
        }
    }

    /// Opens a new session and sends the request again, unless the server may have looked at it.
    fn send_again(&mut self, session: Arc<LegacySession>, answer: Option<Envelope>) {
        let (link, method, unread) = (Arc::clone(&self.link), self.method.clone(), self.unread.take());
        self.state =
            HttpCallState::Sending(Box::pin(send_again(link, self.id, method, session, unread, answer)));
    }

    /// Whether the stream, which just ended in good order, is one to come back to, and the caller does not know yet.
    fn is_released(&mut self) -> bool {
        match &mut self.state {
            HttpCallState::Streaming { stream, was_released, .. } => {
                let can_be_resumed = self.link.era == Era::Legacy && stream.last_event.is_some();
                can_be_resumed && !std::mem::replace(was_released, true)
            }
            HttpCallState::Sending(_) | HttpCallState::Done => false,
        }
    }

    /// Resumes a broken stream where the server supports it (legacy, events with ids).
    async fn resume(&mut self) -> Result<(), UpstreamError> {
        let ended = UpstreamError::Closed("the stream ended without an answer".to_owned());
        let HttpCallState::Streaming { stream, resumed, .. } = &mut self.state else {
            return Err(ended);
        };
        let Some(last_event) = stream.last_event.clone().filter(|_| self.link.era == Era::Legacy) else {
            return Err(ended);
        };
        *resumed += 1;
        if *resumed > RESUME_ATTEMPTS {
            return Err(ended);
        }
        let asked = stream.retry_ms().map(Duration::from_millis);
        tokio::time::sleep(asked.unwrap_or(RESUME_DELAY).min(RESUME_DELAY_MAX)).await;
        let session = self.link.session.load_full();
        // Whatever goes wrong now, the server may have executed the call.
        let not_resumed =
            |error: UpstreamError| UpstreamError::Closed(format!("its stream could not be resumed: {error}"));
        let response = self.link.open_stream(&session, Some(&last_event)).await.map_err(not_resumed)?;
        if !response.status().is_success() {
            return Err(not_resumed(status_error(response.status())));
        }
        if let HttpCallState::Streaming { stream, .. } = &mut self.state {
            stream.reopen(response.into_body());
        }
        Ok(())
    }

    fn finish(&mut self) {
        if let HttpCallState::Streaming { stream, .. } =
            std::mem::replace(&mut self.state, HttpCallState::Done)
        {
            stream.wind_up(&self.link.tasks);
        }
        self.forget();
    }

    fn forget(&mut self) {
        // Held until the lock is released: an unread question refuses itself on drop, which takes locks too.
        if let Some(_queue) = self.events.take() {
            self.link.calls.lock().remove(&self.id);
        }
    }
}

/// What to do with a message on a call's own stream.
enum Received {
    /// An event for the caller.
    Event(CallEvent),
    /// A notification of the server that is not about the call.
    Report(Envelope),
    /// See [`HttpAnswer::SessionLost`].
    SessionLost(Arc<LegacySession>, Option<Envelope>),
    /// Already handled.
    Nothing,
}

/// Sends a request; waits for the answer or for the stream that carries it.
async fn send(
    link: Arc<Streamable>,
    id: u64,
    method: Method,
    mirror: Mirror,
    message: Bytes,
) -> Result<HttpAnswer, UpstreamError> {
    let session = link.session.load_full();
    let response = link.post(&method, &mirror, message).await?;
    let response = match lost_session::read(&session, response).await? {
        Delivered::Response(response) => response,
        Delivered::Refusal(refusal) => return refusal.answer().map(HttpAnswer::Once),
        Delivered::SessionLost => return Ok(HttpAnswer::SessionLost(session, None)),
    };
    if response.status().is_success() && is_type(&response, "text/event-stream") {
        let stream = Box::new(Stream::new(response.into_body(), link.limit));
        return Ok(HttpAnswer::Stream(stream, session));
    }
    let answer = link.read_answer(response, &Id::number(id)).await?;
    if lost_session::is_session_error(&session, &answer) {
        let is_own = answer.id().as_ref().and_then(Id::as_number) == Some(id);
        return Ok(HttpAnswer::SessionLost(session, is_own.then_some(answer)));
    }
    Ok(HttpAnswer::Once(answer))
}

/// Sends a request again in a new session. A server that lost the session refuses before it looks at the request,
/// so this does not call twice. An answer to the request itself may be a tool's own error, for example about the
/// session of a browser: it is passed on if the session turns out to be alive.
async fn send_again(
    link: Arc<Streamable>,
    id: u64,
    method: Method,
    lost: Arc<LegacySession>,
    unread: Option<Bytes>,
    answer: Option<Envelope>,
) -> Result<HttpAnswer, UpstreamError> {
    if let Some(answer) = answer
        && !link.has_lost(&lost).await?
    {
        return Ok(HttpAnswer::Once(answer));
    }
    link.reopen(&lost).await?;
    match unread {
        Some(message) => send(link, id, method, Mirror::default(), message).await,
        None => Err(UpstreamError::Closed("the server lost the session during the call".to_owned())),
    }
}

/// The next question from the session stream; pending for ever if there is no such stream.
async fn next_queued(queue: Option<&CallEventQueue>) -> CallEvent {
    match queue {
        Some(queue) => queue.next().await,
        None => std::future::pending().await,
    }
}

impl Drop for HttpCall {
    fn drop(&mut self) {
        self.forget();
        let was_sent = matches!(self.state, HttpCallState::Streaming { .. } | HttpCallState::Sending(_));
        // A modern server treats the closed stream as the cancellation; a legacy one needs a notification.
        if was_sent && self.link.era == Era::Legacy && self.method != Method::Initialize {
            let link = Arc::clone(&self.link);
            let reason = self.cancel_reason.as_str();
            let params = format!(r#"{{"requestId":{},"reason":"{reason}"}}"#, self.id);
            let message = envelope::notification(&Method::Cancelled, params.as_bytes());
            self.link.tasks.spawn("http-cancel", async move {
                let _ = link.post(&Method::Cancelled, &Mirror::default(), message).await;
            });
        }
    }
}

impl Streamable {
    /// Opens a stream with GET: the session stream, or one that broke after `last_event`.
    pub(super) async fn open_stream(
        &self,
        session: &LegacySession,
        last_event: Option<&str>,
    ) -> Result<Response<Body>, UpstreamError> {
        let mut request = self.request(HttpMethod::GET, &session.headers, Bytes::new());
        let headers = request.headers_mut();
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(value) = last_event.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(HeaderName::from_static(mcp_header::LAST_EVENT_ID), value);
        }
        self.client.send(&self.address, request).await
    }
}

/// The messages of an event stream.
#[derive(Debug)]
pub(crate) struct Stream {
    events: EventStream,
    last_event: Option<String>,
    limit: usize,
}

impl Stream {
    pub(crate) fn new(body: Body, limit: usize) -> Self {
        Self { events: EventStream::new(body, limit), last_event: None, limit }
    }

    fn reopen(&mut self, body: Body) {
        self.events = EventStream::new(body, self.limit);
    }

    pub(crate) fn last_event(&self) -> Option<&str> {
        self.last_event.as_deref()
    }

    pub(crate) fn retry_ms(&self) -> Option<u64> {
        self.events.reader.retry_ms()
    }

    /// The next message, or `None` at the end of the stream. Other events are skipped.
    pub(crate) async fn next(&mut self) -> Result<Option<Envelope>, UpstreamError> {
        while let Some(event) = self.events.next().await? {
            if event.id.is_some() {
                self.last_event = event.id;
            }
            let is_message = event.name.is_empty() || event.name == "message";
            if is_message && !event.data.is_empty() {
                if event.data.len() > LARGE_ANSWER_BYTES {
                    leave_worker().await;
                }
                match Envelope::parse(event.data) {
                    Ok(message) => return Ok(Some(message)),
                    Err(malformed) => {
                        tracing::debug!(
                            reason = malformed.reason,
                            "event that is not an MCP message, ignored"
                        );
                    }
                }
            }
        }
        Ok(None)
    }

    /// Called after the last message; see [`EventStream::wind_up`].
    pub(crate) fn wind_up(self, tasks: &BackgroundTasks) {
        self.events.wind_up(tasks);
    }
}
