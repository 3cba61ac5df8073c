//! MCP over standard streams, in both eras at once: for clients that start a command.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use octroi_core::Principal;
use octroi_core::config::ClientLimits;
use octroi_gateway::{Asked, BackgroundTasks, Client, View, error_message};
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Era, Id, Incoming, Kind, Method, RpcError, code};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::admit::{check_declared, era_of, modern_caller};
use crate::dispatcher::Operations;
use crate::frontend::{Frontend, Frontends};
use crate::lines::{read_line, write_lines};
use crate::modern::{ListenContext, Listening, Notified};
use crate::session::{InitializeParams, LegacySession, SendMessage};

const QUEUED: usize = 1024;
/// How long calls may continue after the client closed its end.
const DRAIN: Duration = Duration::from_secs(5);

/// Serves one client until it closes its end.
pub async fn serve_stdio(
    operations: Arc<Operations>,
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
    let peer = Arc::new(StdioClient {
        frontends: Frontends::new(&operations, ClientLimits::default()),
        frontend,
        principal,
        out: sender,
        session: Mutex::default(),
        running: Mutex::default(),
        tasks: BackgroundTasks::new(Handle::current()),
        closing: CancellationToken::new(),
    });
    let mut input = BufReader::new(input);
    loop {
        let step = async {
            let line = read_line(&mut input).await?;
            let is_more = line.is_some();
            if let Some(line) = line {
                peer.receive(line).await;
            }
            Ok::<bool, std::io::Error>(is_more)
        };
        let is_more = tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            is_more = step => is_more?,
        };
        if !is_more {
            break;
        }
    }
    peer.closing.cancel();
    let _ = tokio::time::timeout(DRAIN, peer.tasks.wait()).await;
    let _ = tokio::time::timeout(DRAIN, operations.finished()).await;
    // The session's listener holds a sender of the output; without it the writer ends.
    peer.session.lock().take();
    drop(peer);
    let _ = tokio::time::timeout(Duration::from_secs(1), writer).await;
    Ok(())
}

/// The client at the other end.
struct StdioClient {
    frontends: Frontends,
    frontend: Frontend,
    principal: Principal,
    out: mpsc::Sender<Bytes>,
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
        let _ = self.out.try_send(message);
    }

    /// Requests run as tasks of their own, so that several can run; nothing overtakes the opening of a
    /// session.
    async fn dispatch(self: &Arc<Self>, message: Envelope) {
        match (message.kind(), message.id()) {
            (Kind::Request, Some(id)) if *message.method() == Method::Initialize => {
                // Boxed, so that a request that comes once does not make the future of every message large.
                if let Some(answer) = Box::pin(self.answer(&message, &id)).await {
                    let _ = self.out.send(answer).await;
                }
            }
            (Kind::Request, Some(id)) => {
                let peer = Arc::clone(self);
                let cancelled = CancellationToken::new();
                self.running.lock().insert(id.clone(), cancelled.clone());
                self.tasks.spawn("stdio-call", async move {
                    let answer = tokio::select! {
                        biased;
                        () = cancelled.cancelled() => None,
                        answer = peer.answer(&message, &id) => answer,
                    };
                    peer.running.lock().remove(&id);
                    if let Some(answer) = answer {
                        let _ = peer.out.send(answer).await;
                    }
                });
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
                if let Some(session) = session {
                    session.receive(&self.frontends, &message);
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
        let answer = self.frontends.initialize(&self.frontend, params.version).await;
        let session =
            Arc::new(LegacySession::new("stdio", self.frontend.clone(), self.principal.clone(), params));
        let out = self.out.clone();
        session.listen(&self.frontends, move |message| {
            let _ = out.try_send(message);
        });
        *self.session.lock() = Some(session);
        answer.to_message(id)
    }

    async fn answer_modern(self: &Arc<Self>, request: &Envelope, params: &Params, id: &Id) -> Option<Bytes> {
        if let Err(error) = check_declared(params, ClientLimits::default().client_info_bytes) {
            return Some(error_message(Some(id), &error));
        }
        if request.method().is_legacy_only() {
            let error = self.frontends.refuse_method(&self.frontend, &self.principal, request.method());
            return Some(error_message(Some(id), &error));
        }
        if *request.method() == Method::Listen {
            return self.listen(params, id).await;
        }
        let caller = modern_caller(&self.principal, false, params, Arc::new(Notified(self.out.clone())));
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
                let _ = self.out.send(message).await;
            }
        }
        None
    }
}

/// A legacy client over standard streams: notifications and questions share one output.
struct LegacyClient {
    session: Arc<LegacySession>,
    out: mpsc::Sender<Bytes>,
}

impl Client for LegacyClient {
    fn notify(&self, message: Bytes) {
        let _ = self.out.try_send(message);
    }

    fn ask(&self, method: &Method, params: Bytes) -> Asked<'_> {
        let out = self.out.clone();
        let send: SendMessage = Arc::new(move |message| {
            let _ = out.try_send(message);
        });
        self.session.ask(method, &params, send)
    }
}
