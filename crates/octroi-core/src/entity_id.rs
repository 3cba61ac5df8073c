//! Ids of stored servers and sessions: UUIDs, which nobody can guess from another and which outlive a new name.

use std::fmt;

use sha2::{Digest as _, Sha256};
use uuid::{Builder, Uuid};

use crate::name::ServerKey;

/// The id of a stored server or session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(Uuid);

impl EntityId {
    /// A new id: the time, so that ids sort by age, and random bytes.
    pub fn new(now_ms: i64, random: [u8; 10]) -> Self {
        Self(Builder::from_unix_timestamp_millis(now_ms.try_into().unwrap_or_default(), &random).into_uuid())
    }

    /// The id of a server that the configuration names. It is the same at every start and on every machine, because
    /// nothing of such a server is stored but its name.
    pub fn of_configured(server: &ServerKey) -> Self {
        let hash = Sha256::digest(format!("octroi configured server\n{server}"));
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash[..16]);
        Self(Builder::from_custom_bytes(bytes).into_uuid())
    }

    /// Reads an id as [`Display`](fmt::Display) writes it.
    pub fn parse(text: &str) -> Option<Self> {
        let id = Uuid::try_parse(text).ok().map(Self)?;
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(formatter)
    }
}

impl fmt::Debug for EntityId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::{Scope, ServerName};

    #[test]
    fn ids_sort_by_age_and_are_read_back() {
        let (older, newer) = (EntityId::new(1_000, [255; 10]), EntityId::new(1_001, [0; 10]));
        assert!(older < newer && older.to_string() < newer.to_string());
        assert_eq!(newer.to_string(), "00000000-03e9-7000-8000-000000000000");
        for id in [older, newer] {
            assert_eq!(EntityId::parse(&id.to_string()), Some(id));
        }
        for wrong in ["", "files", "0000000003e970008000000000000000", "00000000-03E9-7000-8000-000000000000"]
        {
            assert_eq!(EntityId::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_configured_server_has_one_id_of_its_own() {
        let name = ServerName::parse("files").unwrap();
        let system = ServerKey::system(name.clone());
        let own = ServerKey { scope: Scope::User("ana".into()), name };
        let id = EntityId::of_configured(&system);
        assert_eq!(id, EntityId::of_configured(&system));
        assert_ne!(id, EntityId::of_configured(&own));
        assert_eq!(EntityId::parse(&id.to_string()), Some(id));
    }
}
