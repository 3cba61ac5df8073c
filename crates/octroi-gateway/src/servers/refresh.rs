//! Keeps the catalogue up to date, in the background.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use octroi_core::server::Transport;
use octroi_mcp::Method;
use octroi_upstream::{Connection, ServerIdentity, Upstream, UpstreamError};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tracing::{debug, warn};

use super::{ManagedServer, Servers};
use crate::catalogue::{LISTS, ListSource, fetch};
use crate::registry::Fetched;

/// The result of refreshing all servers.
#[derive(Clone, Debug, Default)]
pub struct Refreshed {
    /// The number of servers that answered.
    pub n_servers: usize,
    /// The other servers, with their errors.
    pub failed: BTreeMap<String, String>,
}

/// Which lists of a server are to be fetched again.
#[derive(Default)]
pub(super) struct Refresher {
    requested: Mutex<RequestedLists>,
    notify: Notify,
    /// Whether the server has answered or failed once.
    settled: watch::Sender<bool>,
    woken: AtomicBool,
    /// The connection over which the tools were listed last; it may be closed by now.
    listed: Mutex<Weak<Connection>>,
    /// Held while the tools are listed because a call waits for it.
    listing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct RequestedLists {
    lists: HashSet<Method>,
    announced: HashSet<Method>,
}

impl Refresher {
    pub(super) fn request(&self, lists: &[Method], announced: &[Method]) {
        let mut requested = self.requested.lock();
        requested.lists.extend(lists.iter().cloned());
        requested.announced.extend(announced.iter().cloned());
        self.notify.notify_one();
    }

    /// `true` for the first caller.
    pub(super) fn wake(&self) -> bool {
        !self.woken.swap(true, Ordering::Relaxed)
    }

    /// Whether the tools were listed over this connection.
    fn has_listed(&self, connection: &Arc<Connection>) -> bool {
        std::ptr::eq(self.listed.lock().as_ptr(), Arc::as_ptr(connection))
    }

    pub(super) fn settle(&self) {
        self.settled.send_replace(true);
    }

    pub(super) fn is_settled(&self) -> bool {
        *self.settled.borrow()
    }

    pub(super) async fn settled(&self) {
        let mut settled = self.settled.subscribe();
        // The sender lives as long as this.
        let _ = settled.wait_for(|settled| *settled).await;
    }
}

impl Servers {
    pub(super) async fn refresh_on_demand(self: Arc<Self>, member: Arc<ManagedServer>) {
        let refresher = &member.refresher;
        loop {
            tokio::select! {
                biased;
                () = member.upstream.ended() => return,
                () = refresher.notify.notified() => {}
            }
            let requested = std::mem::take(&mut *refresher.requested.lock());
            let changed = self.refresh(&member.upstream, &requested.lists).await;
            refresher.settle();
            for method in changed.union(&requested.announced) {
                self.subscriptions.list_changed(&member.upstream.spec().key, method);
            }
        }
    }

    /// Runs a health check of every running server.
    pub async fn check_all(&self) {
        let upstreams = self.upstreams();
        let running = upstreams.iter().filter(|upstream| upstream.current().is_some());
        futures_util::future::join_all(running.map(Upstream::check_now)).await;
    }

    /// Fetches all lists of a server now.
    pub async fn refresh_all(&self, upstream: &Arc<Upstream>) -> Result<(), UpstreamError> {
        upstream.connection().await?;
        for method in self.refresh(upstream, &LISTS.into()).await {
            self.subscriptions.list_changed(&upstream.spec().key, &method);
        }
        Ok(())
    }

    /// Ensures that the tools of a server were listed since it was connected: after a restart they may differ
    /// from those that a call was decided with. If the listing fails, the previous list
    /// stays.
    pub(crate) async fn look_at_tools(&self, upstream: &Arc<Upstream>) {
        let Some(connection) = upstream.current() else {
            return;
        };
        let Some(member) = self.get(&upstream.spec().key) else {
            return;
        };
        if member.refresher.has_listed(&connection) {
            return;
        }
        // Once per connection, so boxed: otherwise every call would reserve space for this future.
        Box::pin(async {
            let _listing = member.refresher.listing.lock().await;
            if member.refresher.has_listed(&connection) {
                return;
            }
            for method in self.refresh(upstream, &[Method::ToolsList].into()).await {
                self.subscriptions.list_changed(&upstream.spec().key, &method);
            }
            // Whatever the result: calls wait for it only once.
            *member.refresher.listed.lock() = Arc::downgrade(&connection);
        })
        .await;
    }

    /// Fetches lists of one server and puts them into a new catalogue; returns the notifications for
    /// those that changed.
    pub(crate) async fn refresh(&self, upstream: &Arc<Upstream>, lists: &HashSet<Method>) -> HashSet<Method> {
        let key = &upstream.spec().key;
        let connection = match upstream.connection().await {
            Ok(connection) => connection,
            Err(error) => {
                debug!(server.name = %key, %error, "lists not refreshed");
                return HashSet::new();
            }
        };
        let source = ListSource {
            server: key,
            is_http: matches!(upstream.spec().transport, Transport::Http(_)),
            timeout: upstream.spec().timeouts.list,
            limits: &upstream.spec().limits,
        };
        let mut fetched = Vec::new();
        for method in lists {
            let mut page = fetch(source, &connection, method).await;
            if page.as_ref().is_err_and(UpstreamError::is_passing)
                && let Ok(connection) = upstream.connection().await
            {
                page = fetch(source, &connection, method).await;
            }
            match page {
                Ok(items) => fetched.push((method.clone(), items)),
                Err(error) => {
                    warn!(server.name = %key, list = %method, %error, "list not refreshed, the old one stays")
                }
            }
        }
        let has_tools = fetched.iter().any(|(method, _)| *method == Method::ToolsList);
        let identity = ServerIdentity { spoken: upstream.spoken_eras(), ..connection.identity().clone() };
        let fetched = Fetched { identity, lists: fetched };
        // A new configuration may have replaced or removed it meanwhile.
        let is_current = || self.upstream(key).is_some_and(|current| Arc::ptr_eq(&current, upstream));
        let changed = self.registry.update(upstream.spec(), fetched, is_current);
        if has_tools
            && is_current()
            && let Some(member) = self.get(key)
        {
            *member.refresher.listed.lock() = Arc::downgrade(&connection);
        }
        changed
    }

    /// Fetches the lists of every enabled server again, starting those that are not running.
    pub async fn refresh_servers(&self) -> Refreshed {
        let upstreams = self.upstreams();
        let asked = upstreams.iter().filter(|upstream| upstream.spec().enabled).map(async |upstream| {
            let asked = self.refresh_all(upstream).await;
            (upstream.spec().key.to_string(), asked)
        });
        let mut refreshed = Refreshed::default();
        for (name, asked) in futures_util::future::join_all(asked).await {
            match asked {
                Ok(()) => refreshed.n_servers += 1,
                Err(error) => drop(refreshed.failed.insert(name, error.to_string())),
            }
        }
        refreshed
    }
}
