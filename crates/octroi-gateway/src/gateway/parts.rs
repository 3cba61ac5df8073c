//! The parts of the gateway, for those who use it.

use std::sync::Arc;

use octroi_core::Clock;
use octroi_store::{Cipher, StoreError};

use super::Gateway;
use crate::approvals::Approvals;
use crate::audit_index::AuditIndex;
use crate::choices::Choices;
use crate::clients::Clients;
use crate::governance::Governance;
use crate::identity::Identity;
use crate::inspector::Inspector;
use crate::membership::Membership;
use crate::metrics::ToolReading;
use crate::offers::Offers;
use crate::persistence::Persistence;
use crate::pools::Pools;
use crate::registry::Registry;
use crate::secrets::Secrets;
use crate::servers::Servers;
use crate::stored_servers::StoredServers;

impl Gateway {
    /// When it was started.
    pub fn started_at_ms(&self) -> i64 {
        self.started_at_ms
    }

    /// The clients that are connected.
    pub fn clients(&self) -> &Arc<Clients> {
        &self.clients
    }

    /// The servers.
    pub fn servers(&self) -> &Arc<Servers> {
        &self.servers
    }

    /// Who sees which server, and what people chose about it.
    pub fn membership(&self) -> &Arc<Membership> {
        &self.membership
    }

    /// What each principal sees of the servers.
    pub fn pools(&self) -> &Arc<Pools> {
        &self.pools
    }

    /// The registry of everything that servers offer.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Who is who: users, tokens, and the owners of agents.
    pub fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// The stored secrets.
    pub fn secrets(&self) -> &Arc<Secrets> {
        &self.secrets
    }

    /// The servers that were added at run time.
    pub fn stored_servers(&self) -> &Arc<StoredServers> {
        &self.stored_servers
    }

    /// What people chose about servers: preferences, sessions, and the servers of agents.
    pub fn choices(&self) -> &Arc<Choices> {
        &self.choices
    }

    /// Reads again what belongs to people, after a user or an agent was changed or removed.
    pub async fn people_changed(&self) -> Result<(), StoreError> {
        self.stored_servers.reload().await?;
        self.choices.reload().await
    }

    /// What people choose from: templates and presets.
    pub fn offers(&self) -> &Offers {
        &self.offers
    }

    /// The governance: everything that decides about calls.
    pub fn governance(&self) -> &Arc<Governance> {
        &self.governance
    }

    /// The approvals.
    pub fn approvals(&self) -> &Arc<Approvals> {
        &self.approvals
    }

    /// The audit index.
    pub fn audit(&self) -> &Arc<AuditIndex> {
        &self.audit
    }

    /// The inspector, which explains decisions.
    pub fn inspector(&self) -> &Arc<Inspector> {
        &self.inspector
    }

    /// The persistent storage, if there is one.
    pub fn persistence(&self) -> Option<&Arc<Persistence>> {
        self.persistence.as_ref()
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.context.clock
    }

    /// What encrypts values that clients carry for one purpose; with a usable key file, also over a restart.
    pub fn cipher(&self, purpose: &str) -> Cipher {
        self.carried.cipher(self.persistence.as_deref(), purpose)
    }

    /// A random number of this process, to recognise what an earlier one issued.
    pub fn run(&self) -> u64 {
        self.carried.run()
    }

    /// The metrics of every tool.
    pub fn readings(&self) -> Vec<ToolReading> {
        self.pipeline.exchanges.readings()
    }
}
