//! Calls to servers that are switched off. Their tools are in no list, so such a call ends where its tool is looked up.

use octroi_mcp::{Method, RpcError};

use super::{Pipeline, Request};
use crate::answer::Answer;
use crate::audit_recorder::{Initiator, Violation};
use crate::denial;
use crate::governance::switched_off_reason;

impl Pipeline {
    /// Answers a request whose subject is unknown. A call to a server that is switched off says which switch it was,
    /// and is recorded.
    pub(super) fn unresolved(&self, request: Request<'_>, error: RpcError) -> Answer {
        let Request { view, caller, envelope, params } = request;
        let name = (*envelope.method() == Method::ToolsCall).then(|| params.name()).flatten();
        let Some((name, off)) = name.and_then(|name| {
            let off = self.servers.switched_off_server_of(view, &caller.principal, &name)?;
            Some((name, off))
        }) else {
            return error.into();
        };
        let (server, switch) = (off.server.to_string(), off.switch);
        self.recorder.violation(&Violation {
            initiator: &Initiator::of_caller(caller),
            server: Some(&server),
            tool: None,
            method: envelope.method().as_str(),
            gate: "scope",
            reason: &format!("{name} was not called: {}", switched_off_reason(&switch)),
        });
        let style = self.governance.denial_style(caller);
        request.in_era(denial::switched_off(&name, &server, &switch, style))
    }
}
