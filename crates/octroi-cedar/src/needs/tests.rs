use cedar_policy::Policy;
use expect_test::{Expect, expect};

use super::*;

#[track_caller]
fn check(condition: &str, expected: Expect) {
    let policy: Policy =
        format!("permit(principal, action, resource) when {{ {condition} }};").parse().unwrap();
    let mut needs = Needs::default();
    needs.add_policy(&policy.to_json().unwrap());
    let Needs { agent, tool, arguments, facts, session } = needs;
    let all = [("agent", agent), ("tool", tool), ("args", arguments), ("facts", facts), ("session", session)];
    let summary: Vec<String> = all
        .into_iter()
        .filter(|(_, used)| !used.is_nothing())
        .map(|(name, used)| match used {
            UsedParts::Only(names) => format!("{name}: {}", names.into_iter().collect::<Vec<_>>().join(" ")),
            UsedParts::All => format!("{name}: everything"),
        })
        .collect();
    expected.assert_eq(&summary.join("; "));
}

#[test]
fn only_what_is_looked_at_is_needed() {
    check("true", expect![[""]]);
    check("principal.role == \"human\" && resource.risk > 1", expect!["agent: role; tool: risk"]);
    check("context.facts.hosts.contains(context.args.host)", expect!["args: host; facts: hosts"]);
    check("context.args has body && context.args.body like \"*x\"", expect!["args: body"]);
    check("context has args && context.args.a.b.c == 1", expect!["args: everything"]);
    check("context has args.a.b", expect!["args: a"]);
    check(
        "if context.session.spec_frozen then [context.args[\"odd name\"]].contains(1) else !(-context.args.n > 3)",
        expect!["args: n odd name; session: spec_frozen"],
    );
    check("{Var: context.facts.paths, \".\": 1}.Var.isEmpty()", expect!["facts: paths"]);
}

#[test]
fn comparing_entities_needs_none_of_their_attributes() {
    check("principal == Agent::\"x\" || resource in Server::\"y\" || principal is Agent", expect![[""]]);
    check("[principal].contains(Agent::\"x\")", expect!["agent: everything"]);
    check("principal is Agent in Agent::\"x\"", expect![[""]]);
}

#[test]
fn what_is_taken_as_a_whole_is_needed_as_a_whole() {
    check("context == {a: 1}", expect!["args: everything; facts: everything; session: everything"]);
    check(
        "{x: context}.x.facts.is_first_use",
        expect!["args: everything; facts: everything; session: everything"],
    );
    check("(if true then principal else Agent::\"x\").role == \"human\"", expect!["agent: everything"]);
    check("context.args == {a: 1}", expect!["args: everything"]);
    check("\"Var\" == \"context\"", expect![[""]]);
}
