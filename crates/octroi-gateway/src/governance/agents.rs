//! The context of agents, and how operators change it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use octroi_api::ResourceChange;
use octroi_core::Principal;
use octroi_core::agent::{AgentContext, Mode, Profile};
use octroi_store::{AgentRecord, Store};
use serde_json::{Value, json};

use super::Governance;
use crate::change::PlannedChange;
use crate::operator_error::{OperatorError, must_be_person};

const LONGEST_ID: usize = 64;

/// An agent and the context that its calls are decided with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentState {
    /// The agent's id.
    pub id: String,
    /// The context that the gates use.
    pub context: AgentContext,
    /// Whether the configuration has an entry for it.
    pub is_configured: bool,
    /// When and by whom its context was last changed, besides the configuration.
    pub set: Option<(i64, String)>,
}

/// A change of an agent's context; fields that are `None` stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentChange {
    /// The strictness profile of the gates.
    pub profile: Option<Profile>,
    /// Planning or execution.
    pub mode: Option<Mode>,
    /// The project; an empty text restores the configured one.
    pub project: Option<String>,
    /// The directory of the project; an empty text restores the configured one.
    pub project_root: Option<String>,
    /// The change of its specification.
    pub spec: Option<SpecChange>,
    /// Forbidden side effects.
    pub blacklist: Option<Vec<String>>,
}

/// A change of an agent's specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecChange {
    /// Freeze it with this hash.
    Freeze(String),
    /// Unfreeze it.
    Unfreeze,
}

impl Governance {
    /// All agents that are configured, have a token, have operator-set context, or have called a tool;
    /// by id.
    pub async fn agents(&self) -> Result<Vec<AgentState>, OperatorError> {
        let records = self.store()?.agents().await?;
        let configured = self.configured_agents();
        let mut ids: BTreeSet<String> = configured.clone();
        ids.extend(records.iter().map(|record| record.id.clone()));
        ids.extend(self.identity.agents().iter().map(ToString::to_string));
        ids.extend(self.uses.agents());
        let state = |id: String| AgentState {
            context: AgentContext::clone(&self.context_of(&id)),
            is_configured: configured.contains(&id),
            set: records
                .iter()
                .find(|record| record.id == id)
                .map(|record| (record.updated_at_ms, record.updated_by.clone())),
            id,
        };
        Ok(ids.into_iter().map(state).collect())
    }

    /// One agent. An unknown one has the default context.
    pub async fn agent(&self, id: &str) -> Result<AgentState, OperatorError> {
        let id = valid(id)?;
        let record = self.store()?.agent(id).await?;
        Ok(AgentState {
            id: id.to_owned(),
            context: AgentContext::clone(&self.context_of(id)),
            is_configured: self.configured_agents().contains(id),
            set: record.map(|record| (record.updated_at_ms, record.updated_by)),
        })
    }

    /// Changes the context of an agent. It takes effect with its next call.
    pub async fn change_agent(
        self: &Arc<Self>,
        id: &str,
        change: AgentChange,
        by: &Principal,
    ) -> Result<PlannedChange<AgentState, OperatorError>, OperatorError> {
        must_be_person(by)?;
        let id = valid(id)?;
        if !self.knows_agent(id) {
            return Err(OperatorError::UnknownAgent(id.to_owned()));
        }
        let before = self.store()?.agent(id).await?;
        let mut record =
            before.clone().unwrap_or_else(|| AgentRecord { id: id.to_owned(), ..AgentRecord::default() });
        let now_ms = self.now_ms();
        apply(&mut record, change, &self.context_of(id), now_ms).map_err(OperatorError::Agent)?;
        record.updated_at_ms = now_ms;
        record.updated_by = by.id().to_string();
        let (before, after) = (before.as_ref().map_or(Value::Null, described), described(&record));
        let governance = Arc::clone(self);
        Ok(PlannedChange::new(json!({"change": "agent_set", "agent": id}), before, after, async move {
            let store = governance.store()?;
            store.save_agent(&record).await?;
            governance.set_agents(store.agents().await?);
            governance.subscriptions.announce(&ResourceChange::Agents);
            governance.agent(&record.id).await
        }))
    }

    /// Plans to create an agent with the default settings. It belongs to whoever creates it.
    pub async fn plan_agent(
        self: &Arc<Self>,
        id: &str,
        by: &Principal,
    ) -> Result<PlannedChange<(), OperatorError>, OperatorError> {
        let id = valid(id)?;
        let now_ms = self.now_ms();
        let record = AgentRecord {
            id: id.to_owned(),
            owner: Some(by.user().to_string()),
            created: Some((now_ms, by.id().to_string())),
            updated_at_ms: now_ms,
            updated_by: by.id().to_string(),
            ..AgentRecord::default()
        };
        let after = json!({"owner": record.owner});
        let subject = json!({"change": "agent_created", "agent": id});
        let governance = Arc::clone(self);
        Ok(PlannedChange::new(subject, Value::Null, after, async move {
            governance.store()?.save_agent(&record).await?;
            governance.reread_agents().await
        }))
    }

    /// Reads the stored agents again after some were written or removed.
    pub async fn reread_agents(&self) -> Result<(), OperatorError> {
        self.set_agents(self.store()?.agents().await?);
        self.subscriptions.announce(&ResourceChange::Agents);
        Ok(())
    }

    /// The agents that belong to a user, by id.
    pub fn agents_of(&self, user: &str) -> Vec<String> {
        let mut ids: BTreeSet<String> = self.configured_agents();
        ids.extend(self.agents.load().keys().cloned());
        ids.extend(self.identity.agents().iter().map(ToString::to_string));
        ids.into_iter().filter(|id| *self.identity.owner_of(id) == *user).collect()
    }

    /// Whether there is such an agent: it is configured, has a token or settings, or has called a tool.
    pub fn knows_agent(&self, id: &str) -> bool {
        self.settings().agents.iter().any(|agent| *agent.id == *id)
            || self.agents.load().contains_key(id)
            || self.identity.agents().contains(id)
            || self.uses.agents().iter().any(|agent| agent == id)
    }

    fn store(&self) -> Result<&Store, OperatorError> {
        Ok(self.persistence.as_ref().ok_or(OperatorError::NoStore)?.store())
    }

    fn configured_agents(&self) -> BTreeSet<String> {
        self.settings().agents.iter().map(|agent| agent.id.to_string()).collect()
    }
}

fn valid(id: &str) -> Result<&str, OperatorError> {
    let is_fine = (1..=LONGEST_ID).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
    if is_fine { Ok(id) } else { Err(OperatorError::Agent(format!("`{id}` is not the id of an agent"))) }
}

/// The operator-set context, for the record of a change.
fn described(record: &AgentRecord) -> Value {
    json!({
        "profile": record.profile,
        "mode": record.mode,
        "project": record.project,
        "project_root": record.project_root,
        "spec_hash": record.spec_hash,
        "spec_frozen": record.spec_frozen_at_ms.is_some(),
        "blacklist": record.blacklist,
    })
}

fn apply(
    record: &mut AgentRecord,
    change: AgentChange,
    context: &AgentContext,
    now_ms: i64,
) -> Result<(), String> {
    let AgentChange { profile, mode, project, project_root, spec, blacklist } = change;
    let text = |text: String| Some(text).filter(|text| !text.is_empty());
    if let Some(profile) = profile {
        record.profile = Some(profile.as_str().to_owned());
    }
    if let Some(mode) = mode {
        record.mode = Some(mode.as_str().to_owned());
    }
    if let Some(project) = project {
        record.project = text(project);
    }
    if let Some(root) = project_root {
        if !root.is_empty() && !Path::new(&root).is_absolute() {
            return Err(format!("the project's directory must be an absolute path, and `{root}` is not"));
        }
        record.project_root = text(root);
    }
    match spec {
        None => {}
        Some(SpecChange::Freeze(hash)) if hash.trim().is_empty() => {
            return Err("a specification is frozen by its hash, and that is empty".to_owned());
        }
        Some(SpecChange::Freeze(hash)) => {
            record.spec_hash = Some(hash);
            record.spec_frozen_at_ms = Some(now_ms);
        }
        Some(SpecChange::Unfreeze) => {
            let hash = record.spec_hash.take().or_else(|| context.spec_hash.as_deref().map(str::to_owned));
            if hash.is_none() && context.is_spec_frozen {
                return Err("the configuration freezes it: take `spec_frozen` out of its entry".to_owned());
            }
            record.spec_hash = hash;
            record.spec_frozen_at_ms = None;
        }
    }
    if let Some(blacklist) = blacklist {
        record.blacklist = Some(blacklist);
    }
    Ok(())
}
