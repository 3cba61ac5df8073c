use super::*;

const MODERN: &str = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"s_echo","arguments":{"n":1e400},"_meta":{"progressToken":"p","x":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}"#;
const LEGACY: &str =
    r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"s_echo","arguments":{"n":1e400}}}"#;

fn sent(json: &str, to: Era, sender: Option<&Sender>, round: &Round) -> String {
    let envelope = Envelope::parse(Bytes::copy_from_slice(json.as_bytes())).unwrap();
    let params = Params::read(envelope.params()).unwrap();
    let subject = Subject { name: Some("echo".into()), ..Subject::default() };
    let bytes = request(&envelope, &params, to, &Id::number(7), &subject, sender, round);
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn sender() -> Sender {
    Sender {
        capabilities: Some(Bytes::from_static(br#"{"elicitation":{}}"#)),
        info: Some(Bytes::from_static(br#"{"name":"c","version":"1"}"#)),
        log_level: Some("info".into()),
    }
}

#[test]
fn a_modern_request_to_a_legacy_server_loses_what_only_modern_servers_read() {
    assert_eq!(
        sent(MODERN, Era::Legacy, None, &Round::default()),
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"n":1e400},"_meta":{"progressToken":7,"x":1}}}"#
    );
}

#[test]
fn members_of_the_protocol_carry_nothing_that_is_not_shown() {
    let secret = |members: &[&str]| {
        let members: Vec<_> =
            members.iter().map(|name| format!(r#""io.modelcontextprotocol/{name}":"secret""#)).collect();
        LEGACY.replace(r#""arguments""#, &format!(r#""_meta":{{{}}},"arguments""#, members.join(",")))
    };
    let all = ["clientInfo", "clientCapabilities", "logLevel", "subscriptionId"];
    for (members, to, sender, expected) in [
        (&all[..], Era::Legacy, None, false),
        (&all, Era::Legacy, Some(sender()), false),
        (&["protocolVersion", "subscriptionId"], Era::Legacy, None, false),
        (&all, Era::Modern, Some(sender()), false),
        (&all, Era::Modern, Some(Sender::default()), false),
        (&all[2..], Era::Modern, None, false),
        // What a modern client says about itself goes to modern servers; it is recorded if it is more than usual.
        (&all[..1], Era::Modern, None, true),
    ] {
        let sent = sent(&secret(members), to, sender.as_ref(), &Round::default());
        assert_eq!(sent.contains("secret"), expected, "{members:?} to {to}: {sent}");
    }
    for level in ["debug", "error"] {
        let json = secret(&["logLevel"]).replace("secret", level);
        assert!(sent(&json, Era::Modern, None, &Round::default()).contains(level));
    }
}

#[test]
fn a_legacy_request_to_a_modern_server_says_who_asks() {
    assert_eq!(
        sent(LEGACY, Era::Modern, Some(&sender()), &Round::default()),
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"n":1e400},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/logLevel":"info"}}}"#
            .replace(r#""_meta":{"#, r#""_meta":{"progressToken":7,"#)
    );
}

#[test]
fn a_legacy_request_to_a_legacy_server_only_changes_id_and_name_and_asks_for_progress() {
    assert_eq!(
        sent(LEGACY, Era::Legacy, Some(&sender()), &Round::default()),
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"n":1e400},"_meta":{"progressToken":7}}}"#
    );
}

#[test]
fn every_tool_call_asks_for_progress_and_nothing_else_does() {
    for (meta, expected) in [
        ("", r#","_meta":{"progressToken":7}"#),
        (r#","_meta":{}"#, r#","_meta":{"progressToken":7}"#),
        (r#","_meta": { } "#, r#","_meta": { "progressToken":7} "#),
        (r#","_meta":{"x":{"y":[]} }"#, r#","_meta":{"x":{"y":[]} ,"progressToken":7}"#),
        (r#","_meta":{"progressToken":"p"}"#, r#","_meta":{"progressToken":7}"#),
        (r#","_meta":{"progressToken":1,"x":2}"#, r#","_meta":{"progressToken":7,"x":2}"#),
        (r#","_meta":null"#, r#","_meta":{"progressToken":7}"#),
    ] {
        let request = |meta: &str, id: &str, name: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}"{meta}}}}}"#
            )
        };
        let before = request(meta, "\"a\"", "s_echo");
        for to in [Era::Legacy, Era::Modern] {
            let after = sent(&before, to, None, &Round::default());
            // Whether it is edited in place or written anew differs in white space only.
            let bare = |text: &str| text.replace(' ', "");
            assert_eq!(bare(&after), bare(&request(expected, "7", "echo")), "{meta} to {to}");
        }
    }
    let prompt = LEGACY.replace("tools/call", "prompts/get");
    assert!(!sent(&prompt, Era::Legacy, None, &Round::default()).contains("progressToken"));
}

#[test]
fn a_request_is_edited_in_place_where_its_members_allow_it() {
    for (request, to, sender, expected) in [
        (LEGACY, Era::Legacy, None, true),
        (LEGACY, Era::Modern, Some(sender()), true),
        (MODERN, Era::Modern, None, true),
        (MODERN, Era::Legacy, None, false),
    ] {
        let envelope = Envelope::parse(Bytes::copy_from_slice(request.as_bytes())).unwrap();
        let params = Params::read(envelope.params()).unwrap();
        let token = Edit::Set(meta::PROGRESS_TOKEN, b"7");
        let version = Edit::Set(meta::PROTOCOL_VERSION, b"1");
        let inner = match (to, &sender) {
            (Era::Legacy, _) if params.declares_version() => vec![token, Edit::Drop(meta::PROTOCOL_VERSION)],
            (Era::Modern, Some(_)) => vec![token, version],
            (Era::Legacy | Era::Modern, _) => vec![token],
        };
        let edits = [Edit::Set("name", b"\"n\""), Edit::Within("_meta", &inner)];
        let edited = in_place::request(&envelope, &params, &Id::number(7), &edits);
        assert_eq!(edited.is_some(), expected, "{request} to {to}");
        if let Some(edited) = edited {
            assert_eq!(edited, envelope.with(Some(&Id::number(7)), &edits));
        }
    }
}

#[test]
fn a_modern_request_to_a_modern_server_only_changes_id_name_and_token() {
    assert_eq!(
        sent(MODERN, Era::Modern, None, &Round::default()),
        MODERN.replace("\"a\"", "7").replace("s_echo", "echo").replace("\"p\"", "7")
    );
    let quiet = MODERN.replace(r#""progressToken":"p","#, "");
    assert_eq!(
        sent(&quiet, Era::Modern, None, &Round::default()),
        quiet
            .replace("\"a\"", "7")
            .replace("s_echo", "echo")
            .replace(r#"{"elicitation":{}}"#, r#"{"elicitation":{}},"progressToken":7"#)
    );
}

#[test]
fn a_retry_carries_answers_and_state_to_a_modern_server_only() {
    let round = Round { answers: Some(Bytes::from_static(b"{\"k\":1}")), state: Some("s\"".into()) };
    let modern = sent(LEGACY, Era::Modern, Some(&Sender::default()), &round);
    assert!(modern.contains(r#""inputResponses":{"k":1},"requestState":"s\"""#), "{modern}");
    let legacy = sent(LEGACY, Era::Legacy, None, &round);
    assert!(!legacy.contains("inputResponses") && !legacy.contains("requestState"), "{legacy}");
}

#[test]
fn results_in_every_pair_of_eras() {
    use Era::{Legacy, Modern};

    let info = Bytes::from_static(br#"{"name":"s"}"#);
    let check = |from, to, method: Method, before: &str, after: &str| {
        let before = Bytes::copy_from_slice(before.as_bytes());
        let found = result(&ResultView::read(&before), from, to, &method, Some(&info), None);
        assert_eq!(found, after, "{from} to {to}: {before:?}");
    };
    check(Legacy, Legacy, Method::ToolsCall, r#"{ "content":[] }"#, r#"{ "content":[] }"#);
    check(
        Modern,
        Modern,
        Method::ToolsCall,
        r#"{"content":[],"resultType":"complete"}"#,
        r#"{"content":[],"resultType":"complete"}"#,
    );
    check(
        Modern,
        Modern,
        Method::ToolsCall,
        r#"{"content":[]}"#,
        r#"{"content":[],"resultType":"complete"}"#,
    );
    check(
        Legacy,
        Modern,
        Method::ResourcesRead,
        r#"{"contents":[],"x":1}"#,
        r#"{"contents":[],"x":1,"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#,
    );
    check(
        Modern,
        Legacy,
        Method::ResourcesRead,
        r#"{"resultType":"complete","contents":[],"ttlMs":5,"cacheScope":"public","x":1}"#,
        r#"{"contents":[],"x":1}"#,
    );
    check(
        Modern,
        Modern,
        Method::ResourcesRead,
        r#"{"resultType":"input_required","requestState":"s"}"#,
        r#"{"resultType":"input_required","requestState":"s"}"#,
    );
    for (sent, expected) in [("input_required", "complete"), ("task", "task")] {
        check(
            Legacy,
            Modern,
            Method::ToolsCall,
            &format!(r#"{{"resultType":"{sent}","requestState":"s","_meta":{{}}}}"#),
            &format!(
                r#"{{"resultType":"{expected}","requestState":"s","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"s"}}}}}}"#
            ),
        );
    }
}

#[test]
fn an_unknown_resource_has_another_number_in_each_era() {
    for (code, to, method, expected) in [
        (-32002, Era::Modern, Method::ResourcesRead, Some(-32602)),
        (-32042, Era::Modern, Method::ToolsCall, Some(-32603)),
        (-32602, Era::Legacy, Method::ResourcesRead, Some(-32002)),
        (-32602, Era::Legacy, Method::ToolsCall, None),
        (-32002, Era::Legacy, Method::ResourcesRead, None),
        (-1, Era::Modern, Method::ToolsCall, None),
    ] {
        let translated = error(&RpcError::new(code, "m"), to, &method);
        assert_eq!(translated.map(|error| error.code), expected, "{code} to {to}");
    }
}

#[test]
fn progress_is_reported_under_the_clients_own_token() {
    let notification = Envelope::parse(Bytes::from_static(
        br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1,"x":2}}"#,
    ))
    .unwrap();
    assert_eq!(
        progress(&notification, b"\"mine\""),
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":1,"x":2}}"#
    );
}

#[test]
fn log_levels_have_an_order() {
    assert!(severity("error") > severity("info"));
    assert!(is_level("debug") && is_level("emergency") && !is_level("loud"));
}

#[test]
fn a_task_is_shown_under_the_id_the_client_may_use() {
    let created = Bytes::from_static(br#"{"resultType":"task","taskId":"7","x":1}"#);
    let translated =
        result(&ResultView::read(&created), Era::Modern, Era::Modern, &Method::ToolsCall, None, Some("s:7"));
    assert_eq!(translated, r#"{"resultType":"task","taskId":"s:7","x":1}"#);
    let legacy = Bytes::from_static(br#"{"task":{"taskId":"7","status":"working"}}"#);
    let translated =
        result(&ResultView::read(&legacy), Era::Legacy, Era::Legacy, &Method::ToolsCall, None, Some("s:7"));
    assert_eq!(translated, r#"{"task":{"taskId":"s:7","status":"working"}}"#);
}

#[test]
fn the_version_sent_is_the_latest() {
    assert_eq!(MODERN_VERSION, json::quote(crate::Version::LATEST_MODERN.as_str()));
}
