//! Any bytes as a message of a client and of a server: read, checked, edited and translated.

use bytes::Bytes;
use octroi_mcp::ask::{self, InputRequired};
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::json::{self, Edit};
use octroi_mcp::params::Params;
use octroi_mcp::result::ResultView;
use octroi_mcp::sse::EventReader;
use octroi_mcp::translate::{self, Round, Sender, Subject};
use octroi_mcp::{Envelope, Era, Id, Incoming, Method};

use super::{Meter, template};

/// So many bytes may a server send in one message.
const MESSAGE_MAX: usize = 16 * 1024 * 1024;

/// A text in which parts repeat, or bytes as they are.
pub(crate) fn run(input: &[u8], meter: &mut Meter<'_>) {
    let text = Bytes::from(match input.strip_prefix(b"T\n") {
        Some(template) => template::expand(template),
        None => input.to_vec(),
    });
    let n_bytes = text.len();
    let mut of_client = None;
    meter("read a client's message", n_bytes, &mut || {
        of_client = Incoming::parse_of_client(text.clone()).ok();
    });
    match of_client {
        Some(Incoming::One(message)) => requests(&message, n_bytes, meter),
        Some(Incoming::Batch(messages)) => {
            meter("translate a batch", n_bytes, &mut || {
                for message in messages.iter().flatten() {
                    translate_request(message);
                }
            });
        }
        None => {}
    }
    let mut of_server = None;
    meter("read a server's message", n_bytes, &mut || of_server = Envelope::parse(text.clone()).ok());
    if let Some(result) = of_server.and_then(|message| message.result().or_else(|| message.error_json())) {
        meter("translate a result", n_bytes, &mut || results(&result));
        meter("read questions", n_bytes, &mut || questions(&result));
    }
    meter("read a stream", n_bytes, &mut || {
        let mut reader = EventReader::new(MESSAGE_MAX);
        for chunk in text.chunks(512) {
            if reader.push(chunk).is_err() {
                return;
            }
            while reader.next_event().is_some() {}
        }
    });
}

fn requests(message: &Envelope, n_bytes: usize, meter: &mut Meter<'_>) {
    meter("read parameters", n_bytes, &mut || {
        if let Ok(params) = Params::read(message.params()) {
            let _ = (params.name(), params.uri(), params.others("name"), params.other_meta());
            if let Some(capabilities) = params.client_capabilities() {
                let _ = ClientCapabilities::read(capabilities).allow(message.method(), params.json());
            }
        }
    });
    meter("translate a request", n_bytes, &mut || translate_request(message));
}

fn translate_request(message: &Envelope) {
    let Ok(params) = Params::read(message.params()) else { return };
    let subject = Subject { name: Some("n".to_owned()), uri: Some("x://y".to_owned()), ..Subject::default() };
    let sender = Sender { capabilities: None, info: None, log_level: Some("info".to_owned()) };
    let round = Round { answers: Some(Bytes::from_static(b"{}")), state: Some("sealed".to_owned()) };
    for era in [Era::Legacy, Era::Modern] {
        let sent = translate::request(message, &params, era, &Id::number(7), &subject, Some(&sender), &round);
        drop(sent);
    }
    drop(message.with(Some(&Id::number(7)), &[Edit::Set("x", b"[1]")]));
    drop(ask::read_answers(params.input_responses().as_ref()));
}

fn results(result: &Bytes) {
    let view = ResultView::read(result);
    for (from, to) in [(Era::Legacy, Era::Modern), (Era::Modern, Era::Legacy)] {
        drop(translate::result(&view, from, to, &Method::parse("tools/call"), None, None));
    }
    drop(json::rewrite(result, &[Edit::Drop("_meta"), Edit::Within("a", &[Edit::Set("b", b"1")])]));
}

fn questions(result: &Bytes) {
    if let Ok(asked) = InputRequired::read(&ResultView::read(result)) {
        drop(ask::input_required(&asked.questions, "state"));
        for question in &asked.questions {
            drop(ask::to_legacy(question, "e1"));
        }
    }
    drop(ask::to_modern(result));
    drop(ask::write_answers(&ask::read_answers(Some(result))));
}
