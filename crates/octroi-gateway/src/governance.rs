//! Governance: the settings, policies, quotas, custom gates and agent contexts that decide about calls.
//! Calls read snapshots; no decision waits for the database.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use octroi_core::agent::{AgentContext, Profile};
use octroi_core::config::{ApprovalsSection, DenialStyle, GateSpec, NotifySection, QuotaSpec};
use octroi_core::pin::NewTools;
use octroi_core::policy::Policies;
use octroi_core::tool::infer::InferenceRule;
use octroi_core::{Principal, ServerKey};
use octroi_store::{Store, StoreError};
use octroi_upstream::Context;
use tokio::sync::watch;
use tracing::{error, warn};

use crate::caller::Caller;
use crate::catalogue::Catalogue;
use crate::identity::Identity;
use crate::persistence::Persistence;
use crate::pin_settings::PinSettings;
use crate::pool_limits::PoolLimits;
use crate::subscriptions::Subscriptions;

mod activity;
mod agents;
mod cedar;
mod decide;
mod elsewhere;
mod gates;
mod lifecycle;
mod policies;
mod proposals;
mod quotas;
mod standing;
mod uses;

pub use activity::AgentRun;
pub(crate) use activity::{Activities, CallUnderWay};
pub use agents::{AgentChange, AgentState, SpecChange};
pub(crate) use decide::{CallToDecide, Considered, Pausing, ReadArguments, switched_off_reason};
pub use lifecycle::NewAgent;
pub(crate) use policies::place;
pub use policies::{PolicyFile, imagine, level_of};
pub use proposals::{check_length, check_result};
pub use quotas::QuotaUse;
pub(crate) use quotas::{Counting, QuotaReservation, QuotaSubject};
pub use standing::ConfiguredAgent;
use standing::{Contexts, StoredAgents};
pub(crate) use uses::Uses;

/// The configuration of governance.
#[derive(Clone, Debug, Default)]
pub struct GovernanceSettings {
    /// The profile of agents without their own.
    pub profile: Profile,
    /// The configured agents.
    pub agents: Vec<ConfiguredAgent>,
    /// How approvals work.
    pub approvals: ApprovalsSection,
    /// Who is told that a person is needed.
    pub notify: NotifySection,
    /// How definitions are accepted.
    pub pins: PinSettings,
    /// Operator rules about the risk and side effects of tools.
    pub inference: Vec<InferenceRule>,
    /// The configured quotas.
    pub quotas: Vec<QuotaSpec>,
    /// The configured custom gates.
    pub gates: Vec<GateSpec>,
    /// How denials are reported to clients.
    pub errors: DenialStyle,
    /// Whether agents may propose policies for themselves.
    pub proposals: bool,
    /// How denials are reported, by the name of the token.
    pub errors_of: HashMap<Arc<str>, DenialStyle>,
    /// Policies from files.
    pub policies: Vec<PolicyFile>,
    /// The longest name of a tool or prompt in lists, unless it is the default.
    pub wire_name_max: Option<usize>,
    /// How long a list waits for servers that were never seen, unless it is the default.
    pub list_wait: Option<Duration>,
    /// How many pools there may be, and how long an unused one is kept.
    pub pools: PoolLimits,
    /// How long the results of health checks are kept; `None` for as long as there is space.
    pub health_retention: Option<Duration>,
}

/// Everything that decides about calls.
pub struct Governance {
    context: Arc<Context>,
    persistence: Option<Arc<Persistence>>,
    subscriptions: Arc<Subscriptions>,
    settings: ArcSwap<GovernanceSettings>,
    agents: ArcSwap<StoredAgents>,
    contexts: ArcSwap<Contexts>,
    /// Wakes whatever waits until an agent is resumed.
    pauses: watch::Sender<()>,
    pub(crate) activities: Activities,
    pub(crate) policies: ArcSwap<Policies>,
    /// The tools that policies may refer to.
    catalogue: ArcSwap<Catalogue>,
    /// The servers that policies may refer to.
    servers: ArcSwap<Vec<ServerKey>>,
    gates: gates::Gates,
    quotas: quotas::Quotas,
    pub(crate) uses: Uses,
    identity: Arc<Identity>,
}

impl Governance {
    pub(crate) fn new(
        context: &Arc<Context>,
        persistence: Option<Arc<Persistence>>,
        subscriptions: &Arc<Subscriptions>,
        identity: &Arc<Identity>,
    ) -> Self {
        Self {
            context: Arc::clone(context),
            persistence,
            subscriptions: Arc::clone(subscriptions),
            settings: ArcSwap::default(),
            agents: ArcSwap::default(),
            contexts: ArcSwap::default(),
            pauses: watch::Sender::default(),
            activities: Activities::new(context.clock.clone()),
            policies: ArcSwap::default(),
            catalogue: ArcSwap::default(),
            servers: ArcSwap::default(),
            gates: gates::Gates::default(),
            quotas: quotas::Quotas::default(),
            uses: Uses::default(),
            identity: Arc::clone(identity),
        }
    }

    /// Restores the state of an earlier run. What cannot be read is reported, and nothing depends on it.
    pub(crate) async fn recall(self: &Arc<Self>, store: &Store) {
        match self.read_agents(store).await {
            Ok(()) => {}
            Err(error) => error!(%error, hint = %error.hint(), "agent settings could not be loaded"),
        }
        match store.tool_uses().await {
            Ok(uses) => self.uses.recall(uses.into_iter().map(|used| (used.agent, used.tool))),
            Err(error) => warn!(%error, "tool usage of agents could not be loaded"),
        }
        if let Err(error) = self.load_policies().await {
            error!(%error, hint = %error.hint(), "policies could not be loaded");
        }
    }

    /// Who is who.
    pub(crate) fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// The current settings.
    pub(crate) fn settings(&self) -> arc_swap::Guard<Arc<GovernanceSettings>> {
        self.settings.load()
    }

    /// Applies new settings.
    pub(crate) fn set_settings(&self, settings: GovernanceSettings) {
        self.quotas.set(&settings.quotas);
        self.gates.set(&settings.gates, &self.context);
        self.settings.store(Arc::new(settings));
        self.renew();
    }

    /// Reads what is stored of agents.
    async fn read_agents(&self, store: &Store) -> Result<(), StoreError> {
        let (records, former) = (store.agents().await?, store.former_agents().await?);
        let by_id = records.into_iter().map(|record| (record.id.clone(), record)).collect();
        self.agents.store(Arc::new(StoredAgents { by_id, former }));
        self.renew();
        Ok(())
    }

    /// Sets the servers that policies may refer to.
    pub(crate) fn set_servers(&self, servers: Vec<ServerKey>) {
        self.servers.store(Arc::new(servers));
    }

    /// How denials are reported to a caller.
    pub(crate) fn denial_style(&self, caller: &Caller) -> DenialStyle {
        let settings = self.settings();
        settings.errors_of.get(&caller.principal.token().label).copied().unwrap_or(settings.errors)
    }

    /// Persists new tool usage of agents.
    pub(crate) fn keep_uses(&self) {
        if let Some(persistence) = &self.persistence {
            persistence.used(self.uses.take_fresh());
        }
    }

    /// Ends the programs of custom gates.
    pub(crate) async fn close(&self) {
        self.gates.close().await;
    }

    fn now_ms(&self) -> i64 {
        self.context.clock.now_ms()
    }

    /// What happens to a tool that a known server adds. All agents see one catalogue, so the strictest of their profiles
    /// counts.
    pub(crate) fn new_tools(&self) -> NewTools {
        let configured = self.settings.load().pins.new_tools;
        configured.unwrap_or_else(|| {
            let contexts = self.contexts.load();
            let all = contexts.by_agent.values().chain([&contexts.others]);
            Profile::strictest(all.map(|context| context.profile)).new_tools()
        })
    }

    /// The context of the caller.
    pub(crate) fn context(&self, principal: &Principal) -> Arc<AgentContext> {
        let contexts = self.contexts.load();
        let own = principal.agent_id().and_then(|agent| contexts.by_agent.get(agent));
        Arc::clone(own.unwrap_or(&contexts.others))
    }

    /// The context of an agent.
    pub(crate) fn context_of(&self, agent: &str) -> Arc<AgentContext> {
        let contexts = self.contexts.load();
        Arc::clone(contexts.by_agent.get(agent).unwrap_or(&contexts.others))
    }
}
