//! MCP over standard streams, in both eras at once: for clients that start a command.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use octroi_core::Principal;
use octroi_gateway::{Asked, BackgroundTasks, Client, Movable, NoClient, View, error_message};
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Era, Id, Incoming, Kind, Method, RpcError, code};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::admit::{check_declared, era_of, modern_caller};
use crate::endpoint::HttpEndpoint;
use crate::frontend::{Frontend, Frontends};
use crate::held_bytes::{HeldBytes, HeldRequest, SMALL_BYTES};
use crate::lines::{Line, read_line, write_lines};
use crate::modern::{ListenContext, Listening};
use crate::reply::limit_error;
use crate::session::{InitializeParams, LegacySession, SendMessage};

const QUEUED: usize = 1024;
/// How long calls may continue after the client closed its end.
const DRAIN: Duration = Duration::from_secs(5);

/// Serves one client until it closes its end or its token ends. It has the same limits as a client of the HTTP endpoint
/// with its token, and shares them.
pub async fn serve_stdio(
    endpoint: Arc<HttpEndpoint>,
    principal: Principal,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    let Some(frontend) = Frontend::of(&principal, View::Merged) else {
        return Err(std::io::Error::other("this is the token of a service, which may read metrics only"));
    };
    // Not among the tasks of calls: the writer ends after the last of them.
    let writing = BackgroundTasks::new(Handle::current());
    let (sender, queue) = mpsc::channel(QUEUED);
    let writer = writing.spawn("stdio-write", write_lines(output, queue));
    let lease = endpoint.access.lease(&principal);
    let held = endpoint.held.of(&principal.token().label);
    let line_bytes_max = endpoint.settings.body_bytes;
    let peer = Arc::new(StdioClient {
        out: Output { sender, held: Arc::clone(&held) },
        held,
        frontends: endpoint.frontends.clone().over_stdio(),
        endpoint,
        frontend,
        principal,
        session: Mutex::default(),
        running: Mutex::default(),
        tasks: BackgroundTasks::new(Handle::current()),
        closing: CancellationToken::new(),
    });
    let mut input = BufReader::new(input);
    let ended = loop {
        let step = async {
            match read_line(&mut input, line_bytes_max).await? {
                Line::Message(line) => peer.receive(line).await,
                Line::TooLong => {
                    peer.post(error_message(None, &line_too_long(line_bytes_max)));
                    return Ok(false);
                }
                Line::End => return Ok(false),
            }
            Ok::<bool, std::io::Error>(true)
        };
        let is_more = tokio::select! {
            biased;
            () = shutdown.cancelled() => break Ok(()),
            () = lease.cancelled() => {
                peer.cancel_all();
                break Err(std::io::Error::other("the token of this client is no longer valid"));
            }
            is_more = step => is_more,
        };
        match is_more {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    peer.closing.cancel();
    let _ = tokio::time::timeout(DRAIN, peer.tasks.wait()).await;
    let _ = tokio::time::timeout(DRAIN, peer.endpoint.operations.finished()).await;
    // The session's listener holds a sender of the output; without it the writer ends.
    peer.session.lock().take();
    drop(peer);
    let _ = tokio::time::timeout(Duration::from_secs(1), writer).await;
    ended
}

fn line_too_long(limit: usize) -> RpcError {
    let message = format!("a message has more than {limit} bytes; the connection is closed");
    limit_error(&message, "send less; a person can raise `max_body_bytes` under [server]")
}

fn too_much_held() -> RpcError {
    limit_error(
        "the requests and answers of this token that are in progress are too large together",
        "read the answers, wait for some of them; a person can raise `max_held_bytes` under [server]",
    )
}

/// A message for the client, and what counts it until it is written.
struct OutgoingMessage {
    message: Bytes,
    _held: Option<HeldRequest>,
}

impl AsRef<[u8]> for OutgoingMessage {
    fn as_ref(&self) -> &[u8] {
        &self.message
    }
}

/// The way to the client.
#[derive(Clone)]
struct Output {
    sender: mpsc::Sender<OutgoingMessage>,
    held: Arc<HeldBytes>,
}

impl Output {
    /// Sends an answer, and waits while many are unread.
    async fn send(&self, message: Bytes) {
        // It exists already: while it is unread, new requests are refused.
        let held = (message.len() > SMALL_BYTES).then(|| self.held.hold_always(message.len()));
        let _ = self.sender.send(OutgoingMessage { message, _held: held }).await;
    }

    /// Sends without waiting. What a client that does not read would make Octroi hold is dropped.
    fn post(&self, message: Bytes) {
        let held = match message.len() {
            0..=SMALL_BYTES => None,
            n_bytes => match self.held.hold(n_bytes) {
                Some(held) => Some(held),
                None => return,
            },
        };
        let _ = self.sender.try_send(OutgoingMessage { message, _held: held });
    }
}

/// The client of the modern era, during its requests.
impl Client for Output {
    fn notify(&self, message: Bytes) {
        // A client that does not keep up misses notifications, as the trait says.
        self.post(message);
    }

    fn ask(&self, method: &Method, params: Bytes) -> Asked<'_> {
        NoClient.ask(method, params)
    }
}

/// The client at the other end.
struct StdioClient {
    endpoint: Arc<HttpEndpoint>,
    frontends: Frontends,
    frontend: Frontend,
    principal: Principal,
    out: Output,
    /// What is held for its token.
    held: Arc<HeldBytes>,
    session: Mutex<Option<Arc<LegacySession>>>,
    /// Modern requests; the session tracks legacy ones.
    running: Mutex<HashMap<Id, CancellationToken>>,
    tasks: BackgroundTasks,
    closing: CancellationToken,
}

impl StdioClient {
    async fn receive(self: &Arc<Self>, line: Bytes) {
        match Incoming::parse_of_client(line) {
            Ok(Incoming::One(message)) => self.dispatch(message).await,
            Ok(Incoming::Batch(messages)) => {
                for message in messages {
                    match message {
                        Ok(message) => self.dispatch(message).await,
                        Err(malformed) => {
                            self.post(error_message(malformed.id.as_ref(), &malformed.to_error()))
                        }
                    }
                }
            }
            Err(malformed) => self.post(error_message(malformed.id.as_ref(), &malformed.to_error())),
        }
    }

    /// Sends without waiting, because the reading side must never wait for the writing side.
    fn post(&self, message: Bytes) {
        self.out.post(message);
    }

    /// Ends all calls.
    fn cancel_all(&self) {
        self.running.lock().values().for_each(CancellationToken::cancel);
    }

    /// Requests run as tasks of their own, so that several can run; nothing overtakes the opening of a
    /// session.
    async fn dispatch(self: &Arc<Self>, message: Envelope) {
        match (message.kind(), message.id()) {
            (Kind::Request, Some(id)) if *message.method() == Method::Initialize => {
                // Boxed, so that a request that comes once does not make the future of every message large.
                if let Some(answer) = Box::pin(self.answer(&message, &id)).await {
                    self.out.send(answer).await;
                }
            }
            (Kind::Request, Some(id)) => {
                // No connection waits for its answer, so that connections do not limit their number.
                let Some(held) = self.held.hold(message.json().len().max(SMALL_BYTES)) else {
                    self.post(error_message(Some(&id), &too_much_held()));
                    return;
                };
                let peer = Arc::clone(self);
                let cancelled = CancellationToken::new();
                self.running.lock().insert(id.clone(), cancelled.clone());
                let heavy = self.endpoint.heavy.clone();
                let work = Box::pin(async move {
                    let _held = held;
                    let answer = tokio::select! {
                        biased;
                        () = cancelled.cancelled() => None,
                        answer = peer.answer(&message, &id) => answer,
                    };
                    peer.running.lock().remove(&id);
                    if let Some(answer) = answer {
                        peer.out.send(answer).await;
                    }
                });
                self.tasks.spawn("stdio-call", Movable::new(work, heavy.as_ref(), || ()));
            }
            _ => {
                if *message.method() == Method::Cancelled {
                    let params = Params::read(message.params()).ok();
                    let id = params.and_then(|params| params.request_id()).map(Id::from_json);
                    let running = id.and_then(|id| self.running.lock().get(&id).cloned());
                    if let Some(cancelled) = running {
                        cancelled.cancel();
                    }
                }
                let session = self.session.lock().clone();
                match session {
                    Some(session) => session.receive(&self.frontends, &message),
                    None => self.frontends.note(&self.frontend, &self.principal, &message),
                }
            }
        }
    }

    async fn answer(self: &Arc<Self>, request: &Envelope, id: &Id) -> Option<Bytes> {
        let params = match Params::read(request.params()) {
            Ok(params) => params,
            Err(error) => return Some(error_message(Some(id), &error)),
        };
        if era_of(&params, None) == Era::Modern || *request.method() == Method::Discover {
            return self.answer_modern(request, &params, id).await;
        }
        if *request.method() == Method::Initialize {
            return Some(self.initialize(request, id).await);
        }
        let session = self.session.lock().clone();
        let Some(session) = session else {
            let error = RpcError::new(
                code::INVALID_REQUEST,
                "begin with `initialize`, or send `_meta` with a modern version",
            );
            return Some(error_message(Some(id), &error));
        };
        let client = Arc::new(LegacyClient { session: Arc::clone(&session), out: self.out.clone() });
        let answer =
            session.answer(&self.frontends, request, &params, &session.caller(client, false)).await?;
        Some(answer.to_message(id))
    }

    async fn initialize(&self, request: &Envelope, id: &Id) -> Bytes {
        let params = match InitializeParams::read(&request.params()) {
            Ok(params) => params,
            Err(error) => return error_message(Some(id), &error),
        };
        if let Err(error) = params.check_size(self.endpoint.settings.limits.client_info_bytes) {
            return error_message(Some(id), &error);
        }
        let answer = self.frontends.initialize(&self.frontend, &self.principal, params.version).await;
        let session =
            Arc::new(LegacySession::new("stdio", self.frontend.clone(), self.principal.clone(), params));
        let out = self.out.clone();
        session.listen(&self.frontends, move |message| out.post(message));
        *self.session.lock() = Some(session);
        answer.to_message(id)
    }

    async fn answer_modern(self: &Arc<Self>, request: &Envelope, params: &Params, id: &Id) -> Option<Bytes> {
        if let Err(error) = check_declared(params, self.endpoint.settings.limits.client_info_bytes) {
            return Some(error_message(Some(id), &error));
        }
        if request.method().is_legacy_only() {
            let error = self.frontends.refuse_method(&self.frontend, &self.principal, request.method());
            return Some(error_message(Some(id), &error));
        }
        if *request.method() == Method::Listen {
            return self.listen(params, id).await;
        }
        let caller = modern_caller(&self.principal, false, params, Arc::new(self.out.clone()));
        let answer = self.frontends.request(&self.frontend, &caller, request, params).await;
        Some(answer.to_message(id))
    }

    /// Forwards notices until the client cancels or closes its end.
    async fn listen(&self, params: &Params, id: &Id) -> Option<Bytes> {
        let context = ListenContext {
            frontends: &self.frontends,
            frontend: &self.frontend,
            principal: &self.principal,
            closing: &self.closing,
        };
        let mut listening = Listening::open(&context, id.clone(), params).await;
        while let Some(message) = listening.next().await {
            if let Some(message) = message {
                self.out.send(message).await;
            }
        }
        None
    }
}

/// A legacy client over standard streams: notifications and questions share one output.
struct LegacyClient {
    session: Arc<LegacySession>,
    out: Output,
}

impl Client for LegacyClient {
    fn notify(&self, message: Bytes) {
        self.out.post(message);
    }

    fn ask(&self, method: &Method, params: Bytes) -> Asked<'_> {
        let out = self.out.clone();
        let send: SendMessage = Arc::new(move |message| out.post(message));
        self.session.ask(method, &params, send)
    }
}
