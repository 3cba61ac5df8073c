//! The context that handlers run in.

use std::sync::Arc;

use bytes::Bytes;
use octroi_core::Principal;
use octroi_core::approval::Approval;
use octroi_gateway::{Caller, Gateway};

use crate::control::Control;

/// What an operation acts on, and who requested it.
pub(crate) struct OperationContext {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) control: Arc<dyn Control>,
    pub(crate) requester: Requester,
}

/// The principal that requests an operation, with what operations need to know of its client.
#[derive(Clone)]
pub(crate) struct Requester {
    pub(crate) principal: Principal,
    pub(crate) has_admin_token: bool,
    /// The client's `clientInfo`, as JSON.
    pub(crate) client_info: Option<Bytes>,
}

impl Requester {
    /// A principal without an MCP client.
    pub(crate) fn without_client(principal: Principal) -> Self {
        Self { principal, has_admin_token: false, client_info: None }
    }
}

impl From<&Caller> for Requester {
    fn from(caller: &Caller) -> Self {
        Self {
            principal: caller.principal.clone(),
            has_admin_token: caller.has_admin_token,
            client_info: caller.info.clone(),
        }
    }
}

impl OperationContext {
    /// Whether the requester may see what concerns an agent: everything for administrators, their own for members.
    pub(crate) fn may_see(&self, agent: Option<&str>) -> bool {
        let principal = self.principal();
        let is_own = |agent: &str| self.gateway.identity().owner_of(agent) == *principal.user();
        principal.is_admin() || agent.is_some_and(is_own)
    }

    /// Whether the requester may see an approval: who may decide about it may.
    pub(crate) fn may_see_approval(&self, approval: &Approval) -> bool {
        let person = self.principal();
        self.may_see(approval.binding.agent.as_deref())
            || (person.is_person() && approval.approvers.name(person.user()))
    }

    /// The principal that requested the operation.
    pub(crate) fn principal(&self) -> &Principal {
        &self.requester.principal
    }
}
