//! Who answers a request: Octroi's management for people, the compositor of all servers for agents.
//!
//! Chosen once, by the principal, before anything else is read of the request. No path and no message leads
//! a person's token to a server, nor an agent's to management.

use std::sync::{Arc, LazyLock};

use octroi_core::{Principal, Role, ServerKey, ServerName};
use octroi_gateway::{Answer, Caller, Filter, Gateway, Listener, Notice, Subscriber, View};
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, RpcError, Version};

use crate::dispatcher::Operations;
use crate::management::ManagementServer;

/// What is Octroi's own, and no server's: none may be called so.
static OWN: LazyLock<View> = LazyLock::new(|| {
    View::Server(ServerKey::system(
        ServerName::parse("octroi").unwrap_or_else(|_| unreachable!("a valid name")),
    ))
});

/// The MCP server that a client sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frontend {
    /// Octroi's own tools and resources, and no server's.
    Management,
    /// The servers, as this view shows them.
    Compositor(View),
}

impl Frontend {
    /// What a principal sees who comes by an endpoint of this view.
    pub(crate) fn of(principal: &Principal, view: View) -> Self {
        match principal.role {
            Role::Human => Self::Management,
            Role::Agent => Self::Compositor(view),
        }
    }

    /// Which changes of lists a client hears of that asks for these: the lists of management never change.
    pub(crate) fn list_changes(&self, requested: Filter) -> Filter {
        match self {
            Self::Management => Filter::default(),
            Self::Compositor(_) => requested,
        }
    }
}

/// Both of them behind one door.
#[derive(Clone)]
pub(crate) struct Frontends {
    gateway: Arc<Gateway>,
    management: Arc<ManagementServer>,
}

impl Frontends {
    pub(crate) fn new(operations: &Arc<Operations>) -> Self {
        let management = Arc::new(ManagementServer::new(Arc::clone(operations)));
        Self { gateway: Arc::clone(operations.gateway()), management }
    }

    /// Answers `initialize`.
    pub(crate) async fn initialize(&self, frontend: &Frontend, version: Version) -> Answer {
        match frontend {
            Frontend::Management => ManagementServer::initialize(version),
            Frontend::Compositor(view) => self.gateway.initialize(view, version).await,
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
        match frontend {
            // Boxed, so that what people ask for does not make the future of every call large.
            Frontend::Management => Box::pin(self.management.request(caller, envelope, params)).await,
            Frontend::Compositor(view) => self.gateway.request(view, caller, envelope, params).await,
        }
    }

    /// Registers a client that wants to hear of changes. `deliver` must not wait.
    pub(crate) fn listen(
        &self,
        frontend: &Frontend,
        client: ListeningClient<'_>,
        filter: Filter,
        deliver: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Arc<Listener> {
        let ListeningClient { principal, capabilities, session } = client;
        let view = match frontend {
            // People hear of Octroi's own resources only.
            Frontend::Management => OWN.clone(),
            Frontend::Compositor(view) => view.clone(),
        };
        let subscriber = Subscriber {
            view,
            capabilities,
            user: Arc::clone(&principal.id),
            agent: principal.agent_id.clone(),
            session: Arc::clone(session),
        };
        self.gateway.listen(subscriber, frontend.list_changes(filter), deliver)
    }

    /// Adds a resource to what a client watches.
    pub(crate) async fn watch(
        &self,
        frontend: &Frontend,
        listener: &Listener,
        uri: &str,
    ) -> Result<(), RpcError> {
        match frontend {
            Frontend::Management => ManagementServer::watch(listener, uri),
            Frontend::Compositor(_) => self.gateway.watch(listener, uri).await,
        }
    }

    /// Removes a resource from what a client watches.
    pub(crate) fn unwatch(
        &self,
        frontend: &Frontend,
        listener: &Listener,
        uri: &str,
    ) -> Result<(), RpcError> {
        match frontend {
            Frontend::Management => {
                ManagementServer::unwatch(listener, uri);
                Ok(())
            }
            Frontend::Compositor(_) => self.gateway.unwatch(listener, uri),
        }
    }
}

/// Who wants to hear of changes.
pub(crate) struct ListeningClient<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) capabilities: ClientCapabilities,
    /// The client's session; the principal again where there are none.
    pub(crate) session: &'a Arc<str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_decides_and_not_the_path() {
        let person = Principal { id: "ann".into(), role: Role::Human, agent_id: None, token: "ann".into() };
        for view in [View::Merged, View::Server(ServerKey::parse("files").unwrap())] {
            assert_eq!(Frontend::of(&person, view.clone()), Frontend::Management, "{view:?}");
            for agent in [Principal::local(), Principal::default_agent()] {
                assert_eq!(
                    Frontend::of(&agent, view.clone()),
                    Frontend::Compositor(view.clone()),
                    "{view:?}"
                );
            }
        }
    }
}
