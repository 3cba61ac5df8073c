//! Who wants to hear of which changes.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use octroi_core::{ServerName, uri};
use octroi_mcp::Method;
use octroi_mcp::capability::ClientCapabilities;
use octroi_upstream::Sharer;
use parking_lot::{Mutex, RwLock};

use crate::desk;
use crate::gateway::Gateway;
use crate::view::View;

/// A change that a client asked to hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A list changed; the method is the notification's.
    ListChanged(Method),
    /// A resource changed; the URI is the one the client knows.
    ResourceUpdated(String),
}

/// Which list changes are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// `notifications/tools/list_changed`.
    pub tools: bool,
    /// `notifications/prompts/list_changed`.
    pub prompts: bool,
    /// `notifications/resources/list_changed`.
    pub resources: bool,
}

impl Filter {
    /// All three lists, as legacy sessions get them.
    pub const ALL: Self = Self { tools: true, prompts: true, resources: true };

    fn wants(self, method: &Method) -> bool {
        match method {
            Method::ToolsChanged => self.tools,
            Method::PromptsChanged => self.prompts,
            Method::ResourcesChanged => self.resources,
            _ => false,
        }
    }
}

type Deliver = Box<dyn Fn(Notice) + Send + Sync>;

/// Who wishes to hear of changes.
#[derive(Clone, Debug)]
pub struct Wisher {
    /// What it sees.
    pub view: View,
    /// What it can do.
    pub capabilities: ClientCapabilities,
    /// The principal.
    pub user: Arc<str>,
    /// Which agent that is, if it is one.
    pub agent: Option<Arc<str>>,
    /// The client's session; the principal again where there are none.
    pub session: Arc<str>,
}

/// One client's wishes. Dropping it ends them.
pub struct Listener {
    number: u64,
    wisher: Wisher,
    filter: Filter,
    watched: Mutex<HashSet<(ServerName, String)>>,
    deliver: Deliver,
    hub: Arc<Hub>,
}

/// All wishes.
pub(crate) struct Hub {
    next: AtomicU64,
    listeners: RwLock<HashMap<u64, Weak<Listener>>>,
    gateway: Weak<Gateway>,
}

impl Hub {
    pub(crate) fn new(gateway: Weak<Gateway>) -> Self {
        Self { next: AtomicU64::new(0), listeners: RwLock::default(), gateway }
    }

    /// Registers a client. `deliver` must not wait.
    pub(crate) fn listen(
        self: &Arc<Self>,
        wisher: Wisher,
        filter: Filter,
        deliver: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Arc<Listener> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let listener = Arc::new(Listener {
            number,
            wisher,
            filter,
            watched: Mutex::default(),
            deliver: Box::new(deliver),
            hub: Arc::clone(self),
        });
        self.listeners.write().insert(number, Arc::downgrade(&listener));
        listener
    }

    pub(crate) fn list_changed(&self, server: &ServerName, method: &Method) {
        for listener in self.interested(server) {
            if listener.filter.wants(method) {
                (listener.deliver)(Notice::ListChanged(method.clone()));
            }
        }
    }

    pub(crate) fn resource_updated(&self, server: &ServerName, own: &str) {
        self.resource_updated_for(server, own, |_| true);
    }

    /// The same for some of those who watch it: one name may mean something else to everybody.
    pub(crate) fn resource_updated_for(
        &self,
        server: &ServerName,
        own: &str,
        is_meant: impl Fn(&Wisher) -> bool,
    ) {
        for listener in self.interested(server) {
            if listener.watches(server, own) && is_meant(&listener.wisher) {
                let shown = match &listener.wisher.view {
                    _ if *server == *desk::OCTROI => own.to_owned(),
                    View::Merged | View::Managed => uri::publish(server, own),
                    View::Server(_) => own.to_owned(),
                };
                (listener.deliver)(Notice::ResourceUpdated(shown));
            }
        }
    }

    /// Who watches which resources of a server.
    pub(crate) fn watchers_of(&self, server: &ServerName) -> Vec<(Arc<Listener>, String)> {
        let mut watched = Vec::new();
        for listener in self.interested(server) {
            let uris: Vec<String> = listener
                .watched
                .lock()
                .iter()
                .filter(|(of, _)| of == server)
                .map(|(_, uri)| uri.clone())
                .collect();
            watched.extend(uris.into_iter().map(|uri| (Arc::clone(&listener), uri)));
        }
        watched
    }

    fn interested(&self, server: &ServerName) -> Vec<Arc<Listener>> {
        let mut all: Vec<_> = self.listeners.read().values().filter_map(Weak::upgrade).collect();
        // After the lock: the last owner of a listener takes it again when it lets go.
        all.retain(|listener| listener.wisher.view.shows(server));
        all
    }
}

impl Listener {
    pub(crate) fn capabilities(&self) -> &ClientCapabilities {
        &self.wisher.capabilities
    }

    pub(crate) fn sharer(&self) -> Sharer<'_> {
        Sharer { user: &self.wisher.user, session: &self.wisher.session }
    }

    pub(crate) fn view(&self) -> &View {
        &self.wisher.view
    }

    /// Which agent wishes, if it is one.
    pub(crate) fn agent(&self) -> Option<&str> {
        self.wisher.agent.as_deref()
    }

    pub(crate) fn watches(&self, server: &ServerName, own: &str) -> bool {
        self.watched.lock().contains(&(server.clone(), own.to_owned()))
    }

    /// Adds a resource; `false` if it was watched already.
    pub(crate) fn watch(&self, server: &ServerName, own: &str) -> bool {
        self.watched.lock().insert((server.clone(), own.to_owned()))
    }

    /// Removes a resource that the server would not let be watched.
    pub(crate) fn forget(&self, server: &ServerName, own: &str) {
        self.watched.lock().remove(&(server.clone(), own.to_owned()));
    }

    /// Removes a resource.
    pub(crate) fn unwatch(&self, server: &ServerName, own: &str) {
        if self.watched.lock().remove(&(server.clone(), own.to_owned())) {
            self.release(server, own);
        }
    }

    fn release(&self, server: &ServerName, own: &str) {
        if let Some(upstream) = self.hub.gateway.upgrade().and_then(|gateway| gateway.upstream(server)) {
            upstream.unwatch(&self.sharer(), self.capabilities(), own);
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.hub.listeners.write().remove(&self.number);
        for (server, own) in self.watched.get_mut().drain().collect::<Vec<_>>() {
            self.release(&server, &own);
        }
    }
}
