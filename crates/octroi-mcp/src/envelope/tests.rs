use super::*;

fn parse(json: &str) -> Result<Envelope, Malformed> {
    Envelope::parse(Bytes::copy_from_slice(json.as_bytes()))
}

#[test]
fn ids_of_any_type_come_back_as_they_were() {
    for id in
        ["1", "\"abc\"", "-7", "1.50", "12345678901234567890123", "null", r#""\u00e9""#, "[1]", r#"{"a":1}"#]
    {
        let envelope = parse(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).unwrap();
        assert_eq!(envelope.kind(), Kind::Request);
        let answer = result(&envelope.id().unwrap(), b"{}");
        assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
}

#[test]
fn what_is_not_a_message_says_why() {
    for (json, reason) in [
        ("", "the message is not valid JSON"),
        ("{", "the message is not valid JSON"),
        ("nonsense", "the message is not valid JSON"),
        ("12", "a message must be a JSON object"),
        ("{}", "`jsonrpc` must be \"2.0\""),
        (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, "`jsonrpc` must be \"2.0\""),
        (r#"{"jsonrpc":"2.0","id":1}"#, "a message needs a `method`, a `result` or an `error`"),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "`method` must be a string"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":5}"#, "`params` must be an object"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}"#, "a member of the message is given twice"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"x","meth\u006fd":"y"}"#,
            "a member of the message is given twice",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#,
            "a message needs a `method`, a `result` or an `error`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"x","result":1}"#,
            "a message cannot be both a request and a response",
        ),
        (r#"{"jsonrpc":"2.0","result":1}"#, "a response needs an `id`"),
        ("[]", "a batch must contain at least one message"),
    ] {
        assert_eq!(parse(json).unwrap_err().reason, reason, "{json}");
    }
}

#[test]
fn a_complaint_names_the_id_it_could_read() {
    let malformed = parse(r#"{"jsonrpc":"2.0","id":"k","method":5}"#).unwrap_err();
    assert_eq!(malformed.id, Some(Id::from_json(Bytes::from_static(b"\"k\""))));
}

#[test]
fn a_batch_keeps_its_order_and_its_bad_elements() {
    let batch = br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, 7, {"jsonrpc":"2.0","method":"notifications/initialized"}]"#;
    let Incoming::Batch(elements) = Incoming::parse(Bytes::from_static(batch)).unwrap() else {
        panic!("a batch was expected");
    };
    let kinds: Vec<_> = elements.iter().map(|element| element.as_ref().ok().map(Envelope::kind)).collect();
    assert_eq!(kinds, [Some(Kind::Request), None, Some(Kind::Notification)]);
}

#[test]
fn unknown_members_and_exact_numbers_survive_a_rewrite() {
    let envelope = parse(
        r#"{"trace":"t","jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","arguments":{"n":1e400,"big":12345678901234567890123},"future":[]}}"#,
    )
    .unwrap();
    let sent = envelope.with(Some(&Id::number(7)), &[Edit::Set("name", b"\"y\"")]);
    assert_eq!(
        sent,
        r#"{"trace":"t","jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"y","arguments":{"n":1e400,"big":12345678901234567890123},"future":[]}}"#
    );
}

#[test]
fn a_message_shows_no_content_in_a_log() {
    let envelope =
        parse(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"secret":"hunter2"}}"#).unwrap();
    assert!(!format!("{envelope:?}").contains("hunter2"));
}

#[test]
fn what_is_not_text_is_not_passed_on() {
    for json in [
        &b"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"y\":\"\xff\"}"[..],
        b"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"\xff\":1}",
    ] {
        assert!(!Envelope::parse(Bytes::from_static(json)).unwrap_err().is_json);
    }
}

#[test]
fn a_request_with_an_ambiguous_member_is_refused() {
    for member in ["Method", "METHOD", "meth\\u006fD", "Param\u{17f}", "ID", "i_d", "method\\u0000", "Result"]
    {
        let json =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{}},"{member}":"x"}}"#);
        assert_eq!(
            parse(&json).unwrap_err().reason,
            "a member of the message can be taken for another",
            "{member}"
        );
    }
    let twice = r#"{"jsonrpc":"2.0","id":1,"method":"x","trace":1,"Trace":2}"#;
    assert!(parse(twice).is_err());
    // A server's answer is read by Octroi alone.
    assert!(parse(r#"{"jsonrpc":"2.0","id":1,"result":{},"Result":{}}"#).is_ok());
}

#[test]
fn what_is_nested_too_deep_is_refused() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    let request =
        |n: usize| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{}}}}}"#, nested(n));
    let answer = |n: usize| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#, nested(n));
    let of_client = |json: &str| Incoming::parse_of_client(Bytes::copy_from_slice(json.as_bytes()));
    assert!(parse(&request(62)).is_ok() && of_client(&request(62)).is_ok());
    assert!(parse(&request(63)).is_err() && of_client(&request(63)).is_err());
    assert!(of_client(&answer(63)).is_ok() && of_client(&answer(64)).is_err());
    assert!(parse(&answer(127)).is_ok() && parse(&answer(128)).is_err());
    assert_eq!(parse(&request(5_000)).unwrap_err().id, Some(Id::number(1)));
    let other = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","trace":{}}}"#, nested(64));
    assert!(parse(&other).is_err());
}

#[test]
fn what_has_too_many_values_is_refused_from_clients() {
    let request = |params: &str| {
        Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{params}}}}}"#))
    };
    let zeros = |n: usize| format!("[{}]", vec!["0"; n].join(","));
    let text = format!("\"{}\"", ",".repeat(2 * VALUES_MAX));
    assert!(Incoming::parse_of_client(request(&zeros(VALUES_MAX - 10))).is_ok());
    assert!(Incoming::parse_of_client(request(&text)).is_ok());
    for json in [request(&zeros(VALUES_MAX + 1)), Bytes::from(zeros(VALUES_MAX + 1))] {
        let refused = Incoming::parse_of_client(json).unwrap_err();
        assert_eq!((refused.is_json, refused.reason), (true, TOO_MANY_VALUES));
    }
}

#[test]
fn what_json_rpc_does_not_define_is_dropped_from_messages_of_clients() {
    for (sent, kept) in [
        (
            r#"{"args":{"x":1},"jsonrpc":"2.0","id":1.50,"method":"tools\/call","params":{"a" : 1,"b":1e400},"z":null}"#,
            r#"{"jsonrpc":"2.0","id":1.50,"method":"tools/call","params":{"a" : 1,"b":1e400}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping","x":1}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        ),
        (r#"{"jsonrpc":"2.0","method":"n","_meta":{}}"#, r#"{"jsonrpc":"2.0","method":"n"}"#),
        (
            r#"{"jsonrpc":"2.0","id":"a","result":{"x":1},"y":2}"#,
            r#"{"jsonrpc":"2.0","id":"a","result":{"x":1}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""},"y":2}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","error":{},"params":[1],"y":2}"#,
            r#"{"jsonrpc":"2.0","params":[1],"error":{}}"#,
        ),
        // Nothing to drop, nothing changed.
        (r#"{ "id":1, "jsonrpc":"2.0","method":"n" }"#, r#"{ "id":1, "jsonrpc":"2.0","method":"n" }"#),
    ] {
        for sent in [sent.to_owned(), format!("[{sent}]")] {
            let message = match Incoming::parse_of_client(Bytes::from(sent.clone())).unwrap() {
                Incoming::One(message) => message,
                Incoming::Batch(mut messages) => messages.remove(0).unwrap(),
            };
            assert_eq!(message.json(), kept, "{sent}");
        }
        // A server's message stays as it is.
        assert_eq!(parse(sent).unwrap().json(), sent);
    }
    // What can be taken for a member of a message is still refused.
    assert!(
        Incoming::parse_of_client(Bytes::from_static(
            br#"{"jsonrpc":"2.0","id":1,"method":"n","Params":{}}"#
        ))
        .is_err()
    );
}
