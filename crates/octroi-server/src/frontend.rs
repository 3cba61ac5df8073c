//! What answers a request: Octroi's management for people, the compositor of all servers for agents.
//!
//! The principal decides, before anything else of the request is read. No path and no message leads a
//! person's token to a server, nor an agent's token to management.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use octroi_api::ErrorCode;
use octroi_core::config::ClientLimits;
use octroi_core::{Principal, ServerKey};
use octroi_gateway::{Answer, Caller, ClientName, Filter, Gateway, Listener, Notice, Subscriber, View};
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Era, Kind, Method, RpcError, Version, code};

use crate::dispatcher::Operations;
use crate::management::ManagementServer;
use crate::subscription_limits::SubscriptionLimits;

/// The view of Octroi's own resources. The name is reserved: no server can have it.
static OWN: LazyLock<View> = LazyLock::new(|| View::Server(ServerKey::octroi()));

/// The MCP server that a client sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frontend {
    /// Octroi's own tools and resources, and no server's.
    Management,
    /// The servers of this view.
    Compositor(View),
}

impl Frontend {
    /// The front end of a principal that connects to an endpoint of this view.
    pub(crate) fn of(principal: &Principal, view: View) -> Option<Self> {
        match principal {
            Principal::Person(_) => Some(Self::Management),
            Principal::Agent(_) | Principal::Session(_) => Some(Self::Compositor(view)),
            // A service reads metrics, and nothing else.
            Principal::Service(_) => None,
        }
    }

    /// Which list changes a client that requests these is notified of: the lists of management never change.
    pub(crate) fn list_changes(&self, requested: Filter) -> Filter {
        match self {
            Self::Management => Filter::default(),
            Self::Compositor(_) => requested,
        }
    }
}

/// Both front ends of one gateway.
#[derive(Clone)]
pub(crate) struct Frontends {
    gateway: Arc<Gateway>,
    management: Arc<ManagementServer>,
    limits: Arc<SubscriptionLimits>,
    /// How clients reach this endpoint.
    transport: &'static str,
}

impl Frontends {
    pub(crate) fn new(operations: &Arc<Operations>, limits: ClientLimits) -> Self {
        let management = Arc::new(ManagementServer::new(Arc::clone(operations)));
        let gateway = Arc::clone(operations.gateway());
        let limits = SubscriptionLimits::new(limits, gateway.clock().clone());
        Self { gateway, management, limits, transport: "http" }
    }

    /// The same for a client over standard streams.
    pub(crate) fn over_stdio(self) -> Self {
        Self { transport: "stdio", ..self }
    }

    /// Admits a new stream of notifications.
    pub(crate) fn admit_subscription(&self, principal: &Principal) -> Result<(), RpcError> {
        self.limits.subscribe(principal.id(), self.gateway.n_subscriptions(principal.id()))
    }

    /// Answers `initialize`.
    pub(crate) async fn initialize(
        &self,
        frontend: &Frontend,
        principal: &Principal,
        version: Version,
    ) -> Answer {
        match frontend {
            Frontend::Management => ManagementServer::initialize(version),
            Frontend::Compositor(view) => self.gateway.initialize(view, principal, version).await,
        }
    }

    /// Answers any other request. Dropping the future cancels it.
    pub(crate) async fn request(
        &self,
        frontend: &Frontend,
        caller: &Caller,
        envelope: &Envelope,
        params: &Params,
    ) -> Answer {
        let _under_way = self.gateway.clients().request(caller, self.transport);
        let answer = match frontend {
            // Boxed, so that what people ask for does not make the future of every call large.
            Frontend::Management => Box::pin(self.management.request(caller, envelope, params)).await,
            Frontend::Compositor(view) => self.gateway.request(view, caller, envelope, params).await,
        };
        if *envelope.method() == Method::ResourcesRead { in_era(answer, caller.era) } else { answer }
    }

    /// Registers a client for notifications of changes. `deliver` must not wait.
    pub(crate) fn listen(
        &self,
        frontend: &Frontend,
        client: ListeningClient<'_>,
        filter: Filter,
        deliver: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Arc<Listener> {
        let ListeningClient { principal, capabilities, era, session, name, info } = client;
        let stream = self.gateway.clients().stream(&ClientName {
            principal,
            era,
            owner: session,
            session: name,
            info,
            transport: self.transport,
        });
        let note_listener = stream.listener();
        // The stream is open as long as there is somebody to deliver to.
        let deliver = move |notice| {
            let _open = &stream;
            deliver(notice);
        };
        let view = match frontend {
            // People are notified of Octroi's own resources only.
            Frontend::Management => OWN.clone(),
            Frontend::Compositor(view) => view.clone(),
        };
        let subscriber = Subscriber {
            view,
            capabilities,
            era,
            principal: principal.clone(),
            session: Arc::clone(session),
        };
        let listener = self.gateway.listen(subscriber, frontend.list_changes(filter), deliver);
        note_listener(&listener);
        listener
    }

    /// Records that a client sent a method that nobody answers here; returns the error for it.
    pub(crate) fn refuse_method(
        &self,
        frontend: &Frontend,
        principal: &Principal,
        method: &Method,
    ) -> RpcError {
        let view = match frontend {
            Frontend::Management => None,
            Frontend::Compositor(view) => Some(view),
        };
        self.gateway.refuse_method(principal, view, method)
    }

    /// Records a notification that no client sends. Like a request of an unknown method it goes nowhere.
    pub(crate) fn note(&self, frontend: &Frontend, principal: &Principal, message: &Envelope) {
        let is_expected = matches!(
            message.method(),
            Method::Initialized
                | Method::Cancelled
                | Method::Progress
                | Method::RootsChanged
                | Method::TaskStatus
                | Method::TaskChanged
        );
        if message.kind() == Kind::Notification && !is_expected {
            // A notification has no answer.
            let _ = self.refuse_method(frontend, principal, message.method());
        }
    }

    /// The roots of a client changed.
    pub(crate) fn roots_changed(&self, frontend: &Frontend, session: &str) {
        match frontend {
            // No server asks a person for roots.
            Frontend::Management => {}
            Frontend::Compositor(_) => self.gateway.servers().roots_changed(session),
        }
    }

    /// Adds a resource to what a client watches.
    pub(crate) async fn watch(
        &self,
        frontend: &Frontend,
        principal: &Principal,
        listener: &Listener,
        uri: &str,
    ) -> Result<(), RpcError> {
        self.limits.subscribe(listener.user(), self.gateway.n_subscriptions(listener.user()))?;
        match frontend {
            // Boxed like the requests of people.
            Frontend::Management => Box::pin(self.management.watch(principal, listener, uri)).await,
            Frontend::Compositor(_) => self.gateway.watch(principal, listener, uri).await,
        }
    }

    /// Removes a resource from what a client watches.
    pub(crate) fn unwatch(
        &self,
        frontend: &Frontend,
        listener: &Listener,
        uri: &str,
    ) -> Result<(), RpcError> {
        self.limits.change(listener.user())?;
        match frontend {
            Frontend::Management => {
                ManagementServer::unwatch(listener, uri);
                Ok(())
            }
            Frontend::Compositor(_) => self.gateway.unwatch(listener, uri),
        }
    }
}

/// The answer to a request about a resource for a client of this era: the eras have different numbers for one that Octroi
/// does not know.
pub(crate) fn in_era(answer: Answer, era: Era) -> Answer {
    match answer {
        Answer::Error(error) if era == Era::Legacy && is_unknown_resource(&error) => {
            RpcError { code: code::RESOURCE_NOT_FOUND, ..error }.into()
        }
        answer => answer,
    }
}

fn is_unknown_resource(error: &RpcError) -> bool {
    let word = error.data.as_ref().and_then(|data| data["code"].as_str());
    error.code == code::INVALID_PARAMS && word == Some(ErrorCode::ResourceNotFound.spec().word)
}

/// A client that subscribes to changes.
pub(crate) struct ListeningClient<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) era: Era,
    /// The owner of the client's session; the principal in the era without sessions.
    pub(crate) session: &'a Arc<str>,
    /// How records name its session.
    pub(crate) name: Option<&'a Arc<str>>,
    /// Its name and version, as JSON text.
    pub(crate) info: Option<&'a Bytes>,
}

#[cfg(test)]
mod tests {
    use octroi_core::UserRole;
    use octroi_core::principal::TokenName;

    use super::*;

    #[test]
    fn the_token_decides_and_not_the_path() {
        let token = || TokenName::labelled("t");
        let person = Principal::person("ann", UserRole::Member, token());
        let service = Principal::service("ann", token());
        for view in [View::Merged, View::Server(ServerKey::parse("files").unwrap())] {
            assert_eq!(Frontend::of(&person, view.clone()), Some(Frontend::Management), "{view:?}");
            assert_eq!(Frontend::of(&service, view.clone()), None, "{view:?}");
            let session = Principal::session("s", "coder", "ann", token());
            for agent in [Principal::local(), Principal::default_agent(), session] {
                assert_eq!(
                    Frontend::of(&agent, view.clone()),
                    Some(Frontend::Compositor(view.clone())),
                    "{view:?}"
                );
            }
        }
    }
}
