//! Questions of a server to a client, in both protocol eras.
//!
//! A legacy server sends its own request (`elicitation/create`, `sampling/createMessage`, `roots/list`); a
//! modern one ends the call with `input_required` and expects a retry with answers. These types convert
//! between the two.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::code::{self, RpcError};
use crate::json::{self as text, Edit, Span};
use crate::method::Method;
use crate::result::ResultView;

/// One question of a server.
#[derive(Clone, Debug)]
pub struct Question {
    /// The key under which the answer is expected.
    pub key: String,
    /// The method of the question.
    pub method: Method,
    /// Its parameters, as JSON text.
    pub params: Bytes,
}

/// A parsed interim result of a modern server.
#[derive(Clone, Debug)]
pub struct InputRequired {
    /// Its questions; may be empty when it only wants to be called again.
    pub questions: Vec<Question>,
    /// The opaque state that must be returned with the answers.
    pub state: Option<String>,
}

impl InputRequired {
    /// Parses an interim result.
    pub fn read(view: &ResultView<'_>) -> Result<Self, RpcError> {
        let state = view.request_state().map(std::borrow::Cow::into_owned);
        let questions = view.input_requests().map_or(Ok(Vec::new()), |json| read_questions(&json))?;
        if questions.is_empty() && state.is_none() {
            return Err(unreadable("an interim result has neither questions nor a state"));
        }
        Ok(Self { questions, state })
    }
}

fn read_questions(json: &Bytes) -> Result<Vec<Question>, RpcError> {
    let whole = Span { start: 0, end: json.len() };
    text::members(json, whole)
        .map(|member| {
            let mut method = None;
            let mut params = Bytes::from_static(b"{}");
            for inner in text::members(json, member.value) {
                if inner.is(json, "method") {
                    method = text::text(inner.value.of(json)).map(|name| Method::parse(&name));
                } else if inner.is(json, "params") {
                    params = json.slice(inner.value.range());
                }
            }
            let method = method.ok_or_else(|| unreadable("a question of the server has no method"))?;
            let key =
                member.name(json).ok_or_else(|| unreadable("the key of a question cannot be decoded"))?;
            Ok(Question { key: key.into_owned(), method, params })
        })
        .collect()
}

fn unreadable(reason: &str) -> RpcError {
    RpcError::new(code::INTERNAL_ERROR, reason)
}

/// An interim result made by Octroi that asks a modern client what a legacy server asked.
pub fn input_required(questions: &[Question], state: &str) -> Bytes {
    let mut out = Vec::from(&br#"{"resultType":"input_required","inputRequests":"#[..]);
    write_questions(&mut out, questions);
    out.extend_from_slice(br#","requestState":"#);
    out.extend_from_slice(text::quote(state).as_bytes());
    out.push(b'}');
    Bytes::from(out)
}

/// The questions of `inputRequests` with replaced parameters, without duplicate members.
pub fn with_params(questions: &Bytes, change: impl Fn(Bytes) -> Bytes) -> Result<Bytes, RpcError> {
    let mut questions = read_questions(questions)?;
    for question in &mut questions {
        question.params = change(std::mem::take(&mut question.params));
    }
    let mut out = Vec::new();
    write_questions(&mut out, &questions);
    Ok(Bytes::from(out))
}

/// Appends questions by their keys, as a modern client expects them.
pub(crate) fn write_questions(out: &mut Vec<u8>, questions: &[Question]) {
    out.push(b'{');
    for (index, question) in questions.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(text::quote(&question.key).as_bytes());
        out.extend_from_slice(br#":{"method":"#);
        out.extend_from_slice(text::quote(question.method.as_str()).as_bytes());
        out.extend_from_slice(br#","params":"#);
        out.extend_from_slice(&question.params);
        out.push(b'}');
    }
    out.push(b'}');
}

/// The answers of a retried request: JSON text by key.
pub fn read_answers(input_responses: Option<&Bytes>) -> Vec<(String, Bytes)> {
    let Some(json) = input_responses else {
        return Vec::new();
    };
    text::members(json, Span { start: 0, end: json.len() })
        .filter_map(|member| Some((member.name(json)?.into_owned(), json.slice(member.value.range()))))
        .collect()
}

/// The answers for a retry to a modern server.
pub fn write_answers(answers: &[(String, Bytes)]) -> Bytes {
    let mut out = vec![b'{'];
    for (index, (key, answer)) in answers.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(text::quote(key).as_bytes());
        out.push(b':');
        out.extend_from_slice(answer);
    }
    out.push(b'}');
    Bytes::from(out)
}

/// A legacy server's question in modern form: without the members that only make sense on a connection
/// (`elicitationId`, `task`, a progress token).
pub fn to_modern(params: &Bytes) -> Bytes {
    let edits = [
        Edit::Drop("elicitationId"),
        Edit::Drop("task"),
        Edit::Within("_meta", &[Edit::Drop(crate::meta::PROGRESS_TOKEN)]),
    ];
    Bytes::from(text::rewrite(params, &edits))
}

/// A modern server's question in legacy form. A URL elicitation needs an id there.
pub fn to_legacy(question: &Question, elicitation_id: &str) -> Bytes {
    let is_url = text::members(&question.params, Span { start: 0, end: question.params.len() })
        .any(|member| member.is(&question.params, "mode") && member.value.of(&question.params) == b"\"url\"");
    if question.method == Method::ElicitationCreate && is_url {
        let id = text::quote(elicitation_id);
        return Bytes::from(text::rewrite(&question.params, &[Edit::Set("elicitationId", id.as_bytes())]));
    }
    question.params.clone()
}

/// Converts the 2025-11-25 error "open this URL first" into questions for a modern client, whose era has no
/// such error. `None` when the error has no questions.
pub fn questions_of_url_error(error: &RpcError) -> Option<Vec<Question>> {
    if error.code != code::URL_ELICITATION_REQUIRED {
        return None;
    }
    let elicitations = error.data.as_ref()?.get("elicitations")?.as_array()?;
    let questions: Vec<_> = elicitations
        .iter()
        .filter_map(Value::as_object)
        .enumerate()
        .map(|(index, elicitation)| {
            let mut params: Map<String, Value> = elicitation.clone();
            params.shift_remove("elicitationId");
            params.entry("mode").or_insert(json!("url"));
            Question {
                key: format!("url-{}", index + 1),
                method: Method::ElicitationCreate,
                params: Bytes::from(Value::Object(params).to_string()),
            }
        })
        .collect();
    (!questions.is_empty()).then_some(questions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(json: &str) -> Bytes {
        Bytes::copy_from_slice(json.as_bytes())
    }

    #[test]
    fn an_interim_result_is_read_and_a_final_one_is_not() {
        let interim = bytes(
            r#"{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?"}}},"requestState":"s"}"#,
        );
        let read = InputRequired::read(&ResultView::read(&interim)).unwrap();
        assert_eq!(read.questions[0].key, "k");
        assert_eq!(read.questions[0].method, Method::ElicitationCreate);
        assert_eq!(read.questions[0].params, r#"{"message":"?"}"#);
        assert_eq!(read.state.as_deref(), Some("s"));
        for last in [r#"{"resultType":"complete"}"#, r#"{"content":[]}"#] {
            assert!(!ResultView::read(&bytes(last)).is_input_required(), "{last}");
        }
    }

    #[test]
    fn an_interim_result_that_asks_nothing_is_an_error() {
        for json in [
            r#"{"resultType":"input_required"}"#,
            r#"{"resultType":"input_required","inputRequests":{"k":{}}}"#,
        ] {
            assert!(InputRequired::read(&ResultView::read(&bytes(json))).is_err(), "{json}");
        }
    }

    #[test]
    fn what_is_asked_and_answered_comes_back_the_same() {
        let questions = [Question { key: "q\"1".into(), method: Method::RootsList, params: bytes("{}") }];
        let asked = input_required(&questions, "state");
        let read = InputRequired::read(&ResultView::read(&asked)).unwrap();
        assert_eq!((read.questions[0].key.as_str(), read.state.as_deref()), ("q\"1", Some("state")));
        let answers = vec![("q\"1".to_owned(), bytes(r#"{"roots":[]}"#))];
        assert_eq!(read_answers(Some(&write_answers(&answers))), answers);
    }

    #[test]
    fn questions_lose_and_gain_what_only_one_era_knows() {
        assert_eq!(
            to_modern(&bytes(
                r#"{"mode":"url","url":"u","elicitationId":"e","_meta":{"progressToken":1,"x":2}}"#
            )),
            r#"{"mode":"url","url":"u","_meta":{"x":2}}"#
        );
        let question = Question {
            key: "k".into(),
            method: Method::ElicitationCreate,
            params: bytes(r#"{"mode":"url","url":"u"}"#),
        };
        assert_eq!(to_legacy(&question, "e1"), r#"{"mode":"url","url":"u","elicitationId":"e1"}"#);
    }

    #[test]
    fn an_error_that_asks_for_a_url_becomes_a_question() {
        let error = RpcError::new(code::URL_ELICITATION_REQUIRED, "open").with_data(
            json!({"elicitations":[{"mode":"url","url":"https://x","elicitationId":"1","message":"m"}]}),
        );
        let questions = questions_of_url_error(&error).unwrap();
        assert_eq!(questions[0].params, r#"{"mode":"url","url":"https://x","message":"m"}"#);
        assert!(questions_of_url_error(&RpcError::new(-32042, "nothing inside")).is_none());
    }
}
