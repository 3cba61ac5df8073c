//! Rejecting definitions, and revoking accepted ones.

use std::sync::Arc;

use octroi_api::ResourceChange;
use octroi_core::pin::{DefinitionHash, PinKind, PinPolicy};
use octroi_core::{Principal, ServerKey};
use octroi_store::{KeptOut, PinRecord};
use serde_json::{Value, json};

use super::Registry;
use super::quarantine::{PinName, held_state, must_be_seen, pin_key, subject};
use crate::change::PlannedChange;
use crate::operator_error::{OperatorError, must_be_person};

/// The result of revoking accepted definitions.
#[derive(Clone, Debug)]
pub struct Forgotten {
    /// How many were accepted.
    pub n_forgotten: usize,
    /// What happens to definitions that were never seen.
    pub policy: PinPolicy,
    /// How many of them are in the lock file, which takes precedence.
    pub n_locked: usize,
    /// How many are quarantined now.
    pub n_waiting: usize,
}

impl Registry {
    /// Rejects a definition, if it is still the one that the operator saw. It stays hidden until an operator
    /// accepts it; another definition of the same name is reviewed again.
    pub fn reject_pin(
        self: &Arc<Self>,
        pin: PinName<'_>,
        seen: Option<&DefinitionHash>,
        by: &Principal,
    ) -> Result<PlannedChange<DefinitionHash, OperatorError>, OperatorError> {
        must_be_person(by)?;
        let (_, hash) = self.find_held(pin)?;
        must_be_seen(pin, &hash, seen)?;
        self.store()?;
        let kept_out = KeptOut {
            key: pin_key(pin.server, pin.kind, pin.name),
            hash: *hash.as_bytes(),
            decided_at_ms: self.clock.now_ms(),
            decided_by: by.id().to_string(),
        };
        let after = json!({"state": "kept_out", "hash": hash.to_string()});
        let registry = Arc::clone(self);
        Ok(PlannedChange::new(subject(pin, "definition_kept_out"), held_state(&hash), after, async move {
            // Its quarantine may not be written yet.
            registry.flush().await?;
            registry.store()?.keep_out(&kept_out).await?;
            let server = kept_out.key.server.clone();
            registry.pins.keep_out(kept_out.key, hash, kept_out.decided_by);
            registry.reconsider(&server);
            registry.subscriptions.announce_of(&server, &ResourceChange::Pins);
            Ok(hash)
        }))
    }

    /// Revokes what was accepted of a server, or of one of its definitions, as if it had never been seen.
    /// Rejected definitions stay rejected.
    pub async fn forget_pins(
        self: &Arc<Self>,
        server: &ServerKey,
        one: Option<(Option<PinKind>, &str)>,
        by: &Principal,
    ) -> Result<PlannedChange<Forgotten, OperatorError>, OperatorError> {
        must_be_person(by)?;
        let store = self.store()?;
        self.flush().await?;
        let is_meant = |pin: &PinRecord| {
            pin.key.server == *server
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
            ([], _) => return Err(OperatorError::NothingAccepted(called)),
            ([_, _, ..], Some(_)) => return Err(OperatorError::SeveralAccepted(called)),
            _ => {}
        }
        let mut subject = json!({"change": "definitions_forgotten", "server": server.to_string()});
        if let (Some(_), [pin, ..]) = (one, &accepted[..]) {
            subject["kind"] = json!(pin.key.kind.as_str());
            subject["name"] = json!(pin.key.name);
        }
        let before = json!({"accepted": accepted.len()});
        let (registry, server, is_whole) = (Arc::clone(self), server.clone(), one.is_none());
        Ok(PlannedChange::new(subject, before, Value::Null, async move {
            registry.forget_accepted(&server, &accepted, is_whole).await
        }))
    }

    async fn forget_accepted(
        &self,
        server: &ServerKey,
        accepted: &[PinRecord],
        is_whole_server: bool,
    ) -> Result<Forgotten, OperatorError> {
        let store = self.store()?;
        if is_whole_server {
            store.forget_pins(server, self.clock.now_ms()).await?;
            self.pins.forget(server);
        } else {
            for pin in accepted {
                store.forget_pin(&pin.key, self.clock.now_ms()).await?;
                self.pins.forget_one(&pin.key);
            }
        }
        self.reconsider(server);
        self.subscriptions.announce_of(server, &ResourceChange::Pins);
        let settings = self.governance.settings();
        let (policy, lock) = (settings.pins.policy, settings.pins.lock.clone());
        drop(settings);
        let waiting = self.held_pins().await?;
        let waits = |pin: &PinRecord| {
            waiting
                .iter()
                .any(|held| held.server == *server && held.kind == pin.key.kind && held.name == pin.key.name)
        };
        Ok(Forgotten {
            n_forgotten: accepted.len(),
            policy,
            n_locked: accepted.iter().filter(|pin| lock.get(&pin.key).is_some()).count(),
            n_waiting: accepted.iter().filter(|pin| waits(pin)).count(),
        })
    }
}
