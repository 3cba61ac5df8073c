//! Octroi's own tools and resources for agents, listed among those of servers: proposing policies for themselves, and
//! reading what is their own.
//!
//! A call of one of these tools passes the gates and is recorded like every call, and then goes to the
//! dispatcher that also performs the operations of people.

use std::sync::{Arc, OnceLock, Weak};

use octroi_api::{ApiError, ErrorCode, Face, RESOURCES, ResourceEntry, ResourceUri, operations};
use octroi_core::decision::Permit;
use octroi_core::principal::TokenName;
use octroi_core::{Principal, ServerKey};
use octroi_gateway::{BuiltinProvider, Caller, MayWatch, OfferedByOctroi, Served, rpc_error};
use octroi_mcp::RpcError;
use serde_json::Value;

use crate::dispatcher::Operations;
use crate::operations::Requester;
use crate::rescue;

/// Octroi's own tools and resources for agents. A gateway starts with them; `connect` then gives them its
/// operations.
#[derive(Default)]
pub struct AgentTools {
    /// Weak, because the gateway owns this.
    operations: OnceLock<Weak<Operations>>,
}

impl AgentTools {
    /// Sets the operations that answer these tools. Only the first call has an effect.
    pub fn connect(&self, operations: &Arc<Operations>) {
        // A second call passes the operations of the same gateway.
        let _ = self.operations.set(Arc::downgrade(operations));
    }

    fn operations(&self) -> Result<Arc<Operations>, RpcError> {
        self.operations.get().and_then(Weak::upgrade).ok_or_else(|| {
            rpc_error(&ApiError::new(
                ErrorCode::InternalError,
                "the gateway is starting or ending; try again",
            ))
        })
    }
}

impl BuiltinProvider for AgentTools {
    fn offered(&self) -> OfferedByOctroi {
        let tools = operations::all().filter(|entry| entry.is_tool_of(Face::Agent));
        let of_people = operations::all().filter(|entry| entry.has_face(Face::Management));
        let (templates, resources): (Vec<_>, Vec<_>) = RESOURCES
            .iter()
            .filter(|entry| entry.has_face(Face::Agent))
            .partition(|entry| entry.is_template());
        let definitions =
            |entries: Vec<&ResourceEntry>| entries.into_iter().map(ResourceEntry::definition).collect();
        OfferedByOctroi {
            tools: tools.map(octroi_api::OperationEntry::tool_definition).collect(),
            resources: definitions(resources),
            templates: definitions(templates),
            reserved_names: of_people.map(|entry| entry.name.to_owned()).collect(),
        }
    }

    fn has_resource(&self, uri: &str) -> bool {
        ResourceUri::parse(uri).is_some_and(|uri| uri.entry().has_face(Face::Agent))
    }

    fn may_watch<'a>(&'a self, agent: &'a str, uri: &'a str) -> MayWatch<'a> {
        Box::pin(async move {
            let Ok(operations) = self.operations() else {
                return false;
            };
            let owner = operations.gateway().identity().owner_of(agent);
            let principal = Principal::agent(agent, &owner, TokenName::labelled(""));
            operations.readable(&principal, uri).await.is_ok()
        })
    }

    fn call<'a>(
        &'a self,
        permit: &'a Permit,
        caller: &'a Caller,
        tool: &'a str,
        arguments: Value,
    ) -> Served<'a> {
        Box::pin(async move {
            must_cover(permit, Some(tool))?;
            let performed = self.operations()?.perform(Requester::from(caller), tool, arguments).await;
            rescue::tool_result(performed.map_err(|error| ApiError::from(&error).for_agent()))
        })
    }

    fn read<'a>(&'a self, permit: &'a Permit, caller: &'a Caller, uri: &'a str) -> Served<'a> {
        Box::pin(async move {
            must_cover(permit, None)?;
            let read = self.operations()?.read(Requester::from(caller), uri).await;
            read.map_err(|error| rpc_error(&ApiError::from(&error).for_agent()))
        })
    }
}

/// Fails for a permit of another server or another tool, as a connection to a server does.
fn must_cover(permit: &Permit, tool: Option<&str>) -> Result<(), RpcError> {
    if permit.covers(&ServerKey::octroi(), tool) {
        return Ok(());
    }
    let message = "the call is not the one that was decided";
    Err(rpc_error(&ApiError::new(ErrorCode::InternalError, message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_have_what_the_tables_give_them() {
        let offered = AgentTools::default().offered();
        let names: Vec<_> = offered.tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["policy_propose", "policy_withdraw", "policy_check"]);
        let uris: Vec<_> = offered.resources.iter().map(|one| one["uri"].as_str().unwrap()).collect();
        assert_eq!(
            uris,
            [
                "resource://compositor_meta/servers",
                "resource://approval-policy/policy",
                "resource://approval-policy/policy.py"
            ]
        );
        assert_eq!(offered.templates.len(), 13);
        assert!(offered.reserved_names.iter().any(|name| name == "servers_list"));
        for (uri, is_theirs) in [
            ("resource://approval-policy/policy", true),
            ("resource://approval-policy/proposals/7", true),
            ("resource://agents/coder/policy/state", true),
            ("resource://agents/coder/approvals/pending", true),
            ("resource://agents/coder/state", true),
            ("resource://agents/list", false),
            ("resource://approvals/pending", false),
            ("resource://servers/list", false),
            ("file:///a", false),
        ] {
            assert_eq!(AgentTools::default().has_resource(uri), is_theirs, "{uri}");
        }
    }
}
