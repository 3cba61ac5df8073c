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
