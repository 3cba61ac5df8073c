//! Requests of the legacy era: a session at the gateway, which a client over standard streams does not see.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName};
use hyper::{Method as HttpMethod, Response, StatusCode};
use octroi_mcp::{Envelope, Id, Kind, Method, envelope, header as mcp_header};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::link::{Events, Gone, collect, is_stream, put};
use super::{CLOSE_TIMEOUT, Relay};

/// The pause before a stream that ended by itself is opened again.
const LISTEN_AGAIN: Duration = Duration::from_millis(200);

/// A session at the gateway.
pub(super) struct RelaySession {
    /// The headers of every message in the session.
    headers: HeaderMap,
    /// The `initialize` request, to open another session when a restarted gateway does not know this one.
    initialize: Envelope,
}

impl Relay {
    /// Opens the session; the client gets the answer as it is.
    pub(super) async fn initialize(self: &Arc<Self>, request: &Envelope, id: &Id) -> Result<(), Gone> {
        let (status, body, session) = self.open_session(request).await?;
        if let Some(session) = session {
            self.end_session().await;
            *self.session.lock() = Some(Arc::new(session));
        }
        self.pass_answer(status, body, id).await;
        Ok(())
    }

    async fn open_session(
        &self,
        request: &Envelope,
    ) -> Result<(StatusCode, Bytes, Option<RelaySession>), Gone> {
        let response = self.link.post(&HeaderMap::new(), request.json().clone()).await?;
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
            RelaySession { headers, initialize: request.clone() }
        });
        Ok((status, body, session))
    }

    pub(super) async fn forward_legacy(self: &Arc<Self>, request: &Envelope, id: &Id) -> Result<(), Gone> {
        let session = self.session.lock().clone();
        let headers = session.as_ref().map(|session| session.headers.clone()).unwrap_or_default();
        let response = self.link.post(&headers, request.json().clone()).await?;
        let response = match session {
            // The request belonged to no session, so it was not executed; sending it again is safe.
            Some(session) if is_over(&response) => {
                let session = self.reopen(&session).await?;
                self.link.post(&session.headers, request.json().clone()).await?
            }
            Some(_) | None => response,
        };
        self.pass_on(response, id).await
    }

    /// Forwards what needs no answer: notifications, and answers to questions of the gateway. In the modern
    /// era there are no such messages.
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
            // No message of the gateway from now on must be missed.
            let listening = CancellationToken::new();
            self.tasks.spawn("relay-listen", Arc::clone(self).listen(session, listening.clone()));
            tokio::select! {
                () = listening.cancelled() => {}
                () = tokio::time::sleep(CLOSE_TIMEOUT) => {}
            }
        }
    }

    /// Forwards messages that belong to no request, as long as there is a session.
    async fn listen(self: Arc<Self>, session: Arc<RelaySession>, listening: CancellationToken) {
        let closing = self.closing.clone();
        let listen = async {
            let mut session = session;
            loop {
                let opened = self.link.send(&HttpMethod::GET, &session.headers, Bytes::new()).await;
                listening.cancel();
                let next = match opened {
                    Ok(response) if is_over(&response) => self.reopen(&session).await,
                    Ok(response) if is_stream(&response) => {
                        let mut events = Events::new(response.into_body());
                        while let Some(message) = events.next().await {
                            self.send(message).await;
                        }
                        tokio::time::sleep(LISTEN_AGAIN).await;
                        Ok(Arc::clone(&session))
                    }
                    Ok(_) => return,
                    Err(gone) => Err(gone),
                };
                match next {
                    // The client sent `initialize` again, and its new session has a listener of its own.
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
            () = listen => {}
        }
    }

    fn is_current(&self, session: &Arc<RelaySession>) -> bool {
        self.session.lock().as_ref().is_some_and(|current| Arc::ptr_eq(current, session))
    }

    /// Replaces a session that the gateway no longer knows. The client has to repeat the subscriptions of the
    /// old one.
    async fn reopen(&self, lost: &Arc<RelaySession>) -> Result<Arc<RelaySession>, Gone> {
        let _turn = self.opening.lock().await;
        let current = self.session.lock().clone();
        if let Some(current) = current.filter(|current| !Arc::ptr_eq(current, lost)) {
            return Ok(current);
        }
        tracing::info!("the gateway does not know the session any more, opening another");
        let (_, _, session) = self.open_session(&lost.initialize).await?;
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
            // A gateway that does not answer must not keep the relay from ending.
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, ended).await;
        }
    }
}

/// Whether the gateway no longer knows the session.
fn is_over<B>(response: &Response<B>) -> bool {
    response.status() == StatusCode::NOT_FOUND
}
