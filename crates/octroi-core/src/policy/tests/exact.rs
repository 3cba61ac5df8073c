//! Numbers as they are written, and names that can be taken for tested ones.

use super::*;

#[test]
fn an_allowed_number_is_allowed_as_it_is_written() {
    let policy = |rule: &str| format!("[[allow]]\ntool = \"bank.*\"\n{rule}\n");
    for (rule, arguments, is_allowed) in [
        ("exact_args = '{\"n\":1.5}'", "1.5", true),
        ("exact_args = '{\"n\":1.5}'", "1.50", false),
        ("exact_args = '{\"n\":1.5}'", "1.5000000000000000000001", false),
        ("exact_args = '{\"n\":1.50}'", "1.5", false),
        ("exact_args = '{\"n\":100}'", "100", true),
        ("exact_args = '{\"n\":100}'", "100.0", false),
        ("exact_args = '{\"n\":0.0}'", "-0.0", false),
        ("exact_args = '{\"n\":12345678901234567890123}'", "12345678901234567890124", false),
        ("exact_args = '{\"n\":12345678901234567890123}'", "1.2345678901234568e22", false),
        ("exact_args = '{\"n\":1.2345678901234568e22}'", "12345678901234567890123", false),
        ("exact_args = '{\"n\":18446744073709551615}'", "18446744073709551615", true),
        ("exact_args = '{\"n\":18446744073709551615}'", "18446744073709551616", false),
        ("args = { n = 9007199254740993 }", "9007199254740993", true),
        ("args = { n = 9007199254740993 }", "9007199254740992", false),
        ("args = { n = 100 }", "100.00000000000000000001", false),
        ("args = { n = { max = 100 } }", "100", true),
        ("args = { n = { max = 100 } }", "99.5", true),
        ("args = { n = { max = 100 } }", "100.00000000000000000001", false),
        ("args = { n = { max = 9007199254740992 } }", "9007199254740993", false),
        ("args = { n = { min = 1 } }", "0.99999999999999999999", false),
    ] {
        let call = format!(r#"coder bank.pay {{"n":{arguments}}}"#);
        let expected = if is_allowed { "allow by allow[1]" } else { "silent" };
        assert_eq!(verdict(&policy(rule), &call), expected, "{rule} {arguments}");
    }
}

#[test]
fn a_denied_number_is_denied_however_it_is_written() {
    for (rule, number) in [
        ("args = { n = 100 }", "100.0"),
        ("args = { n = 100 }", "1e2"),
        ("args = { n = 0 }", "-0"),
        ("args = { n = { min = 100 } }", "1e2"),
        ("args = { n = { min = 9007199254740993 } }", "9007199254740993"),
        ("exact_args = '{\"n\":100}'", "100.0"),
        ("exact_args = '{\"n\":12345678901234567890123}'", "12345678901234567890124"),
    ] {
        let policy = format!("[[deny]]\ntool = \"bank.*\"\n{rule}\n");
        let call = format!(r#"coder bank.pay {{"n":{number}}}"#);
        assert_eq!(verdict(&policy, &call), "deny by deny[1]", "{rule} {number}");
    }
}

#[test]
fn other_params_are_part_of_a_call() {
    let exact = "exact_args = '{\"n\":1}'";
    let with_params = "exact_args = '{\"n\":1}'\nexact_params = '{\"o\":{\"to\":\"a\",\"n\":1}}'";
    let own = r#"{"o":{"n":1,"to":"a"}}"#;
    let (args, facts) = ("args = { n = 1 }", "facts = { hosts = false }");
    for (rule, params, is_allowed, is_denied) in [
        (exact, "", true, true),
        (exact, own, false, true),
        (exact, r#"{"task":{"ttl":1}}"#, false, true),
        (exact, r#"{"o":1,"o":2}"#, false, true),
        (with_params, "", false, false),
        (with_params, own, true, true),
        (with_params, r#"{"o":{"n":1,"to":"b"}}"#, false, false),
        (with_params, r#"{"o":{"n":1,"to":"a"},"p":1}"#, false, false),
        (with_params, r#"{"o":{"n":1.0,"to":"a"}}"#, false, true),
        // A rule that looks at arguments does not see params that a server may read instead.
        (args, "", true, true),
        (args, own, false, true),
        (args, r#"{"task":{"ttl":1}}"#, true, true),
        (args, r#"{"task":{"ttl":1},"o":1}"#, false, true),
        (facts, own, false, true),
        ("", own, true, true),
    ] {
        for (word, matches) in [("allow", is_allowed), ("deny", is_denied)] {
            let policy = format!("[[{word}]]\ntool = \"bank.*\"\n{rule}\n");
            let call = format!(r#"coder bank.pay {{"n":1}} {params}"#);
            let expected = if matches { format!("{word} by {word}[1]") } else { "silent".to_owned() };
            assert_eq!(verdict(&policy, &call), expected, "{policy} {call}");
        }
    }
    for (rule, expected) in [
        ("exact_params = '{}'", "`exact_params` needs `exact_args`"),
        ("exact_args = '{}'\nexact_params = '[]'", "`exact_params`: arguments must be an object"),
        ("exact_args = '{}'\nexact_params = 5", "`exact_params` must be a JSON object in quotes"),
    ] {
        let complaints = Document::parse(&format!("[[allow]]\ntool = \"*\"\n{rule}\n")).unwrap_err();
        assert!(complaints[0].message.starts_with(expected), "{complaints:?}");
    }
}

/// A program permits every call.
#[derive(Debug)]
struct Permits;

impl Program for Permits {
    fn judge(&self, _: &Call<'_>) -> Result<Option<PolicyVerdict>, String> {
        Ok(Some(PolicyVerdict {
            word: Word::Allow,
            by: "p".to_owned(),
            reason: None,
            approvers: Approvers::default(),
        }))
    }
}

#[test]
fn a_program_permits_only_what_it_sees() {
    let policy = Policy { program: Some(Arc::new(Permits)), ..Policy::default() };
    let (tool, context, arguments) = (tool("bank", "pay"), AgentContext::default(), json!({}));
    let find = || facts(&arguments);
    for (params, is_permitted) in
        [(None, true), (Some(r#"{"task":{}}"#), true), (Some(r#"{"options":{}}"#), false)]
    {
        let params = params.map(|json| ReadOtherParams::read(json.as_bytes()));
        let mut call = Call::imagined(None, &context, &tool, &arguments, &find, 0);
        call.other_params = params.as_ref();
        assert_eq!(policy.judge(&call).unwrap().is_some(), is_permitted, "{params:?}");
    }
}

#[test]
fn a_name_that_can_be_taken_for_a_tested_one_is_refused() {
    let text = "[[deny]]\ntool = \"bank.*\"\nargs = { \"to.account\" = \"x*\" }\n";
    let global = Policy { document: Document::parse(text).unwrap(), program: None, version: 0 };
    let policies = Policies { global, ..Policies::default() };
    let complaint = |server: &str, arguments: &serde_json::Value| {
        let is_of_schema = |name: &str| name == "ACCOUNT";
        policies.name_complaint("coder", &tool(server, "pay"), arguments, &is_of_schema)
    };
    for arguments in [
        json!({"To": {"account": "x1"}}),
        json!({"to": {"Account": "x1"}}),
        json!({"list": [{"aCCount": "x1"}]}),
        json!({"to\u{0}": {}}),
        json!({"t_o": {}}),
        json!({"acc-ount": "x1"}),
        json!({"acc.ount": "x1"}),
        json!({"ａccount": "x1"}),
        json!({"acco\u{200b}unt": "x1"}),
    ] {
        assert!(complaint("bank", &arguments).is_some(), "{arguments}");
        assert_eq!(complaint("files", &arguments), None, "no rule for this tool tests it");
    }
    for arguments in [json!({"to": {"account": "x1"}}), json!({"ACCOUNT": 1}), json!({"from": 1})] {
        assert_eq!(complaint("bank", &arguments), None, "{arguments}");
    }
}
