//! Definitions that are quarantined for review.

use std::sync::Arc;

use octroi_api::ResourceChange;
use octroi_core::pin::{
    DefinitionChange, DefinitionHash, Finding, KnownTools, LintContext, Lock, LookAlike, Pin, PinKey,
    PinKind, Resemblance, difference, findings, look_alikes,
};
use octroi_core::time::{parse_time, show_time};
use octroi_core::{Principal, ServerKey};
use octroi_store::PinRecord;
use serde_json::{Value, json};

use super::Registry;
use super::pins::instructions_definition;
use crate::catalogue::{Offer, hash_of};
use crate::change::PlannedChange;
use crate::operator_error::{OperatorError, must_be_person};

/// A quarantined definition, with everything that helps to decide about it.
#[derive(Clone, Debug)]
pub struct HeldPin {
    /// The server.
    pub server: ServerKey,
    /// The kind of definition.
    pub kind: PinKind,
    /// Its name at the server; empty for the server's own instructions.
    pub name: String,
    /// The hash of the definition.
    pub hash: DefinitionHash,
    /// Why it is quarantined.
    pub reason: String,
    /// The definition itself.
    pub definition: String,
    /// Who rejected it, if somebody did; then it does not wait for review.
    pub kept_out_by: Option<String>,
    /// When and by whom the previous one was accepted, if one was.
    pub accepted: Option<(i64, String)>,
    /// The differences from the accepted one.
    pub changes: Vec<DefinitionChange>,
    /// Suspicious properties.
    pub findings: Vec<Finding>,
    /// Tools of other servers that it may be confused with, as `server.tool`.
    pub look_alikes: Vec<String>,
}

/// Identifies a definition.
#[derive(Clone, Copy, Debug)]
pub struct PinName<'a> {
    /// The server.
    pub server: &'a ServerKey,
    /// The kind of definition.
    pub kind: PinKind,
    /// Its name at the server.
    pub name: &'a str,
}

/// So many earlier versions of a definition are shown.
const HISTORY_MAX: u32 = 100;

/// A definition that is or was accepted.
#[derive(Clone, Debug)]
pub struct PastDefinition {
    /// Its hash.
    pub hash: DefinitionHash,
    /// The definition itself.
    pub definition: String,
    /// When it was accepted.
    pub accepted_at_ms: i64,
    /// The operator or the rule that accepted it.
    pub accepted_by: String,
    /// When another one took its place.
    pub ended_at_ms: Option<i64>,
}

impl PastDefinition {
    fn of(pin: PinRecord, ended_at_ms: Option<i64>) -> Self {
        let PinRecord { hash, definition, accepted_at_ms, accepted_by, .. } = pin;
        let hash = DefinitionHash::from_bytes(hash);
        Self { hash, definition, accepted_at_ms, accepted_by, ended_at_ms }
    }
}

impl Registry {
    /// All quarantined definitions, by server, kind and name.
    pub async fn held_pins(&self) -> Result<Vec<HeldPin>, OperatorError> {
        let store = self.store()?;
        self.flush().await?;
        let accepted = store.pins().await?;
        let catalogue = self.catalogue();
        let mut all = Vec::new();
        for offer in catalogue.offers().filter(|offer| !offer.held.is_empty()) {
            let server = offer.key();
            let server_text = server.to_string();
            let names = catalogue.tool_names_beside(server);
            let names: Vec<_> = names.iter().map(|(server, tool)| (server.as_str(), *tool)).collect();
            let known = KnownTools::new(names.iter().copied());
            let pairs = look_alikes(&names);
            for ((kind, name), reason) in &offer.held {
                let Some((definition, hash)) = definition_of(offer, *kind, name) else {
                    continue;
                };
                let key = pin_key(server, *kind, name);
                let before = accepted.iter().find(|pin| pin.key == key);
                let changes = before.map(|pin| difference(pin.definition.as_bytes(), definition.as_bytes()));
                let context = LintContext { server: &server_text, tools: &known };
                all.push(HeldPin {
                    server: server.clone(),
                    kind: *kind,
                    name: name.clone(),
                    hash,
                    reason: reason.clone(),
                    kept_out_by: self.pins.kept_out_by(&key, &hash),
                    accepted: before.map(|pin| (pin.accepted_at_ms, pin.accepted_by.clone())),
                    changes: changes.unwrap_or_default(),
                    findings: findings(definition.as_bytes(), &context),
                    look_alikes: match kind {
                        PinKind::Tool => like(&pairs, &server_text, name),
                        PinKind::Server | PinKind::Prompt | PinKind::Resource | PinKind::Template => {
                            Vec::new()
                        }
                    },
                    definition,
                });
            }
        }
        all.sort_by(|one, other| {
            (&one.server, one.kind, &one.name).cmp(&(&other.server, other.kind, &other.name))
        });
        Ok(all)
    }

    /// The accepted definition of this name, and those that were accepted before it, the newest first: each with when
    /// another one took its place.
    pub async fn pin_history(&self, pin: PinName<'_>) -> Result<Vec<PastDefinition>, OperatorError> {
        let store = self.store()?;
        self.flush().await?;
        let key = pin_key(pin.server, pin.kind, pin.name);
        let accepted = store.pins().await?.into_iter().find(|pin| pin.key == key);
        let past = store.past_pins(&key, HISTORY_MAX).await?;
        let past = past.into_iter().map(|past| PastDefinition::of(past.pin, Some(past.ended_at_ms)));
        Ok(accepted.into_iter().map(|pin| PastDefinition::of(pin, None)).chain(past).collect())
    }

    /// Accepts a definition, if it is still the one that the operator saw. Returns whether it can be used
    /// from now on: a lock file takes precedence.
    pub fn accept_pin(
        self: &Arc<Self>,
        pin: PinName<'_>,
        seen: &DefinitionHash,
        by: &Principal,
    ) -> Result<PlannedChange<bool, OperatorError>, OperatorError> {
        must_be_person(by)?;
        let (definition, hash) = self.find_held(pin)?;
        must_be_seen(pin, &hash, Some(seen))?;
        self.store()?;
        let key = pin_key(pin.server, pin.kind, pin.name);
        let record = PinRecord {
            key: key.clone(),
            hash: *hash.as_bytes(),
            definition,
            accepted_at_ms: self.clock.now_ms(),
            accepted_by: by.id().to_string(),
        };
        let after = json!({"state": "accepted", "hash": hash.to_string()});
        let registry = Arc::clone(self);
        Ok(PlannedChange::new(subject(pin, "definition_accepted"), held_state(&hash), after, async move {
            // An older pin that is not written yet must not overwrite this one.
            registry.flush().await?;
            registry.store()?.save_pins(&[record]).await?;
            registry.pins.accept([(key.clone(), hash)]);
            registry.reconsider(&key.server);
            registry.subscriptions.announce_of(&key.server, &ResourceChange::Pins);
            Ok(registry.find_held(PinName { server: &key.server, kind: key.kind, name: &key.name }).is_err())
        }))
    }

    /// The text of a lock file with everything that is accepted now: the present file, plus what operators
    /// and first sights accepted since.
    pub async fn lock_text(&self) -> Result<String, OperatorError> {
        self.flush().await?;
        let mut lock: Lock = self.governance.settings().pins.lock.clone();
        let specs = self.specs.load_full();
        for pin in self.store()?.pins().await? {
            let key = pin.key;
            if !specs.contains_key(&key.server) {
                continue;
            }
            let locked_at = lock.get(&key).and_then(|locked| parse_time(&locked.accepted_at));
            if locked_at.is_some_and(|locked_at| locked_at >= pin.accepted_at_ms) {
                continue;
            }
            let accepted = Pin {
                hash: DefinitionHash::from_bytes(pin.hash),
                accepted_at: show_time(pin.accepted_at_ms),
                accepted_by: pin.accepted_by,
            };
            lock.insert(key, accepted);
        }
        Ok(lock.to_string())
    }

    pub(super) fn find_held(&self, pin: PinName<'_>) -> Result<(String, DefinitionHash), OperatorError> {
        let catalogue = self.catalogue();
        let offer = catalogue.offer(pin.server).filter(|offer| offer.held(pin.kind, pin.name).is_some());
        offer.and_then(|offer| definition_of(offer, pin.kind, pin.name)).ok_or_else(|| {
            OperatorError::NotHeld {
                server: pin.server.to_string(),
                kind: pin.kind.as_str(),
                name: pin.name.to_owned(),
            }
        })
    }
}

/// The subject of a decision about a definition.
pub(super) fn subject(pin: PinName<'_>, change: &str) -> Value {
    json!({
        "change": change, "server": pin.server.to_string(), "kind": pin.kind.as_str(), "name": pin.name,
    })
}

/// The state of a quarantined definition, for audit records.
pub(super) fn held_state(hash: &DefinitionHash) -> Value {
    json!({"state": "quarantined", "hash": hash.to_string()})
}

/// A decision applies to the definition that the operator saw, not to a later one.
pub(super) fn must_be_seen(
    pin: PinName<'_>,
    hash: &DefinitionHash,
    seen: Option<&DefinitionHash>,
) -> Result<(), OperatorError> {
    match seen {
        Some(seen) if seen != hash => {
            let (kind, name) = (pin.kind.as_str(), pin.name.to_owned());
            Err(OperatorError::ChangedAgain { kind, name, hash: hash.to_string() })
        }
        _ => Ok(()),
    }
}

pub(super) fn pin_key(server: &ServerKey, kind: PinKind, name: &str) -> PinKey {
    PinKey { server: server.clone(), kind, name: name.to_owned() }
}

/// The server's definition of this name.
fn definition_of(offer: &Offer, kind: PinKind, name: &str) -> Option<(String, DefinitionHash)> {
    let list = match kind {
        PinKind::Tool => &offer.raw.tools,
        PinKind::Prompt => &offer.raw.prompts,
        PinKind::Template => &offer.raw.templates,
        PinKind::Resource => &offer.raw.resources,
        PinKind::Server => {
            let definition = instructions_definition(offer.raw.identity.instructions.as_deref()?);
            let hash = DefinitionHash::of(kind, definition.as_bytes()).ok()?;
            return Some((definition, hash));
        }
    };
    let item = list.iter().find(|item| item.name == name)?;
    Some((String::from_utf8_lossy(&item.definition).into_owned(), hash_of(kind, item)))
}

/// Tools that may be confused with this one. The same name at two servers is common and not suspicious.
fn like(pairs: &[LookAlike<'_>], server: &str, name: &str) -> Vec<String> {
    let own = (server, name);
    let suspicious = pairs.iter().filter(|pair| pair.resemblance != Resemblance::Same);
    suspicious
        .filter_map(|pair| match (pair.first, pair.second) {
            (first, other) if first == own => Some(other),
            (other, second) if second == own => Some(other),
            _ => None,
        })
        .map(|(server, tool)| format!("{server}.{tool}"))
        .collect()
}
