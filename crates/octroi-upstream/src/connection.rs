//! A connection to a server: its era, its capabilities, and how to call it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use octroi_core::{Permit, ServerKey};
use octroi_mcp::params::Params;
use octroi_mcp::translate::{self, Round, Sender, Subject};
use octroi_mcp::{Envelope, Era, Id, Method, envelope, json};
use serde_json::Value;

use crate::error::UpstreamError;
use crate::event::{CallEvent, Owner};
use crate::identity::{ServerIdentity, modern_meta};
use crate::live::LiveCall;
use crate::mux::Mux;
use crate::streamable::{HttpCall, Mirror, Streamable};

mod outside_calls;

/// A working connection to a server.
#[derive(Debug)]
pub struct Connection {
    server: ServerKey,
    identity: ServerIdentity,
    link: Link,
    client_info: Bytes,
    /// Set when Octroi itself closed it.
    is_ended: AtomicBool,
}

#[derive(Debug)]
pub(crate) enum Link {
    Shared(Arc<Mux>),
    Http(Arc<Streamable>),
}

/// A client's request, ready to be sent in the server's era.
#[derive(Debug)]
pub struct Outgoing<'a> {
    /// The request as the client sent it.
    pub envelope: &'a Envelope,
    /// Its parsed parameters.
    pub params: &'a Params,
    /// Its subject (tool, prompt or resource), in the server's own names.
    pub subject: &'a Subject,
    /// The client's identity, where the request does not carry one.
    pub sender: Option<&'a Sender>,
    /// The answers to the server's questions, in later rounds of the request.
    pub round: &'a Round,
    /// Arguments that are also sent as headers.
    pub param_headers: Vec<(String, String)>,
    /// The owner of the call.
    pub owner: Owner,
}

/// A request of Octroi itself. None of them has side effects: calls need a permit.
#[derive(Clone, Debug)]
pub enum ControlRequest<'a> {
    /// One page of a list.
    List(Method, Option<&'a str>),
    /// Subscribe to changes of a resource (legacy).
    Subscribe(&'a str),
    /// Unsubscribe from a resource (legacy).
    Unsubscribe(&'a str),
    /// Set the minimum severity of log messages (legacy).
    SetLevel(&'a str),
    /// Liveness check: `ping`, or `server/discover` in the modern era.
    Alive,
}

impl Connection {
    pub(crate) fn new(
        server: ServerKey,
        identity: ServerIdentity,
        link: Link,
        client_info: Bytes,
    ) -> Arc<Self> {
        Arc::new(Self { server, identity, link, client_info, is_ended: AtomicBool::new(false) })
    }

    /// What the server reported about itself.
    pub fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    /// The protocol era that Octroi uses with the server.
    pub fn era(&self) -> Era {
        self.identity.era
    }

    /// Whether the connection can no longer be used.
    pub fn is_closed(&self) -> bool {
        match &self.link {
            Link::Shared(mux) => mux.is_closed(),
            Link::Http(link) => link.closed().is_cancelled(),
        }
    }

    pub(crate) async fn closed(&self) -> String {
        match &self.link {
            Link::Shared(mux) => {
                mux.closed().cancelled().await;
                mux.reason()
            }
            Link::Http(link) => {
                link.closed().cancelled().await;
                "the connection was closed".to_owned()
            }
        }
    }

    /// Whether Octroi closed it, so that its end is not a failure.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// Closes pooled resources that have been idle for too long.
    pub(crate) fn sweep(&self) {
        if let Link::Http(link) = &self.link {
            link.sweep();
        }
    }

    /// Closes the connection.
    pub(crate) async fn close(&self) {
        self.is_ended.store(true, Ordering::Relaxed);
        match &self.link {
            Link::Shared(mux) => mux.close("Octroi closed the connection"),
            Link::Http(link) => link.end_session().await,
        }
    }

    /// Sends a client's request. The permit proves that the call was decided; with a permit for another
    /// server or another tool, nothing is sent.
    pub fn call(&self, permit: &Permit, outgoing: Outgoing<'_>) -> Result<LiveCall, UpstreamError> {
        let is_tool = *outgoing.envelope.method() == Method::ToolsCall;
        let tool = outgoing.subject.name.as_deref().filter(|_| is_tool);
        if !permit.covers(&self.server, tool) {
            return Err(UpstreamError::NotPermitted);
        }
        let write = |id: &Id| {
            translate::request(
                outgoing.envelope,
                outgoing.params,
                self.identity.era,
                id,
                outgoing.subject,
                outgoing.sender,
                outgoing.round,
            )
        };
        let subject = outgoing.subject;
        let name = subject.name.clone().or_else(|| subject.uri.clone()).or_else(|| subject.task_id.clone());
        let mirror = Mirror { name, params: outgoing.param_headers };
        let owner = Arc::clone(&outgoing.owner);
        let call = self.start(outgoing.envelope.method().clone(), mirror, Some(outgoing.owner), write);
        // Checked once the call is known to the connection: from now on, roots go to nobody else.
        if self.has_roots_of_other(&owner) {
            return Err(UpstreamError::Closed("another client gave it its roots; call again".to_owned()));
        }
        Ok(call)
    }

    /// Sends a request of Octroi itself and waits for its result.
    pub async fn control(
        &self,
        control: ControlRequest<'_>,
        timeout: Duration,
    ) -> Result<Bytes, UpstreamError> {
        let (method, params) = self.written(&control);
        let mut call = self.request(method, &params);
        let answer = async {
            loop {
                match call.next().await? {
                    CallEvent::Answer(answer) => return Ok(answer),
                    CallEvent::Notification(_) | CallEvent::Question(_) | CallEvent::Released => {}
                }
            }
        };
        let Ok(answer) = tokio::time::timeout(timeout, answer).await else {
            call.time_out();
            return Err(UpstreamError::Timeout(timeout));
        };
        let answer: Envelope = answer?;
        answer.result().ok_or_else(|| UpstreamError::refused(answer.error()))
    }

    /// Opens a stream of change notifications (modern).
    pub(crate) fn listen(&self, filter: &Value) -> LiveCall {
        let params = format!(r#"{{"notifications":{filter},{}}}"#, self.meta());
        self.request(Method::Listen, params.as_bytes())
    }

    fn request(&self, method: Method, params: &[u8]) -> LiveCall {
        let write = |id: &Id| envelope::request(id, &method, params);
        self.start(method.clone(), Mirror::default(), None, write)
    }

    fn start(
        &self,
        method: Method,
        mirror: Mirror,
        owner: Option<Owner>,
        write: impl Fn(&Id) -> Bytes,
    ) -> LiveCall {
        match &self.link {
            Link::Shared(mux) => {
                let may_be_asked = method.may_ask() && self.identity.era == Era::Legacy;
                let receiver = mux.register(owner, may_be_asked);
                let message = write(&Id::number(receiver.id));
                LiveCall::shared(Arc::clone(mux), receiver, message)
            }
            Link::Http(link) => {
                let id = link.next_id();
                let message = write(&Id::number(id));
                LiveCall::http(HttpCall::new(Arc::clone(link), id, method, mirror, message, owner))
            }
        }
    }

    fn written(&self, control: &ControlRequest<'_>) -> (Method, Vec<u8>) {
        let (method, member) = match control {
            ControlRequest::List(method, cursor) => {
                (method.clone(), cursor.map(|cursor| format!(r#""cursor":{}"#, json::quote(cursor))))
            }
            ControlRequest::Subscribe(uri) => {
                (Method::ResourcesSubscribe, Some(format!(r#""uri":{}"#, json::quote(uri))))
            }
            ControlRequest::Unsubscribe(uri) => {
                (Method::ResourcesUnsubscribe, Some(format!(r#""uri":{}"#, json::quote(uri))))
            }
            ControlRequest::SetLevel(level) => {
                (Method::SetLevel, Some(format!(r#""level":{}"#, json::quote(level))))
            }
            ControlRequest::Alive => match self.identity.era {
                Era::Legacy => (Method::Ping, None),
                Era::Modern => (Method::Discover, None),
            },
        };
        let meta = match self.identity.era {
            Era::Legacy => None,
            Era::Modern => Some(self.meta()),
        };
        let members: Vec<String> = [member, meta].into_iter().flatten().collect();
        (method, format!("{{{}}}", members.join(",")).into_bytes())
    }

    fn meta(&self) -> String {
        modern_meta(&self.client_info)
    }
}

#[cfg(test)]
mod tests;
