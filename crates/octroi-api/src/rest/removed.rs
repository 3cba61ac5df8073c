//! Paths of other interfaces that Octroi does not have: what to use instead.

/// A path that is not served, and what replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The path; `{id}` stands for one segment.
    pub path: &'static str,
    /// The method; `None` for any.
    pub method: Option<&'static str>,
    /// The operation or the resource of MCP that replaces it.
    pub instead: &'static str,
}

const fn of(method: &'static str, path: &'static str, instead: &'static str) -> Removed {
    Removed { path, method: Some(method), instead }
}

const fn channel(path: &'static str, instead: &'static str) -> Removed {
    Removed { path, method: None, instead }
}

/// All of them. Agents, approvals and policies are managed over MCP, where what changes is also announced.
pub static REMOVED: [Removed; 18] = [
    of("GET", "/api/agents", "resource://agents/list"),
    of("POST", "/api/agents", "agents_create"),
    of("GET", "/api/agents/{id}", "resource://agents/{agent_id}/info"),
    of("PUT", "/api/agents/{id}", "agents_update"),
    of("PATCH", "/api/agents/{id}", "agents_update"),
    of("DELETE", "/api/agents/{id}", "agents_delete"),
    of("GET", "/api/agents/{id}/approvals", "resource://agents/{agent_id}/approvals/pending"),
    of("POST", "/api/agents/{id}/approvals/{id}/approve", "agents_approve_request"),
    of("POST", "/api/agents/{id}/approvals/{id}/deny", "agents_deny_request"),
    of("POST", "/api/agents/{id}/policy", "agents_set_policy"),
    of("PUT", "/api/agents/{id}/policy", "agents_set_policy"),
    of("GET", "/api/agents/{id}/policy", "resource://agents/{agent_id}/policy/source"),
    channel("/ws/session", "resource://agents/{agent_id}/session/state"),
    channel("/ws/approvals", "resource://approvals/pending"),
    channel("/ws/policy", "resource://agents/{agent_id}/policy/state"),
    channel("/ws/mcp", "resource://servers/list"),
    channel("/ws/ui", "resource://agents/{agent_id}/state"),
    channel("/ws/control", "agents_approve_request"),
];

/// What replaces this path, if it is one of those: for the method if that is known, else for any.
pub fn replacement(method: &str, path: &str) -> Option<&'static str> {
    let at_path = || REMOVED.iter().filter(|removed| is_at(removed.path, path));
    let for_method = at_path().find(|removed| removed.method.is_none_or(|one| one == method));
    for_method.or_else(|| at_path().next()).map(|removed| removed.instead)
}

fn is_at(pattern: &str, path: &str) -> bool {
    let (mut pattern, mut given) = (pattern.split('/'), path.trim_end_matches('/').split('/'));
    loop {
        match (pattern.next(), given.next()) {
            (None, None) => return true,
            (Some("{id}"), Some(segment)) if !segment.is_empty() => {}
            (Some(expected), Some(segment)) if expected == segment => {}
            _ => return false,
        }
    }
}
