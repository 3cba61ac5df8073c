use proptest::prelude::*;

use super::*;

fn full() -> Event<'static> {
    Event {
        level: Level::Warn,
        agent: Some("helper"),
        session: Some("s1"),
        server: Some("files"),
        tool: Some("mcp:files:read"),
        source: Some(SourceType::Mcp),
        project: Some("p"),
        call: Some(CallId(0x0192_0000_0000_7000_8000_0000_0000_00ff)),
        ruling: Some(Ruling::DenyContinue),
        context: r#"{"a":[1,"x"]}"#,
        ..Event::new(1_700_000_000_123, Kind::ToolInvocationStart, Actor::new(ActorKind::User, "ann"))
    }
}

#[test]
fn a_record_is_one_object_in_fixed_order() {
    let text = String::from_utf8(full().body()).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"at_ms":1700000000123,"kind":"tool_invocation_start","level":"warn","#,
            r#""actor":{"kind":"user","id":"ann"},"agent":"helper","session":"s1","server":"files","#,
            r#""tool":"mcp:files:read","source_type":"mcp","project":"p","#,
            r#""call":"01920000-0000-7000-8000-0000000000ff","decision":"deny_continue","#,
            r#""context":{"a":[1,"x"]}}"#
        )
    );
    let small = Event::new(0, Kind::AuditOpened, Actor::SYSTEM).body();
    assert_eq!(
        String::from_utf8(small).unwrap(),
        r#"{"at_ms":0,"kind":"audit_opened","level":"info","actor":{"kind":"system","id":"octroi"}}"#
    );
}

#[test]
fn what_was_written_is_read() {
    let text = String::from_utf8(full().body()).unwrap();
    let entry = plain::parse(&text).unwrap();
    assert_eq!(entry.event().body(), text.as_bytes());
    assert_eq!(Entry::parse_any(&text).unwrap().event().body(), text.as_bytes());
    assert!(matches!(entry.tool, Some(Cow::Borrowed(_))), "texts without escapes are not copied");
}

#[test]
fn what_is_not_a_record_is_refused() {
    for (text, expected) in [
        ("", "the record is not an audit record"),
        ("{}", "the record is not an audit record"),
        (
            r#"{"at_ms":1,"kind":"party","level":"info","actor":{"kind":"user","id":"a"}}"#,
            "the record has the kind `party`, which this Octroi does not know",
        ),
        (
            r#"{"at_ms":1,"kind":"auth_failed","level":"info","actor":{"kind":"user","id":"a"},"call":"7"}"#,
            "the record has the call `7`, which this Octroi does not know",
        ),
    ] {
        assert_eq!(Entry::parse(text.as_bytes()).unwrap_err().to_string(), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn any_texts_survive(at_ms: u64, call: u128, id in ".*", tool in any::<String>(), context in any::<String>()) {
        let context = serde_json::json!({ "text": context }).to_string();
        let event = Event {
            at_ms,
            tool: Some(&tool),
            call: Some(CallId(call)),
            context: &context,
            ..Event::new(at_ms, Kind::PolicyDecision, Actor::new(ActorKind::Agent, &id))
        };
        let body = event.body();
        let entry = Entry::parse(&body).unwrap();
        prop_assert_eq!(entry.at_ms, at_ms);
        prop_assert_eq!(entry.actor_id.as_ref(), id.as_str());
        prop_assert_eq!(entry.tool.as_deref(), Some(tool.as_str()));
        prop_assert_eq!(entry.call, Some(CallId(call)));
        prop_assert_eq!(entry.context, context.as_str());
        let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
        prop_assert_eq!(&value["tool"], &serde_json::Value::from(tool.as_str()));
        prop_assert_eq!(CallId::parse(&CallId(call).to_string()), Some(CallId(call)));
    }

    #[test]
    fn no_bytes_confuse_the_reader(bytes in any::<Vec<u8>>()) {
        let _ = Entry::parse(&bytes);
    }

    #[test]
    fn the_quick_way_reads_the_same_or_nothing(cut in any::<prop::sample::Index>(), put in ".{0,3}", length in 0_usize..4) {
        let mut text = String::from_utf8(full().body()).unwrap();
        let start = cut.index(text.len());
        let end = (start + length).min(text.len());
        text.replace_range(start..end, &put);
        if let Some(entry) = plain::parse(&text) {
            let other = Entry::parse_any(&text);
            prop_assert_eq!(format!("{:?}", other.ok()), format!("{:?}", Some(entry)), "{}", text);
        }
    }
}
