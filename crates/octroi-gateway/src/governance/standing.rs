//! What agents are decided by: their entry in the configuration, then what was set at run time. What the entry
//! writes stays as it is there.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use octroi_core::agent::{AgentContext, Mode, Profile};
use octroi_core::config::AgentSpec;
use octroi_store::{AgentRecord, FormerAgent, Pause};

use super::{Governance, GovernanceSettings};

/// An agent's entry in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredAgent {
    /// Its settings.
    pub spec: AgentSpec,
    /// The keys that the entry writes, and where it does.
    pub written: BTreeMap<&'static str, String>,
}

/// What is stored of agents.
#[derive(Debug, Default)]
pub(super) struct StoredAgents {
    /// What was set at run time.
    pub(super) by_id: HashMap<String, AgentRecord>,
    /// Agents that were removed, whose ids stay reserved.
    pub(super) former: Vec<FormerAgent>,
}

/// The state of every agent that decides about its calls. Agents without an entry here have `others`.
#[derive(Debug, Default)]
pub(super) struct Contexts {
    pub(super) by_agent: HashMap<Arc<str>, Arc<AgentContext>>,
    pub(super) others: Arc<AgentContext>,
    /// Who has paused an agent and why, in one sentence.
    pub(super) paused: HashMap<Arc<str>, Arc<str>>,
}

impl ConfiguredAgent {
    /// Where a setting is written. A specification is two keys, and either settles both.
    pub(super) fn place_of(&self, key: &str) -> Option<&str> {
        let other = if key == "spec_hash" { "spec_frozen" } else { key };
        self.written.get(key).or_else(|| self.written.get(other)).map(String::as_str)
    }

    /// Where the entry is.
    pub(super) fn place(&self) -> &str {
        let first = self.written.get("id").or_else(|| self.written.values().next());
        first.map_or("the configuration file", String::as_str)
    }

    /// What was set at run time, without what the entry writes itself.
    fn in_effect(&self, record: &AgentRecord) -> AgentRecord {
        let is_free = |key: &str| self.place_of(key).is_none();
        let text = |key: &str, text: &Option<String>| text.clone().filter(|_| is_free(key));
        AgentRecord {
            profile: text("profile", &record.profile),
            mode: text("mode", &record.mode),
            project: text("project", &record.project),
            project_root: text("project_root", &record.project_root),
            spec_hash: text("spec_hash", &record.spec_hash),
            blacklist: record.blacklist.clone().filter(|_| is_free("blacklist")),
            owner: text("owner", &record.owner),
            ..record.clone()
        }
    }

    /// The keys that were set at run time to something else than the entry writes.
    fn ignored(&self, record: &AgentRecord) -> Vec<&'static str> {
        let spec = &self.spec;
        let root = spec.project_root.as_ref().map(|root| root.to_string_lossy().into_owned());
        let differs =
            |set: &Option<String>, written: Option<&str>| set.is_some() && set.as_deref() != written;
        let blacklist = record.blacklist.as_ref().is_some_and(|set| {
            spec.blacklist.as_ref().is_none_or(|written| {
                set.len() != written.len() || set.iter().any(|tag| !written.contains(tag.as_str()))
            })
        });
        let is_frozen = record.spec_frozen_at_ms.is_some();
        let of_spec = differs(&record.spec_hash, spec.spec_hash.as_deref())
            || (record.spec_hash.is_some() && is_frozen != spec.is_spec_frozen);
        let found = [
            ("profile", differs(&record.profile, spec.profile.map(Profile::as_str))),
            ("mode", differs(&record.mode, spec.mode.map(Mode::as_str))),
            ("project", differs(&record.project, spec.project.as_deref())),
            ("project_root", differs(&record.project_root, root.as_deref())),
            ("spec_hash", of_spec),
            ("blacklist", blacklist),
            ("owner", differs(&record.owner, spec.owner.as_deref())),
        ];
        let ignored = found.into_iter().filter(|(key, is_other)| *is_other && self.place_of(key).is_some());
        ignored.map(|(key, _)| key).collect()
    }
}

impl Governance {
    /// The entry of an agent in the configuration, if it has one.
    pub(super) fn entry_of(&self, agent: &str) -> Option<ConfiguredAgent> {
        self.settings().agents.iter().find(|entry| *entry.spec.id == *agent).cloned()
    }

    /// What was set at run time and has no effect, because the configuration says something else.
    pub(crate) fn ignored_settings(&self) -> Vec<String> {
        let (settings, set) = (self.settings(), self.agents.load());
        let mut ignored = Vec::new();
        for entry in &settings.agents {
            let Some(record) = set.by_id.get(&*entry.spec.id) else { continue };
            for key in entry.ignored(record) {
                ignored.push(format!(
                    "`{key}` of agent `{}` was set at run time and is ignored: {} says something else",
                    entry.spec.id,
                    entry.place_of(key).unwrap_or("the configuration"),
                ));
            }
        }
        ignored
    }

    /// Who has paused an agent and why, in one sentence, if somebody has.
    pub(crate) fn paused(&self, agent: &str) -> Option<Arc<str>> {
        self.contexts.load().paused.get(agent).map(Arc::clone)
    }

    /// Returns once an agent is not paused.
    pub(crate) async fn until_resumed(&self, agent: &str) {
        let mut pauses = self.pauses.subscribe();
        while self.paused(agent).is_some() {
            if pauses.changed().await.is_err() {
                return;
            }
        }
    }

    /// Makes what calls are decided by, from the settings and from what is stored.
    pub(super) fn renew(&self) {
        let (settings, set) = (self.settings.load(), self.agents.load());
        let contexts = contexts(&settings, &set.by_id);
        let before = self.contexts.swap(Arc::new(contexts));
        if before.paused != self.contexts.load().paused {
            self.pauses.send_replace(());
        }
        // The configuration names the owner of an agent, or else whoever created it.
        let mut owners: HashMap<Arc<str>, Arc<str>> = HashMap::new();
        for (id, record) in &set.by_id {
            owners.extend(record.owner.as_deref().map(|owner| (id.as_str().into(), owner.into())));
        }
        for agent in &settings.agents {
            owners.extend(agent.spec.owner.clone().map(|owner| (Arc::clone(&agent.spec.id), owner)));
        }
        let former = set
            .former
            .iter()
            .filter_map(|agent| agent.owner.as_deref().map(|owner| (agent.id.as_str().into(), owner.into())));
        self.identity.set_owners(owners, former.collect());
    }
}

fn contexts(settings: &GovernanceSettings, set: &HashMap<String, AgentRecord>) -> Contexts {
    let others = AgentContext { profile: settings.profile, ..AgentContext::default() };
    let mut by_agent: HashMap<Arc<str>, Arc<AgentContext>> = HashMap::new();
    for agent in &settings.agents {
        let mut context = agent.spec.context(settings.profile);
        if let Some(record) = set.get(&*agent.spec.id) {
            overlay(&mut context, &agent.in_effect(record));
        }
        by_agent.insert(Arc::clone(&agent.spec.id), Arc::new(context));
    }
    for (id, record) in set {
        if !by_agent.contains_key(id.as_str()) {
            let mut context = others.clone();
            overlay(&mut context, record);
            by_agent.insert(id.as_str().into(), Arc::new(context));
        }
    }
    let paused = set
        .iter()
        .filter_map(|(id, record)| Some((id.as_str().into(), sentence(id, record.paused.as_ref()?))));
    Contexts { by_agent, others: Arc::new(others), paused: paused.collect() }
}

fn sentence(agent: &str, pause: &Pause) -> Arc<str> {
    let reason = pause.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("agent `{agent}` was paused by {}{reason}", pause.by).into()
}

/// What was set at run time, where the entry in the configuration leaves it open.
fn overlay(context: &mut AgentContext, record: &AgentRecord) {
    let text = |text: &Option<String>| text.as_deref().map(Arc::<str>::from);
    if let Some(profile) = record.profile.as_deref().and_then(Profile::parse) {
        context.profile = profile;
    }
    if let Some(mode) = record.mode.as_deref().and_then(Mode::parse) {
        context.mode = mode;
    }
    context.project = text(&record.project).or(context.project.take());
    context.project_root = text(&record.project_root).or(context.project_root.take());
    if record.spec_hash.is_some() {
        context.spec_hash = text(&record.spec_hash);
        context.is_spec_frozen = record.spec_frozen_at_ms.is_some();
    }
    if let Some(blacklist) = &record.blacklist {
        context.blacklist = blacklist.iter().map(|tag| tag.as_str().into()).collect();
    }
}
