use std::cell::Cell;

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::tests::support::{judge, load, summary};

#[track_caller]
fn check(policies: &str, call: &str, expected: Expect) {
    expected.assert_eq(&summary(&judge(&load(policies), call)));
}

const READ: &str = r#"bot calls files.read_file {"path": "/data/x"}"#;

#[test]
fn without_policies_nobody_says_anything() {
    check("", READ, expect!["silent"]);
    check("", "bot calls unknown.tool {}", expect!["silent"]);
}

#[test]
fn every_verdict_has_its_policy() {
    let policies = r#"
        @id("may-read") @reason("reading is harmless")
        permit(principal, action == Action::"files.read_file", resource);
        @id("asks") @decision("ask") @reason("writing needs a person")
        forbid(principal, action == Action::"files.write_file", resource);
        @id("plain")
        forbid(principal, action == Action::"db.query", resource);
        @id("denies") @decision("deny")
        forbid(principal, action == Action::"github.create_issue", resource);
        @id("aborts") @decision("abort")
        forbid(principal, action == Action::"shell.run", resource);
    "#;
    check(policies, READ, expect!["allow by may-read (reading is harmless)"]);
    check(
        policies,
        r#"bot calls files.write_file {"path": "/x", "content": ""}"#,
        expect!["ask by asks (writing needs a person)"],
    );
    check(policies, r#"bot calls db.query {"sql": "SELECT 1"}"#, expect!["deny by plain"]);
    check(policies, "bot calls github.create_issue {}", expect!["deny by denies"]);
    check(policies, r#"bot calls shell.run {"command": "ls"}"#, expect!["abort by aborts"]);
    check(policies, "bot calls shell.list {}", expect!["silent"]);
    check(
        policies,
        "bot calls shell.unheard_of {}",
        expect!["deny; error: the policies' schema does not contain this tool"],
    );
}

#[test]
fn the_hardest_verdict_wins() {
    let permit = r#"@id("p") permit(principal, action, resource);"#;
    let ask = r#"@id("a") @decision("ask") forbid(principal, action, resource);"#;
    let deny = r#"@id("d") forbid(principal, action, resource);"#;
    let abort = r#"@id("x") @decision("abort") forbid(principal, action, resource);"#;
    check(permit, READ, expect!["allow by p"]);
    check(&[permit, ask].concat(), READ, expect!["ask by a"]);
    check(&[deny, ask, permit].concat(), READ, expect!["deny by d, a"]);
    check(&[abort, deny, ask, permit].concat(), READ, expect!["abort by x, d, a"]);
}

#[test]
fn callers_tools_and_sessions_can_be_told_apart() {
    let policies = r#"
        @id("people") permit(principal, action, resource) when { principal.role == "human" };
        @id("bob") permit(principal == Agent::"bob", action, resource);
        @id("reviewer") permit(principal, action, resource) when { principal.profile == "strict" };
        @id("frozen") forbid(principal, action, resource)
            when { context.session.spec_frozen && !resource.read_only };
        @id("risky") @decision("ask") forbid(principal, action, resource)
            when { resource.risk >= 3 && resource.risk_name == "critical" };
        @id("stranger") forbid(principal, action, resource)
            when { resource.trust == "low" && resource.side_effects.containsAny(["network.http", "system.exec"]) };
        @id("project") permit(principal, action, resource)
            when { context.session has project && context.session.project == "octroi" };
        @id("mode") forbid(principal, action, resource in Server::"files")
            when { context.session.mode == "plan" && resource.name like "write_*" && resource.server == "files" };
    "#;
    check(policies, READ, expect!["silent"]);
    check(policies, &format!("{READ} with role=human project=octroi"), expect!["allow by people, project"]);
    check(policies, &format!("{READ} with profile=strict"), expect!["allow by reviewer"]);
    check(
        policies,
        r#"bob calls files.read_file {"path": "/x"} with spec_frozen=true"#,
        expect!["allow by bob"],
    );
    check(policies, r#"bob calls db.query {"sql": ""} with spec_frozen=true"#, expect!["deny by frozen"]);
    check(policies, r#"bob calls shell.run {"command": "ls"}"#, expect!["ask by risky"]);
    check(
        policies,
        r#"bob calls shell.run {"command": "ls"} with trust=low"#,
        expect!["deny by risky, stranger"],
    );
    check(
        policies,
        r#"bob calls files.write_file {"path": "", "content": ""} with mode=plan"#,
        expect!["deny by mode"],
    );
}

#[test]
fn facts_can_be_looked_at_for_every_tool() {
    let policies = r#"
        @id("paths") forbid(principal, action in Action::"call", resource)
            unless { context.facts.paths_outside_project.isEmpty() };
        @id("hosts") forbid(principal, action in Action::"github.*", resource)
            when { !["github.com"].containsAll(context.facts.hosts) };
        @id("verbs") forbid(principal, action, resource) when { context.facts.sql_verbs.contains("DROP") };
        @id("busy") forbid(principal, action, resource) when { context.facts.calls_last_minute > 30 };
        @id("large") forbid(principal, action, resource) when { context.facts.payload_bytes > 100000 };
        @id("new") @decision("ask") forbid(principal, action, resource) when { context.facts.is_first_use };
        @id("keys") forbid(principal, action, resource) when { context.facts.secrets != [] };
    "#;
    // An empty set has no element type.
    assert!(crate::Policies::load(policies, &crate::tests::support::schema()).is_err());
    let policies = &policies.replace("context.facts.secrets != []", "!context.facts.secrets.isEmpty()");
    check(policies, READ, expect!["silent"]);
    check(policies, &format!("{READ} with paths_outside_project=/etc/passwd"), expect!["deny by paths"]);
    check(
        policies,
        "bot calls github.create_issue {} with hosts=github.com,evil.example",
        expect!["deny by hosts"],
    );
    check(policies, "bot calls github.create_issue {} with hosts=github.com", expect!["silent"]);
    check(policies, r#"bot calls db.query {"sql": ""} with sql_verbs=DROP,SELECT"#, expect!["deny by verbs"]);
    check(
        policies,
        &format!("{READ} with calls_last_minute=31 payload_bytes=18446744073709551615"),
        expect!["deny by busy, large"],
    );
    check(policies, &format!("{READ} with is_first_use=true"), expect!["ask by new"]);
    check(
        policies,
        &format!("{READ} with is_first_use=true secrets=github_token"),
        expect!["deny by new, keys"],
    );
}

#[test]
fn arguments_have_their_types() {
    let policies = r#"
        @id("head") forbid(principal, action == Action::"files.read_file", resource)
            when { context.args has head && context.args.head > 100 };
        @id("labels") forbid(principal, action == Action::"github.create_issue", resource)
            when { context.args has labels && context.args.labels.contains("bug") };
        @id("owner") permit(principal, action == Action::"github.create_issue", resource)
            when { context.args.repo.owner == "octroi-dev" };
        @id("stone") forbid(principal, action == Action::"github.create_issue", resource)
            when { context.args has milestone && context.args.milestone == 3 };
        @id("rows") forbid(principal, action == Action::"db.query", resource)
            when { context.args has "max-rows" && context.args["max-rows"] > 10 };
    "#;
    let issue = |more: &str| {
        let repo = r#"{"owner": "octroi-dev", "name": "octroi", "x": 1}"#;
        format!(r#"bot calls github.create_issue {{"repo": {repo}, "title": "t"{more}}}"#)
    };
    check(policies, r#"bot calls files.read_file {"path": "/x", "head": 101}"#, expect!["deny by head"]);
    check(policies, r#"bot calls files.read_file {"path": "/x", "head": 101.0}"#, expect!["deny by head"]);
    check(policies, r#"bot calls files.read_file {"path": "/x"}"#, expect!["silent"]);
    check(policies, &issue(""), expect!["allow by owner"]);
    check(policies, &issue(r#", "milestone": null, "labels": []"#), expect!["allow by owner"]);
    check(
        policies,
        &issue(r#", "milestone": 3, "labels": ["feature", "bug"]"#),
        expect!["deny by labels, stone"],
    );
    check(policies, r#"bot calls db.query {"sql": "", "max-rows": 11}"#, expect!["deny by rows"]);
}

#[test]
fn arguments_that_do_not_fit_deny() {
    let policies = r#"
        @id("all") permit(principal, action, resource);
        @id("head") forbid(principal, action == Action::"files.read_file", resource)
            when { context.args has head && context.args.head > 100 };
        @id("labels") forbid(principal, action == Action::"github.create_issue", resource)
            when { context.args has labels && context.args.labels.contains("bug") && context.args.repo.name == "" };
    "#;
    check(
        policies,
        r#"bot calls files.read_file {"path": "/x", "head": 9223372036854775808}"#,
        expect!["deny; error: argument `head` is too large for an integer of Cedar"],
    );
    check(
        policies,
        r#"bot calls files.read_file {"path": "/x", "head": 1e300}"#,
        expect!["deny; error: argument `head` is too large for an integer of Cedar"],
    );
    check(
        policies,
        r#"bot calls files.read_file {"path": "/x", "head": 1.5}"#,
        expect!["deny; error: argument `head` is not an integer"],
    );
    check(
        policies,
        r#"bot calls files.read_file {"path": "/x", "head": "many"}"#,
        expect!["deny; error: argument `head` is not an integer"],
    );
    check(
        policies,
        r#"bot calls files.read_file {"path": "/x", "head": null}"#,
        expect!["deny; error: argument `head` is not an integer"],
    );
    check(policies, "bot calls files.read_file [1]", expect!["deny; error: the arguments are not an object"]);
    check(policies, "bot calls files.read_file null", expect!["allow by all"]);
    check(
        policies,
        r#"bot calls github.create_issue {"labels": ["a", 1], "repo": {}}"#,
        expect!["deny; error: argument `labels` is not a text"],
    );
    check(
        policies,
        r#"bot calls github.create_issue {"labels": "bug"}"#,
        expect!["deny; error: argument `labels` is not a list"],
    );
    check(
        policies,
        r#"bot calls github.create_issue {"repo": {"owner": "x"}}"#,
        expect!["deny; error: argument `repo.name` is missing"],
    );
    check(policies, "bot calls github.create_issue {}", expect!["deny; error: argument `repo` is missing"]);
    // No policy uses the path, so its value does not matter.
    check(policies, r#"bot calls files.read_file {"path": 7, "other": []}"#, expect!["allow by all"]);
}

#[test]
fn a_policy_that_fails_denies() {
    let overflow = r#"
        @id("all") permit(principal, action, resource);
        @id("sum") forbid(principal, action == Action::"files.read_file", resource)
            when { context.args has head && context.args.head + 9223372036854775807 > 0 };
    "#;
    check(
        overflow,
        r#"bot calls files.read_file {"path": "/x", "head": 1}"#,
        expect![
            "deny; error: error while evaluating policy `sum`: integer overflow while attempting to add the values `1` and `9223372036854775807`"
        ],
    );
    check(overflow, r#"bot calls files.read_file {"path": "/x", "head": -1}"#, expect!["deny by sum"]);
    let permit = r#"@id("sum") permit(principal, action == Action::"files.read_file", resource)
        when { context.args has head && context.args.head * 9223372036854775807 > 0 };
        @id("stop") @decision("abort") forbid(principal == Agent::"eve", action, resource);"#;
    check(
        permit,
        r#"bot calls files.read_file {"path": "/x", "head": 2}"#,
        expect![
            "deny; error: error while evaluating policy `sum`: integer overflow while attempting to multiply the values `2` and `9223372036854775807`"
        ],
    );
    check(
        permit,
        r#"eve calls files.read_file {"path": "/x", "head": 2}"#,
        expect![
            "abort by stop; error: error while evaluating policy `sum`: integer overflow while attempting to multiply the values `2` and `9223372036854775807`"
        ],
    );
}

#[test]
fn facts_are_found_only_if_a_policy_looks_at_them() {
    let n_facts = |policies: &str, tool: &str| {
        let asked = Cell::new(0);
        let facts = || {
            asked.set(asked.get() + 1);
            Facts::default()
        };
        let arguments = json!({"path": "/x", "command": "ls"});
        let (server, name) = tool.split_once('.').unwrap();
        load(policies).judge(&CallToJudge {
            agent: Agent { id: "bot", kind: PrincipalKind::Agent, profile: "" },
            tool: Tool {
                server,
                name,
                risk: Risk::Low,
                side_effects: &[],
                trust: Trust::High,
                is_read_only: true,
            },
            arguments: &arguments,
            exactness: octroi_core::arguments::Exactness::Exact,
            facts: &facts,
            session: SessionState { mode: "normal", project: None, is_spec_frozen: false, spec_hash: None },
        });
        asked.get()
    };
    let looking = r#"permit(principal, action in Action::"files.*", resource)
        when { context.facts.is_first_use || context.facts.hosts.isEmpty() };"#;
    assert_eq!(n_facts(looking, "files.read_file"), 1);
    assert_eq!(n_facts(looking, "shell.run"), 0);
    assert_eq!(n_facts("permit(principal, action, resource) when { resource.read_only };", "shell.run"), 0);
    assert_eq!(n_facts("", "shell.run"), 0);
}
