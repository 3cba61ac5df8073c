//! Stores and reports the results of evaluating definitions.

use octroi_api::ResourceChange;
use octroi_core::audit::{Kind, Level};
use octroi_store::{HeldDefinition, PinRecord};
use serde_json::json;

use super::Registry;
use super::pins::{Seen, SeenAs};

impl Registry {
    pub(super) fn keep_seen(&self, seen: Vec<Seen>) {
        let at_ms = self.clock.now_ms();
        let mut pins = Vec::new();
        let mut held = Vec::new();
        for Seen { key, hash, definition, what } in seen {
            match what {
                SeenAs::Accepted => pins.push(PinRecord {
                    key,
                    hash: *hash.as_bytes(),
                    definition,
                    accepted_at_ms: at_ms,
                    accepted_by: "first use".to_owned(),
                }),
                SeenAs::Held { reason, is_changed } => {
                    if !self.pins.is_news(&key, &hash) {
                        continue;
                    }
                    let server = key.server.to_string();
                    tracing::warn!(server.name = server, kind = %key.kind, name = key.name, reason, "quarantined");
                    let context = json!({
                        "kind": key.kind.as_str(), "name": key.name, "hash": hash.to_string(),
                        "reason": reason, "changed": is_changed,
                    });
                    let context = context.to_string();
                    let mut event = self.recorder.system_event(Kind::ToolDefinitionChanged, &context);
                    event.server = Some(&server);
                    event.level = Level::Warn;
                    self.recorder.record_later(&event);
                    let hash = *hash.as_bytes();
                    held.push(HeldDefinition { key, hash, definition, seen_at_ms: at_ms, reason });
                }
            }
        }
        if !held.is_empty() {
            self.subscriptions.announce(&ResourceChange::Pins);
        }
        if let Some(persistence) = &self.persistence {
            persistence.pin(pins, held);
        }
    }
}
