//! A server that answered: its era, what it can do, and how to call it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use octroi_core::{Permit, ServerKey};
use octroi_mcp::params::Params;
use octroi_mcp::translate::{self, Round, Sender, Subject};
use octroi_mcp::{Envelope, Era, Id, Method, Version, envelope, json, meta};
use serde_json::Value;

use crate::error::UpstreamError;
use crate::event::{CallEvent, Owner};
use crate::live::LiveCall;
use crate::mux::Mux;
use crate::streamable::{HttpCall, Mirror, Streamable};

/// A working connection to a server.
#[derive(Debug)]
pub struct Connection {
    server: ServerKey,
    identity: ServerIdentity,
    link: Link,
    client_info: Bytes,
    /// Set when it is Octroi that ends it.
    is_ended: AtomicBool,
}

#[derive(Debug)]
pub(crate) enum Link {
    Shared(Arc<Mux>),
    Http(Arc<Streamable>),
}

/// What a server says about itself.
#[derive(Clone, Debug)]
pub struct ServerIdentity {
    /// The era in which Octroi talks to it.
    pub era: Era,
    /// The version agreed on.
    pub version: Version,
    /// Name and version of the software, as JSON text.
    pub info: Option<Bytes>,
    /// What it can do.
    pub capabilities: Value,
    /// What it wants models to know.
    pub instructions: Option<String>,
}

/// A client's request, ready to be sent in the server's era.
#[derive(Debug)]
pub struct Outgoing<'a> {
    /// The request as it came.
    pub envelope: &'a Envelope,
    /// Its parameters, read.
    pub params: &'a Params,
    /// What it is about, in the server's own names.
    pub subject: &'a Subject,
    /// On whose behalf, where the request does not say so itself.
    pub sender: Option<&'a Sender>,
    /// Answers to the server's questions, in later rounds.
    pub round: &'a Round,
    /// Arguments that travel as headers too.
    pub param_headers: Vec<(String, String)>,
    /// Whose call it is.
    pub owner: Owner,
}

/// A request of Octroi's own. Nothing here acts on anything: calls need a permit.
#[derive(Clone, Debug)]
pub enum Control<'a> {
    /// One page of a list.
    List(Method, Option<&'a str>),
    /// Be told when a resource changes (legacy).
    Subscribe(&'a str),
    /// No longer (legacy).
    Unsubscribe(&'a str),
    /// Least severe log message wanted (legacy).
    SetLevel(&'a str),
    /// Is anybody there: `ping`, or `server/discover` in the modern era.
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

    /// What the server says about itself.
    pub fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    /// The era in which Octroi talks to the server.
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

    /// Whether it is Octroi that ended it, so that nothing is wrong.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// Lets go of what is kept for later and was not needed for a while.
    pub(crate) fn sweep(&self) {
        if let Link::Http(link) = &self.link {
            link.sweep();
        }
    }

    /// Ends the connection.
    pub(crate) async fn close(&self) {
        self.is_ended.store(true, Ordering::Relaxed);
        match &self.link {
            Link::Shared(mux) => mux.close("Octroi closed the connection"),
            Link::Http(link) => link.end_session().await,
        }
    }

    /// Sends a client's request. The permit is the proof that it was decided; one for another server or another
    /// tool sends nothing.
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
        Ok(self.start(outgoing.envelope.method().clone(), mirror, Some(outgoing.owner), write))
    }

    /// Makes a request of Octroi's own and waits for its result.
    pub async fn control(&self, control: Control<'_>, timeout: Duration) -> Result<Bytes, UpstreamError> {
        let (method, params) = self.written(&control);
        let mut call = self.request(method, &params);
        let answer = async {
            loop {
                match call.next().await? {
                    CallEvent::Answer(answer) => return Ok(answer),
                    CallEvent::Notification(_) | CallEvent::Question(_) => {}
                }
            }
        };
        let answer =
            tokio::time::timeout(timeout, answer).await.map_err(|_| UpstreamError::Timeout(timeout))??;
        answer.result().ok_or_else(|| UpstreamError::refused(answer.error()))
    }

    /// Opens a stream of changes (modern).
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
                LiveCall::shared(Arc::clone(mux), receiver, message, may_be_asked)
            }
            Link::Http(link) => {
                let id = link.next_id();
                let message = write(&Id::number(id));
                LiveCall::http(HttpCall::new(Arc::clone(link), id, method, mirror, message, owner))
            }
        }
    }

    fn written(&self, control: &Control<'_>) -> (Method, Vec<u8>) {
        let (method, member) = match control {
            Control::List(method, cursor) => {
                (method.clone(), cursor.map(|cursor| format!(r#""cursor":{}"#, json::quote(cursor))))
            }
            Control::Subscribe(uri) => {
                (Method::ResourcesSubscribe, Some(format!(r#""uri":{}"#, json::quote(uri))))
            }
            Control::Unsubscribe(uri) => {
                (Method::ResourcesUnsubscribe, Some(format!(r#""uri":{}"#, json::quote(uri))))
            }
            Control::SetLevel(level) => {
                (Method::SetLevel, Some(format!(r#""level":{}"#, json::quote(level))))
            }
            Control::Alive => match self.identity.era {
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

/// The `_meta` member of a modern request of Octroi's own.
pub(crate) fn modern_meta(client_info: &[u8]) -> String {
    format!(
        r#""_meta":{{"{}":"{}","{}":{},"{}":{{}}}}"#,
        meta::PROTOCOL_VERSION,
        Version::LATEST_MODERN,
        meta::CLIENT_INFO,
        String::from_utf8_lossy(client_info),
        meta::CLIENT_CAPABILITIES,
    )
}
