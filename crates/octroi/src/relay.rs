//! `octroi stdio` beside a running gateway: every message is forwarded to the gateway over HTTP, and every
//! answer back to the client.
//!
//! Nothing is decided here. Ids, parameters and answers pass unchanged; the relay only adds what the
//! transport needs (headers, and the session of a legacy client) and translates cancellations to HTTP.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::Response;
use hyper::body::Incoming as Body;
use octroi_gateway::{BackgroundTasks, error_message};
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Era, Id, Incoming, Kind, Method, RpcError, code, envelope};
use octroi_server::{Line, read_line, write_lines};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

mod legacy;
mod link;
mod modern;

pub(crate) use link::GatewayLink;

use legacy::RelaySession;
use link::{Events, Gone, collect, is_stream};
use modern::MirroredArguments;

const QUEUED: usize = 1024;
/// How long requests may continue after the client closed its end.
const DRAIN: Duration = Duration::from_secs(5);
/// How often to look for a gateway that does not answer.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// No gateway accepts a longer message.
const LINE_BYTES_MAX: usize = 64 << 20;
/// How long each of the last steps may take: ending the session, and writing the last messages.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves one client until it closes its end or the gateway is gone for good.
pub(crate) async fn serve(
    link: GatewayLink,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    // Not among the tasks of requests: the writer ends after the last of them.
    let writing = BackgroundTasks::new(Handle::current());
    let (sender, queue) = mpsc::channel(QUEUED);
    let writer = writing.spawn("stdio-write", write_lines(output, queue));
    let relay = Arc::new(Relay {
        link,
        out: sender,
        session: Mutex::default(),
        opening: tokio::sync::Mutex::default(),
        mirrored: MirroredArguments::default(),
        running: Mutex::default(),
        tasks: BackgroundTasks::new(Handle::current()),
        closing: CancellationToken::new(),
        lost: CancellationToken::new(),
    });
    let mut input = BufReader::new(input);
    let ended = loop {
        let step = async {
            match read_line(&mut input, LINE_BYTES_MAX).await? {
                Line::Message(text) => relay.receive(text).await,
                Line::TooLong => {
                    return Err(std::io::Error::other("the client sent a line that is too long"));
                }
                Line::End => return Ok(false),
            }
            Ok::<bool, std::io::Error>(true)
        };
        let is_more = tokio::select! {
            biased;
            () = shutdown.cancelled() => break Ok(()),
            () = relay.lost.cancelled() => break Err(relay.link.unreachable()),
            is_more = step => is_more,
        };
        match is_more {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(Failure::from_error(&error)),
        }
    };
    relay.close().await;
    drop(relay);
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, writer).await;
    ended
}

struct Relay {
    link: GatewayLink,
    out: mpsc::Sender<Bytes>,
    session: Mutex<Option<Arc<RelaySession>>>,
    /// Held while a session is opened, so that several requests that find it expired open only one.
    opening: tokio::sync::Mutex<()>,
    mirrored: MirroredArguments,
    running: Mutex<HashMap<Id, RelayedRequest>>,
    tasks: BackgroundTasks,
    closing: CancellationToken,
    /// Cancelled when the gateway did not come back.
    lost: CancellationToken,
}

/// A request of the client that is not answered yet.
#[derive(Clone)]
struct RelayedRequest {
    /// It has no end of its own, like a subscription.
    is_endless: bool,
    cancelled: CancellationToken,
}

impl Relay {
    async fn receive(self: &Arc<Self>, line: Bytes) {
        let refused =
            |malformed: &octroi_mcp::Malformed| error_message(malformed.id.as_ref(), &malformed.to_error());
        match Incoming::parse(line) {
            Ok(Incoming::One(message)) => self.dispatch(message).await,
            Ok(Incoming::Batch(messages)) => {
                for message in messages {
                    match message {
                        Ok(message) => self.dispatch(message).await,
                        Err(malformed) => self.try_send(refused(&malformed)),
                    }
                }
            }
            Err(malformed) => self.try_send(refused(&malformed)),
        }
    }

    /// Answers without waiting, because the reading side must never wait for the writing side.
    fn try_send(&self, message: Bytes) {
        let _ = self.out.try_send(message);
    }

    async fn send(&self, message: Bytes) {
        // Fails only when the client is gone.
        let _ = self.out.send(message).await;
    }

    /// Requests run as tasks of their own, so that several can run; everything else keeps its order, and
    /// nothing overtakes the opening of a session.
    async fn dispatch(self: &Arc<Self>, message: Envelope) {
        match (message.kind(), message.id()) {
            (Kind::Request, Some(id)) if *message.method() == Method::Initialize => {
                self.forward(&message, &id).await;
            }
            (Kind::Request, Some(id)) => self.start(message, id),
            (Kind::Notification, _) if *message.method() == Method::Cancelled => self.cancel(&message).await,
            (Kind::Request | Kind::Notification | Kind::Response, _) => self.pass_to_session(&message).await,
        }
    }

    fn start(self: &Arc<Self>, message: Envelope, id: Id) {
        let is_endless = *message.method() == Method::Listen;
        let running = RelayedRequest { is_endless, cancelled: CancellationToken::new() };
        self.running.lock().insert(id.clone(), running.clone());
        let relay = Arc::clone(self);
        self.tasks.spawn("relay-call", async move {
            tokio::select! {
                biased;
                () = running.cancelled.cancelled() => {}
                () = relay.forward(&message, &id) => {}
            }
            relay.running.lock().remove(&id);
        });
    }

    /// Forwards a request to the gateway, and its messages to the client.
    async fn forward(self: &Arc<Self>, request: &Envelope, id: &Id) {
        let params = match Params::read(request.params()) {
            Ok(params) => params,
            Err(error) => return self.send(error_message(Some(id), &error)).await,
        };
        let is_modern = params.declares_version() || *request.method() == Method::Discover;
        let era = if is_modern { Era::Modern } else { Era::Legacy };
        let forwarded = match era {
            Era::Modern => self.forward_modern(request, &params, id).await,
            Era::Legacy if *request.method() == Method::Initialize => self.initialize(request, id).await,
            Era::Legacy => self.forward_legacy(request, id).await,
        };
        if let Err(gone) = forwarded {
            self.send(error_message(Some(id), &gone.to_error())).await;
            self.look_for_gateway(gone).await;
        }
    }

    /// Cancels a request. In the modern era closing the connection is enough; a legacy session gets a
    /// notification. The request is dropped first: it gets no answer any more, and must not take that for a
    /// lost gateway.
    async fn cancel(self: &Arc<Self>, notification: &Envelope) {
        let params = Params::read(notification.params()).ok();
        let id = params.and_then(|params| params.request_id()).map(Id::from_json);
        let running = id.and_then(|id| self.running.lock().get(&id).cloned());
        if let Some(running) = running {
            running.cancelled.cancel();
        }
        self.pass_to_session(notification).await;
    }

    /// Forwards the gateway's response to a request.
    async fn pass_on(&self, response: Response<Body>, id: &Id) -> Result<(), Gone> {
        if !is_stream(&response) {
            let status = response.status();
            let body = collect(response.into_body()).await?;
            self.pass_answer(status, body, id).await;
            return Ok(());
        }
        let mut events = Events::new(response.into_body());
        let mut is_answered = false;
        while let Some(message) = events.next().await {
            is_answered |= is_answer(&message, id);
            self.send(message).await;
        }
        if is_answered { Ok(()) } else { Err(Gone::During) }
    }

    /// Forwards an answer that is not a stream. An error without an id belongs to this request.
    async fn pass_answer(&self, status: hyper::StatusCode, body: Bytes, id: &Id) {
        if body.is_empty() && status.is_success() {
            // It was cancelled.
            return;
        }
        let answer = Envelope::parse(body).ok().filter(|answer| answer.kind() == Kind::Response);
        let message = match answer.as_ref().map(|answer| (answer.id(), answer.error_json())) {
            Some((Some(found), Some(error))) if found.as_json() == b"null" => {
                envelope::error_json(Some(id), &error)
            }
            Some((None, Some(error))) => envelope::error_json(Some(id), &error),
            Some(_) => answer.map(|answer| answer.json().clone()).unwrap_or_default(),
            None => {
                let error = format!("the gateway answered HTTP {status} without a readable message");
                error_message(Some(id), &RpcError::new(code::INTERNAL_ERROR, error))
            }
        };
        self.send(message).await;
    }

    /// Checks whether a gateway can be reached again; without one the relay ends.
    async fn look_for_gateway(&self, mut gone: Gone) {
        let looking = async {
            // Old connections to the lost gateway may still be pooled, and each fails once.
            while gone == Gone::During {
                match self.link.ask(&Method::Discover).await {
                    Ok(_) => return,
                    Err(again) => gone = again,
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
            self.lost.cancel();
        };
        tokio::select! {
            biased;
            () = self.closing.cancelled() => {}
            () = looking => {}
        }
    }

    /// Lets requests finish, and ends the session.
    async fn close(&self) {
        self.closing.cancel();
        for running in self.running.lock().values().filter(|running| running.is_endless) {
            running.cancelled.cancel();
        }
        let _ = tokio::time::timeout(DRAIN, self.tasks.wait()).await;
        self.end_session().await;
    }
}

fn is_answer(message: &Bytes, id: &Id) -> bool {
    let message = Envelope::parse(message.clone());
    message.is_ok_and(|message| message.kind() == Kind::Response && message.id().as_ref() == Some(id))
}
