use octroi_api::operations::config::ConfigReload;
use octroi_api::operations::servers::ServersList;
use octroi_api::{Answered, RequestKind, rescue};
use octroi_mcp::{Id, RpcError, envelope};
use serde_json::json;

use super::*;

/// The gateway's answer to an operation that fails with this error.
fn refusal(error: &ApiError, kind: RequestKind) -> Envelope {
    let id = Id::number(1);
    let text = match rescue(error, kind) {
        Answered::Result(result) => envelope::result(&id, result.to_string().as_bytes()),
        Answered::Error { code, message, data } => {
            envelope::error(Some(&id), &RpcError::new(code, message).with_data(data))
        }
    };
    Envelope::parse(text).unwrap()
}

fn answer(result: &Value) -> Envelope {
    Envelope::parse(envelope::result(&Id::number(1), result.to_string().as_bytes())).unwrap()
}

/// Every error ends the command with the exit code of the table, in whichever form it was answered.
#[test]
fn every_error_of_the_table_is_understood() {
    for code in ErrorCode::ALL {
        for kind in [RequestKind::ToolCall, RequestKind::Other] {
            let plain = ApiError::new(code, "what failed");
            let exact =
                plain.clone().with_hint("what to do").with_reason("why").with_detail("server", "files");
            // The schema of an operation is nothing that the command line shows.
            let is_of_schema = matches!(code, ErrorCode::InvalidArguments | ErrorCode::InvalidParams);
            let general = (!is_of_schema).then_some(code.spec().hint);
            for (error, hint, causes) in [(&plain, general, &[][..]), (&exact, Some("what to do"), &["why"])]
            {
                let failure = read_answer::<ServersList>(&refusal(error, kind)).unwrap_err();
                assert_eq!((failure.code, failure.exit), (Some(code), code.spec().exit), "{code} {kind:?}");
                assert_eq!(failure.message, "what failed", "{code} {kind:?}");
                assert_eq!(failure.hint.as_deref(), hint, "{code} {kind:?}");
                assert_eq!(failure.causes, causes, "{code} {kind:?}");
                assert_eq!(failure.details.get("server"), error.details.get("server"), "{code} {kind:?}");
            }
        }
    }
}

/// Answers that do not come from the table, of an older gateway or of something else.
#[test]
fn other_errors_are_understood_as_far_as_they_go() {
    let rpc = |number: i64, message: &str, data: Option<Value>| {
        let error = RpcError { code: number, message: message.to_owned(), data };
        Envelope::parse(envelope::error(Some(&Id::number(1)), &error)).unwrap()
    };
    let failed = json!({"content": [{"type": "text", "text": "it broke"}], "isError": true});
    for (answer, kind, exit, message) in [
        (rpc(-32_602, "unknown tool `x`", None), "internal_error", 1, "unknown tool `x`"),
        (rpc(-32_950, "policy_denied", None), "policy_denied", 6, "policy_denied"),
        (
            rpc(-32_951, "tool_disabled", Some(json!({"type": "policy_denied", "reason": "no need"}))),
            "tool_disabled",
            6,
            "tool_disabled: no need",
        ),
        (answer(&failed), "tool_execution_error", 5, "it broke"),
        (answer(&json!({"isError": true})), "tool_execution_error", 5, "the gateway gave no reason"),
        (answer(&json!({})), "failed", 1, "the gateway's answer cannot be read"),
        (
            answer(&json!({"structuredContent": {"servers": 3}})),
            "failed",
            1,
            "the gateway's answer cannot be read",
        ),
    ] {
        let failure = read_answer::<ServersList>(&answer).unwrap_err();
        assert_eq!(
            (failure.kind(), failure.exit.code(), failure.message.as_str()),
            (kind, exit, message),
            "{:?}",
            String::from_utf8_lossy(answer.json())
        );
    }
}

#[test]
fn an_answer_is_what_the_operation_declares() {
    let changes = json!({
        "added": ["a"], "changed": [], "removed": ["b"], "unchanged": 2, "problems": [], "since_then": "new",
    });
    let read = read_answer::<ConfigReload>(&answer(&json!({"structuredContent": changes}))).unwrap();
    assert_eq!((read.added, read.removed, read.unchanged), (vec!["a".to_owned()], vec!["b".to_owned()], 2));
}

#[test]
fn of_a_stream_the_last_message_is_the_answer() {
    let progress = envelope::notification(&octroi_mcp::Method::Progress, b"{}");
    let stream =
        [&b"data: "[..], &progress[..], b"\n\ndata: ", &answer(&json!({"a": 1})).json()[..], b"\n\n"]
            .concat();
    let last = last_message(&Bytes::from(stream)).unwrap();
    assert_eq!(last.result().unwrap(), r#"{"a":1}"#);
    assert!(last_message(&Bytes::new()).is_none());
}

#[test]
fn the_admin_token_is_sent_to_this_machine_only() {
    for (url, expected) in [
        ("http://127.0.0.1:7878/mcp", true),
        ("http://[::1]:7878/mcp", true),
        ("https://localhost/mcp", true),
        ("http://127.0.0.1.example.com/mcp", false),
        ("https://example.com/mcp", false),
        ("nonsense", false),
    ] {
        assert_eq!(is_loopback(url), expected, "{url}");
    }
}
