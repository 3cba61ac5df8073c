//! The gateway's governance settings, from the configuration and the files it names.

use std::path::{Path, PathBuf};

use octroi_core::config::Config as Settings;
use octroi_core::pin::{Lock, NewTools};
use octroi_core::server::Transport;
use octroi_gateway::{GovernanceSettings, PinSettings, PolicyFile, PolicyLevel};

use crate::failure::Failure;

/// Reads the policies and the lock file that the configuration names; also returns the paths, to watch them.
pub(crate) fn read(settings: &Settings) -> Result<(GovernanceSettings, Vec<PathBuf>), Failure> {
    let mut files = Vec::new();
    let mut policies = Vec::new();
    let levels =
        [(PolicyLevel::Floor, &settings.policy.floor), (PolicyLevel::Global, &settings.policy.global)];
    let agents =
        settings.agents.iter().map(|agent| (PolicyLevel::Agent(agent.id.to_string()), &agent.policy));
    for (level, path) in levels.into_iter().chain(agents) {
        let Some(path) = path else { continue };
        let source = std::fs::read_to_string(path).map_err(|error| {
            Failure::new(format!("cannot read the policy {}", path.display()))
                .cause(error)
                .hint("name a file that can be read, or remove the key")
        })?;
        files.push(path.clone());
        policies.push(PolicyFile { level, path: path.clone(), source });
    }
    files.push(settings.pins.lock.clone());
    let governance = GovernanceSettings {
        profile: settings.policy.profile,
        agents: settings.agents.clone(),
        tokens: settings.tokens.clone(),
        approvals: settings.approvals.clone(),
        pins: PinSettings {
            policy: settings.pins.mode,
            new_tools: settings
                .pins
                .new_tools
                .unwrap_or_else(|| NewTools::of_profile(settings.policy.profile)),
            lock: lock(&settings.pins.lock)?,
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
        policies,
    };
    Ok((governance, files))
}

/// Reads the lock file; a missing one locks nothing.
fn lock(path: &Path) -> Result<Lock, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Lock::default()),
        Err(error) => {
            return Err(Failure::new(format!("cannot read {}", path.display())).cause(error));
        }
    };
    Lock::parse(&text).map_err(|error| {
        Failure::new(format!("{}:{}: this is not a lock file", path.display(), error.line))
            .cause(&error)
            .hint(error.hint())
    })
}

/// Every value of the configuration that must be redacted in records and logs.
pub(crate) fn secrets(settings: &Settings) -> Vec<String> {
    let of_servers = settings.servers.iter().flat_map(|server| match &server.transport {
        Transport::Stdio(program) => program.env.values().collect::<Vec<_>>(),
        Transport::Http(remote) | Transport::Sse(remote) => remote.headers.values().collect(),
    });
    of_servers.map(|secret| secret.expose().to_owned()).collect()
}
