//! Servers that ask their clients: that they do outlives the gateway, and watches follow their clients.

use std::sync::Arc;

use octroi_core::server::ServerSpec;
use octroi_upstream::Upstream;
use tracing::info;

use super::{ManagedServer, Servers};

impl Servers {
    /// A server that is not connected yet. What is known of its questions is forgotten if it became another
    /// program or address.
    pub(super) fn new_upstream(&self, spec: ServerSpec, before: Option<&ServerSpec>) -> Arc<Upstream> {
        let mut asking = self.asking.lock();
        let is_other = before.is_some_and(|before| before.transport != spec.transport);
        if is_other
            && asking.remove(&spec.key)
            && let Some(persistence) = &self.persistence
        {
            persistence.asks(&spec.key, false);
        }
        let is_asking = asking.contains(&spec.key);
        let upstream = Upstream::new(spec, Arc::clone(&self.context));
        if is_asking {
            upstream.recall_that_it_asks();
        }
        upstream
    }

    /// A server asked a client over a connection that several share.
    pub(super) fn asked_clients(&self, member: &Arc<ManagedServer>) {
        let key = &member.upstream.spec().key;
        info!(server.name = %key, "server asks its clients; with `sharing = \"auto\"` each gets a connection of its own");
        self.asking.lock().insert(key.clone());
        if let Some(persistence) = &self.persistence {
            persistence.asks(key, true);
        }
        let (subscriptions, upstream) = (Arc::clone(&self.subscriptions), Arc::clone(&member.upstream));
        let moving = async move {
            for (listener, uri) in subscriptions.watchers_of(&upstream.spec().key) {
                // If it fails, the watch stays where it is.
                let _ = upstream.move_watch(&listener.sharer(), listener.capabilities(), &uri).await;
            }
        };
        self.context.tasks.spawn_on_main("move-watches", moving);
    }

    /// The roots of a client changed, which servers learn that have a connection for its session alone.
    pub fn roots_changed(&self, session: &str) {
        for member in self.members.load().values() {
            member.upstream.roots_changed(session);
        }
    }
}
