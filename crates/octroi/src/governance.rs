//! The gateway's governance settings, from the configuration.

use octroi_core::config::compare::CompleteConfig;
use octroi_core::config::{Config, Setting};
use octroi_core::syntax::Origin;
use octroi_gateway::{ConfiguredAgent, GovernanceSettings, PinSettings, PolicyFile, PolicyLevel, PoolLimits};

use crate::config::level::{AGENT, FLOOR};

/// The settings of the gateway's governance.
pub(crate) fn settings(config: &CompleteConfig) -> GovernanceSettings {
    let settings = &config.settings;
    let policies = config.policies.iter().map(|(level, policy)| PolicyFile {
        level: level_of(level),
        path: policy.path.clone(),
        source: policy.source.clone(),
    });
    GovernanceSettings {
        profile: settings.policy.profile,
        agents: agents(settings),
        approvals: settings.approvals.clone(),
        notify: settings.notify.clone(),
        pins: PinSettings {
            policy: settings.pins.mode,
            new_tools: settings.pins.new_tools,
            lock: config.lock.clone(),
        },
        inference: settings.inference.clone(),
        quotas: settings.quotas.clone(),
        gates: settings.gates.clone(),
        errors: settings.policy.errors,
        proposals: settings.policy.proposals,
        errors_of: settings
            .token_settings
            .values()
            .map(|token| (token.label.clone(), token.errors))
            .collect(),
        policies: policies.collect(),
        wire_name_max: Some(settings.mcp.wire_name_max),
        list_wait: Some(settings.mcp.list_wait),
        pools: PoolLimits { idle: settings.mcp.pool_idle, max: settings.mcp.max_pools },
        health_retention: settings.mcp.health_retention,
    }
}

/// The agents, with what their entries write and where.
fn agents(settings: &Config) -> Vec<ConfiguredAgent> {
    let entries = settings.agents.iter().zip(&settings.effective.agents);
    let agents = entries.map(|(spec, shown)| {
        let is_written = |setting: &&Setting| match setting.name {
            // Without one of its own, an agent shows the one of `[policy]`.
            "profile" => spec.profile.is_some(),
            _ => setting.origin != Origin::Default,
        };
        let written = shown.iter().filter(is_written);
        let written = written.map(|setting| (setting.name, setting.origin.to_string())).collect();
        ConfiguredAgent { spec: spec.clone(), written }
    });
    agents.collect()
}

fn level_of(level: &str) -> PolicyLevel {
    match level.strip_prefix(AGENT) {
        Some(agent) => PolicyLevel::Agent(agent.to_owned()),
        None if level == FLOOR => PolicyLevel::Floor,
        None => PolicyLevel::Global,
    }
}
