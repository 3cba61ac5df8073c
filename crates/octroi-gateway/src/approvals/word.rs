//! What a client is told about the person who approved its call: their reason, and that they changed its arguments.

use bytes::Bytes;
use octroi_core::approval::Approval;
use octroi_mcp::json::{self, Edit};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::answer::Answer;

/// What a person said when they approved a call.
#[derive(Debug)]
pub(crate) struct PersonsWord {
    approval: String,
    by: String,
    reason: Option<String>,
    is_edited: bool,
}

/// The content of a result, as JSON text.
#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

impl PersonsWord {
    /// `None` if they said nothing and changed nothing.
    pub(super) fn of(claimed: &Approval) -> Option<Box<Self>> {
        let is_edited = claimed.edited_arguments.is_some();
        let reason = claimed.decision_reason.clone();
        (is_edited || reason.is_some()).then(|| {
            let by = claimed.decided_by.clone().unwrap_or_else(|| "a person".to_owned());
            Box::new(Self { approval: claimed.id.clone(), by, reason, is_edited })
        })
    }

    /// The answer with a text for the model at its end, and the same in its metadata. Errors stay as they are.
    pub(crate) fn add_to(&self, answer: Answer) -> Answer {
        let Answer::Result(result) = &answer else {
            return answer;
        };
        let added =
            serde_json::from_slice::<Content<'_>>(result).ok().and_then(|found| self.added(found.content));
        let Some(content) = added else {
            return answer;
        };
        let word = json!({
            "id": self.approval, "approved_by": self.by, "reason": self.reason, "edited": self.is_edited,
        });
        let word = word.to_string();
        let meta = [Edit::Set("octroi/approval", word.as_bytes())];
        let edits = [Edit::Set("content", content.as_bytes()), Edit::Within("_meta", &meta)];
        Answer::Result(Bytes::from(json::rewrite(result, &edits)))
    }

    /// The content with the text at its end; `None` if it is no list.
    fn added(&self, content: Option<&RawValue>) -> Option<String> {
        let items = content.map_or("[]", RawValue::get).trim();
        let items = items.strip_prefix('[')?.strip_suffix(']')?.trim_end();
        let separator = if items.trim().is_empty() { "" } else { "," };
        let text = json!({"type": "text", "text": self.text()});
        Some(format!("[{items}{separator}{text}]"))
    }

    fn text(&self) -> String {
        let did = if self.is_edited {
            "changed the arguments of this call and approved it"
        } else {
            "approved this call"
        };
        let reason = self.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("Note from Octroi: {} {did}{reason}", self.by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stands_at_the_end_of_the_content() {
        let word = |reason: Option<&str>, is_edited| PersonsWord {
            approval: "ap_x".to_owned(),
            by: "ann".to_owned(),
            reason: reason.map(str::to_owned),
            is_edited,
        };
        let note = r#"{"type":"text","text":"Note from Octroi: ann approved this call: just once"}"#;
        let meta =
            r#""octroi/approval":{"id":"ap_x","approved_by":"ann","reason":"just once","edited":false}"#;
        for (result, expected) in [
            (r#"{"content":[]}"#, format!(r#"{{"content":[{note}],"_meta":{{{meta}}}}}"#)),
            (
                r#"{"content":[ {"type":"text","text":"1.0e5"} ],"_meta":{"a":1.50}}"#,
                format!(
                    r#"{{"content":[ {{"type":"text","text":"1.0e5"}},{note}],"_meta":{{"a":1.50,{meta}}}}}"#
                ),
            ),
            (r#"{"isError":true}"#, format!(r#"{{"isError":true,"content":[{note}],"_meta":{{{meta}}}}}"#)),
            // Not what MCP defines, so it stays as it is.
            (r#"{"content":5}"#, r#"{"content":5}"#.to_owned()),
            ("[]", "[]".to_owned()),
        ] {
            let answer = Answer::Result(Bytes::from(result.to_owned()));
            let Answer::Result(added) = word(Some("just once"), false).add_to(answer) else {
                panic!("it is a result");
            };
            assert_eq!(String::from_utf8_lossy(&added), expected);
        }
        let edited = "Note from Octroi: ann changed the arguments of this call and approved it";
        assert_eq!(word(None, true).text(), edited);
        assert_eq!(word(Some("smaller"), true).text(), format!("{edited}: smaller"));
    }
}
