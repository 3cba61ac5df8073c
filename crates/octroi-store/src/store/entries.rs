//! Servers that were added at run time, and what people chose about servers: preferences, sessions, attachments.

use super::{Engine, Store};
use crate::entry::{
    AgentServers, AttachedServer, EntryDraft, EntryRefusal, EntryRevision, PreferenceRecord, ServerEntry,
    SessionRecord,
};
use crate::error::StoreError;
use crate::server::ServerKey;

impl Store {
    /// All servers that were added at run time, by scope and name.
    pub async fn server_entries(&self) -> Result<Vec<ServerEntry>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.server_entries().await,
        }
    }

    /// Adds or changes one, with a new revision. It is on the disk when this returns. Of all concurrent changes of the
    /// same revision one succeeds.
    pub async fn save_server_entry(
        &self,
        draft: &EntryDraft,
        by: &str,
        now_ms: i64,
    ) -> Result<Result<ServerEntry, EntryRefusal>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.save_server_entry(draft, by, now_ms).await,
        }
    }

    /// Deletes one, and takes it out of preferences, sessions and lists of agents; returns whether there was one. Its
    /// revisions stay.
    pub async fn delete_server_entry(&self, id: &str, by: &str, now_ms: i64) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.delete_server_entry(id, by, now_ms).await,
        }
    }

    /// The revisions of one, the newest first.
    pub async fn server_revisions(&self, id: &str) -> Result<Vec<EntryRevision>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.server_revisions(id).await,
        }
    }

    /// The id of the last server that had this owner and name and was deleted.
    pub async fn deleted_server(&self, key: &ServerKey) -> Result<Option<String>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.deleted_server(key).await,
        }
    }

    /// What all people switched on or off for themselves.
    pub async fn preferences(&self) -> Result<Vec<PreferenceRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.preferences().await,
        }
    }

    /// Saves what a person switched on or off, all of it or nothing.
    pub async fn save_preferences(
        &self,
        preferences: &[PreferenceRecord],
        now_ms: i64,
    ) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.save_preferences(preferences, now_ms).await,
        }
    }

    /// All sessions, by the time they were created. Closed ones are kept for a while.
    pub async fn sessions(&self) -> Result<Vec<SessionRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.sessions().await,
        }
    }

    /// Adds or replaces a session, and revokes its tokens if it is closed. Closed sessions of its user beyond the newest
    /// `n_closed_max` are removed.
    pub async fn save_session(&self, session: &SessionRecord, n_closed_max: u32) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.save_session(session, n_closed_max).await,
        }
    }

    /// The servers of all agents that have some only.
    pub async fn agent_servers(&self) -> Result<Vec<AgentServers>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.agent_servers().await,
        }
    }

    /// Sets the servers of an agent; with `None` it has all that its owner has.
    pub async fn save_agent_servers(
        &self,
        agent: &str,
        servers: Option<&[AttachedServer]>,
    ) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.save_agent_servers(agent, servers).await,
        }
    }
}
