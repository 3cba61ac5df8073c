//! What `${secret:…}` in the configuration stands for.

use std::collections::BTreeMap;

use octroi_core::{Scope, Secret};
use octroi_store::{StoreError, StoredSecret};

use super::Persistence;

/// The secrets that the configuration can refer to.
#[derive(Clone, Debug, Default)]
pub struct SystemSecrets {
    /// By name; `None` if a value is encrypted with another key.
    pub by_name: BTreeMap<String, Option<Secret>>,
}

impl SystemSecrets {
    /// Those that belong to the gateway and not to a user.
    pub(crate) fn of(stored: Vec<StoredSecret>) -> Self {
        let system = stored.into_iter().filter(|one| one.scope == Scope::System);
        Self { by_name: system.map(|one| (one.name, one.value)).collect() }
    }
}

impl Persistence {
    /// The secrets that the configuration can refer to.
    pub async fn system_secrets(&self) -> Result<SystemSecrets, StoreError> {
        Ok(SystemSecrets::of(self.store.secret_values().await?))
    }
}
