//! What people switch on or off for themselves.

use std::sync::Arc;

use octroi_core::ServerKey;
use octroi_store::PreferenceRecord;
use serde_json::{Value, json};

use super::{Choices, Planned};
use crate::change::{FiledUnder, PlannedChange};

impl Choices {
    /// What a person chose about a server.
    pub fn preference(&self, user: &str, key: &ServerKey) -> Option<bool> {
        self.membership.choices().preference(user, key)
    }

    /// Switches servers on or off for one person. Nobody else notices.
    pub async fn prefer(
        self: &Arc<Self>,
        user: &str,
        servers: &[ServerKey],
        is_enabled: bool,
    ) -> Planned<()> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let records: Vec<PreferenceRecord> = servers
            .iter()
            .map(|key| PreferenceRecord { user: user.to_owned(), server: self.stored.id_of(key), is_enabled })
            .collect();
        let names: Vec<String> = servers.iter().map(ToString::to_string).collect();
        let subject = json!({"change": "server_preference", "user": user, "servers": names});
        let state = |key: &ServerKey| (key.to_string(), json!(self.preference(user, key).unwrap_or(true)));
        let before: serde_json::Map<String, Value> = servers.iter().map(state).collect();
        let after = json!({"enabled": is_enabled});
        let (choices, keys) = (Arc::clone(self), servers.to_vec());
        let server = servers.first().filter(|_| servers.len() == 1).map(ToString::to_string);
        let change = PlannedChange::new(subject, Value::Object(before), after, async move {
            let _changing = changing;
            choices.store()?.save_preferences(&records, choices.clock.now_ms()).await?;
            choices.put(|all| {
                all.preferences
                    .extend(records.into_iter().map(|one| ((one.user, one.server), one.is_enabled)));
            });
            choices.stored.announce(&keys);
            Ok(())
        });
        Ok(change.filed_under(FiledUnder { server, ..FiledUnder::default() }))
    }
}
