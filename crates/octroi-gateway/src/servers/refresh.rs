//! Keeps the catalogue up to date, in the background.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use octroi_core::Principal;
use octroi_core::server::Transport;
use octroi_mcp::Method;
use octroi_upstream::{Connection, ServerIdentity, Upstream, UpstreamError};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tracing::{debug, error, warn};

use super::status::ErrorDetail;
use super::{ManagedServer, Servers};
use crate::catalogue::{LISTS, ListSource, fetch};
use crate::registry::Fetched;

/// After how long a list that could not be fetched is fetched again; each time twice as long as before.
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// The longest time between two attempts: as long as between the regular ones.
const RETRY_LONGEST: Duration = Duration::from_mins(5);

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
    /// When it was first started.
    woken: OnceLock<Instant>,
    /// The lists that could not be fetched when they were last asked for, with the reason.
    failures: Mutex<BTreeMap<String, ListFailure>>,
    /// The connection over which the tools were listed last; it may be closed by now.
    listed: Mutex<Weak<Connection>>,
    /// Held while the tools are listed because a call waits for it.
    listing: tokio::sync::Mutex<()>,
}

/// Why a list could not be fetched, for each kind of reader.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ListFailure {
    full: String,
    reason: String,
}

/// What was fetched of a server.
#[derive(Default)]
pub(crate) struct RefreshedLists {
    /// The notifications for lists that changed.
    pub(crate) changed: HashSet<Method>,
    /// The lists that could not be fetched.
    failed: HashSet<Method>,
}

/// When lists that could not be fetched are fetched again.
#[derive(Default)]
struct Retry {
    lists: HashSet<Method>,
    at: Option<Instant>,
    delay: Duration,
}

impl Retry {
    /// Waits until it is time; forever if there is nothing to fetch.
    async fn due(&self) {
        match self.at {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    /// Plans the next attempt, later than the one before.
    fn plan(&mut self, failed: HashSet<Method>, now: Instant) {
        self.delay = if failed.is_empty() {
            Duration::ZERO
        } else {
            (self.delay * 2).clamp(RETRY_FIRST, RETRY_LONGEST)
        };
        self.at = (!failed.is_empty()).then(|| now + self.delay);
        self.lists = failed;
    }
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

    /// When it was first started, and whether that is now.
    pub(super) fn wake(&self, now: Instant) -> (Instant, bool) {
        let is_first = self.woken.set(now).is_ok();
        (self.woken.get().copied().unwrap_or(now), is_first)
    }

    /// Notes which of the lists that were asked for could not be fetched; `true` if that is different from before.
    fn note_failures(&self, asked: &HashSet<Method>, failed: &HashMap<Method, ListFailure>) -> bool {
        let mut failures = self.failures.lock();
        let before = failures.clone();
        for method in asked {
            match failed.get(method) {
                Some(reason) => drop(failures.insert(method.to_string(), reason.clone())),
                None => drop(failures.remove(method.as_str())),
            }
        }
        *failures != before
    }

    /// Why lists are missing or out of date, if they are.
    pub(super) fn failure(&self, detail: ErrorDetail) -> Option<String> {
        let failures = self.failures.lock();
        let texts: Vec<String> = failures
            .iter()
            .map(|(list, failure)| match detail {
                ErrorDetail::Full => format!("{list} failed: {}", failure.full),
                ErrorDetail::Reason => format!("{list} failed: {}", failure.reason),
            })
            .collect();
        (!texts.is_empty()).then(|| texts.join("; "))
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
        let mut retry = Retry::default();
        loop {
            tokio::select! {
                biased;
                () = member.upstream.ended() => return,
                () = refresher.notify.notified() => {}
                // When it is connected again, all its lists are fetched anyway.
                () = retry.due() => if member.upstream.current().is_none() {
                    retry = Retry::default();
                    continue;
                }
            }
            let requested = std::mem::take(&mut *refresher.requested.lock());
            let lists = requested.lists.union(&retry.lists).cloned().collect();
            let RefreshedLists { changed, failed } = self.refresh(&member.upstream, &lists).await;
            refresher.settle();
            for method in changed.union(&requested.announced) {
                self.subscriptions.list_changed(&member.upstream.spec().key, method);
            }
            retry.plan(failed, self.now());
        }
    }

    /// Runs a health check of every running server that somebody may know of.
    pub async fn check_all(&self, who: &Principal) {
        let upstreams = self.upstreams_for(who);
        let running = upstreams.iter().filter(|upstream| upstream.current().is_some());
        futures_util::future::join_all(running.map(Upstream::check_now)).await;
    }

    /// Fetches all lists of a server now, if it is running; `false` if it is not.
    pub async fn refresh_running(self: &Arc<Self>, upstream: &Arc<Upstream>) -> bool {
        let is_running = upstream.current().is_some();
        if is_running {
            self.refresh_and_announce(upstream).await;
        }
        is_running
    }

    /// Fetches all lists of a server now, starting it if it is not running.
    pub async fn refresh_all(self: &Arc<Self>, upstream: &Arc<Upstream>) -> Result<(), UpstreamError> {
        upstream.connection().await?;
        self.refresh_and_announce(upstream).await;
        Ok(())
    }

    async fn refresh_and_announce(self: &Arc<Self>, upstream: &Arc<Upstream>) {
        for method in self.refresh(upstream, &LISTS.into()).await.changed {
            self.subscriptions.list_changed(&upstream.spec().key, &method);
        }
    }

    /// Ensures that the tools of a server were listed since it was connected: after a restart they may differ
    /// from those that a call was decided with. If the listing fails, the previous list
    /// stays.
    pub(crate) async fn look_at_tools(self: &Arc<Self>, upstream: &Arc<Upstream>) {
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
            for method in self.refresh(upstream, &[Method::ToolsList].into()).await.changed {
                self.subscriptions.list_changed(&upstream.spec().key, &method);
            }
            // Whatever the result: calls wait for it only once.
            *member.refresher.listed.lock() = Arc::downgrade(&connection);
        })
        .await;
    }

    /// Fetches lists of one server and puts them into a new catalogue.
    pub(crate) async fn refresh(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        lists: &HashSet<Method>,
    ) -> RefreshedLists {
        let key = &upstream.spec().key;
        let connection = match upstream.connection().await {
            Ok(connection) => connection,
            Err(error) => {
                debug!(server.name = %key, %error, "lists not refreshed");
                // They are fetched when it is connected.
                return RefreshedLists::default();
            }
        };
        let source = ListSource {
            server: key,
            is_http: matches!(upstream.spec().transport, Transport::Http(_)),
            timeout: upstream.spec().timeouts.list,
            limits: &upstream.spec().limits,
        };
        let (mut fetched, mut failed) = (Vec::new(), HashMap::new());
        for method in lists {
            let mut page = fetch(source, &connection, method).await;
            if page.as_ref().is_err_and(UpstreamError::is_passing)
                && let Ok(connection) = upstream.connection().await
            {
                page = fetch(source, &connection, method).await;
            }
            match page {
                Ok(mut items) => {
                    if *method == Method::ToolsList {
                        self.check_schemas(key, &mut items).await;
                    }
                    fetched.push((method.clone(), items));
                }
                Err(error) => {
                    warn!(server.name = %key, list = %method, %error, "list not refreshed, the old one stays");
                    let error = error.redacted(|text| self.context.redactor.redacted(text));
                    let [full, reason] =
                        [ErrorDetail::Full, ErrorDetail::Reason].map(|detail| detail.text(&error));
                    failed.insert(method.clone(), ListFailure { full, reason });
                }
            }
        }
        let has_tools = fetched.iter().any(|(method, _)| *method == Method::ToolsList);
        let identity = ServerIdentity {
            spoken: upstream.spoken_eras(),
            abilities: upstream.common_abilities(),
            ..connection.identity().clone()
        };
        let fetched = Fetched { identity, lists: fetched };
        let changed = self.publish(upstream, fetched).await;
        if self.is_current(upstream)
            && let Some(member) = self.get(key)
        {
            if has_tools {
                *member.refresher.listed.lock() = Arc::downgrade(&connection);
            }
            if member.refresher.note_failures(lists, &failed) {
                self.announce(key);
            }
        }
        RefreshedLists { changed, failed: failed.into_keys().collect() }
    }

    /// Puts fetched lists into a new catalogue, off the threads that serve clients: a list may have megabytes, and all
    /// of its definitions are judged.
    async fn publish(self: &Arc<Self>, upstream: &Arc<Upstream>, fetched: Fetched) -> HashSet<Method> {
        let (servers, upstream) = (Arc::clone(self), Arc::clone(upstream));
        let publishing = self.context.tasks.spawn_blocking("publish-lists", move || {
            servers.registry.update(upstream.spec(), fetched, || servers.is_current(&upstream))
        });
        match publishing.await {
            Ok(changed) => changed,
            Err(error) => {
                error!(%error, "lists of a server were not published");
                HashSet::new()
            }
        }
    }

    /// Whether a new configuration has neither replaced nor removed the server.
    fn is_current(&self, upstream: &Arc<Upstream>) -> bool {
        self.upstream(&upstream.spec().key).is_some_and(|current| Arc::ptr_eq(&current, upstream))
    }

    /// Fetches the lists of every running server again that somebody may know of; returns how many there are.
    pub async fn refresh_running_servers(self: &Arc<Self>, who: &Principal) -> usize {
        let upstreams = self.upstreams_for(who);
        let refreshed = upstreams.iter().map(|upstream| self.refresh_running(upstream));
        let refreshed = futures_util::future::join_all(refreshed).await;
        refreshed.into_iter().filter(|is_running| *is_running).count()
    }

    /// Fetches the lists of every enabled server again, starting those that are not running.
    pub async fn refresh_servers(self: &Arc<Self>) -> Refreshed {
        let upstreams = self.upstreams();
        let asked = upstreams.iter().filter(|upstream| upstream.spec().is_enabled()).map(async |upstream| {
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
