use super::*;

#[test]
fn values_have_the_type_that_the_schema_says() {
    for (kind, typed, expected) in [
        (Some("string"), "3", Ok(json!("3"))),
        (Some("string"), "", Ok(json!(""))),
        (Some("integer"), "3", Ok(json!(3))),
        (Some("number"), "2.5", Ok(json!(2.5))),
        (Some("number"), "three", Err("number".to_owned())),
        (Some("boolean"), "true", Ok(json!(true))),
        (Some("boolean"), "1", Err("boolean".to_owned())),
        (Some("array"), "[1]", Ok(json!([1]))),
        (Some("array"), "1", Err("array".to_owned())),
        (Some("object"), "{\"a\":1}", Ok(json!({"a": 1}))),
        (Some(""), "3", Ok(json!(3))),
        (Some(""), "a text", Ok(json!("a text"))),
        (None, "x=y", Ok(json!("x=y"))),
    ] {
        assert_eq!(typed_value(kind, typed), expected, "{kind:?} {typed}");
    }
}

fn response(members: Value) -> CallResponse {
    let mut response = json!({"outcome": "completed", "agent": "coder", "tool": "a.b"});
    for (name, value) in members.as_object().unwrap() {
        response[name] = value.clone();
    }
    serde_json::from_value(response).unwrap()
}

#[test]
fn what_a_tool_answers_is_shown_line_by_line() {
    for (text, payload, expected) in [
        ("", Value::Null, &[][..]),
        ("", json!(""), &[]),
        ("", json!({"sum": 3}), &["{\"sum\":3}"]),
        ("a\nb\u{1b}", json!({"sum": 3}), &["a", "b\\u{1b}"]),
        ("[image image/png, 3 bytes]", json!("[image image/png, 3 bytes]"), &["[image image/png, 3 bytes]"]),
    ] {
        let told = ToolResult { text: text.to_owned(), payload, ..ToolResult::default() };
        assert_eq!(answer_lines(&told), expected, "{text}");
    }
}

#[test]
fn every_outcome_ends_the_command_in_its_own_way() {
    let why = "see why with `octroi policy why --agent coder a.b`";
    let denied = |error: Value| json!({"outcome": "denied", "message": "no\u{1b}", "error": error});
    let failed = |code: &str| json!({"outcome": "failed", "message": "it broke", "error": {"code": code, "hint": "h"}});
    for (members, exit, kind, message, hint) in [
        (
            denied(json!({"code": "policy_denied", "reason": "no\u{1b}"})),
            6,
            "policy_denied",
            "denied: no\\u{1b}",
            why,
        ),
        (
            denied(json!({"code": "policy_denied_continue", "hint": ErrorCode::PolicyDenied.spec().hint})),
            6,
            "policy_denied_continue",
            "denied: no\\u{1b}",
            why,
        ),
        (
            denied(json!({"code": "quota_exceeded", "hint": "wait"})),
            6,
            "quota_exceeded",
            "denied: no\\u{1b}",
            "wait",
        ),
        (
            denied(json!({"code": "policy_evaluator_error", "hint": "h"})),
            6,
            "policy_evaluator_error",
            "denied: no\\u{1b}",
            "h",
        ),
        // Denied by a person: there is no more information.
        (
            json!({"outcome": "denied", "message": "ann said no"}),
            6,
            "policy_denied",
            "denied: ann said no",
            why,
        ),
        (
            json!({"outcome": "waiting", "approval": "ap_x", "reasons": ["it writes", "it is new"]}),
            7,
            "approval_pending",
            "waits for approval ap_x: it writes; it is new",
            "run `octroi approve ap_x`, then the same command again; --wait waits for it",
        ),
        (
            json!({"outcome": "expired", "message": "nobody decided in time"}),
            7,
            "approval_expired",
            "nobody decided in time",
            "run the command again to ask anew",
        ),
        (failed("server_unavailable"), 1, "server_unavailable", "it broke", "h"),
        (failed("invalid_arguments"), 1, "invalid_arguments", "it broke", "h"),
        (failed("of_a_newer_gateway"), 1, "failed", "it broke", ""),
        (
            json!({"outcome": "tool_error", "message": "m", "error": {"code": -1, "message": "m"}}),
            5,
            "tool_execution_error",
            "m",
            "",
        ),
    ] {
        let failure = exit_result(&response(members.clone())).unwrap_err();
        let outcome = (failure.exit.code(), failure.kind(), failure.message.as_str());
        assert_eq!(outcome, (exit, kind, message), "{members}");
        assert_eq!(failure.hint.as_deref().unwrap_or_default(), hint, "{members}");
        assert!(!failure.is_answered, "{members}");
    }
    assert!(exit_result(&response(json!({"result": {"content": []}}))).is_ok());
    let answered =
        exit_result(&response(json!({"outcome": "tool_error", "result": {"content": []}}))).unwrap_err();
    assert!(answered.is_answered && answered.exit == Exit::ToolError, "{answered:?}");
}

#[test]
fn a_decision_ends_the_waiting() {
    for state in ApprovalState::ALL {
        let approval = serde_json::from_value(json!({
            "id": "ap_x", "call_id": "ap_x", "invocation_id": "i", "agent_id": "coder", "principal": "p",
            "tool": "mcp:a:b", "args": {}, "risk": "high", "side_effects": [], "reasons": [],
            "requested_at": "", "expires_at": "", "state": state.as_str(), "decided_at": null,
            "decided_by": "admin", "reason": "too late", "edited": false, "remembered_rule": null,
            "claimed_at": null, "finished_at": null, "outcome": null,
        }));
        let not = |outcome: CallOutcome, message: &str| Some(WaitOutcome::Not(outcome, message.to_owned()));
        let expected = match state {
            ApprovalState::Pending => None,
            ApprovalState::Approved => Some(WaitOutcome::Approved),
            ApprovalState::DeniedContinue | ApprovalState::DeniedAbort => {
                not(CallOutcome::Denied, "admin said no: too late")
            }
            ApprovalState::Expired => not(CallOutcome::Expired, "nobody decided in time"),
            other => not(CallOutcome::Failed, &format!("the approval is {}", other.as_str())),
        };
        assert_eq!(decision(&approval.unwrap()), expected, "{state:?}");
    }
}
