//! The current catalogue: fetched lists come in, their definitions are compared with the accepted ones,
//! and a new catalogue replaces the old one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arc_swap::{ArcSwap, Guard};
use octroi_api::ResourceChange;
use octroi_core::pin::DefinitionHash;
use octroi_core::server::ServerSpec;
use octroi_core::tool::infer::InferenceRule;
use octroi_core::wire_name::WIRE_NAME_MAX;
use octroi_core::{Clock, ServerKey};
use octroi_mcp::Method;
use octroi_store::{Store, StoreError};
use parking_lot::Mutex;
use tracing::{error, info, warn};

use crate::audit_recorder::AuditRecorder;
use crate::catalogue::{
    Builtins, Catalogue, Item, LISTS, Offer, OfferedByOctroi, ServerLists, notification_of,
};
use crate::governance::{Governance, GovernanceSettings};
use crate::operator_error::OperatorError;
use crate::persistence::Persistence;
use crate::subscriptions::Subscriptions;
use pins::Pins;

mod kept_out;
mod pins;
mod quarantine;
mod seen;

pub use kept_out::Forgotten;
pub use quarantine::{HeldPin, PastDefinition, PinName};

/// The catalogue and the data it is built from.
pub struct Registry {
    clock: Clock,
    persistence: Option<Arc<Persistence>>,
    recorder: Arc<AuditRecorder>,
    subscriptions: Arc<Subscriptions>,
    governance: Arc<Governance>,
    current: ArcSwap<Catalogue>,
    /// Held while a new catalogue is built from the old one.
    changing: Mutex<()>,
    pins: Pins,
    /// Operator rules about the risk and side effects of tools.
    inference: ArcSwap<Vec<InferenceRule>>,
    wire_name_max: AtomicUsize,
    /// The current server definitions.
    specs: ArcSwap<BTreeMap<ServerKey, ServerSpec>>,
    /// Lists from an earlier run, until their servers are configured in this one.
    remembered: Mutex<HashMap<ServerKey, Arc<ServerLists>>>,
}

/// Lists of a server that were just fetched.
pub(crate) struct Fetched {
    pub(crate) identity: octroi_upstream::ServerIdentity,
    pub(crate) lists: Vec<(Method, Vec<Item>)>,
}

impl Registry {
    pub(crate) fn new(
        clock: Clock,
        persistence: Option<Arc<Persistence>>,
        recorder: &Arc<AuditRecorder>,
        subscriptions: &Arc<Subscriptions>,
        governance: &Arc<Governance>,
        offered: &OfferedByOctroi,
    ) -> Self {
        let builtins = Arc::new(Builtins::new(offered));
        let catalogue = Catalogue::new(&builtins);
        Self {
            clock,
            persistence,
            recorder: Arc::clone(recorder),
            subscriptions: Arc::clone(subscriptions),
            governance: Arc::clone(governance),
            current: ArcSwap::from_pointee(catalogue),
            changing: Mutex::default(),
            pins: Pins::default(),
            inference: ArcSwap::default(),
            wire_name_max: AtomicUsize::new(WIRE_NAME_MAX),
            specs: ArcSwap::default(),
            remembered: Mutex::default(),
        }
    }

    /// Restores the state of an earlier run. What cannot be read is reported, and nothing depends on it.
    pub(crate) async fn recall(&self, persistence: &Persistence) {
        match persistence.recall().await {
            Ok(known) => {
                let known = known.into_iter().map(|(key, lists)| (key, Arc::new(lists)));
                *self.remembered.lock() = known.collect();
            }
            Err(error) => warn!(%error, hint = error.hint(), "stored lists of servers could not be loaded"),
        }
        match persistence.store().pins().await {
            Ok(pins) => {
                for pin in pins.iter().filter(|pin| pin.accepted_by == pins::NOTICED) {
                    self.pins.notice(pin.key.clone(), pin.accepted_at_ms);
                }
                self.pins.accept(pins.into_iter().map(|pin| (pin.key, DefinitionHash::from_bytes(pin.hash))))
            }
            Err(error) => {
                error!(%error, hint = %error.hint(), "accepted definitions could not be loaded")
            }
        }
        match persistence.store().kept_out().await {
            Ok(kept_out) => kept_out.into_iter().for_each(|one| {
                self.pins.keep_out(one.key, DefinitionHash::from_bytes(one.hash), one.decided_by);
            }),
            Err(error) => {
                error!(%error, hint = %error.hint(), "rejected definitions could not be loaded")
            }
        }
    }

    /// The current catalogue.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.current.load_full()
    }

    /// The same, for a moment.
    pub(crate) fn load(&self) -> Guard<Arc<Catalogue>> {
        self.current.load()
    }

    /// Whether this is still what a server offers.
    pub(crate) fn is_current(&self, offer: &Arc<Offer>) -> bool {
        self.current.load().offer(offer.key()).is_some_and(|current| Arc::ptr_eq(current, offer))
    }

    /// The longest wire name.
    pub(crate) fn wire_name_max(&self) -> usize {
        self.wire_name_max.load(Ordering::Relaxed)
    }

    /// Applies the configured rules to the definitions of all servers.
    pub(crate) fn set_rules(&self, settings: &GovernanceSettings) {
        self.pins.set(settings.pins.clone());
        self.inference.store(Arc::new(settings.inference.clone()));
        self.wire_name_max.store(settings.wire_name_max.unwrap_or(WIRE_NAME_MAX), Ordering::Relaxed);
    }

    /// Evaluates all definitions again, because the rules changed.
    pub(crate) fn reconsider_all(&self) {
        for server in self.specs.load_full().keys() {
            self.reconsider(server);
        }
    }

    /// Replaces the server definitions.
    pub(crate) fn set_specs(&self, specs: BTreeMap<ServerKey, ServerSpec>) {
        self.governance.set_servers(specs.keys().cloned().collect());
        self.specs.store(Arc::new(specs));
    }

    /// Puts fetched lists of one server into a new catalogue; returns the notifications for changed ones.
    /// Does nothing if the server was replaced or removed while it was asked.
    pub(crate) fn update(
        &self,
        spec: &ServerSpec,
        fetched: Fetched,
        is_current: impl FnOnce() -> bool,
    ) -> HashSet<Method> {
        let mut changed = HashSet::new();
        let _changing = self.changing.lock();
        if !is_current() {
            return changed;
        }
        let key = &spec.key;
        let old = self.current.load_full();
        let known = old.offer(key).map(|offer| ServerLists::clone(&offer.raw));
        let is_new = known.is_none();
        let mut lists = known.unwrap_or_else(|| ServerLists::empty(fetched.identity.clone()));
        lists.identity = fetched.identity;
        let has_tools_list = fetched.lists.iter().any(|(method, _)| *method == Method::ToolsList);
        for (method, items) in fetched.lists {
            if *lists.list(&method) != items {
                changed.insert(notification_of(&method));
                lists.set(&method, items);
            } else if method == Method::ToolsList {
                // Not replaced: the tools share their definitions with the list.
                lists.tools.iter_mut().for_each(|tool| tool.is_checked = true);
            }
        }
        let is_as_before = changed.is_empty()
            && old.offer(key).is_some_and(|offer| offer.is_made_of(spec, &lists, &self.inference.load()));
        if is_as_before {
            // A server may announce changes as often as it likes: judging, rendering and storing megabytes is only
            // done for what is different.
            return changed;
        }
        if !changed.is_empty() || is_new {
            info!(server.name = %key, n_tools = lists.tools.len(), n_resources = lists.resources.len(), "catalogue refreshed");
        }
        // A server whose tools could not be listed is not remembered as one without tools.
        let is_known = has_tools_list || !lists.tools.is_empty();
        let lists = Arc::new(lists);
        if let Some(persistence) = self.persistence.as_ref().filter(|_| is_known) {
            persistence.keep(key, &lists);
        }
        self.publish(vec![(spec, lists)]);
        changed
    }

    /// Puts the visible lists of servers into a new catalogue. The caller must hold the lock on
    /// changes.
    fn publish(&self, lists: Vec<(&ServerSpec, Arc<ServerLists>)>) {
        let old = self.current.load_full();
        let mut changed = Vec::new();
        let mut offers = Vec::new();
        for (spec, raw) in lists {
            let inspection = self.pins.inspect(&spec.key, &old, self.governance.new_tools());
            let before = old.offer(&spec.key).map(|offer| &**offer);
            let offer = Offer::new(raw, spec, &self.inference.load(), &inspection, before);
            for stray in
                offer.strays.iter().filter(|stray| before.is_none_or(|old| !old.strays.contains(stray)))
            {
                warn!(server.name = %spec.key, "{stray}");
            }
            for tool in offer.raw.tools.iter().filter(|tool| tool.unusable.is_some()) {
                let was_known = before.is_some_and(|old| old.raw.tools.contains(tool));
                if !was_known {
                    let reason = tool.unusable.as_deref();
                    warn!(server.name = %spec.key, tool = tool.name, reason, "tool cannot be called, left out");
                }
            }
            self.keep_seen(inspection.into_seen());
            if before.is_none_or(|before| !before.has_tools_of(&offer)) {
                changed.push(&spec.key);
            }
            offers.push((spec.key.clone(), Some(Arc::new(offer))));
        }
        self.replace(old.with(offers));
        for key in changed {
            self.subscriptions.announce_of(key, &ResourceChange::Tools);
        }
    }

    fn replace(&self, catalogue: Catalogue) {
        let catalogue = Arc::new(catalogue);
        self.current.store(Arc::clone(&catalogue));
        self.governance.set_tools(&catalogue);
    }

    /// Evaluates a server's definitions again, because an operator accepted some or the rules changed.
    pub(crate) fn reconsider(&self, key: &ServerKey) {
        let specs = self.specs.load_full();
        let Some(spec) = specs.get(key) else {
            return;
        };
        let visible = {
            let _changing = self.changing.lock();
            let Some(offer) = self.current.load().offer(key).cloned() else {
                return;
            };
            self.publish(vec![(spec, Arc::clone(&offer.raw))]);
            Arc::clone(&offer.visible)
        };
        let now = self.catalogue();
        let Some(now) = now.server(key) else {
            return;
        };
        let changed: HashSet<Method> =
            LISTS.iter().filter(|list| visible.list(list) != now.list(list)).map(notification_of).collect();
        for method in &changed {
            self.subscriptions.list_changed(key, method);
        }
    }

    /// Puts the stored lists of new servers into the catalogue, until they are fetched.
    pub(crate) fn offer_remembered<'a>(&self, specs: impl Iterator<Item = &'a ServerSpec>) {
        let _changing = self.changing.lock();
        let catalogue = self.current.load_full();
        let mut remembered = self.remembered.lock();
        let found: Vec<(&ServerSpec, Arc<ServerLists>)> = specs
            .filter(|spec| spec.is_enabled() && catalogue.offer(&spec.key).is_none())
            .filter_map(|spec| Some((spec, remembered.remove(&spec.key)?)))
            .collect();
        if found.is_empty() {
            return;
        }
        let keys: Vec<&ServerKey> = found.iter().map(|(spec, _)| &spec.key).collect();
        self.publish(found);
        for key in keys {
            for method in [Method::ToolsChanged, Method::PromptsChanged, Method::ResourcesChanged] {
                self.subscriptions.list_changed(key, &method);
            }
        }
    }

    /// Removes servers from the catalogue and notifies subscribers whose lists changed.
    pub(crate) fn forget(&self, keys: &[&ServerKey]) {
        let _changing = self.changing.lock();
        let old = self.current.load_full();
        let gone: Vec<&Arc<Offer>> = keys.iter().filter_map(|key| old.offer(key)).collect();
        if gone.is_empty() {
            return;
        }
        self.replace(old.with(gone.iter().map(|offer| (offer.key().clone(), None))));
        for offer in gone {
            self.subscriptions.announce_of(offer.key(), &ResourceChange::Tools);
            let shorter: HashSet<Method> = LISTS
                .iter()
                .filter(|list| !offer.visible.list(list).is_empty())
                .map(notification_of)
                .collect();
            for method in &shorter {
                self.subscriptions.list_changed(offer.key(), method);
            }
        }
    }

    fn store(&self) -> Result<&Store, OperatorError> {
        Ok(self.persistence.as_ref().ok_or(OperatorError::NoStore)?.store())
    }

    /// Waits until definitions accepted on first sight are written, which happens in the background.
    async fn flush(&self) -> Result<(), StoreError> {
        match &self.persistence {
            Some(persistence) => persistence.flush().await,
            None => Ok(()),
        }
    }
}
