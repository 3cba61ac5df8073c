//! The status of servers.

use std::sync::atomic::Ordering;

use octroi_core::server::Transport;
use octroi_core::{Lifecycle, ServerKey};

use super::{ManagedServer, Servers};

/// The status of a server, for operators.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ServerStatus {
    /// Its name.
    pub name: String,
    /// Its display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `stdio`, `http` or `sse`.
    pub transport: &'static str,
    /// Its lifecycle state: `running`, `stopped`, `failed` and so on.
    pub state: &'static str,
    /// Its health: `healthy`, `degraded`, `unhealthy` or `unknown`.
    pub health: &'static str,
    /// Its protocol era, once known.
    pub era: Option<&'static str>,
    /// The negotiated protocol version, once known.
    pub version: Option<&'static str>,
    /// The number of tools it offers.
    pub tools: usize,
    /// The number of its definitions that are quarantined.
    pub quarantined: usize,
    /// The duration of its last health check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// The number of consecutive failed health checks.
    pub consecutive_failures: u32,
    /// How often it was reconnected.
    pub restarts: u64,
    /// Calls in flight.
    pub in_flight: usize,
    /// Calls that wait for a slot.
    pub waiting: usize,
    /// Why it cannot be reached, or why its lists are missing or out of date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Warnings about settings for tools that it does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Servers {
    /// The status of all servers.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.members.load().values().map(|member| self.status_of(member)).collect()
    }

    /// The status of one server.
    pub fn server_status(&self, key: &ServerKey) -> Option<ServerStatus> {
        self.get(key).map(|member| self.status_of(&member))
    }

    /// Why every server is disabled, if it is not this server's own switch.
    fn switched_off(&self, lifecycle: Lifecycle) -> Option<String> {
        let is_off = lifecycle == Lifecycle::Disabled && !self.are_on.load(Ordering::Relaxed);
        is_off.then(|| "`enabled = false` under [mcp] keeps every server off".to_owned())
    }

    fn status_of(&self, member: &ManagedServer) -> ServerStatus {
        let spec = member.upstream.spec();
        let connection = member.upstream.current();
        let condition = member.upstream.condition();
        let catalogue = self.registry.catalogue();
        let quarantined = catalogue.offer(&spec.key).map_or(0, |offer| offer.held.len());
        let strays = catalogue.offer(&spec.key).map(|offer| offer.strays.clone());
        ServerStatus {
            name: spec.key.to_string(),
            title: spec.title.clone(),
            description: spec.description.clone(),
            transport: match spec.transport {
                Transport::Stdio(_) => "stdio",
                Transport::Http(_) => "http",
                Transport::Sse(_) => "sse",
            },
            state: condition.lifecycle.as_str(),
            health: condition.checks.health.as_str(),
            era: connection.as_ref().map(|connection| connection.era().as_str()),
            version: connection.as_ref().map(|connection| connection.identity().version.as_str()),
            tools: catalogue.server(&spec.key).map_or(0, |lists| lists.tools.len()),
            quarantined,
            latency_ms: condition
                .checks
                .latency
                .map(|latency| u64::try_from(latency.as_millis()).unwrap_or(u64::MAX)),
            consecutive_failures: condition.checks.failures,
            restarts: condition.restarts,
            in_flight: condition.in_flight,
            waiting: condition.waiting,
            error: self.switched_off(condition.lifecycle).or_else(|| {
                condition.error.map(|error| error.to_string()).or_else(|| member.refresher.failure())
            }),
            warnings: strays
                .unwrap_or_default()
                .into_iter()
                .chain(self.registry.new_tools(&spec.key))
                .collect(),
        }
    }
}
