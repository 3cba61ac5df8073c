//! Stores and reports the results of evaluating definitions.

use std::collections::HashSet;
use std::sync::Arc;

use octroi_api::ResourceChange;
use octroi_core::audit::{Kind, Level};
use octroi_core::pin::{DefinitionHash, PinKey};
use octroi_core::{ServerKey, visible};
use octroi_store::{HeldDefinition, PinRecord};
use serde_json::json;

use super::Registry;
use super::pins::{NOTICED, Seen, SeenAs};
use crate::alerts::{Alert, QuarantinedDefinition};

impl Registry {
    pub(super) fn keep_seen(&self, seen: Vec<Seen>) {
        let at_ms = self.clock.now_ms();
        let mut pins = Vec::new();
        let mut held = Vec::new();
        for Seen { key, hash, definition, what } in seen {
            match what {
                SeenAs::Accepted { is_noticed } => {
                    if is_noticed {
                        self.notice_added(&key, &hash, at_ms);
                    }
                    let accepted_by = if is_noticed { NOTICED } else { "first use" };
                    pins.push(PinRecord {
                        key,
                        hash: *hash.as_bytes(),
                        definition,
                        accepted_at_ms: at_ms,
                        accepted_by: accepted_by.to_owned(),
                    });
                }
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
                    self.subscriptions.alert(Alert::Quarantined(Arc::new(QuarantinedDefinition {
                        server,
                        kind: key.kind,
                        name: key.name.clone(),
                        reason: reason.clone(),
                    })));
                    let hash = *hash.as_bytes();
                    held.push(HeldDefinition { key, hash, definition, seen_at_ms: at_ms, reason });
                }
            }
        }
        for server in held.iter().map(|held| &held.key.server).collect::<HashSet<_>>() {
            self.subscriptions.announce_of(server, &ResourceChange::Pins);
        }
        if let Some(persistence) = &self.persistence {
            persistence.pin(pins, held);
        }
    }

    /// Tells people that a known server added a tool.
    fn notice_added(&self, key: &PinKey, hash: &DefinitionHash, at_ms: i64) {
        let server = key.server.to_string();
        tracing::warn!(server.name = server, name = key.name, "a known server added a tool");
        let context = json!({
            "kind": key.kind.as_str(), "name": key.name, "hash": hash.to_string(),
            "reason": "a known server added it", "changed": false,
        });
        let context = context.to_string();
        let mut event = self.recorder.system_event(Kind::ToolDefinitionChanged, &context);
        event.server = Some(&server);
        event.level = Level::Warn;
        self.recorder.record_later(&event);
        self.pins.notice(key.clone(), at_ms);
    }

    /// What people are told about tools that a server added lately, if it did.
    pub(crate) fn new_tools(&self, server: &ServerKey) -> Option<String> {
        let names = self.pins.noticed(server, self.clock.now_ms());
        let names: Vec<String> = names.iter().map(|name| format!("`{}`", visible(name))).collect();
        let text = format!("the server added {}; see them with `octroi tools`", names.join(", "));
        (!names.is_empty()).then_some(text)
    }
}
