//! Sessions: which servers an agent uses for one piece of work.

use std::sync::Arc;

use octroi_core::Principal;
use octroi_store::SessionRecord;
use serde_json::{Value, json};

use super::{Choices, Planned};
use crate::change::{FiledUnder, PlannedChange};
use crate::operator_error::OperatorError;
use crate::stored_servers::new_entity_id;

/// How many open sessions a user has at most.
const OPEN_MAX: usize = 1_000;
/// How many closed sessions of a user are kept.
const CLOSED_MAX: u32 = 200;
/// The longest title, in characters.
const TITLE_MAX: usize = 200;

/// A session to create.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    /// Whose it is.
    pub user: String,
    /// The agent that works in it; any of the user's, if there is none.
    pub agent: Option<String>,
    /// Its title for people.
    pub title: Option<String>,
    /// Its servers, by name or id; `None` for all that its agent has.
    pub servers: Option<Vec<String>>,
}

impl Choices {
    /// One session.
    pub fn session(&self, id: &str) -> Option<SessionRecord> {
        self.records.load().sessions.get(id).cloned()
    }

    /// Creates a session.
    pub async fn create_session(self: &Arc<Self>, new: NewSession, by: &Principal) -> Planned<SessionRecord> {
        let NewSession { user, agent, title, servers } = new;
        let changing = Arc::clone(&self.changing).lock_owned().await;
        if title.as_ref().is_some_and(|title| title.chars().count() > TITLE_MAX) {
            return Err(OperatorError::Session(format!("a title has at most {TITLE_MAX} characters")));
        }
        let open = |one: &&SessionRecord| one.closed.is_none() && one.user == user;
        if self.records.load().sessions.values().filter(open).count() >= OPEN_MAX {
            return Err(OperatorError::TooMany(format!("a user has at most {OPEN_MAX} open sessions")));
        }
        let servers = servers.map(|names| self.ids(&user, &names)).transpose()?;
        let now_ms = self.clock.now_ms();
        let record = SessionRecord {
            id: new_entity_id(now_ms)?.to_string(),
            user,
            agent,
            title,
            servers,
            created_at_ms: now_ms,
            created_by: by.id().to_string(),
            updated_at_ms: now_ms,
            closed: None,
        };
        let subject = json!({"change": "session_created", "session": record.id, "user": record.user});
        let after = self.described(&record);
        Ok(self.saving(subject, Value::Null, after, record, changing))
    }

    /// Sets the servers of a session; `None` for all that its agent has.
    pub async fn set_session_servers(
        self: &Arc<Self>,
        id: &str,
        servers: Option<Vec<String>>,
    ) -> Planned<SessionRecord> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let before = self.open_session(id)?;
        let servers = servers.map(|names| self.ids(&before.user, &names)).transpose()?;
        let record = SessionRecord { servers, updated_at_ms: self.clock.now_ms(), ..before.clone() };
        let subject = json!({"change": "session_servers", "session": id, "user": record.user});
        let after = self.described(&record);
        Ok(self.saving(subject, self.described(&before), after, record, changing))
    }

    /// Closes a session. Its tokens end.
    pub async fn close_session(self: &Arc<Self>, id: &str, by: &Principal) -> Planned<SessionRecord> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let before = self.open_session(id)?;
        let now_ms = self.clock.now_ms();
        let closed = Some((now_ms, by.id().to_string()));
        let record = SessionRecord { closed, updated_at_ms: now_ms, ..before.clone() };
        let subject = json!({"change": "session_closed", "session": id, "user": record.user});
        let identity = Arc::clone(&self.identity);
        let change = self.saving(subject, self.described(&before), Value::Null, record, changing);
        Ok(change.then(async move { identity.reread_tokens().await }))
    }

    fn saving(
        self: &Arc<Self>,
        subject: Value,
        before: Value,
        after: Value,
        record: SessionRecord,
        changing: tokio::sync::OwnedMutexGuard<()>,
    ) -> PlannedChange<SessionRecord, OperatorError> {
        let choices = Arc::clone(self);
        let agent = record.agent.clone();
        let change = PlannedChange::new(subject, before, after, async move {
            let _changing = changing;
            choices.store()?.save_session(&record, CLOSED_MAX).await?;
            choices.put(|all| {
                all.sessions.insert(record.id.clone(), record.clone());
                forget_old(all, &record.user);
            });
            choices.announce_session(&record.id);
            Ok(record)
        });
        change.filed_under(FiledUnder { agent, ..FiledUnder::default() })
    }

    fn open_session(&self, id: &str) -> Result<SessionRecord, OperatorError> {
        let session = self.session(id).ok_or_else(|| OperatorError::UnknownSession(id.to_owned()))?;
        match session.closed {
            None => Ok(session),
            Some(_) => Err(OperatorError::SessionClosed(id.to_owned())),
        }
    }

    /// A session in a record of a change.
    fn described(&self, session: &SessionRecord) -> Value {
        let names = |ids: &Vec<String>| {
            let named = self.names(&session.user, ids).into_iter();
            named.map(|(_, key)| key.to_string()).collect::<Vec<_>>()
        };
        json!({"agent": session.agent, "title": session.title, "servers": session.servers.as_ref().map(names)})
    }
}

/// As the store does.
fn forget_old(all: &mut super::ChoiceRecords, user: &str) {
    let closed = all.sessions.values().filter(|one| one.user == user);
    let mut closed: Vec<(i64, String)> =
        closed.filter_map(|one| Some((one.closed.as_ref()?.0, one.id.clone()))).collect();
    closed.sort_unstable_by(|one, other| other.cmp(one));
    for (_, id) in closed.into_iter().skip(CLOSED_MAX as usize) {
        all.sessions.remove(&id);
    }
}
