//! Events from servers, other than answers.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use octroi_core::ServerKey;
use octroi_core::health::Checks;
use octroi_mcp::{Envelope, Id, Method, RpcError, envelope};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::error::UpstreamError;

/// On whose behalf calls are made. Calls of one owner may receive each other's questions and log
/// messages; calls of different owners never do.
pub type Owner = Arc<str>;

/// An event during a call.
#[derive(Debug)]
pub enum CallEvent {
    /// Progress, a log message, or a change on a listen stream.
    Notification(Envelope),
    /// A question of a legacy server to the client.
    Question(ServerQuestion),
    /// The server closed the call's stream in good order, and answers on another one.
    Released,
    /// The final result or error.
    Answer(Envelope),
}

/// An event of a server outside any call.
#[derive(Debug)]
pub enum ServerEvent {
    /// A list changed.
    ListChanged(Method),
    /// A resource changed; the URI is the server's own.
    ResourceUpdated(String),
    /// An out-of-band elicitation is complete; the original notification.
    ElicitationComplete(Envelope),
    /// A task changed its state; the original notification.
    TaskChanged(Envelope),
    /// A new connection was opened; every list may have changed.
    Connected,
    /// The connection was lost, with the reason.
    Lost(String),
    /// A health check finished, with the error if it failed.
    Checked(Checks, Option<UpstreamError>),
    /// It asked a client over a connection that several clients may use, and nothing said which call it asked for.
    AsksClients,
    /// It wrote to its standard error; reported a few times a second at most.
    Wrote,
}

/// The channel that one server's events are sent to.
#[derive(Clone, Debug)]
pub struct EventSink {
    server: ServerKey,
    sender: mpsc::Sender<(ServerKey, ServerEvent)>,
    /// Whether it was ever seen to ask so; shared by all of its connections.
    asks_clients: Arc<AtomicBool>,
}

impl EventSink {
    /// Creates the sink for one server.
    pub fn new(server: ServerKey, sender: mpsc::Sender<(ServerKey, ServerEvent)>) -> Self {
        Self { server, sender, asks_clients: Arc::default() }
    }

    /// The server this sink belongs to.
    pub fn server(&self) -> &ServerKey {
        &self.server
    }

    /// Sends an event. Waits when the gateway is behind, which slows down this server only.
    pub(crate) async fn send(&self, event: ServerEvent) {
        // The gateway stops receiving only when it shuts down, and then the event does not matter.
        let _ = self.sender.send((self.server.clone(), event)).await;
    }

    /// Sends an event that does not matter if the gateway is behind; whether it was sent.
    pub(crate) fn offer(&self, event: ServerEvent) -> bool {
        self.sender.try_send((self.server.clone(), event)).is_ok()
    }

    /// Whether the server asks its clients over connections that they share.
    pub(crate) fn asks_clients(&self) -> bool {
        self.asks_clients.load(Ordering::Relaxed)
    }

    /// Remembers that it does; whether that is new.
    pub(crate) fn remember_that_it_asks(&self) -> bool {
        !self.asks_clients.swap(true, Ordering::Relaxed)
    }

    /// It just did, which is reported if it is new.
    pub(crate) async fn it_asked_clients(&self) {
        if self.remember_that_it_asks() {
            self.send(ServerEvent::AsksClients).await;
        }
    }

    /// The event that a notification stands for, if it is about the server and not about a call.
    pub(crate) fn event_of(notification: &Envelope) -> Option<ServerEvent> {
        match notification.method() {
            Method::ToolsChanged | Method::PromptsChanged | Method::ResourcesChanged => {
                Some(ServerEvent::ListChanged(notification.method().clone()))
            }
            Method::ResourceUpdated => {
                let params = octroi_mcp::params::Params::read(notification.params()).ok()?;
                Some(ServerEvent::ResourceUpdated(params.uri()?.into_owned()))
            }
            Method::ElicitationComplete => Some(ServerEvent::ElicitationComplete(notification.clone())),
            Method::TaskChanged | Method::TaskStatus => Some(ServerEvent::TaskChanged(notification.clone())),
            _ => None,
        }
    }
}

/// A question of a legacy server, to be answered once. Dropped without an answer, it is refused.
#[derive(Debug)]
pub struct ServerQuestion {
    /// The method of the request.
    pub method: Method,
    /// The question's parameters, as JSON text.
    pub params: Bytes,
    /// Cancelled when the server withdraws the question.
    pub withdrawn: CancellationToken,
    id: Id,
    /// Weak, because a connection may hold its own questions.
    reply_to: Option<Weak<dyn ReplyChannel>>,
    /// Dropped with the question, which tells that it was answered.
    answered: Option<DropGuard>,
}

/// The transport that carries the answer to a question back to the server.
pub(crate) trait ReplyChannel: fmt::Debug + Send + Sync {
    /// Sends the answer without waiting.
    fn reply(self: Arc<Self>, id: &Id, message: Bytes);
}

impl ServerQuestion {
    pub(crate) fn new(
        request: &Envelope,
        withdrawn: CancellationToken,
        reply_to: &Arc<impl ReplyChannel + 'static>,
    ) -> Option<Self> {
        let reply_to = Arc::downgrade(reply_to);
        let reply_to: Weak<dyn ReplyChannel> = reply_to;
        Some(Self {
            method: request.method().clone(),
            params: request.params(),
            withdrawn,
            id: request.id()?,
            reply_to: Some(reply_to),
            answered: None,
        })
    }

    /// Keeps a guard until the question is answered.
    pub(crate) fn tell_when_answered(&mut self, guard: DropGuard) {
        self.answered = Some(guard);
    }

    /// Sends a result, as JSON text.
    pub fn answer(mut self, result: &[u8]) {
        let message = envelope::result(&self.id, result);
        self.reply(message);
    }

    /// Sends an error.
    pub fn refuse(mut self, error: &RpcError) {
        let message = envelope::error(Some(&self.id), error);
        self.reply(message);
    }

    fn reply(&mut self, message: Bytes) {
        if let Some(channel) = self.reply_to.take().and_then(|channel| channel.upgrade()) {
            channel.reply(&self.id, message);
        }
    }
}

impl Drop for ServerQuestion {
    fn drop(&mut self) {
        if self.reply_to.is_some() && !self.withdrawn.is_cancelled() {
            let error = RpcError::new(
                octroi_mcp::code::INTERNAL_ERROR,
                "the client is no longer connected to answer",
            );
            let message = envelope::error(Some(&self.id), &error);
            self.reply(message);
        }
    }
}

/// Why a call is cancelled at its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelReason {
    /// Its client did.
    Client,
    /// Its time was up.
    Timeout,
}

impl CancelReason {
    /// The reason for the server.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "the client cancelled the request",
            Self::Timeout => "the request timed out",
        }
    }
}
