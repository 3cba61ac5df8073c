//! Definitions that people do not want, and taking back what was accepted.

use octroi_core::audit::Kind;
use octroi_core::pin::{DefinitionHash, PinKind, PinPolicy};
use octroi_core::{Principal, ServerName};
use octroi_store::{KeptOut, PinKey as StoredKey, PinRecord, ServerKey};
use serde_json::json;

use super::held::{PinName, must_be_seen, pin_key};
use super::{PeopleProblem, must_be_person};
use crate::desk::OCTROI;
use crate::gateway::Gateway;
use crate::time::now_ms;

/// What came of forgetting what was accepted.
#[derive(Clone, Debug)]
pub struct Forgotten {
    /// How many were accepted.
    pub n_forgotten: usize,
    /// What becomes of definitions that were never seen.
    pub policy: PinPolicy,
    /// How many of them stand in the lock file, which stands above all this.
    pub n_locked: usize,
    /// How many wait for a person now.
    pub n_waiting: usize,
}

impl Gateway {
    /// Keeps a definition out, if it still is the one that the person saw. It stays out when it comes back, until
    /// somebody accepts it; another one under its name is asked about.
    pub async fn reject_pin(
        &self,
        pin: PinName<'_>,
        seen: Option<&DefinitionHash>,
        by: &Principal,
    ) -> Result<DefinitionHash, PeopleProblem> {
        must_be_person(by)?;
        let (_, hash) = self.find_held(pin)?;
        must_be_seen(pin, &hash, seen)?;
        let store = self.store()?;
        self.note_pin(pin, &hash, "definition_kept_out", by).await?;
        if let Some(memory) = &self.memory {
            // That it waits may still be on its way to the disk.
            memory.flush().await?;
        }
        let kept_out = KeptOut {
            key: stored_key(pin.server, pin.kind, pin.name),
            hash: *hash.as_bytes(),
            decided_at_ms: now_ms(),
            decided_by: by.id.to_string(),
        };
        store.keep_out(&kept_out).await?;
        self.pins.keep_out(pin_key(pin.server, pin.kind, pin.name), hash, kept_out.decided_by);
        self.reconsider(pin.server);
        self.hub.resource_updated(&OCTROI, "resource://pins/held");
        Ok(hash)
    }

    /// Forgets what was accepted of a server, or of one thing that it lists, so that it is looked at as if it had
    /// never been seen. What people keep out stays out.
    pub async fn forget_pins(
        &self,
        server: &ServerName,
        one: Option<(Option<PinKind>, &str)>,
        by: &Principal,
    ) -> Result<Forgotten, PeopleProblem> {
        must_be_person(by)?;
        let store = self.store()?;
        if let Some(memory) = &self.memory {
            memory.flush().await?;
        }
        let is_meant = |pin: &PinRecord| {
            pin.key.server.name == *server
                && one.is_none_or(|(kind, name)| {
                    pin.key.name == name && kind.is_none_or(|kind| pin.key.kind == kind)
                })
        };
        let accepted = store.pins().await?.into_iter().filter(is_meant).collect::<Vec<_>>();
        let called = match one {
            Some((_, name)) => format!("{server}.{name}"),
            None => server.to_string(),
        };
        match (&accepted[..], one) {
            ([], _) => return Err(PeopleProblem::NothingAccepted(called)),
            ([_, _, ..], Some(_)) => return Err(PeopleProblem::SeveralAccepted(called)),
            _ => {}
        }
        let mut context = json!({
            "change": "definitions_forgotten", "server": server.as_str(), "count": accepted.len(),
        });
        if let (Some(_), [pin, ..]) = (one, &accepted[..]) {
            context["kind"] = json!(pin.key.kind.as_str());
            context["name"] = json!(pin.key.name);
        }
        self.note_change(by, Kind::AdministrativeChange, &context).await?;
        match one {
            None => {
                store.forget_pins(&ServerKey::system(server.clone()), now_ms()).await?;
                self.pins.forget(server);
            }
            Some(_) => {
                for pin in &accepted {
                    store.forget_pin(&pin.key, now_ms()).await?;
                    self.pins.forget_one(&pin_key(server, pin.key.kind, &pin.key.name));
                }
            }
        }
        self.reconsider(server);
        self.hub.resource_updated(&OCTROI, "resource://pins/held");
        let settings = self.governor.settings();
        let is_locked = |pin: &&PinRecord| {
            settings.pins.lock.get(&pin_key(server, pin.key.kind, &pin.key.name)).is_some()
        };
        let waiting = self.held_pins().await?;
        let waits = |pin: &PinRecord| {
            waiting
                .iter()
                .any(|held| held.server == *server && held.kind == pin.key.kind && held.name == pin.key.name)
        };
        Ok(Forgotten {
            n_forgotten: accepted.len(),
            policy: settings.pins.policy,
            n_locked: accepted.iter().filter(is_locked).count(),
            n_waiting: accepted.iter().filter(|pin| waits(pin)).count(),
        })
    }
}

fn stored_key(server: &ServerName, kind: PinKind, name: &str) -> StoredKey {
    StoredKey { server: ServerKey::system(server.clone()), kind, name: name.to_owned() }
}
