//! Whose a server is, and who switched it, in its status.

use octroi_api::operations::servers::{ServerOwnership, ServerStatus};
use octroi_core::{Health, Lifecycle, Principal, Scope, ServerKey};
use octroi_gateway::{Gateway, StoredEntry};

use super::may_see;

/// The status with whose the server is; `None` if the reader may not see it.
pub(super) fn complete(gateway: &Gateway, reader: &Principal, status: ServerStatus) -> Option<ServerStatus> {
    let key = ServerKey::parse(&status.name).filter(|key| may_see(reader, key))?;
    let (stored, servers) = (gateway.stored_servers(), gateway.servers());
    let entries = stored.entries();
    let entry = entries.get(&key);
    let is_in_file = servers.is_in_file(&key);
    let is_enabled = status.state.0 != Lifecycle::Disabled;
    let is_shadowed = stored.is_shadowed(&key);
    let preference = gateway.choices().preference(reader.user(), &key);
    let is_enabled_for_me = is_enabled && !is_shadowed && preference.unwrap_or(true);
    let owner = match &key.scope {
        Scope::System => None,
        Scope::User(owner) => Some(owner.to_string()),
    };
    let mut warnings = status.warnings.clone();
    if let Some(entry) = entry {
        if is_in_file {
            let reason = "a server of this name is also stored, and not used: the configuration file has it";
            warnings.push(reason.to_owned());
        } else {
            warnings.extend(entry.warnings.iter().cloned());
        }
    }
    if is_shadowed {
        warnings.push("everybody shares a server of this name, so yours is left out: rename it".to_owned());
    }
    let ownership = ServerOwnership {
        id: stored.id_of(&key),
        scope: if owner.is_none() { "system" } else { "user" }.to_owned(),
        owner,
        managed_by: if entry.is_some() && !is_in_file { "db" } else { "file" }.to_owned(),
        revision: entry.filter(|_| !is_in_file).and_then(|entry| u64::try_from(entry.record.revision).ok()),
        enabled: is_enabled,
        enabled_for_me: is_enabled_for_me,
        shadowed: is_shadowed,
        status: overall(&status, is_enabled_for_me).to_owned(),
    };
    Some(ServerStatus { ownership, warnings, ..status })
}

/// The status of a server whose entry cannot be used.
pub(super) fn status_of_entry(entry: &StoredEntry) -> ServerStatus {
    let text = |name: &str| entry.entry.get(name).and_then(|value| value.as_str()).map(str::to_owned);
    let is_off = entry.entry.get("enabled").and_then(serde_json::Value::as_bool) == Some(false);
    let transport = if entry.entry.contains_key("url") { "http" } else { "stdio" };
    ServerStatus {
        name: entry.record.key.to_string(),
        ownership: ServerOwnership::default(),
        title: text("title"),
        description: text("description"),
        transport: text("transport").unwrap_or_else(|| transport.to_owned()),
        state: if is_off { Lifecycle::Disabled } else { Lifecycle::Failed }.into(),
        health: Health::Unknown.into(),
        era: None,
        version: None,
        tools: 0,
        quarantined: 0,
        latency_ms: None,
        consecutive_failures: 0,
        restarts: 0,
        in_flight: 0,
        waiting: 0,
        error: entry.error.clone(),
        warnings: Vec::new(),
    }
}

/// Two axes in one word.
fn overall(status: &ServerStatus, is_enabled: bool) -> &'static str {
    if !is_enabled {
        return "disabled";
    }
    match (status.state.0, status.health.0) {
        (Lifecycle::Failed | Lifecycle::NeedsAuth, _) | (_, Health::Unhealthy) => "failed",
        (Lifecycle::Running, _) => "connected",
        _ if status.error.is_some() => "failed",
        _ => "unknown",
    }
}
