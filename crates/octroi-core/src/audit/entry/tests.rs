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
    let (entry, _) = plain::parse(&text).unwrap();
    assert_eq!(entry.event().body(), text.as_bytes());
    assert_eq!(Entry::parse_any(&text).unwrap().event().body(), text.as_bytes());
    assert!(matches!(entry.tool, Some(Cow::Borrowed(_))), "texts without escapes are not copied");
}

#[test]
fn the_frame_is_everything_but_time_call_and_context() {
    let full = String::from_utf8(full().body()).unwrap();
    let before_call = concat!(
        r#","kind":"tool_invocation_start","level":"warn","actor":{"kind":"user","id":"ann"},"agent":"helper","#,
        r#""session":"s1","server":"files","tool":"mcp:files:read","source_type":"mcp","project":"p""#
    );
    let after_call = r#","decision":"deny_continue""#;
    let frame = EntryFrame { before_call, after_call };
    assert_eq!(Entry::parse_with_frame(&full).unwrap().1, Some(frame));
    let (without_call, _) = full.split_once(",\"call\"").unwrap();
    let short = EntryFrame { before_call, after_call: "" };
    assert_eq!(Entry::parse_with_frame(&format!("{without_call}}}")).unwrap().1, Some(short));
    let other_order = r#"{"kind":"auth_failed","at_ms":1,"level":"info","actor":{"kind":"user","id":"a"}}"#;
    assert_eq!(Entry::parse_with_frame(other_order).unwrap().1, None);
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

/// Contexts of records; some end alike, and some are no objects.
const CONTEXTS: [&str; 12] = [
    "",
    "{}",
    r#"{"a":1}"#,
    r#"{"call":"x"}"#,
    "{",
    r#"{"arguments":{"x":1},"risk":"low","trace":[]}"#,
    r#"{"arguments":{"x":",\"risk\":"},"risk":"low","trace":[]}"#,
    r#"{"arguments":,"risk":"low","trace":[]}"#,
    r#"{"arguments":{"x":1,"risk":"low","trace":[]}"#,
    r#"{ ,"risk":"low","trace":[]}"#,
    r#"{"arguments":"x,"risk":"low","trace":[]}"#,
    r#"{"risk":"low","trace":[]}"#,
];

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
    fn what_resembles_earlier_records_is_read_like_others(
        choices in prop::collection::vec((0..3_usize, 0..3_usize, 0..4_usize, 0..12_usize), 1..80),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut texts: Vec<String> = choices.iter().map(|(tool, project, call, context)| {
            let call = u64::try_from(*call).unwrap();
            let event = Event {
                at_ms: call,
                tool: [None, Some("read"), Some("read\"")][*tool],
                project: [None, Some("p"), Some("\",\"call\":\"")][*project],
                call: (call < 3).then_some(CallId(0x0192_0000_0000_7000_8000_0000_0000_00ff + u128::from(call))),
                ruling: (*context % 2 == 0).then_some(Ruling::Allow),
                context: CONTEXTS[*context],
                ..full()
            };
            String::from_utf8(event.body()).unwrap()
        }).collect();
        // One of them is damaged.
        let place = cut.index(texts.len());
        let end = cut.index(texts[place].len());
        texts[place].remove(end);
        let mut reader = EntryReader::default();
        for text in &texts {
            let (read, expected) = (reader.read(text), Entry::parse_with_frame(text));
            prop_assert_eq!(format!("{:?}", read.ok()), format!("{:?}", expected.ok()), "{}", text);
        }
    }

    #[test]
    fn the_quick_way_reads_the_same_or_nothing(cut in any::<prop::sample::Index>(), put in ".{0,3}", length in 0_usize..4) {
        let mut text = String::from_utf8(full().body()).unwrap();
        let start = cut.index(text.len());
        let end = (start + length).min(text.len());
        text.replace_range(start..end, &put);
        if let Some((entry, _)) = plain::parse(&text) {
            let other = Entry::parse_any(&text);
            prop_assert_eq!(format!("{:?}", other.ok()), format!("{:?}", Some(entry)), "{}", text);
        }
    }
}
