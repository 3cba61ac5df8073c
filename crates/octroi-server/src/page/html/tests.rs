use octroi_core::Secret;
use octroi_core::approval::{Approvers, Binding};
use octroi_core::redact::{MaskedValue, indented};
use proptest::prelude::*;

use super::*;

fn approval(text: &str) -> Approval {
    Approval {
        id: "ap_aaaaaaaaaaaaaaaaaaaa".to_owned(),
        call_id: text.to_owned(),
        binding: Binding {
            principal: text.to_owned(),
            agent: Some(text.to_owned()),
            tool: format!("mcp:files:{text}"),
            definition_hash: [0; 32],
            arguments_hash: [0; 32],
            policy_revision: 0,
        },
        state: ApprovalState::Pending,
        arguments_preview: serde_json::json!({ text: text }).to_string(),
        other_params_preview: Some(serde_json::json!({"_meta": { text: text }}).to_string()),
        other_params: Some(Secret::new("never shown".to_owned())),
        arguments: Secret::new("never shown".to_owned()),
        arguments_state: ArgumentsState::Whole,
        edited_arguments: None,
        risk: text.to_owned(),
        side_effects: vec![text.to_owned()],
        reasons: vec![text.to_owned()],
        approvers: Approvers::default(),
        requested_at_ms: 0,
        expires_at_ms: 3_600_000,
        decided_at_ms: Some(0),
        decided_by: Some(text.to_owned()),
        decision_reason: Some(text.to_owned()),
        claimed_at_ms: None,
        finished_at_ms: None,
        outcome: None,
        remembered_rule: None,
        node: None,
    }
}

fn visible(text: &str) -> String {
    Visible(text).render().into_string()
}

/// Arguments in which everything is this text.
fn arguments(text: &str) -> ShownArguments {
    let masked = MaskedValue { path: format!("/{text}"), kind: "password", length: 5 };
    let other_params = Some(serde_json::json!({"_meta": { text: text }}).to_string());
    let text = serde_json::json!({ text: text }).to_string();
    ShownArguments { text, other_params, masked: vec![masked], state: ArgumentsState::Whole }
}

/// Every page about an approval in which everything is this text.
fn pages(text: &str) -> Vec<String> {
    let mut approval = approval(text);
    let shown = arguments(text);
    let mut pages =
        vec![question(&approval, &shown, text, 0), sign_in(&approval.id, Some(text)), problem("Sorry", text)];
    pages.extend([for_others(&approval, &shown, 0), first_token(text, text)]);
    for state in ApprovalState::ALL {
        approval.state = state;
        pages.extend([decided(&approval, &shown), too_late(&approval, &shown), gone(&approval, &shown)]);
    }
    pages.iter().map(|content| document(content, "nonce")).collect()
}

#[test]
fn hostile_text_is_only_text() {
    let plain = pages("x");
    for hostile in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' autofocus onfocus='alert(1)",
        "</pre></dl></style></title><form action=//evil.example>",
        "&lt;b&gt;",
    ] {
        for (page, plain) in pages(hostile).iter().zip(&plain) {
            // As many elements as without it: nothing was opened, closed or added.
            for mark in ["<", ">", "\"", "'"] {
                let odd = page.matches("<span class=\"odd\">").count()
                    - plain.matches("<span class=\"odd\">").count();
                assert_eq!(odd, 0, "{hostile}");
                assert_eq!(
                    page.matches(mark).count(),
                    plain.matches(mark).count(),
                    "{mark} in {hostile}: {page}"
                );
            }
        }
    }
    assert!(visible("&lt;").contains("&amp;lt;"), "what looks escaped is escaped again");
}

#[test]
fn invisible_characters_are_made_visible() {
    let text = "a\u{202e}b\u{200b}c\u{feff}d\u{2066}e\u{e0041}f\u{1b}g\nh\r";
    assert_eq!(
        visible(text).replace("<span class=\"odd\">", "[").replace("</span>", "]"),
        "a[U+202E]b[U+200B]c[U+FEFF]d[U+2066]e[U+E0041]f[U+001B]g[U+000A]h[U+000D]"
    );
    for page in pages(text) {
        assert!(page.chars().all(|character| !is_hidden(character)), "{page}");
    }
}

#[test]
fn the_secret_part_stays_secret() {
    for page in pages("x") {
        assert!(!page.contains("never shown"));
    }
    let page = document(&sign_in("ap_aaaaaaaaaaaaaaaaaaaa", None), "nonce");
    assert!(!page.contains("files") && page.contains("octroi approve ap_aaaaaaaaaaaaaaaaaaaa"));
}

#[test]
fn arguments_stand_in_lines() {
    assert_eq!(
        indented(r#"{"a":[1,{"b\"{":"x, y: [\\"}],"c":{},"d":[ ],"n":12345678901234567890123}"#),
        "{\n  \"a\": [\n    1,\n    {\n      \"b\\\"{\": \"x, y: [\\\\\"\n    }\n  ],\n  \"c\": {},\n  \"d\": [],\n  \"n\": 12345678901234567890123\n}"
    );
    assert_eq!(indented("not json }}"), "notjson\n}\n}");
}

proptest! {
    #[test]
    fn lines_change_nothing(value in any::<Vec<(String, f64)>>()) {
        let json = serde_json::to_string(&value).unwrap();
        let again: serde_json::Value = serde_json::from_str(&indented(&json)).unwrap();
        prop_assert_eq!(again, serde_json::from_str::<serde_json::Value>(&json).unwrap());
    }

    #[test]
    fn no_text_is_markup(text in any::<String>()) {
        let rendered = visible(&text).replace("<span class=\"odd\">", "").replace("</span>", "");
        prop_assert!(!rendered.contains(['<', '>', '"', '\'']));
        prop_assert!(rendered.chars().all(|character| !is_hidden(character)));
    }
}
