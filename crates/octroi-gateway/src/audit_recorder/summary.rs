//! A one-line summary of a call's result for the audit log: the beginning of its first text. Results may be
//! large, so no more of them is read than necessary.

use std::borrow::Cow;

use octroi_core::redact::Redactor;
use octroi_mcp::json::{self, Span};

/// The length of a summary.
const KEPT: usize = 200;
/// How much more is read, so that a secret is recognized as a whole and not shown in part.
const BEYOND: usize = 1_024;
/// The longest escape of one character: two `\uXXXX`.
const ESCAPE_MAX: usize = 12;

/// The beginning of a result, or of an error message, as a JSON string; `None` if it has no text.
pub(super) fn summary(answer: &[u8], redactor: &Redactor) -> Option<String> {
    let quoted = first_text(answer)?.of(answer);
    let (text, is_cut) = beginning(quoted, KEPT + BEYOND.max(redactor.longest()))?;
    // In truncated JSON it is unclear which values belong to the name of a secret.
    if is_cut && text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let text = redactor.redact(&text);
    let end = text.floor_char_boundary(KEPT);
    let is_whole = end == text.len() && !is_cut;
    Some(json::quote(&if is_whole { text } else { Cow::Owned(format!("{}…", &text[..end])) }))
}

/// The text of the first content block, or the error message.
fn first_text(answer: &[u8]) -> Option<Span> {
    let first = |object: Span, name: &str| {
        json::members(answer, object).find(|member| member.is(answer, name)).map(|member| member.value)
    };
    let whole = Span { start: 0, end: answer.len() };
    let Some(content) = first(whole, "content") else {
        return first(whole, "message");
    };
    let block = content.of(answer).iter().position(|byte| *byte == b'{')?;
    first(Span { start: content.start + block, end: content.end }, "text")
}

/// A JSON string decoded up to a length, and whether it was truncated.
fn beginning(quoted: &[u8], length: usize) -> Option<(Cow<'_, str>, bool)> {
    if quoted.len() <= length {
        return Some((json::text(quoted)?, false));
    }
    // Not in the middle of a character or an escape.
    let ends = (length.saturating_sub(ESCAPE_MAX)..=length).rev();
    let mut cut = Vec::with_capacity(length + 1);
    ends.into_iter().find_map(|end| {
        cut.clear();
        cut.extend_from_slice(&quoted[..end]);
        cut.push(b'"');
        serde_json::from_slice::<String>(&cut).ok().map(|text| (Cow::Owned(text), true))
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_is_summarized_by_its_beginning() {
        let redactor = Redactor::new(["another-secret"].into_iter());
        let of = |text: &str| json!({"content": [{"type": "text", "text": text}], "isError": false});
        let long = "é\"".repeat(5_000);
        for (answer, expected) in [
            (of("three files\nwere read"), json!("three files\nwere read")),
            (of("it is another-secret"), json!("it is [redacted]")),
            (of(r#"{"password":"x","n":1}"#), json!(r#"{"password":"[redacted]","n":1}"#)),
            (of(&long), json!(format!("{}…", &long[..200]))),
            (of(&format!("{{\"a\":\"{long}\"}}")), json!(null)),
            (json!({"code": -32603, "message": "it broke"}), json!("it broke")),
            (json!({"content": [], "structuredContent": {"text": "x"}}), json!(null)),
            (json!({"content": [{"type": "image", "data": "x"}]}), json!(null)),
            (json!({"resultType": "input_required"}), json!(null)),
        ] {
            let summarized = summary(answer.to_string().as_bytes(), &redactor);
            let summarized =
                summarized.map_or(json!(null), |summarized| serde_json::from_str(&summarized).unwrap());
            assert_eq!(summarized, expected, "{:.80}", answer.to_string());
        }
    }

    #[test]
    fn a_secret_across_the_end_is_not_shown_in_half() {
        let secret = "k".repeat(3_000);
        let redactor = Redactor::new([secret.as_str()].into_iter());
        let answer = json!({"content": [{"type": "text", "text": format!("{}{secret}{}", "-".repeat(190), "x".repeat(9_000))}]});
        let summarized = summary(answer.to_string().as_bytes(), &redactor).unwrap();
        assert!(summarized.contains("[redacted") && !summarized.contains('k'), "{summarized}");
    }

    #[test]
    fn no_cut_breaks_a_character() {
        let redactor = Redactor::new(std::iter::empty());
        for n_before in 0..30 {
            let text = format!("{}{}", "a".repeat(n_before), "\u{1f600}\u{7}ü\\".repeat(900));
            // Without and with escapes of non-ASCII characters.
            let plain = json!({"content": [{"text": text}]}).to_string();
            let escaped: String = plain.encode_utf16().fold(String::new(), |mut out, unit| {
                match u8::try_from(unit) {
                    Ok(byte) if byte.is_ascii() => out.push(char::from(byte)),
                    _ => write!(out, "\\u{unit:04x}").unwrap(),
                }
                out
            });
            for answer in [plain, escaped] {
                let summarized: String =
                    serde_json::from_str(&summary(answer.as_bytes(), &redactor).unwrap()).unwrap();
                assert!(text.starts_with(summarized.trim_end_matches('…')), "{summarized}");
            }
        }
    }
}
