//! Definitions that are kept back until a person has seen them.

use octroi_core::audit::Kind;
use octroi_core::pin::{
    Change, DefinitionHash, Finding, KnownTools, LintContext, Lock, LookAlike, Pin, PinKey, PinKind,
    Resemblance, difference, findings, look_alikes,
};
use octroi_core::time::{parse_time, show_time};
use octroi_core::{Principal, ServerName};
use octroi_store::{PinKey as StoredKey, PinRecord, ServerKey};
use serde_json::json;

use super::{PeopleProblem, must_be_person};
use crate::catalogue::{Catalogue, Offer, hash_of};
use crate::desk::OCTROI;
use crate::gateway::Gateway;
use crate::pins::instructions_definition;
use crate::time::now_ms;

/// A definition that is kept back, with all that helps to decide about it.
#[derive(Clone, Debug)]
pub struct HeldPin {
    /// Whose it is.
    pub server: ServerName,
    /// What it is.
    pub kind: PinKind,
    /// The name that the server gives it; nothing for the server's own instructions.
    pub name: String,
    /// Tells it from every other definition.
    pub hash: DefinitionHash,
    /// Why it is kept back.
    pub reason: String,
    /// The definition itself.
    pub definition: String,
    /// Who has looked at it and does not want it; it does not wait for anybody then.
    pub kept_out_by: Option<String>,
    /// When and by whom the one before it was accepted, if one was.
    pub accepted: Option<(i64, String)>,
    /// What differs from the one that was accepted.
    pub changes: Vec<Change>,
    /// What is suspicious about it.
    pub findings: Vec<Finding>,
    /// Tools of other servers that it may be taken for, as `server.tool`.
    pub look_alikes: Vec<String>,
}

/// Which definition is meant.
#[derive(Clone, Copy, Debug)]
pub struct PinName<'a> {
    /// Whose it is.
    pub server: &'a ServerName,
    /// What it is.
    pub kind: PinKind,
    /// The name that the server gives it.
    pub name: &'a str,
}

impl Gateway {
    /// All that is kept back now, by server, kind and name.
    pub async fn held_pins(&self) -> Result<Vec<HeldPin>, PeopleProblem> {
        let store = self.store()?;
        if let Some(memory) = &self.memory {
            // What was accepted on first sight is written behind the back of whoever saw it.
            memory.flush().await?;
        }
        let accepted = store.pins().await?;
        let catalogue = self.catalogue();
        let names = tool_names(&catalogue);
        let known = KnownTools::new(names.iter().copied());
        let pairs = look_alikes(&names);
        let mut all = Vec::new();
        for (server, offer) in catalogue.offers() {
            for ((kind, name), reason) in &offer.held {
                let Some((definition, hash)) = definition_of(offer, *kind, name) else {
                    continue;
                };
                let before = accepted.iter().find(|pin| {
                    pin.key.server.name == *server && pin.key.kind == *kind && pin.key.name == *name
                });
                let changes = before.map(|pin| difference(pin.definition.as_bytes(), definition.as_bytes()));
                let context = LintContext { server: server.as_str(), tools: &known };
                all.push(HeldPin {
                    server: server.clone(),
                    kind: *kind,
                    name: name.clone(),
                    hash,
                    reason: reason.clone(),
                    kept_out_by: self.pins.kept_out_by(&pin_key(server, *kind, name), &hash),
                    accepted: before.map(|pin| (pin.accepted_at_ms, pin.accepted_by.clone())),
                    changes: changes.unwrap_or_default(),
                    findings: findings(definition.as_bytes(), &context),
                    look_alikes: match kind {
                        PinKind::Tool => like(&pairs, server, name),
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

    /// Accepts a definition, if it still is the one that the person saw. Says whether it can be used from
    /// now on: what a lock file says stands above it.
    pub async fn accept_pin(
        &self,
        pin: PinName<'_>,
        seen: &DefinitionHash,
        by: &Principal,
    ) -> Result<bool, PeopleProblem> {
        must_be_person(by)?;
        let (definition, hash) = self.find_held(pin)?;
        must_be_seen(pin, &hash, Some(seen))?;
        let store = self.store()?;
        self.note_pin(pin, &hash, "definition_accepted", by).await?;
        let record = PinRecord {
            key: StoredKey {
                server: ServerKey::system(pin.server.clone()),
                kind: pin.kind,
                name: pin.name.to_owned(),
            },
            hash: *hash.as_bytes(),
            definition,
            accepted_at_ms: now_ms(),
            accepted_by: by.id.to_string(),
        };
        if let Some(memory) = &self.memory {
            // An older one that is still on its way to the disk must not come after this one.
            memory.flush().await?;
        }
        store.save_pins(&[record]).await?;
        self.pins.accept([(pin_key(pin.server, pin.kind, pin.name), hash)]);
        self.reconsider(pin.server);
        self.hub.resource_updated(&OCTROI, "resource://pins/held");
        Ok(self.find_held(pin).is_err())
    }

    /// The text of a lock file with all that is accepted now: what the present file says, and what people
    /// and first sights accepted since.
    pub async fn lock_text(&self) -> Result<String, PeopleProblem> {
        if let Some(memory) = &self.memory {
            memory.flush().await?;
        }
        let mut lock: Lock = self.governor.settings().pins.lock.clone();
        for pin in self.store()?.pins().await? {
            if self.fleet.get(&pin.key.server.name).is_none() {
                continue;
            }
            let key =
                PinKey { server: pin.key.server.name.to_string(), kind: pin.key.kind, name: pin.key.name };
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

    pub(super) fn find_held(&self, pin: PinName<'_>) -> Result<(String, DefinitionHash), PeopleProblem> {
        let catalogue = self.catalogue();
        let offer = catalogue.offer(pin.server).filter(|offer| offer.held(pin.kind, pin.name).is_some());
        offer.and_then(|offer| definition_of(offer, pin.kind, pin.name)).ok_or_else(|| {
            PeopleProblem::NotHeld {
                server: pin.server.to_string(),
                kind: pin.kind.as_str(),
                name: pin.name.to_owned(),
            }
        })
    }

    pub(super) async fn note_pin(
        &self,
        pin: PinName<'_>,
        hash: &DefinitionHash,
        change: &str,
        by: &Principal,
    ) -> Result<(), PeopleProblem> {
        let context = json!({
            "change": change,
            "server": pin.server.as_str(),
            "kind": pin.kind.as_str(),
            "name": pin.name,
            "hash": hash.to_string(),
        });
        Ok(self.note_change(by, Kind::AdministrativeChange, &context).await?)
    }
}

/// A decision is about what the person saw, not about whatever the server says by then.
pub(super) fn must_be_seen(
    pin: PinName<'_>,
    hash: &DefinitionHash,
    seen: Option<&DefinitionHash>,
) -> Result<(), PeopleProblem> {
    match seen {
        Some(seen) if seen != hash => {
            let (kind, name) = (pin.kind.as_str(), pin.name.to_owned());
            Err(PeopleProblem::ChangedAgain { kind, name, hash: hash.to_string() })
        }
        _ => Ok(()),
    }
}

pub(super) fn pin_key(server: &ServerName, kind: PinKind, name: &str) -> PinKey {
    PinKey { server: server.to_string(), kind, name: name.to_owned() }
}

fn tool_names(catalogue: &Catalogue) -> Vec<(&str, &str)> {
    let offers = catalogue.offers().iter();
    offers
        .flat_map(|(server, offer)| {
            offer.raw.tools.iter().map(move |tool| (server.as_str(), tool.name.as_str()))
        })
        .collect()
}

/// What a server lists under a name.
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

/// Those that one tool may be taken for. The same name at two servers is common and no cause for alarm.
fn like(pairs: &[LookAlike<'_>], server: &ServerName, name: &str) -> Vec<String> {
    let own = (server.as_str(), name);
    let telling = pairs.iter().filter(|pair| pair.resemblance != Resemblance::Same);
    telling
        .filter_map(|pair| match (pair.first, pair.second) {
            (first, other) if first == own => Some(other),
            (other, second) if second == own => Some(other),
            _ => None,
        })
        .map(|(server, tool)| format!("{server}.{tool}"))
        .collect()
}
