//! Requests of the legacy era: a session at the gateway, which the client over standard streams knows
//! nothing of.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName};
use hyper::{Method as HttpMethod, Response, StatusCode};
use octroi_mcp::{Envelope, Id, Kind, Method, envelope, header as mcp_header};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::link::{Events, Gone, collect, is_stream, put};
use super::{GOODBYE, Relay};

/// A stream that ended by itself is not opened again at once, for ever.
const LISTEN_AGAIN: Duration = Duration::from_millis(200);

/// A session at the gateway.
pub(super) struct Session {
    /// What every message in it carries.
    headers: HeaderMap,
    /// With what another one is opened when a gateway that was started again does not know this one.
    hello: Envelope,
}

impl Relay {
    /// Opens the session; the client gets the answer as it is.
    pub(super) async fn initialize(self: &Arc<Self>, request: &Envelope, id: &Id) -> Result<(), Gone> {
        let (status, body, session) = self.greet(request).await?;
        if let Some(session) = session {
            self.end_session().await;
            *self.session.lock() = Some(Arc::new(session));
        }
        self.pass_answer(status, body, id).await;
        Ok(())
    }

    async fn greet(&self, hello: &Envelope) -> Result<(StatusCode, Bytes, Option<Session>), Gone> {
        let response = self.link.post(&HeaderMap::new(), hello.json().clone()).await?;
        let status = response.status();
        let session_id = response.headers().get(mcp_header::SESSION_ID).cloned();
        let body = collect(response.into_body()).await?;
        let session = session_id.map(|session_id| {
            let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
            let mut headers = HeaderMap::new();
            headers.insert(HeaderName::from_static(mcp_header::SESSION_ID), session_id);
            if let Some(version) = answer["result"]["protocolVersion"].as_str() {
                put(&mut headers, mcp_header::PROTOCOL_VERSION, version);
            }
            Session { headers, hello: hello.clone() }
        });
        Ok((status, body, session))
    }

    pub(super) async fn carry_legacy(self: &Arc<Self>, request: &Envelope, id: &Id) -> Result<(), Gone> {
        let session = self.session.lock().clone();
        let headers = session.as_ref().map(|session| session.headers.clone()).unwrap_or_default();
        let response = self.link.post(&headers, request.json().clone()).await?;
        let response = match session {
            // What belongs to no session was not done.
            Some(session) if is_over(&response) => {
                let session = self.reopen(&session).await?;
                self.link.post(&session.headers, request.json().clone()).await?
            }
            Some(_) | None => response,
        };
        self.pass_on(response, id).await
    }

    /// Sends what needs no answer: notifications, and answers to questions of the gateway. Nothing of the
    /// kind goes to a gateway in the modern era.
    pub(super) async fn pass_to_session(self: &Arc<Self>, message: &Envelope) {
        let session = self.session.lock().clone();
        let Some(session) = session else {
            return;
        };
        match self.link.post(&session.headers, message.json().clone()).await {
            // Read to its end, so that the connection can be used again.
            Ok(response) => drop(collect(response.into_body()).await),
            Err(gone) => return self.look_for_gateway(gone).await,
        }
        if message.kind() == Kind::Notification && *message.method() == Method::Initialized {
            // What the gateway says from now on must not be missed.
            let listening = CancellationToken::new();
            self.tasks.spawn("relay-listen", Arc::clone(self).listen(session, listening.clone()));
            tokio::select! {
                () = listening.cancelled() => {}
                () = tokio::time::sleep(GOODBYE) => {}
            }
        }
    }

    /// Hears what belongs to no request, as long as there is a session.
    async fn listen(self: Arc<Self>, session: Arc<Session>, listening: CancellationToken) {
        let closing = self.closing.clone();
        let heard = async {
            let mut session = session;
            loop {
                let opened = self.link.send(&HttpMethod::GET, &session.headers, Bytes::new()).await;
                listening.cancel();
                let next = match opened {
                    Ok(response) if is_over(&response) => self.reopen(&session).await,
                    Ok(response) if is_stream(&response) => {
                        let mut events = Events::new(response.into_body());
                        while let Some(message) = events.next().await {
                            self.say(message).await;
                        }
                        tokio::time::sleep(LISTEN_AGAIN).await;
                        Ok(Arc::clone(&session))
                    }
                    Ok(_) => return,
                    Err(gone) => Err(gone),
                };
                match next {
                    // The client said hello again, and its new session is heard by somebody else.
                    Ok(next) if !self.is_current(&next) => return,
                    Ok(next) => session = next,
                    Err(gone) => {
                        self.look_for_gateway(gone).await;
                        if self.lost.is_cancelled() {
                            return;
                        }
                    }
                }
            }
        };
        tokio::select! {
            biased;
            () = closing.cancelled() => {}
            () = heard => {}
        }
    }

    fn is_current(&self, session: &Arc<Session>) -> bool {
        self.session.lock().as_ref().is_some_and(|current| Arc::ptr_eq(current, session))
    }

    /// Another session in place of one that the gateway does not know any more. What the client asked to
    /// hear of in the old one it has to ask for again.
    async fn reopen(&self, lost: &Arc<Session>) -> Result<Arc<Session>, Gone> {
        let _turn = self.opening.lock().await;
        let current = self.session.lock().clone();
        if let Some(current) = current.filter(|current| !Arc::ptr_eq(current, lost)) {
            return Ok(current);
        }
        tracing::info!("the gateway does not know the session any more, opening another");
        let (_, _, session) = self.greet(&lost.hello).await?;
        let session = Arc::new(session.ok_or(Gone::Before)?);
        let initialized = envelope::notification(&Method::Initialized, b"{}");
        drop(collect(self.link.post(&session.headers, initialized).await?.into_body()).await);
        *self.session.lock() = Some(Arc::clone(&session));
        Ok(session)
    }

    /// Tells the gateway that the client is done.
    pub(super) async fn end_session(&self) {
        let session = self.session.lock().take();
        if let Some(session) = session {
            let ended = self.link.send(&HttpMethod::DELETE, &session.headers, Bytes::new());
            // A gateway that does not answer is no reason to stay.
            let _ = tokio::time::timeout(GOODBYE, ended).await;
        }
    }
}

/// Whether the gateway does not know the session.
fn is_over<B>(response: &Response<B>) -> bool {
    response.status() == StatusCode::NOT_FOUND
}
