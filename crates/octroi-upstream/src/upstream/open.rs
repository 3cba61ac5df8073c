//! Opening a connection: which transport, which era.

use std::sync::Arc;

use octroi_core::Scope;
use octroi_core::server::{EraChoice, Remote, Transport};
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::{Era, Id, Method, envelope};

use super::Upstream;
use crate::connection::{Connection, Link};
use crate::error::UpstreamError;
use crate::handshake::{self, Introduction, Probe};
use crate::http::Address;
use crate::mux::Mux;
use crate::streamable::{Mirror, Setup, Streamable};
use crate::{old_sse, stdio};

/// How often a server may redirect while a connection is opened.
const REDIRECTS_MAX: usize = 3;

impl Upstream {
    /// Opens a connection: in this era, or in whichever the server speaks.
    pub(super) async fn open(
        &self,
        capabilities: Option<&ClientCapabilities>,
        era: Option<Era>,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let introduction = Introduction {
            client_info: self.context.client_info.clone(),
            capabilities: match capabilities {
                Some(capabilities) => capabilities.json().clone(),
                None => self.declared.capabilities().json().clone(),
            },
        };
        let choice = self.eras.choice(self.spec.era, era);
        if let Some(era) = era {
            let opened = self.open_as(choice, &introduction).await?;
            self.eras.spoke(era);
            return Ok(opened);
        }
        let opened = match self.open_as(choice, &introduction).await {
            // The remembered era no longer applies: detect it again.
            Err(error) if choice != self.spec.era && !matches!(error, UpstreamError::Connect { .. }) => {
                self.eras.forget();
                self.open_as(self.spec.era, &introduction).await
            }
            opened => opened,
        }?;
        self.eras.detected(opened.era());
        Ok(opened)
    }

    async fn open_as(
        &self,
        choice: EraChoice,
        introduction: &Introduction,
    ) -> Result<Arc<Connection>, UpstreamError> {
        match &self.spec.transport {
            Transport::Stdio(program) => {
                let start = || {
                    let kept = (&self.logs, &self.running);
                    stdio::start(&self.spec, program, &self.context, self.events.clone(), kept, &self.closing)
                };
                match self.talk(start().await?, choice, introduction).await {
                    // Some legacy servers exit on any request before the handshake.
                    Err(UpstreamError::Closed(_)) if choice == EraChoice::Auto => {
                        self.talk(start().await?, EraChoice::Legacy, introduction).await
                    }
                    opened => opened,
                }
            }
            Transport::Http(remote) | Transport::Sse(remote) => {
                self.open_remote(remote, choice, introduction).await
            }
        }
    }

    /// Opens a connection to a remote server, also where it redirects to another path of its own.
    async fn open_remote(
        &self,
        remote: &Remote,
        choice: EraChoice,
        introduction: &Introduction,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let mut address = match self.spec.key.scope {
            Scope::System => self.context.http.address(remote)?,
            Scope::User(_) => self.context.http.members_address(remote)?,
        };
        let mut n_redirects = 0;
        loop {
            let opened = match &self.spec.transport {
                Transport::Sse(_) => self.open_sse(&address, introduction).await,
                Transport::Stdio(_) | Transport::Http(_) => {
                    self.open_http(&address, choice, introduction).await
                }
            };
            match opened {
                Err(UpstreamError::Redirected(target)) if n_redirects < REDIRECTS_MAX => {
                    address = address.redirected(&target)?;
                    n_redirects += 1;
                }
                opened => return opened,
            }
        }
    }

    /// Runs the handshake over a shared channel; a failed handshake closes the channel.
    async fn talk(
        &self,
        mux: Arc<Mux>,
        choice: EraChoice,
        introduction: &Introduction,
    ) -> Result<Arc<Connection>, UpstreamError> {
        // Closes the channel also when this future is dropped, for example by a timeout.
        let guard = mux.closed().clone().drop_guard();
        match handshake::over_channel(&mux, choice, introduction).await {
            Ok(identity) => {
                guard.disarm();
                Ok(Connection::new(
                    self.spec.key.clone(),
                    identity,
                    Link::Shared(mux),
                    introduction.client_info.clone(),
                ))
            }
            Err(error) => {
                mux.close(error.to_string());
                Err(error)
            }
        }
    }

    async fn open_sse(
        &self,
        address: &Address,
        introduction: &Introduction,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let context = &self.context;
        let limit = self.spec.limits.message_bytes;
        let mux = old_sse::connect(
            &context.http,
            address,
            self.events.clone(),
            &context.tasks,
            &self.closing,
            limit,
        )
        .await?;
        self.talk(mux, EraChoice::Legacy, introduction).await
    }

    async fn open_http(
        &self,
        address: &Address,
        choice: EraChoice,
        introduction: &Introduction,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let setup = || Setup {
            client: self.context.http.clone(),
            address: address.clone(),
            initialize_params: introduction.initialize_params(),
            events: self.events.clone(),
            tasks: self.context.tasks.clone(),
            closed: self.closing.child_token(),
            limit: self.spec.limits.message_bytes,
        };
        if choice != EraChoice::Legacy {
            let link = Streamable::new(setup(), Era::Modern);
            match (link.probe(introduction).await, choice) {
                (Ok(Probe::Modern(identity)), _) => {
                    return Ok(Connection::new(
                        self.spec.key.clone(),
                        *identity,
                        Link::Http(link),
                        introduction.client_info.clone(),
                    ));
                }
                (Ok(Probe::Legacy), EraChoice::Modern) => {
                    return Err(UpstreamError::Protocol(
                        "the server does not speak the modern era that its entry pins it to".to_owned(),
                    ));
                }
                // A modern error comes from a modern server: it must not get the legacy handshake.
                (Err(error), EraChoice::Modern)
                | (
                    Err(
                        error @ (UpstreamError::Connect { .. }
                        | UpstreamError::NotPublic { .. }
                        | UpstreamError::Redirected(_)
                        | UpstreamError::NeedsAuth
                        | UpstreamError::Refused(_)),
                    ),
                    _,
                ) => return Err(error),
                (Ok(Probe::Legacy) | Err(_), _) => {}
            }
        }
        let link = Streamable::new(setup(), Era::Legacy);
        match link.initialize().await {
            Ok(result) => {
                let identity = handshake::read_initialized(&result)?;
                link.start_listening().await;
                Ok(Connection::new(
                    self.spec.key.clone(),
                    identity,
                    Link::Http(link),
                    introduction.client_info.clone(),
                ))
            }
            // No Streamable HTTP here; the address may serve the old event stream.
            Err(error @ (UpstreamError::Status(400..=499) | UpstreamError::Protocol(_))) => {
                self.open_sse(address, introduction).await.map_err(|_| error)
            }
            Err(error) => Err(error),
        }
    }
}

impl Streamable {
    async fn probe(&self, introduction: &Introduction) -> Result<Probe, UpstreamError> {
        let id = Id::number(self.next_id());
        let params = introduction.discover_params();
        let message = envelope::request(&id, &Method::Discover, params.as_bytes());
        let response = self.post(&Method::Discover, &Mirror::default(), message).await?;
        let answer = self.read_answer(response, &id).await?;
        handshake::read_probe(&answer)
    }
}
