//! What people chose about servers: what they switched on or off for themselves, sessions, and the servers of agents.
//!
//! It is stored by the ids of servers, so that a new name changes nothing, and given to [`Membership`] by their names.
//! An id of a server that its chooser may not see has no effect, whenever it came in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use octroi_api::ResourceChange;
use octroi_core::pool::is_within_reach;
use octroi_core::{Attachment, Clock, Principal, ServerKey, SessionChoice};
use octroi_store::{AttachedServer, PreferenceRecord, SessionRecord, Store, StoreError};
use tracing::error;

use crate::change::PlannedChange;
use crate::identity::Identity;
use crate::membership::Membership;
use crate::operator_error::{OperatorError, ServerUses};
use crate::persistence::Persistence;
use crate::stored_servers::{StoredEntry, StoredServers};
use crate::subscriptions::Subscriptions;

mod attachments;
mod preferences;
mod sessions;

pub use sessions::NewSession;

type Planned<T> = Result<PlannedChange<T, OperatorError>, OperatorError>;

/// Everything that is stored. Immutable.
#[derive(Clone, Debug, Default)]
pub struct ChoiceRecords {
    /// What people switched on or off for themselves, by person and id of the server.
    pub preferences: BTreeMap<(String, String), bool>,
    /// All sessions, by id.
    pub sessions: BTreeMap<String, SessionRecord>,
    /// The servers of agents that have some only.
    pub agents: BTreeMap<String, Vec<AttachedServer>>,
}

/// What people chose about servers.
pub struct Choices {
    persistence: Option<Arc<Persistence>>,
    clock: Clock,
    identity: Arc<Identity>,
    stored: Arc<StoredServers>,
    membership: Arc<Membership>,
    subscriptions: Arc<Subscriptions>,
    records: ArcSwap<ChoiceRecords>,
    /// Held while a change is under way, so that the next is planned with what it led to.
    changing: Arc<tokio::sync::Mutex<()>>,
}

impl Choices {
    pub(crate) fn new(
        clock: Clock,
        persistence: Option<Arc<Persistence>>,
        identity: &Arc<Identity>,
        stored: &Arc<StoredServers>,
        membership: &Arc<Membership>,
        subscriptions: &Arc<Subscriptions>,
    ) -> Self {
        Self {
            persistence,
            clock,
            identity: Arc::clone(identity),
            stored: Arc::clone(stored),
            membership: Arc::clone(membership),
            subscriptions: Arc::clone(subscriptions),
            records: ArcSwap::default(),
            changing: Arc::default(),
        }
    }

    /// Restores what is stored.
    pub(crate) async fn recall(&self, store: &Store) {
        if let Err(error) = self.reread(store).await {
            error!(%error, hint = error.hint(), "what people chose about servers could not be loaded");
        }
    }

    /// Reads everything from the store again, after users, agents or servers were removed.
    pub(crate) async fn reload(&self) -> Result<(), StoreError> {
        match &self.persistence {
            Some(persistence) => self.reread(persistence.store()).await,
            None => Ok(()),
        }
    }

    async fn reread(&self, store: &Store) -> Result<(), StoreError> {
        let preferences = store.preferences().await?.into_iter();
        let sessions = store.sessions().await?.into_iter();
        let agents = store.agent_servers().await?.into_iter();
        let one = |PreferenceRecord { user, server, is_enabled }| ((user, server), is_enabled);
        self.records.store(Arc::new(ChoiceRecords {
            preferences: preferences.map(one).collect(),
            sessions: sessions.map(|session| (session.id.clone(), session)).collect(),
            agents: agents.map(|list| (list.agent, list.servers)).collect(),
        }));
        self.renew();
        Ok(())
    }

    /// Everything that is stored.
    pub fn records(&self) -> Arc<ChoiceRecords> {
        self.records.load_full()
    }

    /// Gives what is stored to the membership, as far as it differs: names and ids of servers may have changed.
    pub fn renew(&self) {
        let records = self.records.load();
        let old = self.membership.choices();
        let mut preferences: BTreeMap<(&str, ServerKey), bool> = BTreeMap::new();
        for ((user, server), is_enabled) in &records.preferences {
            if let Some(key) = self.key_within(user, server) {
                preferences.insert((user, key), *is_enabled);
            }
        }
        let sessions: BTreeMap<&str, SessionChoice> = records
            .sessions
            .values()
            .filter(|session| session.closed.is_none())
            .map(|session| {
                let keys = |ids: &Vec<String>| {
                    ids.iter().filter_map(|id| self.key_within(&session.user, id)).collect::<BTreeSet<_>>()
                };
                (&*session.id, SessionChoice { enabled: session.servers.as_ref().map(keys) })
            })
            .collect();
        let agents: BTreeMap<&str, BTreeMap<ServerKey, Attachment>> = records
            .agents
            .iter()
            .map(|(agent, servers)| {
                let owner = self.identity.owner_of(agent);
                let attached = servers.iter().filter_map(|one| {
                    let key = self.key_within(&owner, &one.server)?;
                    Some((key, Attachment { is_pinned: one.is_pinned }))
                });
                (&**agent, attached.collect())
            })
            .collect();
        let is_same = preferences.iter().all(|((user, key), on)| old.preference(user, key) == Some(*on))
            && old.n_preferences() == preferences.len()
            && sessions.iter().all(|(id, choice)| old.session(id) == Some(choice))
            && old.sessions().all(|id| sessions.contains_key(id))
            && agents.iter().all(|(agent, attached)| old.attachments(agent) == Some(attached))
            && old.agents().all(|agent| agents.contains_key(agent));
        if is_same {
            return;
        }
        self.membership.change(|choices| {
            for (user, key) in old.all_preferences() {
                if !preferences.contains_key(&(&*user, key.clone())) {
                    choices.prefer(&user, &key, None);
                }
            }
            for ((user, key), is_enabled) in &preferences {
                if old.preference(user, key) != Some(*is_enabled) {
                    choices.prefer(user, key, Some(*is_enabled));
                }
            }
            for id in old.sessions().filter(|id| !sessions.contains_key(*id)) {
                choices.forget_session(id);
            }
            for (id, choice) in sessions {
                if old.session(id) != Some(&choice) {
                    choices.choose(id, choice);
                }
            }
            for agent in old.agents().filter(|agent| !agents.contains_key(*agent)) {
                choices.set_attachments(agent, None);
            }
            for (agent, attached) in agents {
                if old.attachments(agent) != Some(&attached) {
                    choices.set_attachments(agent, Some(attached));
                }
            }
        });
    }

    /// Who uses a server by name.
    pub fn uses_of(&self, id: &str) -> ServerUses {
        let records = self.records.load();
        let lists = |session: &&SessionRecord| {
            session.closed.is_none() && session.servers.iter().flatten().any(|server| server == id)
        };
        let sessions = records.sessions.values().filter(lists).map(|session| session.id.clone());
        let has = |servers: &[AttachedServer]| servers.iter().any(|one| one.server == id);
        let agents = records.agents.iter().filter(|(_, servers)| has(servers));
        ServerUses { sessions: sessions.collect(), agents: agents.map(|(agent, _)| agent.clone()).collect() }
    }

    /// Deletes a server. One that is in use stays, unless it is taken from whoever uses it.
    pub async fn delete_server(
        self: &Arc<Self>,
        key: &ServerKey,
        is_forced: bool,
        by: &Principal,
    ) -> Planned<Arc<StoredEntry>> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let mut change = self.stored.delete(key, by).await?;
        let uses = self.uses_of(&self.stored.id_of(key));
        if !uses.is_empty() && !is_forced {
            return Err(OperatorError::ServerInUse { name: key.name.to_string(), uses });
        }
        if !uses.is_empty() {
            change.before["used_by"] = serde_json::json!({"sessions": uses.sessions, "agents": uses.agents});
        }
        let choices = Arc::clone(self);
        Ok(change.then(async move {
            let _changing = changing;
            choices.reload().await?;
            for id in &uses.sessions {
                choices.announce_session(id);
            }
            for agent in &uses.agents {
                choices.announce_agent(agent);
            }
            Ok(())
        }))
    }

    /// The server with this id, if the user may see it.
    fn key_within(&self, user: &str, id: &str) -> Option<ServerKey> {
        self.stored.key_of(id).filter(|key| is_within_reach(user, key))
    }

    /// The ids of servers that a user names. One that the user does not have is unknown.
    fn ids(&self, user: &str, names: &[String]) -> Result<Vec<String>, OperatorError> {
        let mut ids = Vec::new();
        for name in names {
            let id = self.stored.id_of(&self.stored.find_own(user, name)?);
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// The names of servers with these ids, for a user. What is gone has none.
    pub fn names(&self, user: &str, ids: &[String]) -> Vec<(String, ServerKey)> {
        let named = ids.iter().filter_map(|id| Some((id.clone(), self.key_within(user, id)?)));
        let mut named: Vec<_> = named.collect();
        named.sort_by(|one, other| one.1.cmp(&other.1));
        named
    }

    fn announce_session(&self, id: &str) {
        self.subscriptions.announce(&ResourceChange::Session { id });
    }

    fn announce_agent(&self, agent: &str) {
        self.subscriptions.announce(&ResourceChange::Agent { agent });
        self.stored.announce(&[]);
    }

    /// Replaces what is stored, after it was written.
    fn put(&self, change: impl FnOnce(&mut ChoiceRecords)) {
        let mut records = ChoiceRecords::clone(&self.records.load());
        change(&mut records);
        self.records.store(Arc::new(records));
        self.renew();
    }

    fn store(&self) -> Result<&Store, OperatorError> {
        self.persistence.as_ref().map(|persistence| &**persistence.store()).ok_or(OperatorError::NoStore)
    }
}
