//! Subscriptions of clients to changes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use octroi_api::{ResourceChange, ResourceUri};
use octroi_core::pool::is_within_reach;
use octroi_core::{Clock, Principal, ServerKey, uri};
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::{Era, Method};
use octroi_upstream::Sharer;
use parking_lot::{Mutex, RwLock};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::alerts::{Alert, Alerts};
use crate::catalogue::Builtins;
use crate::membership::{Membership, Sight};
use crate::subscriptions::merging::{Merging, Window};
use crate::view::View;

/// A change that a client subscribed to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// A list changed; the method is the notification's.
    ListChanged(Method),
    /// A resource changed; the URI is the one that the client uses.
    ResourceUpdated(String),
}

/// The list changes that a client subscribed to.
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

    fn includes(self, method: &Method) -> bool {
        match method {
            Method::ToolsChanged => self.tools,
            Method::PromptsChanged => self.prompts,
            Method::ResourcesChanged => self.resources,
            _ => false,
        }
    }
}

mod merging;

type Deliver = Box<dyn Fn(Notice) + Send + Sync>;

/// A client that subscribes.
#[derive(Clone, Debug)]
pub struct Subscriber {
    /// The endpoint that the client uses.
    pub view: View,
    /// The client's capabilities.
    pub capabilities: ClientCapabilities,
    /// The era that the client speaks.
    pub era: Era,
    /// The principal.
    pub principal: Principal,
    /// The client's session; the principal where there are no sessions.
    pub session: Arc<str>,
}

/// One client's subscriptions. Dropping it ends them.
pub struct Listener {
    number: u64,
    subscriber: Subscriber,
    filter: Filter,
    watched: Mutex<HashSet<(ServerKey, String)>>,
    deliver: Deliver,
    subscriptions: Arc<Subscriptions>,
    servers: Arc<dyn ReleaseWatch>,
}

/// All subscriptions.
pub(crate) struct Subscriptions {
    /// Who sees which server.
    membership: Arc<Membership>,
    merging: Merging,
    next: AtomicU64,
    listeners: RwLock<HashMap<u64, Weak<Listener>>>,
    /// What people hear of without subscribing.
    alerts: Alerts,
}

/// Ends the watches at servers that listeners no longer need.
pub(crate) trait ReleaseWatch: Send + Sync {
    /// Called when a listener no longer watches a resource.
    fn release(&self, listener: &Listener, server: &ServerKey, own: &str);
}

impl Subscriptions {
    pub(crate) fn new(clock: Clock, membership: &Arc<Membership>) -> Self {
        Self {
            membership: Arc::clone(membership),
            merging: Merging::new(clock),
            next: AtomicU64::default(),
            listeners: RwLock::default(),
            alerts: Alerts::default(),
        }
    }

    /// Delivers notices once others like them had time to come, until `closing`.
    pub(crate) async fn deliver(self: Arc<Self>, closing: CancellationToken) {
        self.merging.deliver(&closing).await;
    }

    /// Registers a client. `deliver` must not wait.
    pub(crate) fn listen(
        self: &Arc<Self>,
        subscriber: Subscriber,
        filter: Filter,
        servers: Arc<dyn ReleaseWatch>,
        deliver: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Arc<Listener> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let listener = Arc::new(Listener {
            number,
            subscriber,
            filter,
            watched: Mutex::default(),
            deliver: Box::new(deliver),
            subscriptions: Arc::clone(self),
            servers,
        });
        self.listeners.write().insert(number, Arc::downgrade(&listener));
        listener
    }

    /// Tells people something at once.
    pub(crate) fn alert(&self, alert: Alert) {
        self.alerts.raise(alert);
    }

    /// The alerts from now on.
    pub(crate) fn alerts(&self) -> broadcast::Receiver<Alert> {
        self.alerts.listen()
    }

    /// Notifies the clients that see a server.
    pub(crate) fn list_changed(&self, server: &ServerKey, method: &Method) {
        for listener in self.interested(server) {
            self.tell(&listener, method);
        }
    }

    /// Notifies one client that a list changed.
    pub(crate) fn tell(&self, listener: &Arc<Listener>, method: &Method) {
        if listener.filter.includes(method) {
            self.merging.add(listener, Notice::ListChanged(method.clone()), Window::Usual);
        }
    }

    /// Notifies that one of Octroi's own lists has changed.
    pub(crate) fn own_list_changed(&self, method: &Method) {
        self.list_changed(Builtins::key(), method);
    }

    /// Notifies that one of Octroi's own resources has changed.
    pub(crate) fn announce(&self, change: &ResourceChange<'_>) {
        self.announce_to(change, |_| true);
    }

    /// The same, of a change that concerns one server: to those who may know of it.
    pub(crate) fn announce_of(&self, server: &ServerKey, change: &ResourceChange<'_>) {
        self.announce_to(change, |subscriber| {
            let principal = &subscriber.principal;
            principal.is_admin() || is_within_reach(principal.user(), server)
        });
    }

    /// The same for some subscribers: the same URI may refer to different content for each.
    pub(crate) fn announce_to(&self, change: &ResourceChange<'_>, is_meant: impl Fn(&Subscriber) -> bool) {
        for uri in change.resources() {
            let window = if uri.is_frequent() { Window::Frequent } else { Window::Usual };
            self.resource_updated_for(Builtins::key(), &uri.to_string(), window, &is_meant);
        }
    }

    pub(crate) fn resource_updated(&self, server: &ServerKey, own: &str) {
        self.resource_updated_for(server, own, Window::Usual, |_| true);
    }

    fn resource_updated_for(
        &self,
        server: &ServerKey,
        own: &str,
        window: Window,
        is_meant: impl Fn(&Subscriber) -> bool,
    ) {
        for listener in self.interested(server) {
            if listener.watches(server, own) && is_meant(&listener.subscriber) {
                let uri = match &listener.subscriber.view {
                    View::Merged if server != Builtins::key() => uri::publish(&server.name, own),
                    View::Merged | View::Server(_) => own.to_owned(),
                };
                self.merging.add(&listener, Notice::ResourceUpdated(uri), window);
            }
        }
    }

    /// The agents whose servers somebody watches.
    pub(crate) fn agents_with_watched_mounts(&self) -> BTreeSet<String> {
        let watched = self.watchers_of(Builtins::key()).into_iter();
        let agent = |(listener, uri): (Arc<Listener>, String)| match ResourceUri::parse(&uri)? {
            ResourceUri::AgentMounts(agent) => Some(agent),
            ResourceUri::CompositorServers | ResourceUri::CompositorState(_) => {
                listener.agent().map(str::to_owned)
            }
            _ => None,
        };
        watched.filter_map(agent).collect()
    }

    /// The watched resources of a server and their listeners.
    pub(crate) fn watchers_of(&self, server: &ServerKey) -> Vec<(Arc<Listener>, String)> {
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

    /// How many subscriptions a principal has: its clients that listen, and the resources they watch.
    pub(crate) fn count_of(&self, user: &str) -> usize {
        let all = self.all();
        let own = all.iter().filter(|listener| **listener.user() == *user);
        own.map(|listener| 1 + listener.watched.lock().len()).sum()
    }

    /// How many clients of an agent listen.
    pub(crate) fn n_clients_of(&self, agent: &str) -> usize {
        self.all().iter().filter(|listener| listener.agent() == Some(agent)).count()
    }

    /// All clients that listen.
    pub(crate) fn all(&self) -> Vec<Arc<Listener>> {
        self.listeners.read().values().filter_map(Weak::upgrade).collect()
    }

    /// The clients that see a server.
    fn interested(&self, server: &ServerKey) -> Vec<Arc<Listener>> {
        let members = self.membership.members();
        let is_own = server == Builtins::key();
        // After the lock: dropping the last reference to a listener takes it again.
        let mut all = self.all();
        all.retain(|listener| {
            let Subscriber { view, principal, .. } = &listener.subscriber;
            view.shows(server) && (is_own || members.sight(principal, server) == Sight::Visible)
        });
        all
    }
}

impl Listener {
    pub(crate) fn capabilities(&self) -> &ClientCapabilities {
        &self.subscriber.capabilities
    }

    pub(crate) fn sharer(&self) -> Sharer<'_> {
        let Subscriber { principal, session, era, .. } = &self.subscriber;
        Sharer { user: principal.id(), session, era: *era }
    }

    /// The id of the principal.
    pub fn user(&self) -> &Arc<str> {
        self.subscriber.principal.id()
    }

    /// The principal.
    pub(crate) fn principal(&self) -> &Principal {
        &self.subscriber.principal
    }

    pub(crate) fn view(&self) -> &View {
        &self.subscriber.view
    }

    /// The agent, if the client is one.
    pub(crate) fn agent(&self) -> Option<&str> {
        self.subscriber.principal.agent_id().map(|agent| &**agent)
    }

    pub(crate) fn watches(&self, server: &ServerKey, own: &str) -> bool {
        self.watched.lock().contains(&(server.clone(), own.to_owned()))
    }

    /// How many resources it watches.
    pub(crate) fn n_watched(&self) -> usize {
        self.watched.lock().len()
    }

    /// Adds a resource; `false` if it was already watched.
    pub(crate) fn watch(&self, server: &ServerKey, own: &str) -> bool {
        self.watched.lock().insert((server.clone(), own.to_owned()))
    }

    /// Removes a resource that the server refused to watch.
    pub(crate) fn forget(&self, server: &ServerKey, own: &str) {
        self.watched.lock().remove(&(server.clone(), own.to_owned()));
    }

    /// Removes a resource; `false` if it was not watched.
    pub(crate) fn unwatch(&self, server: &ServerKey, own: &str) -> bool {
        let was_watched = self.watched.lock().remove(&(server.clone(), own.to_owned()));
        if was_watched {
            self.servers.release(self, server, own);
        }
        was_watched
    }

    /// Adds one of Octroi's own resources.
    pub fn watch_own(&self, uri: &str) {
        self.watch(Builtins::key(), uri);
    }

    /// Removes one of Octroi's own resources; `false` if it was not watched.
    pub fn unwatch_own(&self, uri: &str) -> bool {
        self.watched.lock().remove(&(Builtins::key().clone(), uri.to_owned()))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.subscriptions.listeners.write().remove(&self.number);
        for (server, own) in self.watched.get_mut().drain().collect::<Vec<_>>() {
            self.servers.release(self, &server, &own);
        }
    }
}
