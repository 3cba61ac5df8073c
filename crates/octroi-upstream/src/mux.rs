//! Multiplexes calls over one channel by id: standard streams, and the old HTTP+SSE transport.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Id, Incoming, Kind, Malformed, Method, RpcError, envelope};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::background::BackgroundTasks;
use crate::event::{CallEvent, CancelReason, EventSink, Owner, ReplyChannel, ServerQuestion};
use crate::event_queue::CallEventQueue;
use crate::heavy_work::LARGE_ANSWER_BYTES;
use crate::held_questions::{self, HeldQuestions, OpeningQuestions};
use crate::lines::guess_id;

/// The calls and questions of one channel.
#[derive(Debug)]
pub(crate) struct Mux {
    writer: mpsc::Sender<Bytes>,
    next_id: AtomicU64,
    table: Mutex<CallTable>,
    events: EventSink,
    closed: CancellationToken,
    reason: OnceLock<String>,
    /// Questions that came while there was no call.
    pub(crate) held: HeldQuestions,
    noise: AtomicU64,
    limit: usize,
    tasks: BackgroundTasks,
}

#[derive(Debug, Default)]
struct CallTable {
    calls: HashMap<u64, PendingCall>,
    questions: HashMap<Id, CancellationToken>,
}

impl CallTable {
    /// The newest call and its owner, if all calls in flight belong to one owner.
    fn only_owner(&self, that_may_be_asked: bool) -> Option<(u64, &Owner)> {
        let mut calls = self.calls.iter().filter_map(|(id, call)| {
            let owner = call.owner.as_ref()?;
            (call.may_be_asked || !that_may_be_asked).then_some((*id, owner))
        });
        let (first, owner) = calls.next()?;
        let newest =
            calls.try_fold(first, |newest, (id, other)| (other == owner).then_some(newest.max(id)))?;
        Some((newest, owner))
    }
}

/// A call that waits for its answer.
#[derive(Debug)]
struct PendingCall {
    events: Arc<CallEventQueue>,
    answer: oneshot::Sender<ChannelAnswer>,
    /// `None` for requests of Octroi itself, which have no client to ask.
    owner: Option<Owner>,
    may_be_asked: bool,
}

/// How a call over a shared channel ends.
#[derive(Debug)]
pub(crate) enum ChannelAnswer {
    Message(Envelope),
    TooLarge {
        limit: usize,
    },
    /// The server refused the message, for this reason, so it has not looked at the call.
    NotTaken(String),
}

/// The receiving end of a call.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) id: u64,
    pub(crate) events: Arc<CallEventQueue>,
    pub(crate) answer: oneshot::Receiver<ChannelAnswer>,
    /// What the call waits for before it is sent.
    pub(crate) opening: Option<Box<OpeningQuestions>>,
}

/// Whom a question is for.
enum Recipient {
    /// The client of this call.
    Call(u64, Owner),
    /// No call is in flight.
    Nobody,
    /// One of several clients, and nothing says which.
    Ambiguous,
    /// A client that must not give its roots.
    WithoutRoots,
}

impl Mux {
    pub(crate) fn new(
        writer: mpsc::Sender<Bytes>,
        events: EventSink,
        limit: usize,
        tasks: BackgroundTasks,
    ) -> Arc<Self> {
        Arc::new(Self {
            writer,
            next_id: AtomicU64::new(1),
            table: Mutex::default(),
            events,
            closed: CancellationToken::new(),
            reason: OnceLock::new(),
            held: HeldQuestions::default(),
            noise: AtomicU64::new(0),
            limit,
            tasks,
        })
    }

    /// Registers a call and assigns its id.
    pub(crate) fn register(&self, owner: Option<Owner>, may_be_asked: bool) -> Receiver {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let events = Arc::<CallEventQueue>::default();
        let (answer_sender, answer) = oneshot::channel();
        let pending = PendingCall { events: Arc::clone(&events), answer: answer_sender, owner, may_be_asked };
        self.table.lock().calls.insert(id, pending);
        let mut opening = if may_be_asked { self.held.take() } else { None };
        if let Some(opening) = &mut opening {
            opening.questions.drain(..).for_each(|question| events.push(CallEvent::Question(question)));
        }
        Receiver { id, events, answer, opening }
    }

    /// Queues a message for the channel.
    pub(crate) async fn send(&self, message: Bytes) -> Result<(), String> {
        tokio::select! {
            biased;
            () = self.closed.cancelled() => Err(self.reason()),
            sent = self.writer.send(message) => sent.map_err(|_| self.reason()),
        }
    }

    /// Removes a call and sends the server a cancellation.
    pub(crate) fn cancel(&self, id: u64, reason: CancelReason) {
        if self.table.lock().calls.remove(&id).is_none() || self.is_closed() {
            return;
        }
        let params = format!(r#"{{"requestId":{id},"reason":"{}"}}"#, reason.as_str());
        self.post(envelope::notification(&Method::Cancelled, params.as_bytes()));
    }

    /// Sends without waiting. If the channel is stuck the message is lost; the server is stuck too.
    fn post(&self, message: Bytes) {
        if self.writer.try_send(message).is_err() && !self.is_closed() {
            warn!(server.name = %self.events.server(), "server does not read its input, message dropped");
        }
    }

    /// Closes the channel; every call fails with the reason.
    pub(crate) fn close(&self, reason: impl Into<String>) {
        let _ = self.reason.set(reason.into());
        self.closed.cancel();
        let mut table = self.table.lock();
        table.calls.clear();
        for (_, withdrawn) in table.questions.drain() {
            withdrawn.cancel();
        }
    }

    /// Closes the channel because the server refused a message. The call in it was not executed, unlike perhaps others.
    pub(crate) fn close_untaken(&self, message: Bytes, reason: String) {
        let message = Envelope::parse(message).ok().filter(|message| message.kind() == Kind::Request);
        let id = message.and_then(|message| message.id()?.as_number());
        let refused = id.and_then(|id| self.table.lock().calls.remove(&id));
        // Before the answer: whoever gets it sends the call again at once, and must not find this channel open.
        self.close(reason.clone());
        if let Some(refused) = refused {
            // The receiver may have been dropped meanwhile.
            drop(refused.answer.send(ChannelAnswer::NotTaken(reason)));
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    pub(crate) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    pub(crate) fn reason(&self) -> String {
        self.reason.get().cloned().unwrap_or_else(|| "the connection was closed".to_owned())
    }

    /// Parses a message; a large one elsewhere, so that the messages of other servers do not wait for it.
    async fn parse(&self, json: Bytes) -> Result<Incoming, Malformed> {
        if json.len() <= LARGE_ANSWER_BYTES {
            return Incoming::parse(json);
        }
        let parsing = self.tasks.spawn_blocking_here("parse-message", move || Incoming::parse(json));
        // The task fails only if the program is ending.
        parsing.await.unwrap_or_else(|_| Incoming::parse(Bytes::new()))
    }

    /// Handles one message (or an old batch) from the server.
    pub(crate) async fn receive(self: &Arc<Self>, json: Bytes) {
        match self.parse(json).await {
            Ok(Incoming::One(message)) => self.dispatch(message).await,
            Ok(Incoming::Batch(messages)) => {
                for message in messages.into_iter().flatten() {
                    self.dispatch(message).await;
                }
            }
            Err(malformed) => {
                let lines = self.noise.fetch_add(1, Ordering::Relaxed) + 1;
                if lines == 1 {
                    warn!(server.name = %self.events.server(), reason = malformed.reason, "server sends output that is not an MCP message, ignored");
                } else {
                    debug!(server.name = %self.events.server(), lines, "output ignored");
                }
                if let Some(id) = malformed.id.as_ref().and_then(Id::as_number) {
                    self.fail(id, &malformed.to_error());
                }
            }
        }
    }

    /// Fails the call whose answer was too long to read.
    pub(crate) fn receive_too_long(&self, head: &[u8], tail: &[u8]) {
        warn!(server.name = %self.events.server(), limit = self.limit, "server sent a message beyond the limit, dropped");
        let mut table = self.table.lock();
        let only = || (table.calls.len() == 1).then(|| table.calls.keys().next().copied()).flatten();
        if let Some(pending) = guess_id(head, tail).or_else(only).and_then(|id| table.calls.remove(&id)) {
            let _ = pending.answer.send(ChannelAnswer::TooLarge { limit: self.limit });
        }
    }

    async fn dispatch(self: &Arc<Self>, message: Envelope) {
        match message.kind() {
            Kind::Response => self.answer(message),
            Kind::Request => self.question(&message).await,
            Kind::Notification => self.notification(message).await,
        }
    }

    fn answer(&self, message: Envelope) {
        let id = message.id().as_ref().and_then(Id::as_number);
        let pending = id.and_then(|id| self.table.lock().calls.remove(&id));
        match pending {
            // The receiver may have been dropped meanwhile.
            Some(pending) => drop(pending.answer.send(ChannelAnswer::Message(message))),
            None => {
                debug!(server.name = %self.events.server(), id = ?message.id(), "answer to an unknown id, ignored")
            }
        }
    }

    fn fail(&self, id: u64, error: &RpcError) {
        let message = envelope::error(Some(&Id::number(id)), error);
        if let Ok(message) = Envelope::parse(message) {
            self.answer(message);
        }
    }

    async fn notification(&self, message: Envelope) {
        let params = Params::read(message.params()).ok();
        let number =
            |json: Option<Bytes>| json.and_then(|json| std::str::from_utf8(&json).ok()?.parse::<u64>().ok());
        let call = match message.method() {
            Method::Progress => number(params.and_then(|params| params.notified_token())),
            Method::LogMessage => self.table.lock().only_owner(false).map(|(call, _)| call),
            Method::Cancelled => {
                self.withdraw(params.and_then(|params| params.request_id()));
                return;
            }
            _ => number(params.and_then(|params| params.subscription_id())),
        };
        if let Some(id) = call {
            let table = self.table.lock();
            if let Some(pending) = table.calls.get(&id) {
                pending.events.push(CallEvent::Notification(message));
                return;
            }
        }
        if let Some(event) = EventSink::event_of(&message) {
            self.events.send(event).await;
        }
    }

    fn withdraw(&self, id: Option<Bytes>) {
        let Some(id) = id.map(Id::from_json) else {
            return;
        };
        if let Some(withdrawn) = self.table.lock().questions.remove(&id) {
            withdrawn.cancel();
        }
    }

    /// The client that a question can be meant for.
    fn recipient(&self, method: &Method) -> Recipient {
        // Held while roots are given: a call of another client comes before that, and makes it ambiguous, or
        // finds the connection taken.
        let table = self.table.lock();
        match table.only_owner(true) {
            Some((_, owner)) if *method == Method::RootsList && !self.held.gives_roots(owner) => {
                Recipient::WithoutRoots
            }
            Some((call, owner)) => Recipient::Call(call, Arc::clone(owner)),
            None if table.calls.values().any(|call| call.may_be_asked) => Recipient::Ambiguous,
            None => Recipient::Nobody,
        }
    }

    async fn question(self: &Arc<Self>, request: &Envelope) {
        let Some(id) = request.id() else {
            return;
        };
        if *request.method() == Method::Ping {
            self.post(envelope::result(&id, b"{}"));
            return;
        }
        let withdrawn = CancellationToken::new();
        let Some(mut question) = ServerQuestion::new(request, withdrawn.clone(), self) else {
            return;
        };
        self.table.lock().questions.insert(id, withdrawn);
        match self.recipient(request.method()) {
            Recipient::Call(call, owner) => {
                let queue = self.table.lock().calls.get(&call).map(|pending| Arc::clone(&pending.events));
                if let Some(queue) = queue {
                    self.held.follow(&mut question);
                    // A full queue drops the question, and a dropped question is refused.
                    queue.push(CallEvent::Question(question));
                }
                // The next question may come while another client calls, too.
                if self.held.asks(&owner) {
                    self.events.it_asked_clients().await;
                }
            }
            Recipient::Nobody => {
                if let Some(question) = self.held.hold(question) {
                    held_questions::answer_for_nobody(self.events.server(), question);
                }
            }
            Recipient::WithoutRoots => held_questions::answer_for_nobody(self.events.server(), question),
            Recipient::Ambiguous => {
                debug!(server.name = %self.events.server(), method = %request.method(), "question refused, several clients call");
                question.refuse(&held_questions::ambiguous());
                self.events.it_asked_clients().await;
            }
        }
    }
}

impl ReplyChannel for Mux {
    fn reply(self: Arc<Self>, id: &Id, message: Bytes) {
        self.table.lock().questions.remove(id);
        self.post(message);
    }
}

#[cfg(test)]
mod tests;
