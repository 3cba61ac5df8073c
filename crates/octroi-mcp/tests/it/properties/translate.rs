//! Translation between the eras always yields JSON, and unknown members survive.

use bytes::Bytes;
use octroi_mcp::ask::{self, InputRequired, Question};
use octroi_mcp::params::Params;
use octroi_mcp::result::ResultView;
use octroi_mcp::translate::{self, Round, Sender, Subject};
use octroi_mcp::{Envelope, Era, Id, Method, RpcError, json, meta};

use super::members::{self, Members};

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// Members of a request that translation may set or remove.
const REPLACED: [&str; 7] = ["name", "uri", "taskId", "ref", "inputResponses", "requestState", "_meta"];

/// Members of `_meta` that belong to one era or to one connection.
const REPLACED_IN_META: [&str; 5] = [
    meta::PROTOCOL_VERSION,
    meta::CLIENT_INFO,
    meta::CLIENT_CAPABILITIES,
    meta::LOG_LEVEL,
    meta::PROGRESS_TOKEN,
];

/// Methods whose requests or results are treated specially.
const METHODS: [&str; 8] = [
    "tools/call",
    "tools/list",
    "prompts/get",
    "resources/read",
    "completion/complete",
    "tasks/get",
    "server/discover",
    "x/unknown",
];

/// The first byte chooses the method and what the gateway adds; the rest is the text of `params`, of a
/// result, or of a whole message.
pub(crate) fn check(input: &[u8]) {
    let Some((choice, text)) = input.split_first() else {
        return;
    };
    if !members::is_json(text) {
        return;
    }
    let text = Bytes::copy_from_slice(trim(text));
    let method = METHODS[usize::from(choice % 8)];
    let message = [
        br#"{"jsonrpc":"2.0","id":"a","method":"#,
        json::quote(method).as_bytes(),
        br#","params":"#,
        &text,
        b"}",
    ]
    .concat();
    for message in [Bytes::from(message), text.clone()] {
        if let Ok(message) = Envelope::parse(message) {
            check_request(&message, *choice);
        }
    }
    check_result(&text, &Method::parse(method));
    check_questions(&text);
}

fn check_request(message: &Envelope, choice: u8) {
    let params = message.params();
    let Ok(read) = Params::read(params.clone()) else {
        return;
    };
    let adds = |bit: u8| choice & bit != 0;
    let subject = Subject {
        name: adds(8).then(|| "n\"ew".to_owned()),
        uri: adds(16).then(|| "x://new".to_owned()),
        ..Subject::default()
    };
    let sender = Sender {
        capabilities: adds(32).then(|| Bytes::from_static(br#"{"roots":{}}"#)),
        info: adds(64).then(|| Bytes::from_static(br#"{"name":"c"}"#)),
        log_level: adds(128).then(|| "in\\fo".to_owned()),
    };
    let round = Round {
        answers: adds(64).then(|| Bytes::from_static(br#"{"k":{}}"#)),
        state: adds(128).then(|| "sealed".to_owned()),
    };
    for to in ERAS {
        let sent = translate::request(message, &read, to, &Id::number(7), &subject, Some(&sender), &round);
        let sent = Envelope::parse(sent).expect("a message stays a message");
        assert_eq!(sent.method(), message.method());
        assert_eq!(sent.id(), Some(Id::number(7)));
        assert!(members::is_json(&translate::progress(message, b"\"token\"")));
        let (Some(before), Some(after)) = (members::read(&params), members::read(&sent.params())) else {
            continue;
        };
        assert_eq!(members::without(&after, &REPLACED), members::without(&before, &REPLACED), "to {to}");
        if let (Some(before), Some(after)) = (inner(&before, "_meta"), inner(&after, "_meta")) {
            assert_eq!(
                members::without(&after, &REPLACED_IN_META),
                members::without(&before, &REPLACED_IN_META),
                "_meta to {to}"
            );
        }
        let declares = match members::value(&after, "_meta").map(|meta| members::read(meta.as_bytes())) {
            None => Some(false),
            // A name in it is not Unicode, so there is no reference to compare with.
            Some(None) => None,
            Some(Some(meta)) => Some(members::value(&meta, meta::PROTOCOL_VERSION).is_some()),
        };
        let sent_params = Params::read(sent.params()).expect("the parameters can still be read");
        if *message.method() == Method::ToolsCall && read.json().starts_with(b"{") {
            assert_eq!(sent_params.progress_token().as_deref(), Some(b"7".as_slice()), "to {to}");
        }
        assert!(
            declares.is_none_or(|it_does| it_does == (to == Era::Modern)),
            "only a modern server reads a version"
        );
    }
}

fn check_result(text: &Bytes, method: &Method) {
    let info = Bytes::from_static(br#"{"name":"s"}"#);
    for (from, to) in [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(from, to)| (ERAS[from], ERAS[to])) {
        let after = translate::result(&ResultView::read(text), from, to, method, Some(&info), None);
        assert!(members::is_json(&after), "{from} to {to}");
        if (from, to) == (Era::Legacy, Era::Legacy) {
            assert_eq!(after, text);
        }
        let (Some(before), Some(after)) = (members::read(text), members::read(&after)) else {
            continue;
        };
        let own = ["resultType", "ttlMs", "cacheScope", "_meta"];
        assert_eq!(members::without(&after, &own), members::without(&before, &own), "{from} to {to}");
        if let (Some(before), Some(after)) = (inner(&before, "_meta"), inner(&after, "_meta")) {
            let own = [meta::SERVER_INFO];
            assert_eq!(members::without(&after, &own), members::without(&before, &own), "{from} to {to}");
        }
    }
}

fn check_questions(text: &Bytes) {
    if let Ok(asked) = InputRequired::read(&ResultView::read(text)) {
        let parts = |questions: &[Question]| -> Vec<_> {
            let questions = questions.iter();
            questions.map(|asked| (asked.key.clone(), asked.method.clone(), asked.params.clone())).collect()
        };
        let again = ask::input_required(&asked.questions, "state");
        let read = InputRequired::read(&ResultView::read(&again)).expect("still a question");
        assert_eq!(parts(&read.questions), parts(&asked.questions));
        for question in &asked.questions {
            assert!(members::is_json(&ask::to_legacy(question, "e\"1")));
        }
    }
    let modern = ask::to_modern(text);
    assert!(members::is_json(&modern));
    if let (Some(before), Some(after)) = (members::read(text), members::read(&modern)) {
        let own = ["elicitationId", "task", "_meta"];
        assert_eq!(members::without(&after, &own), members::without(&before, &own));
    }
    let answers = ask::read_answers(Some(text));
    let written = ask::write_answers(&answers);
    assert!(members::is_json(&written));
    assert_eq!(ask::read_answers(Some(&written)), answers);
    if let Ok(error) = serde_json::from_slice::<RpcError>(text) {
        for question in ask::questions_of_url_error(&error).unwrap_or_default() {
            assert!(members::is_json(&question.params));
        }
        for era in ERAS {
            let translated = translate::error(&error, era, &Method::ResourcesRead);
            assert!(translated.is_none_or(|translated| translated.message == error.message));
        }
    }
}

fn inner(members: &Members, name: &str) -> Option<Members> {
    members::read(members::value(members, name)?.as_bytes())
}

/// JSON text without surrounding white space, as the members of a message have it.
fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}
