//! The status of servers.

use octroi_api::operations::servers::{ServerOwnership, ServerStatus};
use octroi_core::server::{ServerSpec, Transport};
use octroi_core::{Principal, ServerKey, SwitchedOff};
use octroi_upstream::UpstreamError;

use super::{ManagedServer, Servers, may_know};

/// How much of a server's error its reader sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorDetail {
    /// Everything, with the last output of the server.
    Full,
    /// The reason, without anything that the server wrote: that is for administrators, like the server's log.
    Reason,
}

impl ErrorDetail {
    /// What a principal sees.
    pub fn of(reader: &Principal) -> Self {
        if reader.is_admin() { Self::Full } else { Self::Reason }
    }

    /// The text of an error.
    pub(super) fn text(self, error: &UpstreamError) -> String {
        match self {
            Self::Full => error.to_string(),
            Self::Reason => error.for_caller(),
        }
    }
}

impl Servers {
    /// The names of all servers.
    pub fn names(&self) -> Vec<String> {
        self.members.load().keys().map(ToString::to_string).collect()
    }

    /// The names of all servers that a reader may know of.
    pub fn names_for(&self, reader: &Principal) -> Vec<String> {
        let members = self.members.load();
        members.keys().filter(|key| may_know(reader, key)).map(ToString::to_string).collect()
    }

    /// The status of all servers.
    pub fn status(&self, detail: ErrorDetail) -> Vec<ServerStatus> {
        self.members.load().values().map(|member| self.status_of(member, detail)).collect()
    }

    /// The status of all servers that a reader may know of.
    pub fn status_for(&self, reader: &Principal) -> Vec<ServerStatus> {
        let (members, detail) = (self.members.load(), ErrorDetail::of(reader));
        let known = members.iter().filter(|(key, _)| may_know(reader, key));
        known.map(|(_, member)| self.status_of(member, detail)).collect()
    }

    /// The status of one server.
    pub fn server_status(&self, key: &ServerKey, detail: ErrorDetail) -> Option<ServerStatus> {
        self.get(key).map(|member| self.status_of(&member, detail))
    }

    fn status_of(&self, member: &ManagedServer, detail: ErrorDetail) -> ServerStatus {
        let spec = member.upstream.spec();
        let connection = member.upstream.current();
        let condition = member.upstream.condition();
        let catalogue = self.registry.catalogue();
        let quarantined = catalogue.offer(&spec.key).map_or(0, |offer| offer.held.len());
        let strays = catalogue.offer(&spec.key).map(|offer| offer.strays.clone());
        ServerStatus {
            name: spec.key.to_string(),
            ownership: ServerOwnership::default(),
            title: spec.title.clone(),
            description: spec.description.clone(),
            transport: match spec.transport {
                Transport::Stdio(_) => "stdio",
                Transport::Http(_) => "http",
                Transport::Sse(_) => "sse",
            }
            .to_owned(),
            state: condition.lifecycle.into(),
            health: condition.checks.health.into(),
            era: connection.as_ref().map(|connection| connection.era().as_str().to_owned()),
            version: connection.as_ref().map(|connection| connection.identity().version.as_str().to_owned()),
            tools: catalogue.server(&spec.key).map_or(0, |lists| count(lists.tools.len())),
            quarantined: count(quarantined),
            latency_ms: condition
                .checks
                .latency
                .map(|latency| u64::try_from(latency.as_millis()).unwrap_or(u64::MAX)),
            consecutive_failures: condition.checks.failures,
            restarts: condition.restarts,
            in_flight: count(condition.in_flight),
            waiting: count(condition.waiting),
            error: waits_for(spec).or_else(|| {
                let error = condition.error.map(|error| detail.text(&error));
                error.or_else(|| member.refresher.failure(detail))
            }),
            warnings: strays
                .unwrap_or_default()
                .into_iter()
                .chain(self.registry.new_tools(&spec.key))
                .chain(self.pools.members().is_shadowed(&spec.key).then(|| shadowed(&spec.key)))
                .collect(),
        }
    }
}

/// Why nobody sees a user's server.
fn shadowed(key: &ServerKey) -> String {
    format!("everybody shares a server `{}`, so this one is left out until one of them is renamed", key.name)
}

/// What a person who does not know of it can do about a server that is off.
fn waits_for(spec: &ServerSpec) -> Option<String> {
    match spec.switched_off.as_ref()? {
        switch @ SwitchedOff::Global => Some(switch.reason()),
        SwitchedOff::Trust => Some(format!("waits for a first yes: octroi enable {}", spec.key)),
        // Somebody decided that.
        SwitchedOff::Operator { .. }
        | SwitchedOff::Entry
        | SwitchedOff::Preference { .. }
        | SwitchedOff::NotAttached { .. }
        | SwitchedOff::Session { .. } => None,
    }
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
