use octroi_core::Secret;
use octroi_core::approval::{ApprovalState, Approvers, ArgumentsState, Binding};
use octroi_core::policy::Document;
use proptest::prelude::*;

use super::*;

fn approval(agent: Option<&str>, tool: &str) -> Approval {
    Approval {
        id: "ap_test".to_owned(),
        call_id: String::new(),
        binding: Binding {
            principal: "agent:a".to_owned(),
            agent: agent.map(str::to_owned),
            tool: tool.to_owned(),
            definition_hash: [0; 32],
            arguments_hash: [0; 32],
            policy_revision: 0,
        },
        state: ApprovalState::Pending,
        arguments_preview: "{}".to_owned(),
        other_params_preview: None,
        other_params: None,
        arguments: Secret::new("{}"),
        arguments_state: ArgumentsState::Whole,
        edited_arguments: None,
        risk: "high".to_owned(),
        side_effects: Vec::new(),
        reasons: Vec::new(),
        approvers: Approvers::default(),
        requested_at_ms: 0,
        expires_at_ms: 1,
        decided_at_ms: None,
        decided_by: None,
        decision_reason: None,
        claimed_at_ms: None,
        finished_at_ms: None,
        outcome: None,
        remembered_rule: None,
        node: None,
    }
}

#[test]
fn rules_read_as_they_are_meant() {
    let asked = approval(Some("a"), "mcp:fs:write.file");
    let mut exact = ExactCall { arguments: r#"{"path":"/tmp/x"}"#.to_owned(), params: None };
    let text = rule(&asked, Choice::Approve, Some(&exact), Some(0), "admin").unwrap();
    let expected = "# Remembered with ap_test\n[[allow]]\nid = \"ap_test\"\ntool = \"fs.write.file\"\n\
                    exact_args = '{\"path\":\"/tmp/x\"}'\nuntil = \"1970-01-01T00:00:00.000Z\"\n\
                    reason = \"admin allowed it with ap_test\"\n";
    assert_eq!(text, expected);
    exact.params = Some(r#"{"task":{"ttl":1}}"#.to_owned());
    let text = rule(&asked, Choice::Approve, Some(&exact), Some(0), "admin").unwrap();
    let params = "exact_params = '{\"task\":{\"ttl\":1}}'\nuntil";
    assert_eq!(text, expected.replace("until", params));
    let text = rule(&approval(None, "mcp:fs:rm"), Choice::DenyAbort, None, None, "admin").unwrap();
    for line in ["[[deny]]", "agent = \"\"", "abort = true"] {
        assert!(text.lines().any(|written| written == line), "{line}: {text}");
    }
    assert!(!text.contains("until"), "{text}");
    for tool in ["mcp:fs:read_*", "builtin:now", "mcp:fs"] {
        assert!(rule(&approval(None, tool), Choice::Approve, None, None, "admin").is_err(), "{tool}");
    }
}

#[test]
fn other_params_of_a_call_are_found() {
    for (others, expected) in [
        (r#"{"params":{"n":1.50},"_meta":{"x":1}}"#, Some(r#"{"n":1.50}"#)),
        (r#"{"_meta":{"params":{}}}"#, None),
        ("{}", None),
    ] {
        assert_eq!(sent_params(others).unwrap(), expected, "{others}");
    }
}

#[test]
fn words_for_how_long() {
    for (text, expected) in [
        ("8h", Some(Until::default())),
        ("forever", Some(Until::Forever)),
        ("0s", None),
        ("8", None),
        ("", None),
    ] {
        assert_eq!(Until::parse(text), expected, "{text}");
    }
}

#[test]
fn rules_are_added_and_leave_when_their_time_has_passed() {
    let own = "# mine\n[[deny]]\ntool = \"fs.rm\"\n";
    let short = rule(&approval(Some("a"), "mcp:fs:one"), Choice::Approve, None, Some(10), "admin").unwrap();
    let long = rule(&approval(Some("a"), "mcp:fs:two"), Choice::Approve, None, None, "admin").unwrap();
    let both = with_rule(&with_rule(own, &short, 0), &long, 9);
    assert!(both.starts_with(own) && both.contains("fs.one") && both.ends_with(&long), "{both}");
    let later = with_rule(&both, "[[deny]]\ntool = \"fs.three\"\n", 10);
    assert!(later.starts_with(own) && !later.contains("fs.one") && later.contains("fs.two"), "{later}");
    assert_eq!(with_rule("", &long, 0), long);
}

proptest! {
    #[test]
    fn any_name_and_arguments_make_a_rule(tool in "[^*:]{1,20}", key: String, value: String, by: String) {
        let arguments = json!({ key: value }).to_string();
        let exact = ExactCall { params: Some(arguments.clone()), arguments };
        let asked = approval(Some("a"), &format!("mcp:fs:{tool}"));
        let text = rule(&asked, Choice::Approve, Some(&exact), Some(5), &by).unwrap();
        let document = Document::parse(&text);
        prop_assert!(document.is_ok(), "{:?}\n{text}", document.err());
        let document = document.unwrap();
        prop_assert_eq!(document.rules.len(), 1);
        prop_assert_eq!(document.rules[0].until_ms, Some(5));
        prop_assert_eq!(document.rules[0].reason.clone(), Some(format!("{by} allowed it with ap_test")));
    }
}

#[test]
fn a_remembered_rule_is_taken_out_and_everything_else_stays() {
    let own = "# mine\n[[deny]]\ntool = \"fs.rm\"\n";
    let rule = |id: &str| format!("{MARK}{id}\n[[allow]]\nid = \"{id}\"\ntool = \"fs.read\"\n");
    let both = with_rule(&with_rule(own, &rule("ap_1"), 0), &rule("ap_12"), 0);
    let without_first = without_rule(&both, "ap_1").unwrap();
    assert_eq!(without_first, with_rule(own, &rule("ap_12"), 0), "and not the one whose id begins like it");
    assert_eq!(without_rule(&without_first, "ap_12").as_deref(), Some(own));
    assert_eq!(without_rule(&both, "ap_12"), Some(with_rule(own, &rule("ap_1"), 0)));
    assert_eq!(without_rule(&rule("ap_1"), "ap_1").as_deref(), Some(""));
    for source in ["", own, &rule("ap_12")] {
        assert_eq!(without_rule(source, "ap_1"), None, "{source}");
    }
}
