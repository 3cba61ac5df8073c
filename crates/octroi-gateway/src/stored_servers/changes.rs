//! Adding, changing, deleting and restoring servers.

use std::sync::Arc;

use octroi_core::config::stored_entry::{canonical, masked, merged};
use octroi_core::{EntityId, Principal, Scope, ServerKey, ServerName};
use octroi_store::{CanonicalJson, EntryChange, EntryDraft, EntryRefusal};
use serde_json::{Map, Value, json};
use tokio::sync::OwnedMutexGuard;

use super::{Entries, StoredEntry, StoredServers};
use crate::change::{FiledUnder, PlannedChange};
use crate::operator_error::OperatorError;

/// How many servers a user has at most.
const USER_SERVERS_MAX: usize = 50;
/// The longest entry, in bytes.
const ENTRY_MAX: usize = 64 << 10;

/// A change of a server; what is left out stays as it is.
#[derive(Clone, Debug, Default)]
pub struct ServerChange {
    /// The new name.
    pub name: Option<ServerName>,
    /// Keys of its entry. Variables of `env` are merged, other keys are replaced, `null` takes one out.
    pub entry: Map<String, Value>,
}

type Planned<T> = Result<PlannedChange<T, OperatorError>, OperatorError>;

/// A new id.
pub(crate) fn new_entity_id(now_ms: i64) -> Result<EntityId, OperatorError> {
    let mut random = [0; 10];
    getrandom::fill(&mut random).map_err(|_| OperatorError::NoRandom)?;
    Ok(EntityId::new(now_ms, random))
}

impl StoredServers {
    /// Adds a server.
    pub async fn add(
        self: &Arc<Self>,
        key: ServerKey,
        entry: &Map<String, Value>,
        change: EntryChange,
        by: &Principal,
    ) -> Planned<Arc<StoredEntry>> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let entry = spelled(entry)?;
        self.check_name(&key, None)?;
        self.check_count(&key.scope)?;
        self.check(&key, &entry)?;
        let id = new_entity_id(self.clock.now_ms())?.to_string();
        let draft = draft(id, key, &entry, change, None);
        Ok(self.planned("server_added", Value::Null, draft, &entry, by, changing))
    }

    /// Changes a server.
    pub async fn update(
        self: &Arc<Self>,
        key: &ServerKey,
        change: ServerChange,
        by: &Principal,
    ) -> Planned<Arc<StoredEntry>> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let before = self.changeable(key)?;
        if before.record.entry.is_none() {
            return Err(OperatorError::EntryUnreadable(key.to_string()));
        }
        let entry = merged(&before.entry, &spelled(&change.entry)?);
        let name = change.name.unwrap_or_else(|| key.name.clone());
        let new_key = ServerKey { scope: key.scope.clone(), name };
        if entry == before.entry && new_key == *key {
            return Err(OperatorError::NothingChanges(key.to_string()));
        }
        if new_key != *key {
            self.check_name(&new_key, Some(&before.record.id))?;
        }
        self.check(&new_key, &entry)?;
        let record = &before.record;
        let draft = draft(record.id.clone(), new_key, &entry, EntryChange::Updated, Some(record.revision));
        Ok(self.planned("server_updated", described(&before), draft, &entry, by, changing))
    }

    /// Puts an earlier state of a server back, also of one that was deleted.
    pub async fn roll_back(
        self: &Arc<Self>,
        id: &str,
        revision: i64,
        by: &Principal,
    ) -> Planned<Arc<StoredEntry>> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let history = self.history(id).await?;
        let found = history.into_iter().find(|one| one.revision == revision);
        let found = found.ok_or(OperatorError::UnknownRevision(revision))?;
        let text = found.entry.ok_or(OperatorError::UnknownRevision(revision))?;
        let Ok(Value::Object(entry)) = serde_json::from_str(text.as_str()) else {
            return Err(OperatorError::UnknownRevision(revision));
        };
        let before = self.entries().by_id(id).cloned();
        if before.as_ref().is_none_or(|before| before.record.key != found.key) {
            self.check_name(&found.key, Some(id))?;
        }
        if before.is_none() {
            self.check_count(&found.key.scope)?;
        }
        self.check(&found.key, &entry)?;
        let replaces = before.as_ref().map(|before| before.record.revision);
        let draft = draft(id.to_owned(), found.key, &entry, EntryChange::RolledBack, replaces);
        let before = before.map_or(Value::Null, |before| described(&before));
        Ok(self.planned("server_rolled_back", before, draft, &entry, by, changing))
    }

    /// Deletes a server, whoever uses it. Its history stays.
    pub async fn delete(self: &Arc<Self>, key: &ServerKey, by: &Principal) -> Planned<Arc<StoredEntry>> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let found = self.changeable(key)?;
        let subject = json!({"change": "server_deleted", "server": key.to_string(), "id": found.record.id});
        let (stored, by) = (Arc::clone(self), by.id().to_string());
        let change = PlannedChange::new(subject, described(&found), Value::Null, async move {
            let _changing = changing;
            let id = &found.record.id;
            stored.store()?.delete_server_entry(id, &by, stored.clock.now_ms()).await?;
            let old = stored.entries();
            let left = old.iter().filter(|entry| entry.record.id != *id).cloned();
            stored.entries.store(Arc::new(Entries::of(left)));
            stored.read_again(|_| false);
            stored.servers.set_stored(|| stored.specs());
            Ok(found)
        });
        Ok(change.filed_under(filed_under(key)))
    }

    fn planned(
        self: &Arc<Self>,
        what: &'static str,
        before: Value,
        draft: EntryDraft,
        entry: &Map<String, Value>,
        by: &Principal,
        changing: OwnedMutexGuard<()>,
    ) -> PlannedChange<Arc<StoredEntry>, OperatorError> {
        let subject = json!({"change": what, "server": draft.key.to_string(), "id": draft.id});
        let after = json!({"server": draft.key.to_string(), "entry": masked(entry)});
        let filed_under = filed_under(&draft.key);
        let (stored, by) = (Arc::clone(self), by.id().to_string());
        let change = PlannedChange::new(subject, before, after, async move {
            let _changing = changing;
            stored.write(draft, &by).await
        });
        change.filed_under(filed_under)
    }

    async fn write(self: &Arc<Self>, draft: EntryDraft, by: &str) -> Result<Arc<StoredEntry>, OperatorError> {
        let written = self.store()?.save_server_entry(&draft, by, self.clock.now_ms()).await?;
        let record = written.map_err(|refusal| match refusal {
            EntryRefusal::NameTaken => OperatorError::ServerNameExists(draft.key.name.to_string()),
            EntryRefusal::ChangedMeanwhile => OperatorError::ServerChanged(draft.key.to_string()),
        })?;
        let (id, key) = (record.id.clone(), record.key.clone());
        let old = self.entries();
        let others = old.iter().filter(|entry| entry.record.id != id).cloned();
        let all = others.chain(std::iter::once(Arc::new(StoredEntry::unread(record))));
        self.entries.store(Arc::new(Entries::of(all)));
        self.read_again(|entry| entry.record.id == id);
        self.servers.set_stored(|| self.specs());
        let entries = self.entries();
        entries.get(&key).cloned().ok_or_else(|| OperatorError::UnknownServer(key.to_string()))
    }

    /// The entry of a server that can be changed here.
    fn changeable(&self, key: &ServerKey) -> Result<Arc<StoredEntry>, OperatorError> {
        match self.entries().get(key) {
            Some(entry) => Ok(Arc::clone(entry)),
            None if self.servers.is_in_file(key) => Err(OperatorError::ServerInFile(key.to_string())),
            None => Err(OperatorError::UnknownServer(key.to_string())),
        }
    }

    /// Fails if the owner, or everybody, has another server of this name.
    fn check_name(&self, key: &ServerKey, own_id: Option<&str>) -> Result<(), OperatorError> {
        let shared = ServerKey::system(key.name.clone());
        let entries = self.entries();
        let is_other = |key: &ServerKey| entries.get(key).is_some_and(|one| Some(&*one.record.id) != own_id);
        if is_other(key) || is_other(&shared) || self.servers.is_in_file(&shared) {
            return Err(OperatorError::ServerNameExists(key.name.to_string()));
        }
        Ok(())
    }

    fn check_count(&self, scope: &Scope) -> Result<(), OperatorError> {
        let n_servers = self.entries().iter().filter(|entry| entry.record.key.scope == *scope).count();
        match scope {
            Scope::User(_) if n_servers >= USER_SERVERS_MAX => {
                Err(OperatorError::TooMany(format!("a user has at most {USER_SERVERS_MAX} servers")))
            }
            Scope::User(_) | Scope::System => Ok(()),
        }
    }
}

/// An entry under canonical names, of an acceptable length.
fn spelled(entry: &Map<String, Value>) -> Result<Map<String, Value>, OperatorError> {
    let wrong = |message: String| OperatorError::ServerEntry { message, hint: None };
    let entry = canonical(entry).map_err(wrong)?;
    if Value::Object(entry.clone()).to_string().len() > ENTRY_MAX {
        return Err(wrong(format!("an entry has at most {} KiB", ENTRY_MAX >> 10)));
    }
    Ok(entry)
}

fn draft(
    id: String,
    key: ServerKey,
    entry: &Map<String, Value>,
    change: EntryChange,
    replaces: Option<i64>,
) -> EntryDraft {
    let entry: Map<String, Value> = entry
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let title = entry.get("title").and_then(Value::as_str).map(str::to_owned);
    EntryDraft { id, key, title, entry: CanonicalJson::of(Value::Object(entry)), change, replaces }
}

/// A server in a record of a change, without its secrets.
fn described(entry: &StoredEntry) -> Value {
    json!({"server": entry.record.key.to_string(), "revision": entry.record.revision, "entry": entry.masked()})
}

fn filed_under(key: &ServerKey) -> FiledUnder {
    FiledUnder { server: Some(key.to_string()), ..FiledUnder::default() }
}
