//! Why a server offers no tools: it is switched off, it does not run, or its list could not be read.

use std::sync::Arc;

use octroi_core::server::Start;
use octroi_core::{Lifecycle, Principal, Scope, ServerKey, SwitchedOff};

use super::status::ErrorDetail;
use super::{ManagedServer, Servers};
use crate::membership::Sight;
use crate::view::View;

/// A server that offers no tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentServer {
    /// The key that a call named.
    pub server: ServerKey,
    /// Why it has none, without anything that the server wrote.
    pub reason: String,
    /// The command with which a person goes on.
    pub hint: String,
}

/// A server that is switched off.
pub(crate) struct SwitchedOffServer {
    pub(crate) server: ServerKey,
    /// What keeps it off.
    pub(crate) switch: SwitchedOff,
}

impl Servers {
    /// The server that a tool's name belongs to, if it is switched off for this caller.
    pub(crate) fn switched_off_server_of(
        &self,
        view: &View,
        principal: &Principal,
        tool: &str,
    ) -> Option<SwitchedOffServer> {
        let member = match view {
            View::Merged => self.named(principal, tool)?,
            View::Server(key) => self.get(key)?,
        };
        let spec = member.upstream.spec();
        let switch = self.switched_off_for(principal, &spec.key)?;
        Some(SwitchedOffServer { server: spec.key.clone(), switch })
    }

    /// What a principal has of a server.
    pub(crate) fn sight(&self, principal: &Principal, key: &ServerKey) -> Sight {
        self.pools.sight(principal, key)
    }

    /// The first switch that keeps a server of a caller off: those of the server itself come first.
    pub(crate) fn switched_off_for(&self, principal: &Principal, key: &ServerKey) -> Option<SwitchedOff> {
        match self.pools.sight(principal, key) {
            Sight::Foreign | Sight::Shadowed => None,
            Sight::Visible => self.get(key)?.upstream.spec().switched_off.clone(),
            Sight::Off(choice) => Some(self.get(key)?.upstream.spec().switched_off.clone().unwrap_or(choice)),
        }
    }

    /// The server that a tool's name belongs to, in any form that rules and clients use, if it offers no tools. To this
    /// reader there are no others than what everybody shares and its own; to an administrator there are all.
    pub fn silent_server_of(&self, reader: &Principal, tool: &str) -> Option<SilentServer> {
        let member = self.named(reader, tool)?;
        let key = &member.upstream.spec().key;
        let has_tools = self.registry.catalogue().server(key).is_some_and(|lists| !lists.tools.is_empty());
        (!has_tools).then(|| silent(&member))
    }

    fn named(&self, reader: &Principal, tool: &str) -> Option<Arc<ManagedServer>> {
        let within_reach = self.pools.members().within_reach(reader.user());
        let named = within_reach.into_iter().filter(|key| is_named(key, tool) || is_named_bare(key, tool));
        // `a_b_c` may be a tool of `a` or of `a_b`.
        let own = named.max_by_key(|key| key.name.as_str().len());
        let any = || reader.is_admin().then(|| literal_server(tool)).flatten();
        self.get(&own.or_else(any)?)
    }
}

/// The server in a name that says it in full.
fn literal_server(tool: &str) -> Option<ServerKey> {
    let rest = tool.strip_prefix("mcp:").unwrap_or(tool);
    rest.find(['.', ':']).and_then(|end| ServerKey::parse(&rest[..end]))
}

/// Whether a tool's name begins with the key of a server.
fn is_named(key: &ServerKey, tool: &str) -> bool {
    let rest = tool.strip_prefix("mcp:").unwrap_or(tool).strip_prefix(&key.to_string());
    rest.is_some_and(|rest| rest.starts_with(['_', '.', ':']))
}

/// Whether a tool's name begins with the name of a server, as wire names do.
fn is_named_bare(key: &ServerKey, tool: &str) -> bool {
    let rest = tool.strip_prefix(key.name.as_str());
    key.scope != Scope::System && rest.is_some_and(|rest| rest.starts_with('_'))
}

fn silent(member: &ManagedServer) -> SilentServer {
    let spec = member.upstream.spec();
    let condition = member.upstream.condition();
    let name = spec.key.to_string();
    let error = condition.error.as_ref().map(octroi_upstream::UpstreamError::for_caller);
    let look = format!("see why with `octroi logs {name}` and `octroi test {name}`");
    if let Some(switch) = &spec.switched_off {
        let reason = format!("it is switched off: {}", switch.reason());
        return SilentServer { server: spec.key.clone(), reason, hint: switch.hint(&name) };
    }
    let (reason, hint) = match (condition.lifecycle, error) {
        (Lifecycle::NeedsAuth, _) => (
            "it requires other credentials".to_owned(),
            "check the `headers` of the server's entry".to_owned(),
        ),
        (Lifecycle::Failed, Some(error)) => (format!("it does not run: {error}"), look),
        (Lifecycle::Failed, None) => ("it does not run".to_owned(), look),
        (Lifecycle::Starting, _) => {
            ("it is still starting".to_owned(), format!("try again in a moment; {look}"))
        }
        (Lifecycle::Stopped, None) if spec.start == Start::Manual => {
            ("it has not been started".to_owned(), format!("start it with `octroi restart {name}`"))
        }
        (Lifecycle::Stopped | Lifecycle::Stopping | Lifecycle::Disabled, None) => {
            ("it is stopped".to_owned(), format!("start it with `octroi restart {name}`"))
        }
        (Lifecycle::Stopped | Lifecycle::Stopping | Lifecycle::Disabled, Some(error)) => {
            (format!("it is stopped: {error}"), look)
        }
        (Lifecycle::Running, _) => match member.refresher.failure(ErrorDetail::Reason) {
            Some(_) => ("it runs, but its list of tools could not be read".to_owned(), look),
            None => ("it runs, and lists none".to_owned(), look),
        },
    };
    SilentServer { server: spec.key.clone(), reason, hint }
}

#[cfg(test)]
mod tests {
    use octroi_core::ServerName;

    use super::*;

    #[test]
    fn a_tool_is_named_in_any_form() {
        let key = ServerKey::system(ServerName::parse("files").unwrap());
        for (tool, expected) in [
            ("files_read", true),
            ("files.read", true),
            ("mcp:files:read", true),
            ("files", false),
            ("filesystem_read", false),
            ("read", false),
        ] {
            assert_eq!(is_named(&key, tool), expected, "{tool}");
        }
    }
}
