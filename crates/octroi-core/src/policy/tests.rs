use std::time::Duration;

use serde_json::json;

use super::*;
use crate::agent::AgentContext;
use crate::arguments::read_exactly;
use crate::call::ReadOtherParams;
use crate::facts::Facts;
use crate::name::{CanonicalId, ServerKey};
use crate::tool::infer::{self, infer};
use crate::tool::{Annotations, Source, ToolDescriptor};
use crate::trust::Trust;

mod exact;
mod limits;
mod spellings;

fn tool(server: &str, name: &str) -> ToolDescriptor {
    let known = infer::ToolFacts {
        server,
        name,
        description: "",
        arguments: &[],
        annotations: Annotations::default(),
        trust: Trust::Medium,
    };
    let (risk, side_effects) = infer(known, &[]);
    ToolDescriptor {
        id: CanonicalId::mcp(&ServerKey::parse(server).unwrap(), name),
        source: Source::Mcp,
        source_id: server.into(),
        name: name.into(),
        risk,
        side_effects,
        requires_admin: false,
        enabled: true,
        off_because: None,
        trust: Trust::Medium,
        timeout: Duration::from_secs(30),
        version: None,
        definition_hash: [0; 32],
    }
}

fn facts(arguments: &Value) -> Facts {
    let hosts = arguments["url"].as_str().and_then(|url| url.split('/').nth(2)).map(str::to_owned);
    Facts { hosts: hosts.into_iter().collect(), calls_last_minute: 7, ..Facts::default() }
}

/// The verdict of a policy on `agent server.tool {json}`, or `agent server.tool {json} {other params}`.
fn verdict(policy: &str, call: &str) -> String {
    let policy = Policy { document: Document::parse(policy).unwrap(), program: None, version: 0 };
    let mut words = call.splitn(3, ' ');
    let (agent, path, arguments) =
        (words.next().unwrap(), words.next().unwrap(), words.next().unwrap_or("{}"));
    let (server, name) = path.split_once('.').unwrap();
    let (tool, context) = (tool(server, name), AgentContext::default());
    let (arguments, params) = match arguments.split_once("} {") {
        Some((arguments, params)) => (format!("{arguments}}}"), Some(format!("{{{params}"))),
        None => (arguments.trim_end().to_owned(), None),
    };
    let params = params.map(|params| ReadOtherParams::read(params.as_bytes()));
    let (arguments, exactness) = read_exactly(arguments.as_bytes()).unwrap();
    let find = || facts(&arguments);
    let mut call = Call::imagined(Some(agent), &context, &tool, &arguments, &find, 1_000);
    call.exactness = exactness;
    call.other_params = params.as_ref();
    match policy.judge(&call).unwrap() {
        None => "silent".to_owned(),
        Some(PolicyVerdict { word, by, .. }) => format!("{} by {by}", word.as_str()),
    }
}

fn check(policy: &str, cases: &[(&str, &str)]) {
    for (call, expected) in cases {
        assert_eq!(verdict(policy, call), *expected, "{policy}\n{call}");
    }
}

#[test]
fn the_strongest_word_wins_whatever_the_order() {
    let policy = r#"
        [[allow]]
        tool = "fs.*"
        [[ask]]
        tool = "fs.write_*"
        [[deny]]
        tool = "fs.write_secret"
        [[deny]]
        tool = "fs.write_secret"
        agent = "evil"
        abort = true
    "#;
    check(
        policy,
        &[
            ("coder fs.read_file", "allow by allow[1]"),
            ("coder fs.write_file", "ask by ask[1]"),
            ("coder fs.write_secret", "deny by deny[1]"),
            ("evil fs.write_secret", "abort by deny[2]"),
            ("coder git.push", "silent"),
        ],
    );
}

#[test]
fn tools_can_be_written_in_every_way() {
    for pattern in
        ["fs.read_file", "mcp:fs:read_file", "mcp__fs__read_file", "fs__read_file", "*", "f*.read_*"]
    {
        check(&format!("[[deny]]\ntool = \"{pattern}\""), &[("a fs.read_file", "deny by deny[1]")]);
    }
    for pattern in ["fs.read", "git.*", "mcp:fs:*_dir"] {
        check(&format!("[[deny]]\ntool = \"{pattern}\""), &[("a fs.read_file", "silent")]);
    }
}

#[test]
fn risk_effects_and_agents() {
    check(
        "[[deny]]\ntool = \"*\"\nmin_risk = \"critical\"",
        &[("a fs.delete_file", "deny by deny[1]"), ("a fs.write_file", "silent")],
    );
    check(
        "[[allow]]\ntool = \"*\"\nmax_risk = \"medium\"",
        &[("a fs.read_file", "allow by allow[1]"), ("a fs.write_file", "silent")],
    );
    // One denied effect is enough to deny; to allow, all effects must be allowed.
    check("[[deny]]\ntool = \"*\"\nside_effects = \"fs.delete\"", &[("a fs.move_file", "deny by deny[1]")]);
    check("[[allow]]\ntool = \"*\"\nside_effects = \"fs.write\"", &[("a fs.move_file", "silent")]);
    check(
        "[[allow]]\ntool = \"*\"\nagent = [\"coder-*\", \"ci\"]",
        &[("coder-1 fs.x", "allow by allow[1]"), ("ci fs.x", "allow by allow[1]"), ("other fs.x", "silent")],
    );
}

#[test]
fn arguments() {
    let rule = |word: &str, test: &str| format!("[[{word}]]\ntool = \"*\"\nargs = {{ {test} }}");
    for (test, arguments, denied, allowed) in [
        ("path = \"/tmp/*\"", r#"{"path":"/tmp/x"}"#, true, true),
        ("path = \"/tmp/*\"", r#"{"path":"/etc/x"}"#, false, false),
        ("path = \"/tmp/*\"", "{}", false, false),
        ("path = \"/tmp/*\"", r#"{"path":5}"#, false, false),
        // The resolved path counts.
        ("path = \"/tmp/*\"", r#"{"path":"/tmp/../etc/passwd"}"#, true, false),
        ("path = \"/etc/*\"", r#"{"path":"/tmp/../etc/passwd"}"#, true, true),
        ("path = \"/etc/*\"", r#"{"path":"//etc//passwd"}"#, true, true),
        ("path = \"/etc/*\"", r#"{"path":"/etc/./passwd"}"#, true, true),
        // To deny, one match is enough; to allow, all must match.
        ("path = \"/tmp/*\"", r#"{"path":["/tmp/x","/etc/x"]}"#, true, false),
        ("path = \"/tmp/*\"", r#"{"path":["/tmp/x","/tmp/y"]}"#, true, true),
        ("path = \"/tmp/*\"", r#"{"path":[]}"#, false, false),
        ("branch = { not = \"main\" }", r#"{"branch":"x"}"#, true, true),
        ("branch = { not = \"main\" }", r#"{"branch":"main"}"#, false, false),
        ("branch = { not = \"main\" }", "{}", true, false),
        ("force = true", r#"{"force":true}"#, true, true),
        ("force = true", r#"{"force":"true"}"#, true, false),
        ("count = { max = 10 }", r#"{"count":10}"#, true, true),
        ("count = { min = 2, max = 10 }", r#"{"count":1.5}"#, false, false),
        ("kind = [\"a\", \"b*\", 3]", r#"{"kind":"bc"}"#, true, true),
        ("kind = [\"a\", \"b*\", 3]", r#"{"kind":3}"#, true, true),
        ("kind = [\"a\", \"b*\", 3]", r#"{"kind":"c"}"#, false, false),
        ("body = { present = false }", "{}", true, true),
        ("body = { present = true }", r#"{"body":null}"#, true, true),
        ("\"options.mode\" = \"fast\"", r#"{"options":{"mode":"fast"}}"#, true, true),
        ("\"items.id\" = 1", r#"{"items":[{"id":1},{"id":2}]}"#, true, false),
    ] {
        let call = format!("a fs.x {arguments}");
        let expect =
            |word: &str, is: bool| if is { format!("{word} by {word}[1]") } else { "silent".to_owned() };
        assert_eq!(verdict(&rule("deny", test), &call), expect("deny", denied), "deny {test} {arguments}");
        assert_eq!(
            verdict(&rule("allow", test), &call),
            expect("allow", allowed),
            "allow {test} {arguments}"
        );
    }
}

#[test]
fn facts_and_time() {
    let hosts = "[[allow]]\ntool = \"*\"\nfacts = { hosts = \"*.acme.com\" }";
    check(
        hosts,
        &[
            (r#"a web.fetch {"url":"https://www.acme.com/x"}"#, "allow by allow[1]"),
            (r#"a web.fetch {"url":"https://evil.com/x"}"#, "silent"),
            // Where no host was found there may still be one.
            (r#"a web.fetch {"url":"acme"}"#, "silent"),
        ],
    );
    check(
        "[[ask]]\ntool = \"*\"\nfacts = { hosts = true }",
        &[(r#"a web.fetch {"url":"https://x.y/"}"#, "ask by ask[1]"), ("a web.fetch", "silent")],
    );
    check(
        "[[deny]]\ntool = \"*\"\nfacts = { calls_last_minute = { min = 7 } }",
        &[("a web.x", "deny by deny[1]")],
    );
    check("[[deny]]\ntool = \"*\"\nfacts = { calls_last_minute = { min = 8 } }", &[("a web.x", "silent")]);
    check("[[allow]]\ntool = \"*\"\nuntil = 1970-01-01T00:00:01Z", &[("a web.x", "silent")]);
    check("[[allow]]\ntool = \"*\"\nuntil = \"1970-01-02\"", &[("a web.x", "allow by allow[1]")]);
}

/// The index must find what a scan of all rules finds.
#[test]
fn no_rule_is_passed_over() {
    let patterns = ["*", "fs.*", "*.read", "fs.read", "f*.r*", "git.push", "*.p*"];
    for (first, second) in patterns.iter().flat_map(|one| patterns.iter().map(move |other| (one, other))) {
        for (word, other) in [("deny", "deny"), ("ask", "deny"), ("allow", "ask")] {
            let policy = format!(
                "[[{word}]]\nid = \"1\"\ntool = \"{first}\"\n[[{other}]]\nid = \"2\"\ntool = [\"{second}\", \"{first}\"]\n\
                 [[{other}]]\nid = \"3\"\ntool = \"{second}\""
            );
            let document = Document::parse(&policy).unwrap();
            for (server, name) in
                [("fs", "read"), ("fs", "push"), ("git", "push"), ("git", "read"), ("x", "y")]
            {
                let (tool, context, arguments) = (tool(server, name), AgentContext::default(), json!({}));
                let find = || facts(&arguments);
                let call = Call::imagined(None, &context, &tool, &arguments, &find, 0);
                let matching = document.rules.iter().filter(|rule| rule.matches(&call));
                let expected = matching.reduce(|one, other| if other.word > one.word { other } else { one });
                let name = |rule: Option<&Rule>| rule.map(|rule| rule.name.clone());
                assert_eq!(name(document.strongest(&call)), name(expected), "{policy}\n{}", tool.id);
            }
        }
    }
}

/// The same for rules that are indexed by an argument they need.
#[test]
fn no_rule_about_arguments_is_passed_over() {
    let tests = [
        "path = \"/etc/*\"",
        "path = { not = \"/tmp/*\" }",
        "path = { present = true }",
        "path = { present = false }",
        "path = { present = false }, \"options.force\" = [true]",
        "\"options.force\" = [true]",
    ];
    let calls = [
        json!({}),
        json!({"path": "/etc/passwd"}),
        json!({"path": "/tmp/a"}),
        json!({"path": ["/tmp/a", "/etc/passwd"]}),
        json!({"path": null}),
        json!({"options": {"force": true}}),
        json!({"options": [{"force": false}, {"force": true}], "path": 1}),
        json!({"options": {}}),
        json!([{"path": "/etc/passwd"}]),
        json!(null),
    ];
    for (first, second) in tests.iter().flat_map(|one| tests.iter().map(move |other| (one, other))) {
        for (word, other) in [("deny", "deny"), ("ask", "deny"), ("allow", "ask"), ("allow", "allow")] {
            let policy = format!(
                "[[{word}]]\nid = \"1\"\ntool = \"fs.*\"\nargs = {{ {first} }}\n\
                 [[{other}]]\nid = \"2\"\ntool = [\"*.read\", \"*\"]\nargs = {{ {second} }}"
            );
            let document = Document::parse(&policy).unwrap_or_else(|wrong| panic!("{policy}\n{wrong:?}"));
            for arguments in &calls {
                let (tool, context) = (tool("fs", "read"), AgentContext::default());
                let find = || facts(arguments);
                let call = Call::imagined(None, &context, &tool, arguments, &find, 0);
                let matching = document.rules.iter().filter(|rule| rule.matches(&call));
                let expected = matching.reduce(|one, other| if other.word > one.word { other } else { one });
                let name = |rule: Option<&Rule>| rule.map(|rule| rule.name.clone());
                assert_eq!(name(document.strongest(&call)), name(expected), "{policy}\n{arguments}");
            }
        }
    }
}

fn complaints(level: Level, text: &str) -> String {
    let document = match Document::parse(text) {
        Err(complaints) => return lines(&complaints),
        Ok(document) => document,
    };
    let tools = [tool("fs", "read_file"), tool("fs", "delete_file"), tool("git", "push")];
    let servers = ["fs".to_owned(), "git".to_owned(), "silent".to_owned()];
    let known = CheckContext { tools: &tools, servers: &servers, facts: &facts, imagine: &tool, now_ms: 0 };
    let policy = Policy { document, program: None, version: 0 };
    lines(&policy.check(level, &known))
}

fn lines(complaints: &[Complaint]) -> String {
    complaints.iter().fold(String::new(), |text, one| format!("{text}{one}\n"))
}

#[test]
fn problems_are_reported() {
    let expected = expect_test::expect![[r#"
        --- [[deny]]
        line 1: a rule needs `tool`, as in `tool = "github.create_*"`; `*` means every tool

        --- [[deny]]
        tool = "delete"
        line 1: `delete` names no tool: write server.tool, as in `github.create_*`

        --- [[dney]]
        tool = "*"
        line 1: unknown key `dney`; did you mean `deny`?

        --- [[deny]]
        tool = "*"
        agnet = "x"
        line 3: unknown key `agnet`; did you mean `agent`?

        --- [[deny]]
        tool = "*"
        min_risk = "high"
        max_risk = "low"
        line 1: `min_risk` is above `max_risk`, so the rule can never match

        --- [[deny]]
        tool = "*"
        args = { x = [] }
        line 3: `x`: the list is empty, so the rule can never match

        --- [[deny]]
        tool = "*"
        args = { x = { min = 3, max = 2 } }
        line 3: `x`: `min` is above `max`, so the rule can never match

        --- [[deny]]
        tool = "*"
        until = "soon"
        line 3: `until` must be a time, as in 2027-01-31 or 2027-01-31T12:00:00Z

        --- [[deny]]
        tool = "*"
        facts = { host = "x" }
        line 3: no fact is called `host`; known are paths, paths_outside_project, hosts, sql_verbs, shell_heads, secrets, payload_bytes, is_first_use, calls_last_minute

        --- [[deny]]
        tool = "fs.delete_fil"
        line 1: deny[1] can never match: no tool fits `fs.delete_fil` and its risk and side effects; did you mean `fs.delete_file`?

        --- [[deny]]
        tool = "gti.push"
        line 1: deny[1] can never match: no server is called `gti`; did you mean `git`?

        --- [[deny]]
        tool = "fs.read_*"
        min_risk = "critical"
        line 1: deny[1] can never match: no tool fits `fs.read_*` and its risk and side effects; did you mean `fs.read_file`?

        --- [[deny]]
        tool = "fs.*"
        [[allow]]
        tool = "fs.read_file"
        line 3: allow[1] can never take effect: deny[1] (deny) matches all the same calls

        --- [[deny]]
        tool = "fs.delete_*"
        match = ["fs.delete_file", "fs.read_file"]
        not_match = "fs.delete_all"
        line 3: deny[1] does not match `fs.read_file`, and `match` says it must
        line 4: deny[1] matches `fs.delete_all`, and `not_match` says it must not

        --- [[deny]]
        tool = "fs.delete_*"
        [[tests]]
        name = "deletes"
        tool = "fs.delete_file"
        expect = "ask"
        line 3: test `deletes` expects ask, got deny

        --- [[tests]]
        tool = "fs.delete_file"
        expect = "maybe"
        line 1: a test needs `expect`: allow, ask, deny, abort or silent

        --- deny = "fs.*"
        line 1: `deny` is a list of tables: write [[deny]]

        --- [[deny]]
        id = "x"
        tool = "fs.*"
        [[ask]]
        id = "x"
        tool = "git.*"
        two rules are called `x`

    "#]];
    let cases = [
        "[[deny]]",
        "[[deny]]\ntool = \"delete\"",
        "[[dney]]\ntool = \"*\"",
        "[[deny]]\ntool = \"*\"\nagnet = \"x\"",
        "[[deny]]\ntool = \"*\"\nmin_risk = \"high\"\nmax_risk = \"low\"",
        "[[deny]]\ntool = \"*\"\nargs = { x = [] }",
        "[[deny]]\ntool = \"*\"\nargs = { x = { min = 3, max = 2 } }",
        "[[deny]]\ntool = \"*\"\nuntil = \"soon\"",
        "[[deny]]\ntool = \"*\"\nfacts = { host = \"x\" }",
        "[[deny]]\ntool = \"fs.delete_fil\"",
        "[[deny]]\ntool = \"gti.push\"",
        "[[deny]]\ntool = \"fs.read_*\"\nmin_risk = \"critical\"",
        "[[deny]]\ntool = \"fs.*\"\n[[allow]]\ntool = \"fs.read_file\"",
        "[[deny]]\ntool = \"fs.delete_*\"\nmatch = [\"fs.delete_file\", \"fs.read_file\"]\nnot_match = \"fs.delete_all\"",
        "[[deny]]\ntool = \"fs.delete_*\"\n[[tests]]\nname = \"deletes\"\ntool = \"fs.delete_file\"\nexpect = \"ask\"",
        "[[tests]]\ntool = \"fs.delete_file\"\nexpect = \"maybe\"",
        "deny = \"fs.*\"",
        "[[deny]]\nid = \"x\"\ntool = \"fs.*\"\n[[ask]]\nid = \"x\"\ntool = \"git.*\"",
    ];
    let report = cases.iter().fold(String::new(), |report, text| {
        format!("{report}--- {text}\n{}\n", complaints(Level::Global, text))
    });
    expected.assert_eq(&report);
}

#[test]
fn what_is_right_is_not_complained_about() {
    for text in [
        "",
        "[[deny]]\ntool = \"silent.anything\"",
        "[[deny]]\ntool = \"*.delete_*\"\nmatch = { tool = \"fs.delete_file\", agent = \"x\" }\nnot_match = \"fs.read_file\"",
        "[[ask]]\ntool = \"fs.*\"\nuntil = 2030-01-01\n[[tests]]\ntool = \"fs.read_file\"\nexpect = \"ask\"\n[[tests]]\ntool = \"git.push\"\nexpect = \"silent\"",
        "[[deny]]\ntool = \"fs.*\"\nagent = \"x\"\n[[allow]]\ntool = \"fs.read_file\"",
    ] {
        assert_eq!(complaints(Level::Global, text), "", "{text}");
    }
    assert_eq!(
        complaints(Level::Floor, "[[allow]]\ntool = \"fs.*\""),
        "line 1: allow[1]: the floor can only deny and ask; allow at another level\n"
    );
}

#[test]
fn a_call_that_is_thought_of_may_carry_any_json() {
    let text = "[[deny]]\ntool = \"fs.*\"\nmatch = { tool = \"fs.read_file\", arguments = { a = [1, 2.5, true, \"x\"], b = { c = 1 } } }";
    let document = Document::parse(text).unwrap();
    assert_eq!(
        document.rules[0].examples.matching[0].arguments,
        json!({"a": [1, 2.5, true, "x"], "b": {"c": 1}})
    );
}

#[test]
fn exact_arguments_match_one_call_only() {
    let policy = r#"
        [[allow]]
        tool = "fs.write_file"
        exact_args = '{"path":"/a*","size":1.5,"mode":null,"tags":["x"]}'
    "#;
    check(
        policy,
        &[
            (
                r#"coder fs.write_file {"tags":["x"],"mode":null,"size":1.5,"path":"/a*"}"#,
                "allow by allow[1]",
            ),
            (r#"coder fs.write_file {"path":"/ab","size":1.5,"mode":null,"tags":["x"]}"#, "silent"),
            (r#"coder fs.write_file {"path":"/a*","size":1.5,"mode":null,"tags":["x","x"]}"#, "silent"),
            (r#"coder fs.write_file {"path":"/a*","size":1.5,"mode":null,"tags":["x"],"more":1}"#, "silent"),
            (r#"coder fs.write_file {"path":"/a*","size":1.5,"tags":["x"]}"#, "silent"),
        ],
    );
    for wrong in ["'[]'", "'{'", "1", r#"'{"a":1,"a":2}'"#] {
        let policy = format!("[[allow]]\ntool = \"fs.*\"\nexact_args = {wrong}\n");
        let complaints = Document::parse(&policy).unwrap_err();
        assert!(complaints[0].message.contains("exact_args") && complaints[0].line == 3, "{complaints:?}");
    }
    assert!(Document::parse("[[allow]]\ntool = \"fs.*\"\nexact_args = '{}'\n").is_ok());
}
