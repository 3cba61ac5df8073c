//! Servers that were added at run time: by administrators for everybody, by users for themselves.
//!
//! What is stored is an entry as in a configuration file. It is read again whenever something changes that it depends on:
//! a stored secret, the role of its owner, the settings for members. What cannot be used is left out and says why.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use octroi_core::{Clock, EntityId, Scope, ServerKey};
use octroi_store::{EntryRevision, ServerEntry, Store, StoreError};
use parking_lot::Mutex;
use tracing::{error, warn};

use crate::identity::Identity;
use crate::operator_error::OperatorError;
use crate::persistence::Persistence;
use crate::redaction::Redaction;
use crate::secrets::Secrets;
use crate::servers::Servers;

mod changes;
mod reading;

pub use changes::ServerChange;
pub(crate) use changes::new_entity_id;
pub use reading::StoredEntry;

/// What entries are read with, from the configuration.
#[derive(Clone, Debug, Default)]
pub struct EntrySettings {
    /// The directory with one directory for each program that names none.
    pub directory: Option<PathBuf>,
    /// The default interval of health checks.
    pub health_interval: Option<Duration>,
    /// Whether members may add servers that run a command on this machine.
    pub may_members_run_commands: bool,
    /// The longest shutdown timeout of any server.
    pub grace: Option<Duration>,
}

/// All entries. Immutable.
#[derive(Debug, Default)]
pub struct Entries {
    by_key: BTreeMap<ServerKey, Arc<StoredEntry>>,
    by_id: HashMap<String, ServerKey>,
}

impl Entries {
    fn of(entries: impl Iterator<Item = Arc<StoredEntry>>) -> Self {
        let by_key: BTreeMap<_, _> = entries.map(|entry| (entry.record.key.clone(), entry)).collect();
        let by_id = by_key.values().map(|entry| (entry.record.id.clone(), entry.record.key.clone()));
        Self { by_id: by_id.collect(), by_key }
    }

    /// All of them, by scope and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<StoredEntry>> {
        self.by_key.values()
    }

    /// The entry of a server.
    pub fn get(&self, key: &ServerKey) -> Option<&Arc<StoredEntry>> {
        self.by_key.get(key)
    }

    /// The entry with an id.
    pub fn by_id(&self, id: &str) -> Option<&Arc<StoredEntry>> {
        self.by_key.get(self.by_id.get(id)?)
    }
}

/// The servers that were added at run time.
pub struct StoredServers {
    persistence: Option<Arc<Persistence>>,
    clock: Clock,
    secrets: Arc<Secrets>,
    identity: Arc<Identity>,
    servers: Arc<Servers>,
    redaction: Arc<Redaction>,
    /// `None` until the configuration was read: nothing is started before.
    settings: Mutex<Option<EntrySettings>>,
    entries: ArcSwap<Entries>,
    /// Held while a change is under way, so that the next is planned with what it led to.
    changing: Arc<tokio::sync::Mutex<()>>,
}

impl StoredServers {
    pub(crate) fn new(
        clock: Clock,
        persistence: Option<Arc<Persistence>>,
        secrets: &Arc<Secrets>,
        identity: &Arc<Identity>,
        servers: &Arc<Servers>,
        redaction: &Arc<Redaction>,
    ) -> Self {
        Self {
            persistence,
            clock,
            secrets: Arc::clone(secrets),
            identity: Arc::clone(identity),
            servers: Arc::clone(servers),
            redaction: Arc::clone(redaction),
            settings: Mutex::default(),
            entries: ArcSwap::default(),
            changing: Arc::default(),
        }
    }

    /// Restores what is stored. Nothing runs until [`Self::configure`].
    pub(crate) async fn recall(&self, store: &Store) {
        match store.server_entries().await {
            Ok(records) => self.set_records(records),
            Err(error) => error!(%error, hint = error.hint(), "stored servers could not be loaded"),
        }
    }

    /// Sets what entries are read with, and reads them. The servers are put into effect with those of the configuration.
    pub fn configure(&self, settings: EntrySettings) {
        *self.settings.lock() = Some(settings);
        self.read_again(|_| true);
        self.servers.put_stored(|| self.specs());
    }

    /// Reads everything from the store again, after a user was changed or removed.
    pub(crate) async fn reload(self: &Arc<Self>) -> Result<(), StoreError> {
        let Some(persistence) = &self.persistence else {
            return Ok(());
        };
        let _changing = self.changing.lock().await;
        let records = persistence.store().server_entries().await?;
        self.set_records(records);
        self.read_again(|entry| matches!(entry.record.key.scope, Scope::User(_)));
        self.servers.set_stored(|| self.specs());
        Ok(())
    }

    /// All entries.
    pub fn entries(&self) -> Arc<Entries> {
        self.entries.load_full()
    }

    /// The id of a server.
    pub fn id_of(&self, key: &ServerKey) -> String {
        match self.entries.load().get(key) {
            // The file wins, and with it its id.
            Some(entry) if !self.servers.is_in_file(key) => entry.record.id.clone(),
            _ => EntityId::of_configured(key).to_string(),
        }
    }

    /// The server with an id, also one of the configuration.
    pub fn key_of(&self, id: &str) -> Option<ServerKey> {
        if let Some(entry) = self.entries.load().by_id(id) {
            return Some(entry.record.key.clone());
        }
        self.servers.file_server(id)
    }

    /// Whether there is such a server, in the configuration or the store.
    pub fn knows(&self, key: &ServerKey) -> bool {
        self.entries.load().get(key).is_some() || self.servers.is_in_file(key)
    }

    /// The server that a user means: by id, by name, or as `OWNER/NAME`. What everybody shares comes before the user's
    /// own. Whether the user may see it is for the caller to decide.
    pub fn find(&self, user: &str, text: &str) -> Option<ServerKey> {
        if EntityId::parse(text).is_some() {
            return self.key_of(text);
        }
        let key = ServerKey::parse(text)?;
        if self.knows(&key) {
            return Some(key);
        }
        let own = ServerKey { scope: Scope::User(user.into()), name: key.name };
        (key.scope == Scope::System && self.knows(&own)).then_some(own)
    }

    /// The same among what the user has: what everybody shares, and the user's own.
    pub fn find_own(&self, user: &str, text: &str) -> Result<ServerKey, OperatorError> {
        let found = self.find(user, text).filter(|key| octroi_core::pool::is_within_reach(user, key));
        found.ok_or_else(|| OperatorError::UnknownServer(text.to_owned()))
    }

    /// Whether everybody shares a server of this name, so that a user's own one is left out.
    pub fn is_shadowed(&self, key: &ServerKey) -> bool {
        let system = ServerKey::system(key.name.clone());
        matches!(key.scope, Scope::User(_)) && self.knows(&system)
    }

    /// Every state of a server since it was added, the newest first.
    pub async fn history(&self, id: &str) -> Result<Vec<EntryRevision>, OperatorError> {
        Ok(self.store()?.server_revisions(id).await?)
    }

    /// The id of a server that was deleted.
    pub async fn deleted(&self, key: &ServerKey) -> Result<Option<String>, OperatorError> {
        Ok(self.store()?.deleted_server(key).await?)
    }

    fn set_records(&self, records: Vec<ServerEntry>) {
        let old = self.entries.load();
        let entries = records.into_iter().map(|record| match old.by_id(&record.id) {
            Some(known) if known.record == record => Arc::clone(known),
            _ => Arc::new(StoredEntry::unread(record)),
        });
        self.entries.store(Arc::new(Entries::of(entries)));
    }

    /// What the servers run with.
    fn specs(&self) -> Vec<octroi_core::server::ServerSpec> {
        self.entries.load().iter().filter_map(|entry| entry.spec.clone()).collect()
    }

    /// Reads some entries again, and tells the redactor and the secrets what they refer to.
    fn read_again(&self, is_affected: impl Fn(&StoredEntry) -> bool) {
        let Some(settings) = self.settings.lock().clone() else {
            return;
        };
        let secrets = self.secrets.values();
        let old = self.entries.load();
        let entries = old.iter().map(|entry| {
            if !is_affected(entry) && entry.is_read {
                return Arc::clone(entry);
            }
            let read = self.read(entry.record.clone(), &settings, &secrets);
            if let Some(error) = &read.error {
                warn!(server.name = %read.record.key, error, "stored server left out");
            }
            Arc::new(read)
        });
        let entries = Entries::of(entries);
        self.redaction.add(entries.iter().flat_map(|entry| entry.secrets.iter().cloned()));
        self.secrets.set_stored_uses(entries.iter().flat_map(|entry| entry.secret_uses()).collect());
        self.entries.store(Arc::new(entries));
    }

    /// Notifies those who look at servers, or at the servers of agents.
    pub(crate) fn announce(&self, servers: &[ServerKey]) {
        for key in servers {
            self.servers.announce(key);
        }
        self.servers.announce_mounts(servers);
    }

    fn store(&self) -> Result<&Store, OperatorError> {
        self.persistence.as_ref().map(|persistence| &**persistence.store()).ok_or(OperatorError::NoStore)
    }
}
