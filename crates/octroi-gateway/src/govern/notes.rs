//! What is written down besides calls, and who is told of it.

use std::sync::Arc;

use octroi_core::approval::Approval;
use octroi_core::audit::{Actor, ActorKind, Event, Kind, Level};
use octroi_core::policy::Policies;
use octroi_core::tool::ToolDescriptor;
use octroi_core::{Principal, Role};
use octroi_store::{HeldDefinition, PinKey as StoredKey, PinRecord, ServerKey};
use serde_json::{Value, json};

use super::approvals;
use super::ledger::Doer;
use crate::desk::OCTROI;
use crate::gateway::Gateway;
use crate::hub::Wisher;
use crate::pins::{Seen, SeenAs};
use crate::time::now_ms;

/// Octroi itself.
const SYSTEM: Actor<'static> = Actor { kind: ActorKind::System, id: "octroi" };

impl Gateway {
    /// Keeps and tells what came of looking at definitions.
    pub(crate) fn note_seen(&self, seen: Vec<Seen>) {
        let at_ms = now_ms();
        let mut pins = Vec::new();
        let mut held = Vec::new();
        for Seen { key, hash, definition, what } in seen {
            let Ok(server) = octroi_core::ServerName::parse(&key.server) else {
                continue;
            };
            let stored =
                StoredKey { server: ServerKey::system(server), kind: key.kind, name: key.name.clone() };
            match what {
                SeenAs::Accepted => pins.push(PinRecord {
                    key: stored,
                    hash: *hash.as_bytes(),
                    definition,
                    accepted_at_ms: at_ms,
                    accepted_by: "first use".to_owned(),
                }),
                SeenAs::Held { reason, is_changed } => {
                    if !self.pins.is_news(&key, &hash) {
                        continue;
                    }
                    tracing::warn!(server.name = key.server, kind = %key.kind, name = key.name, reason, "kept back");
                    let context = json!({
                        "kind": key.kind.as_str(), "name": key.name, "hash": hash.to_string(),
                        "reason": reason, "changed": is_changed,
                    });
                    let context = context.to_string();
                    let mut event = system_event(Kind::ToolDefinitionChanged, &context);
                    event.server = Some(&key.server);
                    event.level = Level::Warn;
                    self.ledger.note_later(&event);
                    let definition = HeldDefinition {
                        key: stored,
                        hash: *hash.as_bytes(),
                        definition,
                        seen_at_ms: at_ms,
                        reason,
                    };
                    held.push(definition);
                }
            }
        }
        if !held.is_empty() {
            self.hub.resource_updated(&OCTROI, "resource://pins/held");
        }
        if let Some(memory) = &self.memory {
            memory.pin(pins, held);
        }
    }

    /// Tells whoever watches them that approvals are not what they were.
    pub(crate) fn approvals_changed(&self, agent: Option<&str>) {
        for uri in approvals::resources(agent) {
            self.hub.resource_updated(&OCTROI, &uri);
        }
    }

    /// The same for policies. Under this name an agent reads its own, so it does not hear of others'.
    pub(crate) fn policies_changed(&self, before: &Policies) {
        let now = self.governor.policies.load();
        let version = |policies: &Policies, agent: &str| policies.agents.get(agent).map(|own| own.version);
        let is_meant = |wisher: &Wisher| match &wisher.agent {
            Some(agent) => version(before, agent) != version(&now, agent),
            None => true,
        };
        for uri in ["resource://approval-policy/policy", "resource://approval-policy/policy.py"] {
            self.hub.resource_updated_for(&OCTROI, uri, is_meant);
        }
    }

    /// Writes down what became of an approval.
    pub(crate) fn note_approval(&self, approval: &Approval, kind: Kind) {
        let context = json!({
            "approval": approval.id,
            "state": approval.state.as_str(),
            "arguments": serde_json::from_str::<Value>(&approval.arguments_preview).unwrap_or_default(),
            "risk": approval.risk,
            "reasons": approval.reasons,
            "decided_by": approval.decided_by,
            "reason": approval.decision_reason,
            "edited": approval.edited_arguments.is_some(),
            "rule": approval.remembered_rule,
        });
        let context = context.to_string();
        let mut event = system_event(kind, &context);
        if let Some(by) = &approval.decided_by {
            event.actor = Actor { kind: ActorKind::User, id: by };
        }
        event.agent = approval.binding.agent.as_deref();
        event.tool = Some(&approval.binding.tool);
        self.ledger.note_later(&event);
    }

    /// Warns of quotas that are nearly used up.
    pub(crate) fn note_quota(&self, doer: &Doer, tool: &ToolDescriptor, warnings: &[String]) {
        for warning in warnings {
            tracing::warn!(agent = doer.agent.as_deref(), tool = %tool.id, warning, "a quota is nearly used up");
            let context = json!({ "quota": warning }).to_string();
            let mut event = system_event(Kind::QuotaWarning, &context);
            event.level = Level::Warn;
            event.agent = doer.agent.as_deref();
            event.tool = Some(tool.id.as_str());
            self.ledger.note_later(&event);
        }
    }

    /// Writes down what a person did to Octroi itself; if that fails, it must not be done.
    pub async fn note_change(
        &self,
        principal: &Principal,
        kind: Kind,
        context: &Value,
    ) -> Result<(), crate::audit::AuditError> {
        let doer = Doer::of(principal);
        let context = context.to_string();
        let mut event = system_event(kind, &context);
        event.actor = Actor {
            kind: match principal.role {
                Role::Human => ActorKind::User,
                Role::Agent => ActorKind::Agent,
            },
            id: &doer.id,
        };
        event.agent = doer.agent.as_deref();
        self.ledger.note(&event).await
    }

    /// What was recorded, if anything is.
    pub fn audit(&self) -> Option<&crate::audit::AuditLog> {
        self.ledger.log()
    }

    /// The base of pages for people, once it is known where they are.
    pub fn set_page(&self, base: Option<String>) {
        self.page.store(base.map(Arc::new));
    }
}

fn system_event(kind: Kind, context: &str) -> Event<'_> {
    let mut event = Event::new(u64::try_from(now_ms()).unwrap_or_default(), kind, SYSTEM);
    event.context = context;
    event
}
