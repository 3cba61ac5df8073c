//! Servers that were added at run time, and what people chose about servers.

use crate::server::{CanonicalJson, ServerKey};

/// A server that was added at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEntry {
    /// Its id, which stays when it is renamed.
    pub id: String,
    /// Its owner and name.
    pub key: ServerKey,
    /// Its display name.
    pub title: Option<String>,
    /// What is configured of it, as in a configuration file; `None` if it is encrypted with another key.
    pub entry: Option<CanonicalJson>,
    /// The number of its newest revision.
    pub revision: i64,
    /// When it was added.
    pub created_at_ms: i64,
    /// Who added it.
    pub created_by: String,
    /// When it was changed last.
    pub updated_at_ms: i64,
    /// Who changed it last.
    pub updated_by: String,
}

/// What was done to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryChange {
    /// It was added.
    Added,
    /// It was changed.
    Updated,
    /// An earlier revision was put back.
    RolledBack,
    /// It came from an export.
    Imported,
    /// It was deleted.
    Deleted,
}

impl EntryChange {
    const ALL: [Self; 5] = [Self::Added, Self::Updated, Self::RolledBack, Self::Imported, Self::Deleted];

    /// The stored and displayed word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Updated => "updated",
            Self::RolledBack => "rolled_back",
            Self::Imported => "imported",
            Self::Deleted => "deleted",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|change| change.as_str() == word)
    }
}

/// An entry to write.
#[derive(Clone, Debug)]
pub struct EntryDraft {
    /// The id of the server.
    pub id: String,
    /// Its owner and name.
    pub key: ServerKey,
    /// Its display name.
    pub title: Option<String>,
    /// What is configured of it.
    pub entry: CanonicalJson,
    /// What is done to it.
    pub change: EntryChange,
    /// The revision that it replaces; `None` if there is no such server now.
    pub replaces: Option<i64>,
}

/// Why an entry was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryRefusal {
    /// Its owner has another server of this name.
    NameTaken,
    /// It was changed or deleted meanwhile.
    ChangedMeanwhile,
}

/// One state of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryRevision {
    /// The id of the server.
    pub server: String,
    /// Its number, from 1.
    pub revision: i64,
    /// The owner and name at that time.
    pub key: ServerKey,
    /// What was done.
    pub change: EntryChange,
    /// What was configured; `None` if it was deleted, or is encrypted with another key.
    pub entry: Option<CanonicalJson>,
    /// When.
    pub at_ms: i64,
    /// Who did it.
    pub by: String,
}

/// What a person switched on or off for themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreferenceRecord {
    /// The person.
    pub user: String,
    /// The id of the server.
    pub server: String,
    /// Whether the person's agents use it.
    pub is_enabled: bool,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub user: String,
    /// The agent that works in it; any of the user's, if there is none.
    pub agent: Option<String>,
    /// Its title for people.
    pub title: Option<String>,
    /// The ids of the servers that are used in it; `None` for all.
    pub servers: Option<Vec<String>>,
    /// When it was created.
    pub created_at_ms: i64,
    /// Who created it.
    pub created_by: String,
    /// When it was changed last.
    pub updated_at_ms: i64,
    /// When it was closed, and by whom.
    pub closed: Option<(i64, String)>,
}

/// A server that was attached to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedServer {
    /// The id of the server.
    pub server: String,
    /// Whether it cannot be detached.
    pub is_pinned: bool,
    /// When it was attached.
    pub at_ms: i64,
    /// Who attached it.
    pub by: String,
}

/// The servers of an agent that has some only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentServers {
    /// The agent.
    pub agent: String,
    /// Its servers, by id.
    pub servers: Vec<AttachedServer>,
}
