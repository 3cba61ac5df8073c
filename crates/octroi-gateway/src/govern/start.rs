//! Taking over what an earlier run left, and what the configuration says now.

use std::sync::Arc;

use octroi_core::audit::Kind;
use octroi_core::config::AuditSection;
use octroi_core::pin::{DefinitionHash, PinKey};
use octroi_core::redact::Redactor;
use octroi_mcp::Method;
use tracing::{error, warn};

use super::{Governance, PolicyProblem};
use crate::audit::Unfinished;
use crate::desk::OCTROI;
use crate::gateway::Gateway;
use crate::time::now_ms;

impl Gateway {
    /// Takes over what an earlier run left. What cannot be read is told, and nothing is trusted for it.
    pub(crate) async fn recall(&self, unfinished: Vec<Unfinished>) {
        if let Some(log) = self.ledger.log()
            && !unfinished.is_empty()
        {
            warn!(
                n_calls = unfinished.len(),
                "calls were cut off when the last run ended; their outcome is unknown"
            );
            if let Err(error) =
                log.end_unfinished(&unfinished, u64::try_from(now_ms()).unwrap_or_default()).await
            {
                error!(%error, hint = error.hint(), "their end is not recorded");
            }
        }
        let Some(memory) = &self.memory else {
            return;
        };
        let store = memory.store();
        match store.orphan_claimed(None, now_ms()).await {
            Ok(orphaned) => orphaned.iter().for_each(|one| self.note_approval(one, Kind::ApprovalResolved)),
            Err(error) => {
                error!(%error, hint = %error.hint(), "approved calls of the last run are not marked")
            }
        }
        match store.pins().await {
            Ok(pins) => self.pins.accept(pins.into_iter().map(|pin| {
                let key = PinKey {
                    server: pin.key.server.name.to_string(),
                    kind: pin.key.kind,
                    name: pin.key.name,
                };
                (key, DefinitionHash::from_bytes(pin.hash))
            })),
            Err(error) => {
                error!(%error, hint = %error.hint(), "which definitions were accepted is not known")
            }
        }
        match store.kept_out().await {
            Ok(kept_out) => kept_out.into_iter().for_each(|one| {
                let key = PinKey {
                    server: one.key.server.name.to_string(),
                    kind: one.key.kind,
                    name: one.key.name,
                };
                self.pins.keep_out(key, DefinitionHash::from_bytes(one.hash), one.decided_by);
            }),
            Err(error) => {
                error!(%error, hint = %error.hint(), "which definitions are kept out is not known")
            }
        }
        match store.agents().await {
            Ok(agents) => self.governor.set_agents(agents),
            Err(error) => error!(%error, hint = %error.hint(), "what was set about agents is not known"),
        }
        match store.tool_uses().await {
            Ok(uses) => self.uses.recall(uses.into_iter().map(|used| (used.agent, used.tool))),
            Err(error) => warn!(%error, "which tools agents have used is not known"),
        }
        if let Err(error) = self.load_policies().await {
            error!(%error, hint = %error.hint(), "the policies are not known");
        }
    }

    /// Puts what the configuration says about deciding into effect. If a policy of it cannot be used,
    /// everything stays as it was.
    pub async fn govern(
        self: &Arc<Self>,
        governance: Governance,
        audit: AuditSection,
        secrets: &[String],
    ) -> Result<(), PolicyProblem> {
        self.adopt_files(&governance.policies).await?;
        self.set_trail(&audit);
        self.ledger.set(audit, Redactor::new(secrets.iter().map(String::as_str)));
        self.pins.set(governance.pins.clone());
        self.inference.store(Arc::new(governance.inference.clone()));
        self.quotas.set(&governance.quotas);
        self.gates.set(&governance.gates, &self.context);
        let is_other_list = self.governor.settings().proposals != governance.proposals;
        self.governor.set_settings(governance);
        if is_other_list {
            self.hub.list_changed(&OCTROI, &Method::ToolsList);
        }
        let servers: Vec<_> = self.fleet.members().keys().cloned().collect();
        for server in servers {
            self.reconsider(&server);
        }
        Ok(())
    }

    /// Marks approvals whose time has passed, and writes down which tools agents have begun to use.
    pub(crate) async fn expire_approvals(&self) {
        let Some(memory) = &self.memory else {
            return;
        };
        memory.used(self.uses.take_fresh());
        match memory.store().expire_approvals(now_ms()).await {
            Err(error) => {
                warn!(%error, hint = %error.hint(), "approvals whose time has passed are not marked")
            }
            Ok(expired) => {
                for approval in &expired {
                    self.waiting.wake(&approval.id);
                    self.note_approval(approval, Kind::ApprovalResolved);
                    self.approvals_changed(approval.binding.agent.as_deref());
                }
            }
        }
    }
}
