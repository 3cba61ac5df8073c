//! What the page's forms send, and from which origins.

use std::collections::HashMap;

use axum::http::{HeaderMap, HeaderValue, header};
use octroi_api::operations::approvals::ApprovalDecision;

use crate::percent;

/// Longer reasons are cut.
const REASON_MAX: usize = 2_000;

/// A form that a person sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A token, to see the call.
    SignIn { token: String },
    /// A decision about the call.
    Decide { ticket: String, decision: ApprovalDecision, reason: Option<String> },
    /// A masked value to show.
    Reveal { ticket: String, path: String },
}

/// Reads a form; `None` if it is none of the page's own.
pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Option<Form> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok())?;
    let kind = kind.split_once(';').map_or(kind, |(kind, _)| kind).trim();
    if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return None;
    }
    let mut fields = HashMap::new();
    for pair in body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        // A repeated field would be ambiguous.
        if fields.insert(percent::of_form(&pair[..at])?, percent::of_form(&pair[at + 1..])?).is_some() {
            return None;
        }
    }
    let (choice, path) = (fields.remove("choice"), fields.remove("reveal"));
    match (fields.remove("token"), fields.remove("ticket"), choice, path) {
        (Some(token), None, None, None) => Some(Form::SignIn { token }),
        (None, Some(ticket), None, Some(path)) => {
            let path = String::from_utf8(hex::decode(path).ok()?).ok()?;
            Some(Form::Reveal { ticket, path })
        }
        (None, Some(ticket), Some(choice), None) => {
            let reason = fields.remove("reason").unwrap_or_default();
            let reason: String = reason.trim().chars().take(REASON_MAX).collect();
            let reason = (!reason.is_empty()).then_some(reason);
            Some(Form::Decide { ticket, decision: decision(&choice)?, reason })
        }
        _ => None,
    }
}

/// The names of decisions in the table are the values of the buttons.
fn decision(choice: &str) -> Option<ApprovalDecision> {
    serde_json::from_value(serde_json::Value::from(choice)).ok()
}

/// Whether a form was sent by the page itself. Browsers say so in headers that no page can set; another
/// program on this machine is another origin, though it has the same host name.
pub(super) fn is_same_origin(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if headers.contains_key("sec-fetch-site") {
        return text("sec-fetch-site") == Some("same-origin");
    }
    let (Some(origin), Some(host)) = (text("origin"), text("host")) else {
        return false;
    };
    origin.split_once("://").is_some_and(|(_, from)| from.eq_ignore_ascii_case(host))
}

/// Whether this can be the id of an approval at all.
pub(super) fn is_approval_id(id: &str) -> bool {
    id.strip_prefix("ap_").is_some_and(|rest| {
        rest.len() == 20 && rest.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn only_the_pages_own_forms_are_read() {
        let kind = headers(&[("content-type", "application/x-www-form-urlencoded; charset=UTF-8")]);
        let sign_in = |token: &str| Some(Form::SignIn { token: token.to_owned() });
        let decide = |reason: Option<&str>| {
            let reason = reason.map(str::to_owned);
            Some(Form::Decide { ticket: "t".to_owned(), decision: ApprovalDecision::DenyAbort, reason })
        };
        for (body, expected) in [
            ("token=oct_1", sign_in("oct_1")),
            ("token=a+b%2B%26%c3%a4", sign_in("a b+&ä")),
            ("ticket=t&choice=deny_abort&reason=", decide(None)),
            ("ticket=t&choice=deny_abort&reason=+no%0A", decide(Some("no"))),
            ("choice=deny_abort&ticket=t", decide(None)),
            ("ticket=t&reveal=2f61", Some(Form::Reveal { ticket: "t".to_owned(), path: "/a".to_owned() })),
            ("ticket=t&reveal=", Some(Form::Reveal { ticket: "t".to_owned(), path: String::new() })),
            ("ticket=t&reveal=2f61&choice=approve", None),
            ("ticket=t&reveal=%2Fa", None),
            ("ticket=t&reveal=ff", None),
            ("reveal=2f61&token=x", None),
            ("ticket=t&choice=deny_abort&token=x", None),
            ("token=a&token=b", None),
            ("ticket=t&choice=approve&choice=deny_abort", None),
            ("ticket=t&choice=maybe", None),
            ("choice=approve", None),
            ("ticket=t", None),
            ("token", None),
            ("token=%", None),
            ("token=%f", None),
            ("token=%zz", None),
            ("token=%ff", None),
            ("", None),
        ] {
            assert_eq!(read(&kind, body.as_bytes()), expected, "{body}");
        }
        for kind in ["application/json", "multipart/form-data", "text/plain"] {
            assert_eq!(read(&headers(&[("content-type", kind)]), b"token=x"), None, "{kind}");
        }
        assert_eq!(read(&HeaderMap::new(), b"token=x"), None);
    }

    #[test]
    fn headers_reveal_a_form_from_another_origin() {
        for (pairs, same) in [
            (&[("host", "127.0.0.1:7878"), ("origin", "http://127.0.0.1:7878")][..], true),
            (&[("host", "gate.example"), ("origin", "https://GATE.example")], true),
            // Another program on the same machine.
            (&[("host", "127.0.0.1:7878"), ("origin", "http://127.0.0.1:3000")], false),
            (&[("host", "127.0.0.1:7878"), ("origin", "http://localhost:7878")], false),
            (&[("host", "127.0.0.1:7878"), ("origin", "null")], false),
            (&[("host", "127.0.0.1:7878"), ("origin", "https://evil.example")], false),
            (&[("host", "127.0.0.1:7878")], false),
            // A browser behind a proxy that changes the name.
            (
                &[
                    ("host", "127.0.0.1:7878"),
                    ("origin", "https://gate.example"),
                    ("sec-fetch-site", "same-origin"),
                ],
                true,
            ),
            (&[("host", "a"), ("origin", "http://a"), ("sec-fetch-site", "same-site")], false),
            (&[("host", "a"), ("origin", "http://a"), ("sec-fetch-site", "cross-site")], false),
            (&[("host", "a"), ("origin", "http://a"), ("sec-fetch-site", "none")], false),
        ] {
            assert_eq!(is_same_origin(&headers(pairs)), same, "{pairs:?}");
        }
    }

    #[test]
    fn ids_look_as_they_are_made() {
        assert!(is_approval_id(&octroi_core::approval::approval_id(&[0xa5; 13])));
        for id in [
            "",
            "ap_",
            "ap_short",
            "xx_aaaaaaaaaaaaaaaaaaaa",
            "ap_aaaaaaaaaaaaaaaaaaaA",
            "ap_aaaaaaaaaaaaaaaaaaa<",
        ] {
            assert!(!is_approval_id(id), "{id}");
        }
    }
}
