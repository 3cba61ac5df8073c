//! Parsing of the answer lines that a gate writes.

use octroi_core::decision::Outcome;
use serde::Deserialize;
use serde_json::Value;

use crate::logs::Logs;

/// The answer of a gate about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateAnswer {
    /// Its verdict.
    pub outcome: Outcome,
    /// Its reason, on one line.
    pub reason: Option<String>,
}

/// An answer with an id: even if the rest is invalid, the question that fails is known.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Identified {
    pub(super) id: u64,
    pub(super) answer: Result<GateAnswer, InvalidAnswer>,
}

/// What makes an answer with a known question invalid.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InvalidAnswer {
    Verdict,
    Form(&'static str),
}

/// Longer reasons are truncated.
const REASON_CHARACTERS: usize = 500;

/// Other members are for the gate's own use. Serde refuses duplicate members.
#[derive(Deserialize)]
struct Raw {
    id: u64,
    verdict: Option<Value>,
    reason: Option<Value>,
}

/// Parses a line; `None` if it cannot be matched to a question. Secrets that the logs redact are redacted
/// here too.
pub(super) fn read(line: &[u8], logs: &Logs) -> Option<Identified> {
    let raw: Raw = serde_json::from_slice(line).ok()?;
    Some(Identified { id: raw.id, answer: raw.into_answer(logs) })
}

impl Raw {
    fn into_answer(self, logs: &Logs) -> Result<GateAnswer, InvalidAnswer> {
        let outcome = match self.verdict {
            Some(Value::String(word)) => {
                let all = [Outcome::Pass, Outcome::Ask, Outcome::Deny];
                all.into_iter().find(|outcome| outcome.as_str() == word).ok_or(InvalidAnswer::Verdict)?
            }
            Some(_) => return Err(InvalidAnswer::Form("`verdict` is not a string")),
            None => return Err(InvalidAnswer::Form("`verdict` is missing")),
        };
        let reason = match self.reason {
            // Redacted before truncation, or half of a secret could be left.
            Some(Value::String(text)) => {
                Some(one_line(&logs.redacted(&text))).filter(|text| !text.is_empty())
            }
            Some(_) => return Err(InvalidAnswer::Form("`reason` is not a string")),
            None => None,
        };
        Ok(GateAnswer { outcome, reason })
    }
}

/// Reasons are shown to people and models on one line, so they must not contain line breaks.
fn one_line(text: &str) -> String {
    let ends_line = |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
    let plain: String = text
        .chars()
        .map(|character| if ends_line(character) { ' ' } else { character })
        .take(REASON_CHARACTERS + 1)
        .collect();
    match plain.char_indices().nth(REASON_CHARACTERS) {
        Some((end, _)) => format!("{}…", plain[..end].trim()),
        None => plain.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use octroi_core::Secret;
    use octroi_core::server::Program;
    use proptest::prelude::*;

    use super::*;

    fn logs() -> Logs {
        let program = Program {
            command: "gate".into(),
            args: Vec::new(),
            env: BTreeMap::from([("KEY".into(), Secret::new("hunter2"))]),
            inherit_env: Vec::new(),
            cwd: None,
        };
        Logs::of_program(&program, &crate::system_clock(), &crate::SharedRedactor::default())
    }

    /// An expected answer in the tables below.
    type ExpectedAnswer<'a> = Result<(Outcome, Option<&'a str>), InvalidAnswer>;

    fn check(line: &str, expected: Option<(u64, ExpectedAnswer<'_>)>) {
        let expected = expected.map(|(id, answer)| Identified {
            id,
            answer: answer
                .map(|(outcome, reason)| GateAnswer { outcome, reason: reason.map(ToOwned::to_owned) }),
        });
        assert_eq!(read(line.as_bytes(), &logs()), expected, "{line}");
    }

    #[test]
    fn an_answer_is_an_object_with_id_and_verdict() {
        check(r#"{"id":7,"verdict":"pass"}"#, Some((7, Ok((Outcome::Pass, None)))));
        check("{\"id\":7,\"verdict\":\"pass\"}\r", Some((7, Ok((Outcome::Pass, None)))));
        check(
            r#" { "verdict": "ask", "reason": "late", "id": 1 } "#,
            Some((1, Ok((Outcome::Ask, Some("late"))))),
        );
        check(r#"{"id":7,"verdict":"deny","reason":null}"#, Some((7, Ok((Outcome::Deny, None)))));
        check(r#"{"id":7,"verdict":"deny","reason":" \n"}"#, Some((7, Ok((Outcome::Deny, None)))));
        check(r#"{"id":7,"verdict":"deny","more":[1]}"#, Some((7, Ok((Outcome::Deny, None)))));
        check(r#"{"id":7,"verdict":"deny","reason":"a\nb"}"#, Some((7, Ok((Outcome::Deny, Some("a b"))))));
    }

    #[test]
    fn an_answer_with_an_id_fails_only_its_question() {
        let verdicts = ["allow", "Pass", "PASS", "", "pass ", "no"];
        for verdict in verdicts {
            check(&format!(r#"{{"id":7,"verdict":"{verdict}"}}"#), Some((7, Err(InvalidAnswer::Verdict))));
        }
        check(r#"{"id":7}"#, Some((7, Err(InvalidAnswer::Form("`verdict` is missing")))));
        check(r#"{"id":7,"verdict":null}"#, Some((7, Err(InvalidAnswer::Form("`verdict` is missing")))));
        check(r#"{"id":7,"verdict":true}"#, Some((7, Err(InvalidAnswer::Form("`verdict` is not a string")))));
        check(
            r#"{"id":7,"verdict":"pass","reason":1}"#,
            Some((7, Err(InvalidAnswer::Form("`reason` is not a string")))),
        );
    }

    #[test]
    fn a_line_without_an_id_is_no_answer() {
        let lines = [
            "",
            " ",
            "ready",
            "7",
            "[]",
            "null",
            "{}",
            r#"{"verdict":"pass"}"#,
            r#"{"id":null,"verdict":"pass"}"#,
            r#"{"id":"7","verdict":"pass"}"#,
            r#"{"id":-7,"verdict":"pass"}"#,
            r#"{"id":7.0,"verdict":"pass"}"#,
            r#"{"id":7,"verdict":"pass""#,
            r#"{"id":7,"verdict":"pass"} {}"#,
            r#"{"id":7,"id":8,"verdict":"pass"}"#,
            r#"{"id":7,"verdict":"deny","verdict":"pass"}"#,
            r#"[{"id":7,"verdict":"pass"}]"#,
        ];
        for line in lines {
            check(line, None);
        }
    }

    #[test]
    fn a_long_reason_is_cut() {
        let line = format!(r#"{{"id":7,"verdict":"deny","reason":"{}"}}"#, "ä".repeat(REASON_CHARACTERS + 1));
        let reason = format!("{}…", "ä".repeat(REASON_CHARACTERS));
        check(&line, Some((7, Ok((Outcome::Deny, Some(&reason))))));
    }

    #[test]
    fn a_secret_is_not_repeated_even_where_the_reason_is_cut() {
        let before = "x".repeat(REASON_CHARACTERS - 3);
        let line = format!(r#"{{"id":7,"verdict":"deny","reason":"{before}hunter2"}}"#);
        check(&line, Some((7, Ok((Outcome::Deny, Some(&format!("{before}***")))))));
    }

    proptest! {
        #[test]
        fn only_the_three_words_are_verdicts(line in any::<Vec<u8>>(), word in "[a-z]{0,6}", reason in ".*") {
            // No random input is an answer.
            prop_assert!(read(&line, &logs()).is_none_or(|answer| answer.answer.is_err()));
            let line = serde_json::json!({ "id": 1, "verdict": word, "reason": reason }).to_string();
            let answer = read(line.as_bytes(), &logs()).unwrap().answer;
            prop_assert_eq!(answer.is_ok(), ["pass", "ask", "deny"].contains(&word.as_str()));
            if let Ok(answer) = answer {
                prop_assert!(!answer.reason.unwrap_or_default().contains(char::is_control));
            }
        }
    }
}
