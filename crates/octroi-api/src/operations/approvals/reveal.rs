//! Shows a masked value to the person who decides.

use octroi_core::audit::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation};

/// Shows one masked value of what a call sends. It changes nothing, but it is recorded like a change.
pub struct ApprovalsReveal;

/// The value to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevealRequest {
    /// The approval, ap_…
    pub id: String,
    /// The path of the value, as `masked` of the approval has it
    pub path: String,
}

/// A value that was masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevealedArgument {
    /// Its path
    pub path: String,
    /// The name of the member, if it is one of an object
    pub name: Option<String>,
    /// The whole value as JSON text
    pub value: String,
}

impl Operation for ApprovalsReveal {
    type Request = RevealRequest;
    type Response = RevealedArgument;

    const NAME: &'static str = "approvals_reveal";
    const TITLE: &'static str = "Show a masked value";
    const DESCRIPTION: &'static str =
        "Show one masked value of what a call sends. Who looked at which one is recorded.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::ArgumentRevealed };
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::Conflict, ErrorCode::StorageUnavailable];

    fn object(request: &RevealRequest) -> ObjectRef<'_> {
        ObjectRef::Approval(&request.id)
    }
}
