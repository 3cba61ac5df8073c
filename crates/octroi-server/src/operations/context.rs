//! What a handler works with.

use std::sync::Arc;

use bytes::Bytes;
use octroi_core::Principal;
use octroi_gateway::{Caller, Gateway};

use crate::control::Control;

/// What an operation is done with, and for whom.
pub(crate) struct OperationContext {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) control: Arc<dyn Control>,
    pub(crate) requester: Requester,
}

/// Who asks for an operation, as far as operations care.
#[derive(Clone)]
pub(crate) struct Requester {
    pub(crate) principal: Principal,
    pub(crate) has_admin_token: bool,
    /// What the client says that it is, as JSON.
    pub(crate) client_info: Option<Bytes>,
}

impl Requester {
    /// Somebody without an MCP client.
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
    /// Who asks.
    pub(crate) fn principal(&self) -> &Principal {
        &self.requester.principal
    }
}
