//! Keeping the catalogue up to date, without anybody waiting for it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use octroi_core::ServerName;
use octroi_core::server::{ServerSpec, Transport};
use octroi_core::wire_name::WIRE_NAME_MAX;
use octroi_mcp::Method;
use octroi_upstream::{Connection, ServerEvent, Upstream, UpstreamError};
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, watch};
use tracing::{debug, info, warn};

use crate::catalogue::{Catalogue, LISTS, Offer, ServerLists, fetch};
use crate::desk::OCTROI;
use crate::fleet::Member;
use crate::gateway::Gateway;
use crate::registry::TOOLS_URI;

/// Lists are asked for again after this time even if no change was announced.
const REFRESH_EVERY: Duration = Duration::from_mins(5);
const SWEEP_EVERY: Duration = Duration::from_secs(30);

/// Which lists of a server are to be fetched again.
#[derive(Default)]
pub(crate) struct Refresher {
    wanted: Mutex<Wanted>,
    notify: Notify,
    /// Whether the server has answered or failed once.
    settled: watch::Sender<bool>,
    woken: AtomicBool,
    /// The connection over which the tools were listed last; it may be gone by now.
    listed: Mutex<Weak<Connection>>,
    /// Held while the tools are listed because a call waits for it.
    listing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Wanted {
    lists: HashSet<Method>,
    announced: HashSet<Method>,
}

impl Refresher {
    fn want(&self, lists: &[Method], announced: &[Method]) {
        let mut wanted = self.wanted.lock();
        wanted.lists.extend(lists.iter().cloned());
        wanted.announced.extend(announced.iter().cloned());
        self.notify.notify_one();
    }

    /// `true` for the first who asks.
    pub(crate) fn wake(&self) -> bool {
        !self.woken.swap(true, Ordering::Relaxed)
    }

    /// Whether the tools were listed over this connection.
    fn has_listed(&self, connection: &Arc<Connection>) -> bool {
        std::ptr::eq(self.listed.lock().as_ptr(), Arc::as_ptr(connection))
    }

    pub(crate) fn settle(&self) {
        self.settled.send_replace(true);
    }

    pub(crate) fn is_settled(&self) -> bool {
        *self.settled.borrow()
    }

    pub(crate) async fn settled(&self) {
        let mut settled = self.settled.subscribe();
        // The sender lives as long as this.
        let _ = settled.wait_for(|settled| *settled).await;
    }
}

impl Gateway {
    pub(crate) async fn follow_events(
        self: Arc<Self>,
        mut events: mpsc::Receiver<(ServerName, ServerEvent)>,
    ) {
        loop {
            let received = tokio::select! {
                biased;
                () = self.context.shutdown.cancelled() => return,
                received = events.recv() => received,
            };
            let Some((name, event)) = received else {
                return;
            };
            let Some(member) = self.fleet.get(&name) else {
                continue;
            };
            if matches!(event, ServerEvent::Connected | ServerEvent::Lost(_) | ServerEvent::Checked(..)) {
                self.servers_changed();
            }
            match event {
                ServerEvent::Connected => member.refresher.want(&LISTS, &[]),
                ServerEvent::ListChanged(method) => {
                    member.refresher.want(lists_of(&method), std::slice::from_ref(&method));
                }
                ServerEvent::ResourceUpdated(uri) => self.hub.resource_updated(&name, &uri),
                // The first two concern a client's own out-of-band business, whose end it learns by asking;
                // what a lost server offered stays listed.
                ServerEvent::ElicitationComplete(_) | ServerEvent::TaskChanged(_) | ServerEvent::Lost(_) => {}
                ServerEvent::Checked(checks, error) => {
                    if let Some(memory) = &self.memory {
                        memory.checked(&name, &checks, error.as_ref());
                    }
                }
            }
        }
    }

    pub(crate) async fn keep_fresh(self: Arc<Self>) {
        let mut refresh = tokio::time::interval(REFRESH_EVERY);
        let mut sweep = tokio::time::interval(SWEEP_EVERY);
        refresh.reset();
        loop {
            tokio::select! {
                biased;
                () = self.context.shutdown.cancelled() => return,
                _ = sweep.tick() => {
                    self.parking.sweep();
                    self.tasks.sweep(crate::time::now_ms());
                    self.expire_approvals().await;
                    let members: Vec<_> = self.fleet.members().values().cloned().collect();
                    for member in members {
                        member.upstream.sweep().await;
                    }
                }
                _ = refresh.tick() => {
                    for member in self.fleet.members().values() {
                        if member.upstream.current().is_some() {
                            member.refresher.want(&LISTS, &[]);
                        }
                    }
                }
            }
        }
    }

    pub(crate) async fn refresh_on_demand(self: Arc<Self>, member: Arc<Member>) {
        let refresher = &member.refresher;
        loop {
            tokio::select! {
                biased;
                () = member.upstream.ended() => return,
                () = refresher.notify.notified() => {}
            }
            let wanted = std::mem::take(&mut *refresher.wanted.lock());
            let changed = self.refresh(&member.upstream, &wanted.lists).await;
            refresher.settle();
            for method in changed.union(&wanted.announced) {
                self.hub.list_changed(&member.upstream.spec().name, method);
            }
        }
    }

    /// Asks every server that runs whether it is well.
    pub async fn check_all(&self) {
        let members: Vec<_> = self.fleet.members().values().cloned().collect();
        let running = members.iter().filter(|member| member.upstream.current().is_some());
        futures_util::future::join_all(running.map(|member| member.upstream.check_now())).await;
    }

    /// Asks a server for all its lists now.
    pub async fn refresh_all(&self, upstream: &Arc<Upstream>) -> Result<(), UpstreamError> {
        upstream.connection().await?;
        for method in self.refresh(upstream, &LISTS.into()).await {
            self.hub.list_changed(&upstream.spec().name, &method);
        }
        Ok(())
    }

    /// Sees to it that the tools of a server were looked at since it was connected to: after a restart they
    /// may be others than those that a call was decided by. A server that does not list them offers what it
    /// did before.
    pub(crate) async fn look_at_tools(&self, upstream: &Arc<Upstream>) {
        let Some(connection) = upstream.current() else {
            return;
        };
        let Some(member) = self.fleet.get(&upstream.spec().name) else {
            return;
        };
        if member.refresher.has_listed(&connection) {
            return;
        }
        // Once for each connection, so boxed: every call has room for this future.
        Box::pin(async {
            let _listing = member.refresher.listing.lock().await;
            if member.refresher.has_listed(&connection) {
                return;
            }
            for method in self.refresh(upstream, &[Method::ToolsList].into()).await {
                self.hub.list_changed(&upstream.spec().name, &method);
            }
            // Whatever came of it: nobody waits for it twice.
            *member.refresher.listed.lock() = Arc::downgrade(&connection);
        })
        .await;
    }

    /// Fetches lists of one server and puts them into a new catalogue; returns the notifications for
    /// those that differ from before.
    pub(crate) async fn refresh(&self, upstream: &Arc<Upstream>, lists: &HashSet<Method>) -> HashSet<Method> {
        let name = &upstream.spec().name;
        let connection = match upstream.connection().await {
            Ok(connection) => connection,
            Err(error) => {
                debug!(server.name = %name, %error, "lists not refreshed");
                return HashSet::new();
            }
        };
        let is_http = matches!(upstream.spec().transport, Transport::Http(_));
        let mut fetched = Vec::new();
        for method in lists {
            let limit = upstream.spec().timeouts.list;
            let mut page = fetch(name, &connection, method, is_http, limit).await;
            if page.as_ref().is_err_and(UpstreamError::is_passing)
                && let Ok(connection) = upstream.connection().await
            {
                page = fetch(name, &connection, method, is_http, limit).await;
            }
            match page {
                Ok(items) => fetched.push((method, items)),
                Err(error) => {
                    warn!(server.name = %name, list = %method, %error, "list not refreshed, the old one stays")
                }
            }
        }
        let mut changed = HashSet::new();
        let _changing = self.changing.lock();
        // A new configuration may have replaced or removed it meanwhile.
        if self.upstream(name).is_none_or(|current| !Arc::ptr_eq(&current, upstream)) {
            return changed;
        }
        let has_tools = fetched.iter().any(|(method, _)| **method == Method::ToolsList);
        let old = self.catalogue.load_full();
        let known = old.offer(name).map(|offer| ServerLists::clone(&offer.raw));
        let is_new = known.is_none();
        let mut lists = known.unwrap_or_else(|| ServerLists::empty(connection.identity().clone()));
        lists.identity = connection.identity().clone();
        for (method, items) in fetched {
            if *lists.list(method) != items {
                changed.insert(notification_of(method));
                lists.set(method, items);
            }
        }
        if !changed.is_empty() || is_new {
            info!(server.name = %name, n_tools = lists.tools.len(), n_resources = lists.resources.len(), "catalogue refreshed");
        }
        let lists = Arc::new(lists);
        if let Some(memory) = &self.memory {
            memory.keep(name, &lists);
        }
        self.publish(vec![(upstream.spec(), lists)]);
        if has_tools && let Some(member) = self.fleet.get(name) {
            *member.refresher.listed.lock() = Arc::downgrade(&connection);
        }
        changed
    }

    /// Puts lists of servers into a new catalogue, as far as they may be seen. Whoever calls this holds
    /// the lock on changes.
    fn publish(&self, lists: Vec<(&ServerSpec, Arc<ServerLists>)>) {
        let old = self.catalogue.load_full();
        let mut offers = old.offers().clone();
        let mut has_changed = false;
        for (spec, raw) in lists {
            let inspection = self.pins.inspect(&spec.name, &old);
            let before = offers.get(&spec.name).map(|offer| &**offer);
            let offer = Offer::new(raw, spec, &self.inference.load(), &inspection, before);
            for stray in
                offer.strays.iter().filter(|stray| before.is_none_or(|old| !old.strays.contains(stray)))
            {
                warn!(server.name = %spec.name, "{stray}");
            }
            self.note_seen(inspection.into_seen());
            has_changed |= before.is_none_or(|before| !before.has_tools_of(&offer));
            offers.insert(spec.name.clone(), Arc::new(offer));
        }
        self.catalogue.store(Arc::new(Catalogue::new(offers, &self.builtins, WIRE_NAME_MAX)));
        self.recompile();
        if has_changed {
            self.hub.resource_updated(&OCTROI, TOOLS_URI);
        }
    }

    /// Looks at a server's definitions again, because a person accepted some or other rules hold.
    pub(crate) fn reconsider(&self, name: &ServerName) {
        let Some(member) = self.fleet.get(name) else {
            return;
        };
        let shown = {
            let _changing = self.changing.lock();
            let Some(offer) = self.catalogue.load().offer(name).cloned() else {
                return;
            };
            self.publish(vec![(member.upstream.spec(), Arc::clone(&offer.raw))]);
            Arc::clone(&offer.shown)
        };
        let now = self.catalogue();
        let Some(now) = now.server(name) else {
            return;
        };
        let changed: HashSet<Method> =
            LISTS.iter().filter(|list| shown.list(list) != now.list(list)).map(notification_of).collect();
        for method in &changed {
            self.hub.list_changed(name, method);
        }
    }

    /// Puts what new servers offered in an earlier run into the catalogue, until they say it themselves.
    pub(crate) fn remember<'a>(&self, specs: impl Iterator<Item = &'a ServerSpec>) {
        let _changing = self.changing.lock();
        let catalogue = self.catalogue.load_full();
        let mut known = self.known.lock();
        let found: Vec<(&ServerSpec, Arc<ServerLists>)> = specs
            .filter(|spec| spec.enabled && catalogue.offer(&spec.name).is_none())
            .filter_map(|spec| Some((spec, known.remove(&spec.name)?)))
            .collect();
        if found.is_empty() {
            return;
        }
        let names: Vec<&ServerName> = found.iter().map(|(spec, _)| &spec.name).collect();
        self.publish(found);
        for name in names {
            for method in [Method::ToolsChanged, Method::PromptsChanged, Method::ResourcesChanged] {
                self.hub.list_changed(name, &method);
            }
        }
    }

    /// Takes servers out of the catalogue and tells whose lists became shorter.
    pub(crate) fn forget(&self, names: &[&ServerName]) {
        let _changing = self.changing.lock();
        let old = self.catalogue.load_full();
        let mut offers = old.offers().clone();
        let gone: Vec<(&ServerName, Arc<Offer>)> =
            names.iter().filter_map(|name| Some((*name, offers.remove(*name)?))).collect();
        if gone.is_empty() {
            return;
        }
        self.catalogue.store(Arc::new(Catalogue::new(offers, &self.builtins, WIRE_NAME_MAX)));
        self.hub.resource_updated(&OCTROI, TOOLS_URI);
        for (name, offer) in gone {
            let shorter: HashSet<Method> =
                LISTS.iter().filter(|list| !offer.shown.list(list).is_empty()).map(notification_of).collect();
            for method in &shorter {
                self.hub.list_changed(name, method);
            }
        }
    }
}

fn lists_of(notification: &Method) -> &'static [Method] {
    match notification {
        Method::PromptsChanged => &LISTS[1..2],
        Method::ResourcesChanged => &LISTS[2..4],
        _ => &LISTS[..1],
    }
}

fn notification_of(list: &Method) -> Method {
    match list {
        Method::PromptsList => Method::PromptsChanged,
        Method::ResourcesList | Method::TemplatesList => Method::ResourcesChanged,
        _ => Method::ToolsChanged,
    }
}
