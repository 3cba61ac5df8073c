//! The servers of the configuration, and those that were added at run time.

use std::collections::HashMap;
use std::sync::Arc;

use octroi_core::server::ServerSpec;
use octroi_core::{EntityId, Scope, ServerKey};
use tracing::warn;

use super::Servers;

/// The servers of the configuration.
#[derive(Default)]
pub(super) struct ConfiguredServers {
    pub(super) specs: Vec<ServerSpec>,
    /// Those that were added at run time.
    pub(super) stored: Vec<ServerSpec>,
    /// Whether servers may be enabled at all.
    pub(super) are_on: bool,
}

impl ConfiguredServers {
    /// All servers. Of two for everybody with one name, that of the file counts.
    pub(super) fn all(&self) -> impl Iterator<Item = &ServerSpec> {
        let is_in_file = |key: &ServerKey| self.specs.iter().any(|spec| spec.key == *key);
        let stored = self.stored.iter().filter(move |spec| {
            let is_overridden = spec.key.scope == Scope::System && is_in_file(&spec.key);
            if is_overridden {
                warn!(server.name = %spec.key, "the configuration has a server of this name, so the stored one is not used");
            }
            !is_overridden
        });
        self.specs.iter().chain(stored)
    }
}

/// The servers that the configuration names, by id.
pub(super) type FileServers = HashMap<String, ServerKey>;

impl Servers {
    /// Sets the servers that were added at run time, for the next time that the configuration is applied.
    pub(crate) fn put_stored(&self, specs: impl FnOnce() -> Vec<ServerSpec>) {
        let mut configured = self.configured.lock();
        configured.stored = specs();
        self.agree_to_stored(&configured);
    }

    /// Replaces the servers that were added at run time. Those with an unchanged definition keep running.
    pub(crate) fn set_stored(self: &Arc<Self>, specs: impl FnOnce() -> Vec<ServerSpec>) {
        let mut configured = self.configured.lock();
        configured.stored = specs();
        self.agree_to_stored(&configured);
        self.replace(&configured);
    }

    /// Who added a server has said yes to it.
    fn agree_to_stored(&self, configured: &ConfiguredServers) {
        let mut switches = self.switches.lock();
        for spec in &configured.stored {
            if switches.agree(&spec.key)
                && let Some(persistence) = &self.persistence
            {
                persistence.agree(&spec.key);
            }
        }
    }

    /// Whether the configuration has a server.
    pub fn is_in_file(&self, key: &ServerKey) -> bool {
        self.in_file.load().contains_key(&EntityId::of_configured(key).to_string())
    }

    /// The server of the configuration with an id.
    pub(crate) fn file_server(&self, id: &str) -> Option<ServerKey> {
        self.in_file.load().get(id).cloned()
    }
}
