//! The life of an agent: created, paused, resumed, removed.

use std::sync::Arc;

use octroi_core::Principal;
use octroi_core::principal::LOCAL_AGENT;
use octroi_store::{AgentPreset, AgentRecord, FormerAgent, Pause, PolicyDraft, PolicyLevel};
use serde_json::{Value, json};

use super::agents::{apply, described, filed_under, valid};
use super::{AgentChange, AgentState, Governance};
use crate::change::PlannedChange;
use crate::operator_error::{OperatorError, must_be_person};

/// The longest reason of a pause.
const LONGEST_REASON: usize = 500;

/// An agent to create.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewAgent {
    /// Its id.
    pub id: String,
    /// The user it belongs to; whoever creates it, if nobody is named.
    pub owner: Option<String>,
    /// Its settings.
    pub settings: AgentChange,
    /// The preset that it is created from.
    pub preset: Option<AgentPreset>,
    /// The policy of its level.
    pub policy: Option<String>,
}

impl Governance {
    /// Plans to create an agent.
    pub fn create_agent(
        self: &Arc<Self>,
        new: NewAgent,
        by: &Principal,
    ) -> Result<PlannedChange<AgentState, OperatorError>, OperatorError> {
        must_be_person(by)?;
        let id = valid(&new.id)?.to_owned();
        if self.knows_agent(&id) {
            return Err(OperatorError::AgentExists(id));
        }
        self.refuse_stranger(new.owner.as_deref())?;
        let (now_ms, creator) = (self.now_ms(), by.id().to_string());
        let mut record = AgentRecord {
            id: id.clone(),
            created: Some((now_ms, creator.clone())),
            updated_at_ms: now_ms,
            updated_by: creator.clone(),
            preset: new.preset,
            ..AgentRecord::default()
        };
        apply(&mut record, new.settings, &self.context_of(&id), now_ms).map_err(OperatorError::Agent)?;
        record.owner = Some(new.owner.unwrap_or_else(|| by.user().to_string()));
        let subject = json!({"change": "agent_created", "agent": id});
        let (governance, filed_under) = (Arc::clone(self), filed_under(&id));
        let mut after = described(&record);
        if let Some(policy) = &new.policy {
            after["policy"] = json!(policy);
        }
        let draft = new.policy.map(|source| PolicyDraft {
            level: PolicyLevel::Agent(id.clone()),
            language: "rules".to_owned(),
            source,
            author: creator,
            rationale: record.preset.as_ref().map(|preset| format!("preset {}", preset.name)),
            check_result: None,
        });
        let change = PlannedChange::new(subject, Value::Null, after, async move {
            // First, so that the agent is never there without it.
            if let Some(draft) = draft {
                let activated = governance.set_policy(&draft, None).await;
                activated
                    .map_err(|error| OperatorError::Agent(format!("its policy cannot be used: {error}")))?;
            }
            governance.store()?.save_agent(&record).await?;
            governance.reread_agents(std::slice::from_ref(&id)).await?;
            governance.agent(&id).await
        });
        Ok(change.filed_under(filed_under))
    }

    /// Pauses an agent: its calls are refused until it is resumed. Calls that are under way are not cut off.
    pub async fn pause_agent(
        self: &Arc<Self>,
        id: &str,
        reason: Option<String>,
        by: &Principal,
    ) -> Result<PlannedChange<AgentState, OperatorError>, OperatorError> {
        must_be_person(by)?;
        let reason = reason.map(|reason| reason.trim().to_owned()).filter(|reason| !reason.is_empty());
        if reason.as_ref().is_some_and(|reason| reason.chars().count() > LONGEST_REASON) {
            return Err(OperatorError::Agent(format!("a reason has at most {LONGEST_REASON} characters")));
        }
        let paused = Pause { at_ms: self.now_ms(), by: by.id().to_string(), reason };
        let pause = |record: &mut AgentRecord| {
            record.paused = Some(paused);
            Ok(())
        };
        self.plan(id, "agent_paused", by, pause).await
    }

    /// Resumes an agent. One that is not paused stays as it is.
    pub async fn resume_agent(
        self: &Arc<Self>,
        id: &str,
        by: &Principal,
    ) -> Result<PlannedChange<AgentState, OperatorError>, OperatorError> {
        must_be_person(by)?;
        let resume = |record: &mut AgentRecord| {
            record.paused = None;
            Ok(())
        };
        self.plan(id, "agent_resumed", by, resume).await
    }

    /// What an agent that can be removed is like.
    pub(crate) async fn removable_agent(&self, id: &str) -> Result<AgentState, OperatorError> {
        let id = valid(id)?;
        if !self.knows_agent(id) {
            return Err(OperatorError::UnknownAgent(id.to_owned()));
        }
        let in_file = |place: &str| {
            let (agent, place) = (id.to_owned(), place.to_owned());
            OperatorError::AgentInFile { agent, key: None, place }
        };
        if let Some(entry) = self.entry_of(id) {
            return Err(in_file(entry.place()));
        }
        if self.identity.is_in_entries(id) {
            return Err(in_file("[[tokens]] of the configuration file"));
        }
        if id == LOCAL_AGENT {
            let reason = format!("`{id}` is the agent of `octroi stdio` and always exists; pause it instead");
            return Err(OperatorError::Agent(reason));
        }
        self.agent(id).await
    }

    /// Removes an agent from the store, with its tokens and policies.
    pub(crate) async fn remove_agent(&self, agent: &AgentState, by: &str) -> Result<(), OperatorError> {
        let former = FormerAgent {
            id: agent.id.clone(),
            owner: Some(agent.owner.to_string()),
            removed_at_ms: self.now_ms(),
            removed_by: by.to_owned(),
        };
        self.store()?.remove_agent(&former).await?;
        self.identity.tokens_changed().await
    }

    /// Forgets those of these agents that are no longer in the store; returns which.
    pub(crate) async fn forget_agents(
        self: &Arc<Self>,
        agents: &[String],
    ) -> Result<Vec<String>, OperatorError> {
        self.reread_agents(agents).await?;
        let removed: Vec<String> = agents.iter().filter(|agent| self.was_removed(agent)).cloned().collect();
        for agent in &removed {
            self.uses.forget(agent);
        }
        self.load_policies().await?;
        Ok(removed)
    }

    /// Whether an agent was removed, and nobody has created it again.
    pub fn was_removed(&self, id: &str) -> bool {
        self.agents.load().former.iter().any(|former| former.id == id)
    }
}
