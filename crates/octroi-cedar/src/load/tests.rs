use expect_test::{Expect, expect};

use crate::tests::support::{lines, load, refused, samples, schema, schema_of};
use crate::{Described, Policies, Schema};

#[track_caller]
fn check_refused(text: &str, expected: Expect) {
    expected.assert_eq(&refused(text));
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    check_refused(
        "permit(principal, action, resource)",
        expect!["1:36: unexpected end of input (expected `;` or identifier)"],
    );
    check_refused(
        "permit(principal, action, resource);\nforbit(principal, action, resource);",
        expect!["2:1: invalid policy effect: forbit (effect must be either `permit` or `forbid`)"],
    );
    check_refused(
        "permit(principal == ?principal, action, resource);",
        expect![
            "1:1: policy `policy0`: `?principal` and `?resource` are template slots, which are not supported here"
        ],
    );
}

#[test]
fn an_unknown_attribute_names_the_tool_that_lacks_it() {
    check_refused(
        r#"permit(principal, action == Action::"files.read_file", resource) when { context.args.pat == "x" };"#,
        expect![[
            r#"1:73: policy `policy0`: attribute `args.pat` in context for Action::"files.read_file" not found (did you mean `path`?)"#
        ]],
    );
    check_refused(
        r#"forbid(principal, action in Action::"files.*", resource) when { context.args.content == "x" };"#,
        expect![[
            r#"1:65: policy `policy0`: attribute `args.content` in context for Action::"files.read_file" not found"#
        ]],
    );
    check_refused(
        r#"forbid(principal, action in Action::"call", resource) when { context.facts.host == "x" };"#,
        expect![[r#"
            1:62: policy `policy0`: attribute `facts.host` in context for Action::"db.query" not found (did you mean `hosts`?)
            1:62: policy `policy0`: attribute `facts.host` in context for Action::"files.read_file" not found (did you mean `hosts`?)
            1:62: policy `policy0`: attribute `facts.host` in context for Action::"files.write_file" not found (did you mean `hosts`?)
            1:62: policy `policy0`: 3 more problems at the same position"#]],
    );
}

#[test]
fn an_optional_attribute_needs_a_guard() {
    check_refused(
        r#"@id("unguarded")
forbid(principal, action == Action::"github.create_issue", resource)
when { context.args.body like "*secret*" };"#,
        expect![[
            r#"3:8: policy `unguarded`: unable to guarantee safety of access to optional attribute `args.body` in context for Action::"github.create_issue" (try testing for the attribute's presence with `context.args has body && ..`)"#
        ]],
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
        expect!["1:1: policy `policy0`: it can never match a call (its conditions contradict each other)"],
    );
    check_refused(
        r#"forbid(principal, action == Action::"files.read_file", resource == Tool::"shell.run");"#,
        expect![
            "1:1: policy `policy0`: it can never match a call (its action and its resource have no tool in common)"
        ],
    );
    check_refused(
        r#"forbid(principal, action in Action::"files.*", resource in Server::"db");"#,
        expect![
            "1:1: policy `policy0`: it can never match a call (its action and its resource have no tool in common)"
        ],
    );
    check_refused(
        r#"forbid(principal == Tool::"shell.run", action, resource);"#,
        expect!["1:1: policy `policy0`: it can never match a call (no tool matches it)"],
    );
}

#[test]
fn misspelt_names_get_a_suggestion() {
    check_refused(
        r#"permit(principal, action == Action::"github.creat_issue", resource);"#,
        expect![
            "1:29: policy `policy0`: there is no tool `github.creat_issue` (did you mean `github.create_issue`?)"
        ],
    );
    check_refused(
        r#"permit(principal, action in Action::"gihub.*", resource);"#,
        expect!["1:29: policy `policy0`: there is no tool `gihub.*` (did you mean `github.*`?)"],
    );
    check_refused(
        r#"permit(principal, action, resource == Tool::"github.creat_issue");"#,
        expect![
            "1:39: policy `policy0`: there is no tool `github.creat_issue` (did you mean `github.create_issue`?)"
        ],
    );
    check_refused(
        r#"permit(principal, action, resource) when { resource in Server::"githb" };"#,
        expect!["1:56: policy `policy0`: there is no server `githb` (did you mean `github`?)"],
    );
    check_refused(
        "permit(principal, action, resource) when { resource.risk_nam == \"low\" };",
        expect![
            "1:44: policy `policy0`: attribute `risk_nam` on entity type `Tool` not found (did you mean `risk_name`?)"
        ],
    );
    check_refused(
        "permit(principal is Agnt, action, resource);",
        expect!["1:21: policy `policy0`: unrecognized entity type `Agnt` (did you mean `Agent`?)"],
    );
}

#[test]
fn types_must_fit() {
    check_refused(
        "forbid(principal, action, resource) when { resource.risk > \"high\" };",
        expect!["1:60: policy `policy0`: unexpected type: expected Long but saw String"],
    );
    check_refused(
        "forbid(principal, action, resource) when { context.facts.hosts == \"x\" };",
        expect![
            "1:44: policy `policy0`: the types String and Set<String> are not compatible (both operands to a `==` expression must have compatible types. Types must be exactly equal to be compatible)"
        ],
    );
    // No agent is known except the caller.
    check_refused(
        "forbid(principal, action, resource) when { Agent::\"bob\".role == \"human\" };",
        expect!["1:44: policy `policy0`: entity literals cannot be dereferenced at any level"],
    );
}

#[test]
fn annotations_are_checked() {
    check_refused(
        "@resaon(\"x\") permit(principal, action, resource);",
        expect![
            "1:1: policy `policy0`: there is no annotation `@resaon`; there are `@id`, `@decision`, `@reason` and `@approvers` (did you mean `reason`?)"
        ],
    );
    check_refused(
        "@approvers(\"admin\") forbid(principal, action, resource);",
        expect![
            "1:1: policy `policy0`: `@approvers` is on a policy that does not ask (write `@decision(\"ask\")` beside it, or leave it out)"
        ],
    );
    check_refused(
        "@decision(\"ask\") @approvers(\"Ana\") forbid(principal, action, resource);",
        expect![
            "1:18: policy `policy0`: `@approvers`: `Ana` is not a name: it needs 1 to 32 of a-z, 0-9, `.`, `_` and `-`, the first a letter or digit"
        ],
    );
    check_refused(
        "@color(\"red\")\npermit(principal, action, resource);",
        expect![
            "1:1: policy `policy0`: there is no annotation `@color`; there are `@id`, `@decision`, `@reason` and `@approvers`"
        ],
    );
    check_refused(
        "@decision(\"ask\") permit(principal, action, resource);",
        expect![
            "1:1: policy `policy0`: `@decision` is on a `permit`, which can only allow (write `forbid`, or leave `@decision` out)"
        ],
    );
    check_refused(
        "@decision(\"aks\") forbid(principal, action, resource);",
        expect![
            "1:1: policy `policy0`: `aks` is no decision; there are `ask`, `deny` and `abort` (did you mean `ask`?)"
        ],
    );
    check_refused(
        "@decision forbid(principal, action, resource);",
        expect!["1:1: policy `policy0`: `@decision` is empty"],
    );
    check_refused(
        "@id(\"\") @reason(\"\") forbid(principal, action, resource);",
        expect![[r"
            1:1: policy `policy0`: `@id` is empty
            1:9: policy `policy0`: `@reason` is empty"]],
    );
    check_refused(
        "@id(\"a\") @id(\"b\") forbid(principal, action, resource);",
        expect!["1:10: duplicate annotation: @id"],
    );
    check_refused(
        "@id(\"a\") permit(principal, action, resource);\n@id(\"a\") forbid(principal, action, resource);",
        expect!["2:1: policy `a`: another policy has this id, in line 1"],
    );
    check_refused(
        "@id(\"policy1\") permit(principal, action, resource);\nforbid(principal, action, resource);",
        expect!["2:1: policy `policy1`: another policy has this id, in line 1"],
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
        expect![[r#"
            1:29: policy `policy0`: there is no tool `files.read_fil` (did you mean `files.read_file`?)
            4:8: policy `second`: attribute `args.path` in context for Action::"db.query" not found
            4:8: policy `second`: attribute `args.path` in context for Action::"github.create_issue" not found
            4:8: policy `second`: attribute `args.path` in context for Action::"shell.list" not found
            4:8: policy `second`: 1 more problems at the same position
            5:39: policy `policy2`: there is no tool `shell.rum` (did you mean `shell.run`?)"#]],
    );
}

#[test]
fn turned_around_text_is_refused_but_other_alphabets_are_not() {
    check_refused(
        "forbid(principal, action == Action::\"files.read_file\", resource) when { context.args.path == \"\u{202e}x\" };",
        expect![[r#"1:94: policy `policy0`: string `"\u{202e}x"` contains BIDI control characters"#]],
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
    let described: Vec<String> = policies.describe().map(show).collect();
    expect![[r#"
        2: permit reading (reading is harmless) for files.read_file shell.list: @id("reading") … resource);
        5: ask policy1 (no reason) for files.read_file files.write_file: @decision("ask") … resource);
        7: abort stop (no reason) for shell.list shell.run: @id("stop") … };
        9: deny policy3 (no reason) for db.query: forbid(principal, … Tool::"db.query");"#]]
    .assert_eq(&lines(&described));
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
    let problems = |schema: &Schema| Policies::load(policies.text(), schema).err().unwrap_or_default();
    assert_eq!(problems(&schema()), []);

    let mut changed = samples();
    changed.retain(|sample| sample.tool != "run");
    for sample in changed.iter_mut().filter(|sample| sample.tool == "create_issue") {
        sample.input_schema["required"] = serde_json::json!([]);
    }
    let changed = schema_of(&changed);
    expect![[r#"
        2:77: policy `titles`: unable to guarantee safety of access to optional attribute `args.title` in context for Action::"github.create_issue" (try testing for the attribute's presence with `context.args has title && ..`)
        4:29: policy `shells`: there is no tool `shell.run` (did you mean `shell.*`?)"#]].assert_eq(&lines(&problems(&changed)));
}

#[test]
fn no_policies_are_fine_and_no_tools_fit_no_policy() {
    assert!(load("// nothing yet\n").is_empty());
    let nobody = Schema::new(&[]).unwrap();
    expect!["1:1: policy `policy0`: it can never match a call (no tool matches it)"]
        .assert_eq(&lines(&Policies::load("forbid(principal, action, resource);", &nobody).unwrap_err()));
}
