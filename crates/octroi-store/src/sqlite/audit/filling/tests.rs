use octroi_core::audit::Entry;
use proptest::prelude::*;

use super::super::chunk::Unpacked;
use super::*;

const KINDS: [&str; 4] =
    ["tool_invocation_start", "tool_invocation_end", "policy_violation", "question_answered"];
const NAMES: [&str; 8] = ["arguments", "risk", "uri", "outcome", "trace", "", r#"a\"b"#, "\u{fc}"];
const VALUES: [&str; 12] = [
    "1.0",
    "1e400",
    "-0",
    "12345678901234567890123",
    "null",
    r#"{"a":null,"b":{"c":null}}"#,
    r#""ü\u00fc\u0000\ud834\udd1e𝄞""#,
    r#""x,\"risk\":1}""#,
    "[ ]",
    "{}",
    r#"{"risk":1.0}"#,
    "1",
];

/// A record by the places of its parts in the lists above.
#[derive(Clone, Debug)]
struct Made {
    at_ms: u64,
    kind: usize,
    tool: usize,
    call: Option<usize>,
    is_allowed: bool,
    context: Option<Vec<(usize, usize)>>,
    form: usize,
}

impl Made {
    fn text(&self) -> String {
        let (at_ms, kind) = (self.at_ms, KINDS[self.kind]);
        let actor = r#""level":"info","actor":{"kind":"agent","id":"coder"}"#;
        let tool = [r#","tool":"t1""#, r#","tool":"t\u00fc""#, ""][self.tool];
        let call = self.call.map_or(String::new(), |call| format!(r#","call":"{}""#, id(call)));
        let decision = if self.is_allowed { r#","decision":"allow""# } else { "" };
        let context = self.context.as_ref().map(|members| {
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!(r#""{}":{}"#, NAMES[*name], VALUES[*value]))
                .collect();
            let [open, comma, close] = [["{", ",", "}"], ["{ ", " , ", " }"]][usize::from(self.form == 1)];
            format!(r#","context":{open}{}{close}"#, members.join(comma))
        });
        let context = context.unwrap_or_default();
        match self.form {
            2 => format!(r#"{{"kind":"{kind}","at_ms":{at_ms},{actor}{context}{decision}{call}{tool}}}"#),
            3 => format!(
                r#"{{"at_ms":{at_ms},"kind":"{kind}",{actor},"new":[1.0]{tool}{call}{decision}{context}}}"#
            ),
            _ => format!(r#"{{"at_ms":{at_ms},"kind":"{kind}",{actor}{tool}{call}{decision}{context}}}"#),
        }
    }
}

fn id(call: usize) -> String {
    format!("01900000-0000-7000-8000-{call:012}")
}

fn made() -> impl Strategy<Value = Made> {
    let at_ms = prop_oneof![6 => 1_000_u64..2_000, 1 => Just(0), 1 => any::<u64>()];
    let members = prop::collection::vec((0..NAMES.len(), 0..VALUES.len()), 0..5);
    // Repetitions are frequent.
    let context = prop_oneof![
        3 => (0..VALUES.len()).prop_map(|value| Some(vec![(0, value), (1, 0), (4, 8)])),
        2 => prop::option::of(members),
    ];
    let parts =
        (at_ms, 0..KINDS.len(), 0..3_usize, prop::option::of(0..6_usize), any::<bool>(), context, 0..8_usize);
    parts.prop_map(|(at_ms, kind, tool, call, is_allowed, context, form)| Made {
        at_ms,
        kind,
        tool,
        call,
        is_allowed,
        context,
        form,
    })
}

/// The records as they are numbered.
type Numbered = [(u64, String)];

fn fill(filling: Option<Filling>, records: &Numbered) -> Chunk {
    let records = records.iter().map(|(seq, text)| AuditRecord::read(*seq, text.as_bytes()).unwrap());
    let filled = records.fold(filling, |filling, record| {
        let mut filling = filling.unwrap_or_else(|| Filling::new(7, "n1", &record));
        filling.add(&record);
        Some(filling)
    });
    filled.unwrap().into_chunk()
}

/// What can be read from a chunk: positions, numbers and everything else as text.
fn content(chunk: &Chunk) -> Vec<(i64, u64, String)> {
    let Unpacked { templates, events } = chunk.unpack().unwrap();
    assert!((0..templates.len()).all(|template| events.iter().any(|event| event.template == template)));
    let mut buffer = String::new();
    let read = events.iter().map(|event| {
        let template = Entry::parse_text(templates[event.template]).unwrap();
        (event.position, event.seq, format!("{:?}", event.entry(&template, &mut buffer)))
    });
    read.collect()
}

fn expected(records: &Numbered) -> Vec<(i64, u64, String)> {
    let read = |text: &str| format!("{:?}", Entry::parse_text(text).unwrap());
    (7 << 8..).zip(records).map(|(position, (seq, text))| (position, *seq, read(text))).collect()
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(made in prop::collection::vec(made(), 1..60), stop: prop::sample::Index) {
        let records: Vec<_> = (5..).step_by(2).zip(made.iter().map(Made::text)).collect();
        let (before, after) = records.split_at(1 + stop.index(records.len()));
        let begun = fill(None, before);
        prop_assert_eq!(content(&begun), expected(before));
        let whole = fill(Some(Filling::resume(begun).unwrap()), after);
        prop_assert_eq!(content(&whole), expected(&records));
    }

    #[test]
    fn a_part_is_as_it_was(
        made in prop::collection::vec(made(), 1..60), one: prop::sample::Index, other: prop::sample::Index
    ) {
        let records: Vec<_> = (5..).step_by(2).zip(made.iter().map(Made::text)).collect();
        let (one, other) = (one.index(records.len()), other.index(records.len()));
        let (start, end) = (one.min(other), one.max(other));
        let whole = fill(None, &records);
        let part = whole.with_only(records[start].0..=records[end].0).unwrap().unwrap();
        prop_assert_eq!(content(&part), &expected(&records)[start..=end]);
        // An id is in full once, where SQL looks for it.
        for call in 0..6 {
            let has_call = |(_, text): &(u64, String)| text.contains(&id(call));
            let n_ids = part.events.matches(&id(call)).count();
            prop_assert_eq!(n_ids, usize::from(records[start..=end].iter().any(has_call)));
        }
        // After the end of the log was lost, other records come in its place.
        let again = fill(Some(Filling::resume(part).unwrap()), &records[end + 1..]);
        prop_assert_eq!(content(&again), &expected(&records)[start..]);
        prop_assert!(whole.with_only(..5).unwrap().is_none());
    }
}

#[test]
fn calls_of_one_kind_share_their_templates() {
    let record = |seq: u64, kind: &str, rest: &str| {
        let call = id(usize::try_from(seq / 2).unwrap());
        let frame = r#""level":"info","actor":{"kind":"agent","id":"coder"},"tool":"t""#;
        (seq, format!(r#"{{"at_ms":{},"kind":"{kind}",{frame},"call":"{call}",{rest}}}"#, 900 + seq))
    };
    let calls = [3, 5].map(|seq| {
        let start =
            format!(r#""decision":"allow","context":{{"arguments":{{"n":{seq}}},"risk":"low","trace":[]}}"#);
        let end = format!(r#""context":{{"outcome":"completed","result":"{seq}"}}"#);
        [record(2 * seq, KINDS[0], &start), record(2 * seq + 1, KINDS[1], &end)]
    });
    let Chunk { first_seq, base_ms, templates, events, .. } = fill(None, calls.as_flattened());
    assert_eq!((first_seq, base_ms), (6, 906));
    let start = concat!(
        r#"{"at_ms":0,"kind":"tool_invocation_start","level":"info","actor":{"kind":"agent","id":"coder"},"tool":"t","#,
        r#""decision":"allow","context":{"risk":"low","trace":[]}}"#,
    );
    let end = r#"{"at_ms":0,"kind":"tool_invocation_end","level":"info","actor":{"kind":"agent","id":"coder"},"tool":"t"}"#;
    assert_eq!(templates, format!("[{start},{end}]"));
    let expected = [
        r#"[0,0,0,"01900000-0000-7000-8000-000000000003",{"arguments":{"n":3}}]"#,
        r#"[1,1,1,0,{"outcome":"completed","result":"3"}]"#,
        r#"[4,0,4,"01900000-0000-7000-8000-000000000005",{"arguments":{"n":5}}]"#,
        r#"[5,1,5,2,{"outcome":"completed","result":"5"}]"#,
    ];
    assert_eq!(events, format!("[{}]", expected.join(",")));
}

#[test]
fn a_chunk_in_another_form_is_not_read() {
    let template = r#"{"at_ms":0,"kind":"auth_failed","level":"info","actor":{"kind":"user","id":"a"}}"#;
    let chunk = |templates: &str, events: &str| Chunk {
        templates: templates.to_owned(),
        events: events.to_owned(),
        ..Chunk::before(1, "n1", 1, 0)
    };
    let list = format!("[{template}]");
    assert!(chunk(&list, "[[0,0,0,null,null]]").unpack().is_ok());
    for events in [
        "",
        "{}",
        "[[0,0,0,null]]",
        "[[0,1,0,null,null]]",
        "[[0,-1,0,null,null]]",
        "[[0,0,0.5,null,null]]",
        "[[0,0,0,0,null]]",
        r#"[[0,0,0,"x",null]]"#,
        r#"[[0,0,0,"01900000-0000-7000-8000-00000000000",null]]"#,
        "[[0,0,0,{},null]]",
        "[[0,0,0,null,1]]",
        "[[0,0,0,null,[]]]",
    ] {
        assert!(chunk(&list, events).unpack().is_err(), "{events}");
    }
    assert!(chunk("[1", "[]").unpack().is_err());
}
