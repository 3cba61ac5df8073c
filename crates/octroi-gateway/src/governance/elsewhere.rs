//! Work that takes longer than a serving thread may be kept from others: it is done on the pool for blocking work.
//!
//! Checks have limits, but limits grow with what is checked. A thread serves many clients, so that whatever may take
//! more than a few milliseconds does not belong on it: policies that are compiled, large schemas, large arguments.

use std::panic::resume_unwind;
use std::sync::Arc;

use octroi_core::decision::{AgentContext, CustomVerdict, Decision};
use octroi_core::server::ToolAccess;
use octroi_core::{Principal, ServerKey};

use super::{CallToDecide, Counting, Governance};
use crate::catalogue::Tool;

/// Arguments up to this length are checked where the call is served, in a few milliseconds.
const ARGUMENT_BYTES_MAX: usize = 64 * 1024;

impl CallToDecide<'_> {
    /// Whether deciding it may take so long that it is done elsewhere.
    pub(super) fn is_heavy(&self) -> bool {
        self.arguments.is_some_and(|arguments| arguments.len() > ARGUMENT_BYTES_MAX) || self.tool.is_heavy()
    }
}

/// A call that outlives its request, for another thread.
struct OwnedCall {
    principal: Principal,
    has_admin_token: bool,
    server: ServerKey,
    is_enabled: bool,
    access: ToolAccess,
    tool: Arc<Tool>,
    held: Option<String>,
    arguments: Option<Vec<u8>>,
    counting: Counting,
    now_ms: i64,
}

impl OwnedCall {
    fn of(call: CallToDecide<'_>) -> Self {
        let CallToDecide {
            principal,
            has_admin_token,
            server,
            is_enabled,
            access,
            tool,
            held,
            arguments,
            counting,
            now_ms,
        } = call;
        Self {
            principal: principal.clone(),
            has_admin_token,
            server: server.clone(),
            is_enabled,
            access: access.clone(),
            tool: Arc::clone(tool),
            held: held.map(str::to_owned),
            arguments: arguments.map(<[u8]>::to_vec),
            counting,
            now_ms,
        }
    }

    fn to_decide(&self) -> CallToDecide<'_> {
        CallToDecide {
            principal: &self.principal,
            has_admin_token: self.has_admin_token,
            server: &self.server,
            is_enabled: self.is_enabled,
            access: &self.access,
            tool: &self.tool,
            held: self.held.as_deref(),
            arguments: self.arguments.as_deref(),
            counting: self.counting,
            now_ms: self.now_ms,
        }
    }
}

impl Governance {
    /// Decides a call that may take long.
    pub(super) async fn decide_elsewhere(
        self: &Arc<Self>,
        call: CallToDecide<'_>,
        context: &AgentContext,
        custom: &[CustomVerdict],
    ) -> Decision {
        let (call, context, custom) = (OwnedCall::of(call), context.clone(), custom.to_vec());
        let decide = move |governance: &Self| governance.decide_with(call.to_decide(), &context, &custom);
        self.elsewhere("decide", decide).await
    }

    /// Does work on the pool for blocking work.
    pub(super) async fn elsewhere<T: Send + 'static>(
        self: &Arc<Self>,
        name: &'static str,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let governance = Arc::clone(self);
        match self.context.tasks.spawn_blocking(name, move || work(&governance)).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The pool takes no more work while the process ends, and then nobody waits for the answer.
                Err(_) => std::future::pending().await,
            },
        }
    }
}
