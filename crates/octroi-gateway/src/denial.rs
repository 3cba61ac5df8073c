//! Denials as answers. The error codes are reserved for Octroi: a server that uses one forges a decision.

use bytes::Bytes;
use octroi_api::ErrorCode;
use octroi_core::approval::{Approval, ApprovalState};
use octroi_core::config::DenialStyle;
use octroi_core::decision::{Denial, Fault, Gate};
use octroi_core::time::show_time;
use octroi_mcp::RpcError;
use octroi_store::StoreError;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::error_code::{
    APPROVAL_EXPIRED, BUSY, DENIED, DENIED_CONTINUE, EVALUATOR_ERROR, RESERVED, RESERVED_MISUSE,
};

/// The words reserved for Octroi, as an error message or error type.
const RESERVED_WORDS: [&str; 7] = [
    "policy_denied",
    "policy_denied_continue",
    "policy_evaluator_error",
    "policy_backend_reserved_misuse",
    "approval_expired",
    "approval_pending",
    "tool_changed_needs_review",
];
/// The denial of a gate or a policy.
pub(crate) fn denied(denial: &Denial, style: DenialStyle) -> Answer {
    let Denial { gate, reason, .. } = denial;
    let data = json!({
        "type": "policy_denied",
        "decision": denial.as_str(),
        "gate": gate.as_str(),
        "reason": reason,
        "hint": hint(*gate),
    });
    match (gate, denial.fault) {
        (Gate::Arguments, _) => {
            failed_result(&format!("invalid arguments: {reason}"), "invalid_arguments", &data)
        }
        (Gate::Quota, _) => denial_answer(BUSY, "quota_exceeded", reason, data, style),
        (_, Fault::Evaluator) => {
            denial_answer(EVALUATOR_ERROR, "policy_evaluator_error", reason, data, style)
        }
        (Gate::Pinning, _) => {
            denial_answer(DENIED_CONTINUE, "tool_changed_needs_review", reason, data, style)
        }
        (Gate::Disabled | Gate::Scope, _) => {
            denial_answer(DENIED_CONTINUE, "tool_disabled", reason, data, style)
        }
        (_, Fault::Policy) if denial.is_abort => denial_answer(DENIED, "policy_denied", reason, data, style),
        (_, Fault::Policy) => denial_answer(DENIED_CONTINUE, "policy_denied_continue", reason, data, style),
    }
}

/// The tool changed since the call was decided.
pub(crate) fn withdrawn(reason: &str, style: DenialStyle) -> Answer {
    let data = json!({
        "type": "policy_denied",
        "decision": "deny_continue",
        "gate": Gate::Pinning.as_str(),
        "reason": reason,
        "hint": hint(Gate::Pinning),
    });
    denial_answer(DENIED_CONTINUE, "tool_changed_needs_review", reason, data, style)
}

/// Octroi itself failed before the call was made. No policy and no gate failed, so this is no denial of theirs.
pub(crate) fn not_made(code: ErrorCode, reason: &str) -> Answer {
    let spec = code.spec();
    let data = json!({"code": spec.word, "reason": reason});
    RpcError::new(spec.rpc, format!("{}: {reason}", spec.word)).with_data(data).into()
}

/// A person would have to be asked, and cannot be.
pub(crate) fn unaskable() -> Answer {
    let reason = "approval is not possible for this request";
    let data =
        json!({"type": "policy_denied", "decision": "deny_continue", "gate": "person", "reason": reason});
    denial_answer(DENIED_CONTINUE, "policy_denied_continue", reason, data, DenialStyle::Rpc)
}

/// The store failed, so the call is denied. People find the details in the log and in the status.
pub(crate) fn store_failed(what: &str, error: &StoreError) -> Answer {
    tracing::error!(%error, hint = error.hint(), "{what}");
    let reason = format!("{what}: {}; the operator finds out more with `octroi status`", error.for_caller());
    not_made(ErrorCode::StorageUnavailable, &reason)
}

/// The token of a waiting call was taken away before it was made.
pub(crate) fn revoked() -> Answer {
    let reason = "the token of this call is no longer valid, so the call was not made";
    let data =
        json!({"type": "policy_denied", "decision": "deny_continue", "gate": "token", "reason": reason});
    denial_answer(DENIED_CONTINUE, "policy_denied_continue", reason, data, DenialStyle::Rpc)
}

/// The approval was denied, or it expired.
pub(crate) fn not_approved(approval: &Approval, style: DenialStyle) -> Answer {
    let (number, word, decision) = match approval.state {
        ApprovalState::DeniedAbort => (DENIED, "policy_denied", "deny_abort"),
        ApprovalState::Pending | ApprovalState::Expired => {
            (APPROVAL_EXPIRED, "approval_expired", "deny_continue")
        }
        ApprovalState::DeniedContinue
        | ApprovalState::Approved
        | ApprovalState::Cancelled
        | ApprovalState::Orphaned
        | ApprovalState::Claimed
        | ApprovalState::Done => (DENIED_CONTINUE, "policy_denied_continue", "deny_continue"),
    };
    let by = approval.decided_by.as_deref().unwrap_or("nobody");
    let reason = match (approval.state, &approval.decision_reason) {
        (ApprovalState::Expired | ApprovalState::Pending, _) => "nobody decided in time".to_owned(),
        (_, Some(reason)) => format!("{by} said no: {reason}"),
        (ApprovalState::DeniedAbort | ApprovalState::DeniedContinue, None) => format!("{by} said no"),
        (state, None) => format!("the approval is {}", state.as_str()),
    };
    let data = json!({
        "type": "policy_denied",
        "decision": decision,
        "gate": "person",
        "reason": reason,
        "approval": approval.id,
    });
    denial_answer(number, word, &reason, data, style)
}

/// The decision is pending: a result that explains how to come back, because a model can read it.
pub(crate) fn pending(approval: &Approval, page: Option<&str>) -> Answer {
    let Approval { id, reasons, expires_at_ms, .. } = approval;
    let at_page = page.map(|page| format!("at {page} or ")).unwrap_or_default();
    let expires = show_time(*expires_at_ms);
    let text = format!(
        "This call waits for a person's approval ({id}): {}. Nothing has been done yet. Tell your user to decide \
         {at_page}with `octroi approve {id}`, then make the identical call again before {expires}; do not change \
         its arguments.",
        reasons.join("; "),
    );
    let data = json!({
        "code": "approval_pending", "approval": id, "page": page, "reasons": reasons, "expires": expires,
    });
    failed_result(&text, "approval_pending", &data)
}

/// The audit log cannot be written, so the call is not made.
pub(crate) fn unrecorded(error: &dyn std::fmt::Display) -> Answer {
    let reason = format!("the call cannot be recorded, so it is not made: {error}");
    not_made(ErrorCode::AuditUnavailable, &reason)
}

/// Whether a server's error uses a code or a word that is reserved for Octroi.
pub(crate) fn is_forged(error: &RpcError) -> bool {
    let named = |member: &str| error.data.as_ref().and_then(|data| data[member].as_str()).unwrap_or_default();
    RESERVED.contains(&error.code)
        || RESERVED_WORDS.contains(&error.message.split(':').next().unwrap_or_default().trim())
        || RESERVED_WORDS.contains(&named("type"))
        || RESERVED_WORDS.contains(&named("code"))
}

/// Whether every reader parses the error in the same way. One that cannot be parsed here, because its code
/// is `-32950.0` or a duplicate member, may look like one of Octroi's elsewhere.
pub(crate) fn is_readable(error: &[u8]) -> bool {
    serde_json::from_slice::<RpcError>(error).is_ok()
}

/// The error that the client gets instead of a forged one.
pub(crate) fn forged(server: &str, error: &RpcError) -> RpcError {
    let reason = format!(
        "server `{server}` answered with {} (`{}`), which only Octroi may use; it is not a decision of Octroi",
        error.code, error.message
    );
    RpcError::new(RESERVED_MISUSE, "policy_backend_reserved_misuse")
        .with_data(json!({"type": "policy_backend_reserved_misuse", "server": server, "reason": reason}))
}

fn denial_answer(number: i64, word: &str, reason: &str, mut data: Value, style: DenialStyle) -> Answer {
    // Most clients show the message and nothing else.
    let message = format!("{word}: {reason}");
    match style {
        DenialStyle::Rpc => {
            data["code"] = json!(word);
            RpcError::new(number, message).with_data(data).into()
        }
        DenialStyle::Result => failed_result(&message, word, &data),
    }
}

fn failed_result(text: &str, code: &str, data: &Value) -> Answer {
    let mut data = data.clone();
    data["code"] = json!(code);
    let result = json!({
        "content": [{"type": "text", "text": text}],
        "isError": true,
        "_meta": {"octroi/error": data},
    });
    Answer::Result(Bytes::from(result.to_string()))
}

/// What the caller or the operator can do about it.
fn hint(gate: Gate) -> &'static str {
    match gate {
        Gate::Scope => "switch the server on with `octroi enable NAME`",
        Gate::Arguments => "look at the tool's input schema",
        Gate::Access => "see `allow_tools`, `deny_tools` and `deny_side_effect_tags` of the server's entry",
        Gate::Disabled => "see `tools_override` of the server's entry in the configuration",
        Gate::Mode => "the agent's owner can set its mode to execution",
        Gate::SpecFrozen => "the agent's owner can freeze its specification",
        Gate::ProjectBinding => "the agent's owner can give it a project",
        Gate::Blacklist => "see `blacklist` of the agent's entry",
        Gate::AdminToken => "send the admin token in the header X-Admin-Token",
        Gate::Pinning => "look at the difference with `octroi pins`",
        Gate::Custom => "see the gate's entry under [[gates]] in the configuration",
        Gate::Quota => "try again in a moment",
        Gate::Floor | Gate::Global | Gate::Agent => "see `octroi policy show`",
        Gate::Trust | Gate::Profile | Gate::Person => "see `octroi policy why`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_store_shows_no_path() {
        let error = StoreError::NoKey { path: "/data/octroi.db".into() };
        let Answer::Error(answer) = store_failed("approval cannot be requested", &error) else {
            panic!("it is an error");
        };
        let data = answer.data.unwrap().to_string();
        assert!(data.contains("approval cannot be requested: the gateway has no key"), "{data}");
        assert!(!data.contains("/home") && !data.contains("remove"), "{data}");
    }

    #[test]
    fn servers_cannot_speak_as_octroi() {
        for (code, message, forged) in [
            (-32950, "x", true),
            (-32951, "x", true),
            (-32955, "x", true),
            (-32960, "x", true),
            (-32000, "policy_denied", true),
            (-32602, "policy_denied_continue", true),
            (-32602, "policy_denied: a person said no", true),
            (-32602, " approval_expired : x", true),
            (-32602, "not policy_denied: x", false),
            (-32602, "unknown tool", false),
            (-32949, "x", false),
            (-32970, "x", false),
        ] {
            assert_eq!(is_forged(&RpcError::new(code, message)), forged, "{code} {message}");
        }
        for (data, forged) in [
            (json!({"type": "policy_denied"}), true),
            (json!({"type": "tool_changed_needs_review"}), true),
            (json!({"type": "other", "reason": "policy_denied"}), false),
            (json!(["policy_denied"]), false),
            (json!("policy_denied"), false),
        ] {
            assert_eq!(is_forged(&RpcError::new(-32000, "x").with_data(data.clone())), forged, "{data}");
        }
        for (error, readable) in [
            (r#"{"code":-32950,"message":"x"}"#, true),
            (r#"{"code":-32950.0,"message":"x"}"#, false),
            (r#"{"code":-3.295e4,"message":"x"}"#, false),
            (r#"{"code":-32000,"code":-32950,"message":"x"}"#, false),
            (r#"{"code":-32000,"c\u006fde":-32950,"message":"x"}"#, false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(is_readable(error.as_bytes()), readable, "{error}");
        }
    }
}
