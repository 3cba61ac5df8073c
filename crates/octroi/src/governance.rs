//! The gateway's governance settings, from the configuration and the files it names.

use std::collections::BTreeMap;
use std::path::PathBuf;

use octroi_core::config::Config as Settings;
use octroi_core::config::compare::{CompleteConfig, PolicyText};
use octroi_core::pin::Lock;
use octroi_core::server::Transport;
use octroi_gateway::{GovernanceSettings, PinSettings, PolicyFile, PolicyLevel};

use crate::config::FileSource;
use crate::failure::Failure;

const FLOOR: &str = "floor";
const GLOBAL: &str = "global";
const AGENT: &str = "agent ";

/// The files that a configuration names.
pub(crate) struct NamedFiles {
    /// The policies, by level.
    pub(crate) policies: BTreeMap<String, PolicyText>,
    pub(crate) lock: Lock,
    /// The text of the lock file, if there is one.
    pub(crate) lock_text: Option<String>,
    /// All paths, to watch them.
    pub(crate) paths: Vec<PathBuf>,
}

/// Reads the policies and the lock file that the configuration names.
pub(crate) fn read(settings: &Settings, source: FileSource<'_>) -> Result<NamedFiles, Failure> {
    let mut paths = Vec::new();
    let mut policies = BTreeMap::new();
    let levels = [(FLOOR.to_owned(), &settings.policy.floor), (GLOBAL.to_owned(), &settings.policy.global)];
    let agents = settings.agents.iter().map(|agent| (format!("{AGENT}{}", agent.id), &agent.policy));
    for (level, path) in levels.into_iter().chain(agents) {
        let Some(path) = path else { continue };
        let source = source.policy(path).map_err(|error| {
            Failure::new(format!("cannot read the policy {}", path.display()))
                .cause(error)
                .hint("name a file that can be read, or remove the key")
        })?;
        paths.push(path.clone());
        policies.insert(level, PolicyText { path: path.clone(), source });
    }
    let path = &settings.pins.lock;
    paths.push(path.clone());
    let lock_text = source
        .lock(path)
        .map_err(|error| Failure::new(format!("cannot read {}", path.display())).cause(error))?;
    let lock = match &lock_text {
        // A missing lock file locks nothing.
        None => Lock::default(),
        Some(text) => Lock::parse(text).map_err(|error| {
            Failure::new(format!("{}:{}: this is not a lock file", path.display(), error.line))
                .cause(&error)
                .hint(error.hint())
        })?,
    };
    Ok(NamedFiles { policies, lock, lock_text, paths })
}

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
        agents: settings.agents.clone(),
        tokens: settings.tokens.clone(),
        approvals: settings.approvals.clone(),
        pins: PinSettings {
            policy: settings.pins.mode,
            new_tools: settings.pins.new_tools.unwrap_or_else(|| settings.policy.profile.new_tools()),
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
    }
}

fn level_of(level: &str) -> PolicyLevel {
    match level.strip_prefix(AGENT) {
        Some(agent) => PolicyLevel::Agent(agent.to_owned()),
        None if level == FLOOR => PolicyLevel::Floor,
        None => PolicyLevel::Global,
    }
}

/// Every value of the configuration that must be redacted in records and logs.
pub(crate) fn secrets(settings: &Settings) -> Vec<String> {
    let of_servers = settings.servers.iter().flat_map(|server| match &server.transport {
        Transport::Stdio(program) => program.env.values().collect::<Vec<_>>(),
        Transport::Http(remote) | Transport::Sse(remote) => remote.headers.values().collect(),
    });
    of_servers.map(|secret| secret.expose().to_owned()).collect()
}
