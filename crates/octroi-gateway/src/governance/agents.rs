//! The agents, and how people change their settings.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use octroi_api::ResourceChange;
use octroi_core::Principal;
use octroi_core::agent::{AgentContext, Mode, Profile};
use octroi_store::{AgentPreset, AgentRecord, Pause, Store};
use serde_json::{Value, json};

use super::Governance;
use super::activity::AgentRun;
use crate::change::{FiledUnder, PlannedChange};
use crate::operator_error::{OperatorError, must_be_person};

const LONGEST_ID: usize = 64;
const LONGEST_TITLE: usize = 100;

/// An agent and the context that its calls are decided with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentState {
    /// The agent's id.
    pub id: String,
    /// The context that the gates use.
    pub context: AgentContext,
    /// Whether the configuration has an entry for it.
    pub is_configured: bool,
    /// Its title for people.
    pub title: Option<String>,
    /// The user it belongs to.
    pub owner: Arc<str>,
    /// When and by whom it was created, if somebody created it.
    pub created: Option<(i64, String)>,
    /// Who paused it, if it is paused.
    pub paused: Option<Pause>,
    /// The preset that it was created from.
    pub preset: Option<AgentPreset>,
    /// When and by whom its context was last changed, besides the configuration.
    pub set: Option<(i64, String)>,
}

/// A change of an agent's context; fields that are `None` stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentChange {
    /// The title for people; an empty text removes it.
    pub title: Option<String>,
    /// The user it belongs to from now on.
    pub owner: Option<String>,
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
        let mut ids: BTreeSet<String> = self.configured_agents();
        ids.extend(records.iter().map(|record| record.id.clone()));
        ids.extend(self.identity.agents().iter().map(ToString::to_string));
        ids.extend(self.uses.agents().into_iter().filter(|id| !self.was_removed(id)));
        let mut records: HashMap<String, AgentRecord> =
            records.into_iter().map(|record| (record.id.clone(), record)).collect();
        Ok(ids.into_iter().map(|id| self.state_of(&id, records.remove(&id))).collect())
    }

    fn state_of(&self, id: &str, record: Option<AgentRecord>) -> AgentState {
        let set = record.as_ref().map(|record| (record.updated_at_ms, record.updated_by.clone()));
        let AgentRecord { title, created, paused, preset, .. } = record.unwrap_or_default();
        AgentState {
            id: id.to_owned(),
            context: AgentContext::clone(&self.context_of(id)),
            is_configured: self.entry_of(id).is_some(),
            title,
            owner: self.identity.owner_of(id),
            created,
            paused,
            preset,
            set,
        }
    }

    /// One agent. An unknown one has the default context.
    pub async fn agent(&self, id: &str) -> Result<AgentState, OperatorError> {
        let id = valid(id)?;
        let record = self.store()?.agent(id).await?;
        Ok(self.state_of(id, record))
    }

    /// What the model of an agent is told first, if its preset says something.
    pub(crate) fn system_prompt(&self, agent: &str) -> Option<String> {
        let agents = self.agents.load();
        agents.by_id.get(agent)?.preset.as_ref()?.system_prompt.clone()
    }

    /// What an agent is doing now.
    pub fn agent_run(&self, id: &str) -> AgentRun {
        self.activities.of(id)
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
        self.refuse_written(id, &change)?;
        self.refuse_stranger(change.owner.as_deref())?;
        let context = self.context_of(id);
        let now_ms = self.now_ms();
        let apply =
            |record: &mut AgentRecord| apply(record, change, &context, now_ms).map_err(OperatorError::Agent);
        self.plan(id, "agent_set", by, apply).await
    }

    /// Plans a change of what is stored of an agent.
    pub(super) async fn plan(
        self: &Arc<Self>,
        id: &str,
        what: &'static str,
        by: &Principal,
        change: impl FnOnce(&mut AgentRecord) -> Result<(), OperatorError>,
    ) -> Result<PlannedChange<AgentState, OperatorError>, OperatorError> {
        let id = valid(id)?;
        if !self.knows_agent(id) {
            return Err(OperatorError::UnknownAgent(id.to_owned()));
        }
        let before = self.store()?.agent(id).await?;
        let mut record =
            before.clone().unwrap_or_else(|| AgentRecord { id: id.to_owned(), ..AgentRecord::default() });
        change(&mut record)?;
        record.updated_at_ms = self.now_ms();
        record.updated_by = by.id().to_string();
        let (before, after) = (before.as_ref().map_or(Value::Null, described), described(&record));
        let governance = Arc::clone(self);
        let change = PlannedChange::new(json!({"change": what, "agent": id}), before, after, async move {
            governance.store()?.save_agent(&record).await?;
            governance.reread_agents(std::slice::from_ref(&record.id)).await?;
            governance.agent(&record.id).await
        });
        Ok(change.filed_under(filed_under(id)))
    }

    /// Refuses to set what the agent's entry in the configuration writes.
    fn refuse_written(&self, id: &str, change: &AgentChange) -> Result<(), OperatorError> {
        let Some(entry) = self.entry_of(id) else { return Ok(()) };
        let set = [
            ("profile", change.profile.is_some()),
            ("mode", change.mode.is_some()),
            ("project", change.project.is_some()),
            ("project_root", change.project_root.is_some()),
            ("spec_hash", change.spec.is_some()),
            ("blacklist", change.blacklist.is_some()),
            ("owner", change.owner.is_some()),
        ];
        let written =
            set.into_iter().find_map(|(key, is_set)| Some((key, entry.place_of(key).filter(|_| is_set)?)));
        match written {
            None => Ok(()),
            Some((key, place)) => Err(OperatorError::AgentInFile {
                agent: id.to_owned(),
                key: Some(key),
                place: place.to_owned(),
            }),
        }
    }

    /// Refuses an owner who is no user.
    pub(super) fn refuse_stranger(&self, owner: Option<&str>) -> Result<(), OperatorError> {
        match owner.filter(|owner| self.identity.user(owner).is_none()) {
            None => Ok(()),
            Some(owner) => Err(OperatorError::UnknownUser(owner.to_owned())),
        }
    }

    /// Reads the stored agents again after these were written or removed.
    pub(super) async fn reread_agents(&self, changed: &[String]) -> Result<(), OperatorError> {
        self.read_agents(self.store()?).await?;
        for agent in changed {
            self.subscriptions.announce(&ResourceChange::Agent { agent });
        }
        Ok(())
    }

    /// The agents that belong to a user, by id.
    pub fn agents_of(&self, user: &str) -> Vec<String> {
        let mut ids: BTreeSet<String> = self.configured_agents();
        ids.extend(self.agents.load().by_id.keys().cloned());
        ids.extend(self.identity.agents().iter().map(ToString::to_string));
        ids.into_iter().filter(|id| *self.identity.owner_of(id) == *user).collect()
    }

    /// Whether there is such an agent: it is configured, has a token or settings, or has called a tool.
    pub fn knows_agent(&self, id: &str) -> bool {
        self.settings().agents.iter().any(|agent| *agent.spec.id == *id)
            || self.agents.load().by_id.contains_key(id)
            || self.identity.agents().contains(id)
            // A call may have been counted while its agent was removed.
            || (self.uses.agents().iter().any(|agent| agent == id) && !self.was_removed(id))
    }

    pub(super) fn store(&self) -> Result<&Store, OperatorError> {
        Ok(self.persistence.as_ref().ok_or(OperatorError::NoStore)?.store())
    }

    fn configured_agents(&self) -> BTreeSet<String> {
        self.settings().agents.iter().map(|agent| agent.spec.id.to_string()).collect()
    }
}

pub(super) fn valid(id: &str) -> Result<&str, OperatorError> {
    let is_fine = (1..=LONGEST_ID).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
    if is_fine { Ok(id) } else { Err(OperatorError::Agent(format!("`{id}` is not the id of an agent"))) }
}

/// Where the audit log files what is done about an agent.
pub(super) fn filed_under(agent: &str) -> FiledUnder {
    FiledUnder { agent: Some(agent.to_owned()), ..FiledUnder::default() }
}

/// What was set at run time, for the record of a change.
pub(super) fn described(record: &AgentRecord) -> Value {
    let paused = record.paused.as_ref().map(|paused| json!({"by": paused.by, "reason": paused.reason}));
    json!({
        "title": record.title,
        "owner": record.owner,
        "paused": paused,
        "preset": record.preset.as_ref().map(|preset| &preset.name),
        "profile": record.profile,
        "mode": record.mode,
        "project": record.project,
        "project_root": record.project_root,
        "spec_hash": record.spec_hash,
        "spec_frozen": record.spec_frozen_at_ms.is_some(),
        "blacklist": record.blacklist,
    })
}

pub(super) fn apply(
    record: &mut AgentRecord,
    change: AgentChange,
    context: &AgentContext,
    now_ms: i64,
) -> Result<(), String> {
    let AgentChange { title, owner, profile, mode, project, project_root, spec, blacklist } = change;
    let text = |text: String| Some(text).filter(|text| !text.is_empty());
    if let Some(title) = title {
        if title.chars().count() > LONGEST_TITLE {
            return Err(format!("a title has at most {LONGEST_TITLE} characters"));
        }
        record.title = text(title);
    }
    record.owner = owner.or(record.owner.take());
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
