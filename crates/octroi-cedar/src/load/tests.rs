use expect_test::{Expect, expect};

use crate::tests::support::{lines, load, refused, samples, schema, schema_of};
use crate::{Described, Policies, Schema};

#[track_caller]
fn check_refused(text: &str, expected: Expect) {
    expected.assert_eq(&refused(text));
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    check_refused("permit(principal, action, resource)", expect![[""]]);
    check_refused(
        "permit(principal, action, resource);\nforbit(principal, action, resource);",
        expect![[""]],
    );
    check_refused("permit(principal == ?principal, action, resource);", expect![[""]]);
}

#[test]
fn an_unknown_attribute_names_the_tool_that_lacks_it() {
    check_refused(
        r#"permit(principal, action == Action::"files.read_file", resource) when { context.args.pat == "x" };"#,
        expect![[""]],
    );
    check_refused(
        r#"forbid(principal, action in Action::"files.*", resource) when { context.args.content == "x" };"#,
        expect![[""]],
    );
    check_refused(
        r#"forbid(principal, action in Action::"call", resource) when { context.facts.host == "x" };"#,
        expect![[""]],
    );
}

#[test]
fn an_optional_attribute_needs_a_guard() {
    check_refused(
        r#"@id("unguarded")
forbid(principal, action == Action::"github.create_issue", resource)
when { context.args.body like "*secret*" };"#,
        expect![[""]],
    );
    load(
        r#"forbid(principal, action == Action::"github.create_issue", resource)
           when { context.args has body && context.args.body like "*secret*" };"#,
    );
}

#[test]
fn a_policy_that_can_never_match_is_refused() {
    check_refused(
        r#"forbid(principal, action == Action::"files.read_file", resource) when { false && context.facts.is_first_use };"#,
        expect![[""]],
    );
    check_refused(
        r#"forbid(principal, action == Action::"files.read_file", resource == Tool::"shell.run");"#,
        expect![[""]],
    );
    check_refused(
        r#"forbid(principal, action in Action::"files.*", resource in Server::"db");"#,
        expect![[""]],
    );
    check_refused(r#"forbid(principal == Tool::"shell.run", action, resource);"#, expect![[""]]);
}

#[test]
fn misspelt_names_get_a_suggestion() {
    check_refused(r#"permit(principal, action == Action::"github.creat_issue", resource);"#, expect![[""]]);
    check_refused(r#"permit(principal, action in Action::"gihub.*", resource);"#, expect![[""]]);
    check_refused(r#"permit(principal, action, resource == Tool::"github.creat_issue");"#, expect![[""]]);
    check_refused(
        r#"permit(principal, action, resource) when { resource in Server::"githb" };"#,
        expect![[""]],
    );
    check_refused(
        "permit(principal, action, resource) when { resource.risk_nam == \"low\" };",
        expect![[""]],
    );
    check_refused("permit(principal is Agnt, action, resource);", expect![[""]]);
}

#[test]
fn types_must_fit() {
    check_refused("forbid(principal, action, resource) when { resource.risk > \"high\" };", expect![[""]]);
    check_refused(
        "forbid(principal, action, resource) when { context.facts.hosts == \"x\" };",
        expect![[""]],
    );
    // Nothing is known of an agent but the one that calls.
    check_refused(
        "forbid(principal, action, resource) when { Agent::\"bob\".role == \"human\" };",
        expect![[""]],
    );
}

#[test]
fn annotations_are_checked() {
    check_refused("@resaon(\"x\") permit(principal, action, resource);", expect![[""]]);
    check_refused("@color(\"red\")\npermit(principal, action, resource);", expect![[""]]);
    check_refused("@decision(\"ask\") permit(principal, action, resource);", expect![[""]]);
    check_refused("@decision(\"aks\") forbid(principal, action, resource);", expect![[""]]);
    check_refused("@decision forbid(principal, action, resource);", expect![[""]]);
    check_refused("@id(\"\") @reason(\"\") forbid(principal, action, resource);", expect![[""]]);
    check_refused("@id(\"a\") @id(\"b\") forbid(principal, action, resource);", expect![[""]]);
    check_refused(
        "@id(\"a\") permit(principal, action, resource);\n@id(\"a\") forbid(principal, action, resource);",
        expect![[""]],
    );
    check_refused(
        "@id(\"policy1\") permit(principal, action, resource);\nforbid(principal, action, resource);",
        expect![[""]],
    );
}

#[test]
fn all_mistakes_are_told_at_once_in_the_order_of_the_text() {
    check_refused(
        r#"permit(principal, action == Action::"files.read_fil", resource);
@id("second")
permit(principal, action, resource)
when { context.args.path == "x" };
forbid(principal, action, resource == Tool::"shell.rum");"#,
        expect![[""]],
    );
}

#[test]
fn turned_around_text_is_refused_but_other_alphabets_are_not() {
    check_refused(
        "forbid(principal, action == Action::\"files.read_file\", resource) when { context.args.path == \"\u{202e}x\" };",
        expect![[""]],
    );
    load(
        r#"forbid(principal, action == Action::"files.read_file", resource) when { context.args.path like "/data/Иван/*" };"#,
    );
}

#[test]
fn policies_can_be_shown() {
    let policies = load(
        r#"// First of all.
@id("reading") @reason("reading is harmless")
permit(principal, action in [Action::"files.read_file", Action::"shell.list"], resource);

@decision("ask")
forbid(principal, action in Action::"files.*", resource);
@id("stop") @decision("abort")
forbid(principal, action, resource in Server::"shell") when { context.facts.shell_heads.contains("rm") };
forbid(principal, action in Action::"call", resource == Tool::"db.query");
"#,
    );
    let shown: Vec<String> = policies.describe().map(show).collect();
    expect![[""]].assert_eq(&lines(&shown));
}

fn show(policy: Described<'_>) -> String {
    let Described { id, effect, reason, line, source, tools, .. } = policy;
    let reason = reason.unwrap_or("no reason");
    let words: Vec<&str> = source.split_whitespace().collect();
    format!(
        "{line}: {effect} {id} ({reason}) for {}: {} … {}",
        tools.join(" "),
        words[0],
        words[words.len() - 1]
    )
}

#[test]
fn changed_tools_break_policies_that_rely_on_them() {
    let policies = load(
        r#"@id("titles")
forbid(principal, action == Action::"github.create_issue", resource) when { context.args.title like "*!" };
@id("shells")
forbid(principal, action == Action::"shell.run", resource);
@id("all")
forbid(principal, action, resource) when { context.facts.calls_last_minute > 30 };"#,
    );
    assert_eq!(policies.revalidate(&schema()), []);

    let mut changed = samples();
    changed.retain(|sample| sample.tool != "run");
    for sample in changed.iter_mut().filter(|sample| sample.tool == "create_issue") {
        sample.input_schema["required"] = serde_json::json!([]);
    }
    let changed = schema_of(&changed);
    expect![[""]].assert_eq(&lines(&policies.revalidate(&changed)));
    assert!(Policies::load(policies.text(), &changed).is_err());
}

#[test]
fn no_policies_are_fine_and_no_tools_fit_no_policy() {
    assert!(load("// nothing yet\n").is_empty());
    let nobody = Schema::new(&[]).unwrap();
    expect![[""]]
        .assert_eq(&lines(&Policies::load("forbid(principal, action, resource);", &nobody).unwrap_err()));
}
