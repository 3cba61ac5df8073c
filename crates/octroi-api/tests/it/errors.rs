//! Errors keep their codes, and survive conversion to answers and back.

use std::collections::BTreeSet;

use octroi_api::{Answered, ApiError, ErrorCode, Exit, RequestKind, describe, rescue};
use serde_json::{Value, json};

#[test]
fn every_code_stands_in_the_table_under_its_own_name() {
    let words: BTreeSet<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(words.len(), ErrorCode::ALL.len());
    for (place, code) in ErrorCode::ALL.into_iter().enumerate() {
        assert_eq!(code as usize, place, "{code}");
        assert_eq!(ErrorCode::parse(code.as_str()), Some(code));
        // The variant and its word are the same name, so the rows of the table are in the right order.
        assert_eq!(format!("{code:?}").to_lowercase(), code.as_str().replace('_', ""));
        let spec = code.spec();
        assert!(spec.about.ends_with('.') && !spec.hint.is_empty() && !spec.hint.ends_with('.'), "{code}");
    }
    assert_eq!(ErrorCode::parse("policy"), None);
}

/// The codes on which clients act.
#[test]
fn numbers_stay() {
    for (code, rpc, http, exit) in [
        (ErrorCode::PolicyDenied, -32950, 403, 6),
        (ErrorCode::PolicyDeniedContinue, -32951, 403, 6),
        (ErrorCode::PolicyBackendReservedMisuse, -32952, 502, 1),
        (ErrorCode::PolicyEvaluatorError, -32953, 503, 1),
        (ErrorCode::Busy, -32954, 429, 1),
        (ErrorCode::QuotaExceeded, -32954, 429, 6),
        (ErrorCode::ApprovalExpired, -32955, 409, 7),
        (ErrorCode::ApprovalPending, -32951, 409, 7),
        (ErrorCode::ToolNotFound, -32602, 404, 1),
        (ErrorCode::ToolDisabled, -32951, 403, 6),
        (ErrorCode::ToolChangedNeedsReview, -32951, 403, 6),
        (ErrorCode::ToolExecutionError, -32603, 200, 5),
        (ErrorCode::ServerUnavailable, -32603, 502, 1),
        (ErrorCode::CallTimeout, -32603, 504, 1),
        (ErrorCode::OutcomeUnknown, -32603, 502, 1),
        (ErrorCode::InvalidArguments, -32602, 422, 1),
        (ErrorCode::ResourceNotFound, -32602, 404, 1),
        (ErrorCode::SubscribeUnsupported, -32960, 501, 1),
        (ErrorCode::UnsubscribeUnsupported, -32961, 501, 1),
        (ErrorCode::UnsupportedProtocolVersion, -32022, 400, 1),
        (ErrorCode::Unauthenticated, -32600, 401, 3),
        (ErrorCode::PeopleOnly, -32951, 403, 3),
        (ErrorCode::AdminsOnly, -32951, 403, 6),
        (ErrorCode::GatewayGone, -32603, 502, 4),
        (ErrorCode::Forbidden, -32600, 403, 6),
        (ErrorCode::LimitExceeded, -32954, 429, 1),
        (ErrorCode::ParseError, -32700, 400, 1),
        (ErrorCode::InvalidRequest, -32600, 400, 1),
        (ErrorCode::MethodNotFound, -32601, 404, 1),
        (ErrorCode::HeaderMismatch, -32020, 400, 1),
        (ErrorCode::MissingCapability, -32021, 400, 1),
        (ErrorCode::PathNotFound, -32600, 404, 1),
        (ErrorCode::SessionNotFound, -32600, 404, 1),
        (ErrorCode::UnsupportedMediaType, -32600, 415, 1),
        (ErrorCode::RequestTooLarge, -32600, 413, 1),
        (ErrorCode::RequestTooSlow, -32600, 408, 1),
        (ErrorCode::TooManyConnections, -32954, 503, 1),
        (ErrorCode::MethodNotAllowed, -32600, 405, 1),
    ] {
        let spec = code.spec();
        assert_eq!((spec.rpc, spec.http, spec.exit.code()), (rpc, http, exit), "{code}");
    }
    assert_eq!(Exit::ALL.map(Exit::code), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_model_reads_results_and_a_program_errors() {
    let error = ApiError::new(ErrorCode::NotFound, "there is no approval `ap_1`")
        .with_hint("`octroi approvals` lists pending approvals")
        .with_detail("approval", "ap_1");
    let data = json!({"code": "not_found", "hint": "`octroi approvals` lists pending approvals", "approval": "ap_1"});
    let text = "there is no approval `ap_1` (`octroi approvals` lists pending approvals)";
    assert_eq!(
        rescue(&error, RequestKind::ToolCall),
        Answered::Result(json!({
            "content": [{"type": "text", "text": text}], "isError": true, "_meta": {"octroi/error": data},
        })),
    );
    assert_eq!(
        rescue(&error, RequestKind::Other),
        Answered::Error { code: -32602, message: "there is no approval `ap_1`".to_owned(), data },
    );
}

#[test]
fn what_was_answered_is_read_back() {
    for code in ErrorCode::ALL {
        for request in [RequestKind::ToolCall, RequestKind::Other] {
            let error =
                ApiError::new(code, "it went wrong").with_reason("rule 3").with_detail("server", "files");
            let read = match rescue(&error, request) {
                Answered::Result(result) => ApiError::from_result(&result).expect("a failure"),
                Answered::Error { code, message, data } => ApiError::from_rpc(code, &message, Some(&data)),
            };
            assert_eq!((read.code, read.reason.as_deref()), (code, Some("rule 3")));
            assert_eq!(read.message, "it went wrong");
            assert_eq!(read.details["server"], "files");
            assert_eq!(read.hint(), error.hint());
        }
    }
}

#[test]
fn answers_of_others_are_understood() {
    // Denials of the gates: the code is the message, and the reason is in the data.
    let data = json!({"type": "policy_denied", "decision": "deny_continue", "gate": "mode", "reason": "it only looks"});
    for (number, message, data, code, expected) in [
        (-32951, "policy_denied_continue", None, ErrorCode::PolicyDeniedContinue, "policy_denied_continue"),
        (-32950, "no", None, ErrorCode::PolicyDenied, "no"),
        (-32955, "approval_expired", None, ErrorCode::ApprovalExpired, "approval_expired"),
        (-32602, "what is that", None, ErrorCode::InternalError, "what is that"),
        (-32950, "policy_denied", Some(&data), ErrorCode::PolicyDenied, "policy_denied: it only looks"),
        (-32954, "quota_exceeded", Some(&data), ErrorCode::QuotaExceeded, "quota_exceeded: it only looks"),
        (-32951, "tool_disabled", Some(&data), ErrorCode::ToolDisabled, "tool_disabled: it only looks"),
        (-32000, "no", Some(&data), ErrorCode::PolicyDenied, "no"),
    ] {
        let error = ApiError::from_rpc(number, message, data);
        assert_eq!((error.code, error.message.as_str()), (code, expected), "{number} {message}");
    }
    let failed = json!({"content": [{"type": "text", "text": "no such file"}], "isError": true});
    let error = ApiError::from_result(&failed).expect("a failure");
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::ToolExecutionError, "no such file"));
    for fine in [json!({"content": []}), json!({"isError": false}), Value::Null] {
        assert_eq!(ApiError::from_result(&fine), None);
    }
}

#[test]
fn errors_that_have_only_a_number_get_a_code_and_a_hint() {
    for (number, data, code) in [
        (-32700, None, "parse_error"),
        (-32600, None, "invalid_request"),
        (-32601, None, "method_not_found"),
        (-32602, None, "invalid_params"),
        (-32603, None, "internal_error"),
        (-32020, None, "header_mismatch"),
        (-32021, Some(json!({"requiredCapabilities": {}})), "missing_capability"),
        (-32022, Some(json!({"supported": []})), "unsupported_protocol_version"),
        (-32602, Some(json!({"code": "tool_not_found"})), "tool_not_found"),
        (-32000, Some(json!(["a"])), "internal_error"),
    ] {
        let described = describe(number, data.clone());
        let expected = ErrorCode::parse(code).expect("a code");
        assert_eq!((&described["code"], &described["hint"]), (&json!(code), &json!(expected.agent_hint())));
        for (name, value) in data.iter().filter_map(Value::as_object).flatten() {
            assert_eq!(described[name], *value, "{number}");
        }
    }
    let own = json!({"code": "busy", "hint": "wait", "server": "files"});
    assert_eq!(describe(-32954, Some(own.clone())), own, "what an error says itself stays");
    let unknown = json!({"code": "of_nobody"});
    assert_eq!(describe(-32603, Some(unknown.clone())), unknown);
}

/// An agent cannot run commands or change the configuration, so its hint says that a person does.
#[test]
fn hints_for_agents_name_only_what_agents_can_do() {
    for code in ErrorCode::ALL {
        let (hint, error) = (code.agent_hint(), ApiError::new(code, "m").with_hint("`octroi x`").for_agent());
        assert_eq!(error.hint(), hint);
        let is_for_people =
            ["octroi ", "[[", "[server]", "raise `", "gateway's log", "server's entry", "docs/"]
                .iter()
                .any(|part| hint.contains(part));
        assert!(!is_for_people || hint.contains("a person "), "{code}: {hint}");
        for name in octroi_api::operations::all().map(|entry| entry.name) {
            assert!(!hint.contains(&format!("`{name}`")), "{code}: {hint}");
        }
    }
}
