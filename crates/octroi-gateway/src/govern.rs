//! What decides about calls: settings, policies and the state of agents, as snapshots that calls read.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use octroi_core::Principal;
use octroi_core::config::{AgentSpec, ApprovalsSection, DenialStyle, GateSpec, QuotaSpec};
use octroi_core::decision::{AgentContext, Mode, Profile};
use octroi_core::policy::Policies;
use octroi_core::tool::infer::InferenceRule;
use octroi_store::AgentRecord;

use crate::pins::PinSettings;

pub(crate) mod approvals;
pub(crate) mod decide;
pub(crate) mod gates;
pub(crate) mod ledger;
mod notes;
mod people;
pub(crate) mod policies;
mod proposals;
pub(crate) mod quotas;
mod replay;
mod start;
mod summary;
pub(crate) mod tasks;
pub(crate) mod uses;
mod why;

pub use approvals::resource as approval_uri;
pub use gates::GateStatus;
pub use people::PeopleProblem;
pub use people::agents::{AgentChange, AgentState, SpecChange};
pub use people::answers::Choice;
pub use people::held::{HeldPin, PinName};
pub use people::kept_out::Forgotten;
pub use people::remember::{Remember, RememberScope, Until};
pub use policies::{PolicyFile, PolicyProblem, imagine, level_of};
pub use proposals::check_result;
pub use replay::{Candidate, CannotTell, Flip, Replay, ReplayError};
pub use why::{Explanation, InForce, Said};

/// What the configuration says about deciding.
#[derive(Clone, Debug, Default)]
pub struct Governance {
    /// The profile of agents that have none of their own.
    pub profile: Profile,
    /// What is said about agents.
    pub agents: Vec<AgentSpec>,
    /// How people are asked.
    pub approvals: ApprovalsSection,
    /// How definitions come to be accepted.
    pub pins: PinSettings,
    /// What people know about tools.
    pub inference: Vec<InferenceRule>,
    /// How much may be called.
    pub quotas: Vec<QuotaSpec>,
    /// Programs that are asked about calls.
    pub gates: Vec<GateSpec>,
    /// How denials are told.
    pub errors: DenialStyle,
    /// Whether agents may propose policies for themselves.
    pub proposals: bool,
    /// The same for some tokens, by what they are called.
    pub errors_of: HashMap<Arc<str>, DenialStyle>,
    /// Policies that stand in files.
    pub policies: Vec<PolicyFile>,
}

/// The snapshots.
#[derive(Debug, Default)]
pub(crate) struct Governor {
    settings: ArcSwap<Governance>,
    /// What was set about agents since.
    set: ArcSwap<HashMap<String, AgentRecord>>,
    contexts: ArcSwap<Contexts>,
    pub(crate) policies: ArcSwap<Policies>,
}

#[derive(Debug, Default)]
struct Contexts {
    by_agent: HashMap<Arc<str>, Arc<AgentContext>>,
    others: Arc<AgentContext>,
}

impl Governor {
    pub(crate) fn settings(&self) -> arc_swap::Guard<Arc<Governance>> {
        self.settings.load()
    }

    pub(crate) fn set_settings(&self, settings: Governance) {
        self.settings.store(Arc::new(settings));
        self.renew();
    }

    /// Takes over what was set about agents.
    pub(crate) fn set_agents(&self, records: Vec<AgentRecord>) {
        let by_id = records.into_iter().map(|record| (record.id.clone(), record)).collect();
        self.set.store(Arc::new(by_id));
        self.renew();
    }

    /// The state of whoever calls.
    pub(crate) fn context(&self, principal: &Principal) -> Arc<AgentContext> {
        let contexts = self.contexts.load();
        let own = principal.agent_id.as_ref().and_then(|agent| contexts.by_agent.get(agent));
        Arc::clone(own.unwrap_or(&contexts.others))
    }

    /// The state of an agent.
    pub(crate) fn context_of(&self, agent: &str) -> Arc<AgentContext> {
        let contexts = self.contexts.load();
        Arc::clone(contexts.by_agent.get(agent).unwrap_or(&contexts.others))
    }

    fn renew(&self) {
        let settings = self.settings.load();
        let set = self.set.load();
        let others = AgentContext { profile: settings.profile, ..AgentContext::default() };
        let mut by_agent: HashMap<Arc<str>, Arc<AgentContext>> = HashMap::new();
        for agent in &settings.agents {
            let mut context = agent.context(settings.profile);
            if let Some(record) = set.get(&*agent.id) {
                overlay(&mut context, record);
            }
            by_agent.insert(Arc::clone(&agent.id), Arc::new(context));
        }
        for (id, record) in
            set.iter().filter(|(id, _)| !by_agent.contains_key(id.as_str())).collect::<Vec<_>>()
        {
            let mut context = others.clone();
            overlay(&mut context, record);
            by_agent.insert(id.as_str().into(), Arc::new(context));
        }
        self.contexts.store(Arc::new(Contexts { by_agent, others: Arc::new(others) }));
    }
}

/// What was set stands above what is configured.
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
