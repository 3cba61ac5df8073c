//! Policies by the command line and by agents, with the real binary.

use std::fmt::Write as _;
use std::path::Path;

use expect_test::expect;
use octroi_gateway::audit::LogReader;
use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::harness::{connect, octroi, stdio_entry};

mod proposals;
mod replay;

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];
pub(crate) const OTHER_TOKEN: &str = "oct_agt_other";

/// Runs commands one after the other, in a directory; returns all their output.
pub(crate) async fn session(gateway: &TestGateway, commands: &[&str]) -> String {
    let mut transcript = String::new();
    for command in commands {
        let (code, text) = sh(gateway.directory(), command).await;
        let _ = writeln!(transcript, "$ {command}\n{text}");
        if code != Some(0) {
            let _ = writeln!(transcript, "[exit {}]", code.unwrap_or(-1));
        }
    }
    transcript
}

/// Runs one command line, in which `octroi` is the program under test.
pub(crate) async fn sh(directory: &Path, command: &str) -> (Option<i32>, String) {
    let line = command
        .strip_prefix("octroi")
        .map_or(command.to_owned(), |rest| format!("'{}'{rest}", octroi().display()));
    let output = tokio::process::Command::new("sh")
        .args(["-c", &format!("{} 2>&1", line.replacen(" | ", " 2>&1 | ", 1))])
        .current_dir(directory)
        .env("OCTROI_DATA", directory.join("data"))
        .env("NO_COLOR", "1")
        .env_remove("OCTROI_TOKEN")
        .output()
        .await
        .expect("a shell runs");
    let stdout = String::from_utf8_lossy(&output.stdout).replace(&directory.display().to_string(), "DIR");
    let lines: Vec<&str> = stdout.trim_end().lines().map(str::trim_end).collect();
    (output.status.code(), timeless(&lines.join("\n")))
}

/// The text with all times replaced by one.
fn timeless(text: &str) -> String {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00.000Z";
    let is_time = |at: usize| {
        let piece = text.as_bytes().get(at..at + SHAPE.len());
        piece.is_some_and(|piece| {
            piece.iter().zip(SHAPE).all(|(byte, shape)| match shape {
                b'0' => byte.is_ascii_digit(),
                shape => byte == shape,
            })
        })
    };
    let mut out = String::new();
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        if is_time(at) {
            out.push_str("2027-01-31T12:00:00.000Z");
            at += SHAPE.len();
        } else {
            out.push(letter);
            at += letter.len_utf8();
        }
    }
    out
}

fn write(gateway: &TestGateway, name: &str, text: &str) {
    std::fs::write(gateway.directory().join(name), text).expect("the file can be written");
}

pub(crate) async fn as_holder(gateway: &TestGateway, token: &str, era: Era) -> TestClient {
    let transport = Transport::Http { url: gateway.url(), token: Some(token.to_owned()) };
    TestClient::connect(transport, era, ClientOptions::default()).await.expect("it comes in")
}

async fn person(gateway: &TestGateway, era: Era) -> TestClient {
    let token = std::fs::read_to_string(gateway.directory().join("data/admin.token")).expect("a token");
    as_holder(gateway, token.trim(), era).await
}

const CALM: &str = r#"[[deny]]
id = "no-secrets"
tool = "*"
facts = { secrets = true }
reason = "secrets stay here"

[[ask]]
tool = "peer.echo"
args = { text = "*production*" }
match = [{ tool = "peer.echo", arguments = { text = "drop production" } }]
not_match = ["peer.echo"]

[[tests]]
name = "plain text is nobody's business"
tool = "peer.echo"
arguments = { text = "x" }
expect = "silent"
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_a_file_to_an_active_policy_and_back() {
    let config = format!("{}[policy]\nprofile = \"guarded\"\n", stdio_entry("peer", &[]));
    let gateway = TestGateway::start(&octroi(), &config).await;
    write(&gateway, "calm.toml", CALM);
    write(&gateway, "calmer.toml", &CALM.replace("[[ask]]", "[[deny]]"));
    let transcript = session(
        &gateway,
        &[
            "octroi policy show",
            "octroi policy check calm.toml",
            "octroi policy test calm.toml",
            "octroi policy apply calm.toml < /dev/null | tail -n 2",
            "octroi policy apply calm.toml --yes | tail -n 4",
            "octroi policy apply calm.toml --yes",
            "octroi policy diff calmer.toml",
            "octroi policy apply calmer.toml --yes | tail -n 1",
            "octroi policy show | head -n 3",
            "octroi policy show --history",
            "octroi policy apply --version 1 --yes | tail -n 1",
            "octroi policy apply --version 9 --yes",
            "octroi policy show --floor --agent tester",
        ],
    )
    .await;
    expect![[r#"
        $ octroi policy show
        there is no global policy; `octroi policy apply FILE --global` sets one
        $ octroi policy check calm.toml
        calm.toml: fine, 2 rules, 1 test
        $ octroi policy test calm.toml
        ok    plain text is nobody's business
        calm.toml: 1 test passed
        $ octroi policy apply calm.toml < /dev/null | tail -n 2
        error: cannot ask for confirmation without a terminal
        hint: confirm with --yes
        $ octroi policy apply calm.toml --yes | tail -n 4
        added    ask[1]: require approval for `peer.echo`, if argument `text` is like `*production*`
        added    no-secrets: deny every tool, if fact `secrets` holds anything (secrets stay here)
        1 test passed
        global policy version 1 is active; undo with `octroi policy apply /dev/null --global`
        $ octroi policy apply calm.toml --yes
        the global policy is the same already
        $ octroi policy diff calmer.toml
        --- global policy, version 1
        +++ calmer.toml
        @@ -4,7 +4,7 @@
         facts = { secrets = true }
         reason = "secrets stay here"
 
        -[[ask]]
        +[[deny]]
         tool = "peer.echo"
         args = { text = "*production*" }
         match = [{ tool = "peer.echo", arguments = { text = "drop production" } }]
        added    deny[2]: deny `peer.echo`, if argument `text` is like `*production*`
        removed  ask[1]: require approval for `peer.echo`, if argument `text` is like `*production*`
        $ octroi policy apply calmer.toml --yes | tail -n 1
        global policy version 2 is active; undo with `octroi policy apply --version 1 --global`
        $ octroi policy show | head -n 3
        # global policy, version 2, set by admin
        [[deny]]
        id = "no-secrets"
        $ octroi policy show --history
        VERSION  STATUS      CREATED AT                AUTHOR
              2  active      2027-01-31T12:00:00.000Z  admin
              1  superseded  2027-01-31T12:00:00.000Z  admin
        $ octroi policy apply --version 1 --yes | tail -n 1
        global policy version 3 is active; undo with `octroi policy apply --version 2 --global`
        $ octroi policy apply --version 9 --yes
        error: there is no version 9 of the global policy
        hint: `octroi policy show --global --history` lists them
        [exit 1]
        $ octroi policy show --floor --agent tester
        error: the argument '--floor' cannot be used with '--agent <AGENT>'

        Usage: octroi policy show --floor --data <DIR>

        For more information, try '--help'.
        [exit 2]
    "#]]
    .assert_eq(&transcript);
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_becomes_of_a_call_and_why() {
    let config = format!("{}[policy]\nprofile = \"guarded\"\n", stdio_entry("peer", &[]));
    let gateway = TestGateway::start(&octroi(), &config).await;
    write(&gateway, "calm.toml", CALM);
    let transcript = session(
        &gateway,
        &[
            "octroi policy apply calm.toml --yes | tail -n 1",
            "octroi policy why --agent tester peer.echo '{\"text\": \"drop production\"}'",
            "octroi policy why --agent tester peer.echo '{\"text\": \"x\"}' | tail -n 2",
            "octroi policy why --agent tester peer.echo '{\"text\": \"AKIAIOSFODNN7EXAMPLE\"}' | tail -n 2",
            "octroi policy why --agent tester --mode planning peer.add '{\"a\": 1, \"b\": 2}' | tail -n 1",
            "octroi policy why peer.echo '[1]'",
            "octroi policy why peer.ecco",
            "octroi policy explain --agent tester",
        ],
    )
    .await;
    expect![[r#"
        $ octroi policy apply calm.toml --yes | tail -n 1
        global policy version 1 is active; undo with `octroi policy apply /dev/null --global`
        $ octroi policy why --agent tester peer.echo '{"text": "drop production"}'
        caller          agent tester, profile guarded, mode execution
        tool            mcp:peer:echo: low risk, side effects none, medium trust
        policies        global version 1
        scope           pass
        arguments       pass
        access          pass
        disabled        pass
        mode            pass
        spec_frozen     pass
        project_binding pass
        blacklist       pass
        admin_token     pass
        pinning         pass
        quota           pass
        global          ask by ask[1]: ask[1] asks
        ask: ask[1] asks
        [exit 7]
        $ octroi policy why --agent tester peer.echo '{"text": "x"}' | tail -n 2
        profile         pass
        allow
        $ octroi policy why --agent tester peer.echo '{"text": "AKIAIOSFODNN7EXAMPLE"}' | tail -n 2
        global          deny by no-secrets: secrets stay here
        deny_continue: secrets stay here
        $ octroi policy why --agent tester --mode planning peer.add '{"a": 1, "b": 2}' | tail -n 1
        deny_continue: Planning mode cannot use tools with side effects
        $ octroi policy why peer.echo '[1]'
        error: `[1]` is not a JSON object
        hint: write the arguments as in `octroi policy why peer.echo '{"path": "/tmp"}'`
        [exit 2]
        $ octroi policy why peer.ecco
        error: unknown tool `peer.ecco`; did you mean peer_echo?
        hint: `octroi tools` lists all tools, `octroi list` the servers
        [exit 1]
        $ octroi policy explain --agent tester
        Agent tester has the profile guarded and is in mode execution.

        Gates:
          disabled: what it objects to is denied
          mode: what it objects to is denied
          spec_frozen: it is off
          project_binding: it is off
          blacklist: what it objects to is denied
          admin_token: what it objects to needs approval

        Policy floor:
          no rules

        Policy global, version 1:
          no-secrets: deny every tool, if fact `secrets` holds anything (secrets stay here)
          ask[1]: require approval for `peer.echo`, if argument `text` is like `*production*`

        Policy agent:
          no rules

        Calls that no rule matches:
          a call of a tool that is known to read is allowed
          a call of a tool that writes, or whose effect is unknown, needs approval
    "#]]
    .assert_eq(&transcript);
    gateway.stop().await;
}

/// A hypothetical call is checked by the same gates and quotas as a real one, and uses up nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_and_quotas_count_for_calls_that_are_thought_of() {
    const GATE: &str = r#"while read -r line; do
        id=${line#*\"id\":}
        echo "{\"id\":${id%%,*},\"verdict\":\"ask\",\"reason\":\"not today\"}"
    done"#;
    let config = format!(
        "{}[policy]\nprofile = \"open\"\n[[gates]]\nname = \"days\"\ncommand = {}\ntools = [\"peer.touch\"]\n\
         [[quotas]]\nname = \"few\"\nagent = \"*\"\ncalls_per_minute = 1\n",
        stdio_entry("peer", &[]),
        json!(["sh", "gate.sh"]),
    );
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("gate.sh"), GATE).expect("written");
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let why = async |tool: &str| {
        let command = format!("octroi policy why --agent tester {tool} '{{\"text\": \"x\"}}' | tail -n 1");
        sh(gateway.directory(), &command).await.1
    };
    for _ in 0..3 {
        assert_eq!(why("peer.touch").await, "ask: not today");
        assert_eq!(why("peer.echo").await, "allow");
    }
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    agent.call("peer_echo", json!({"text": "x"})).await.expect("there is a place");
    assert_eq!(why("peer.echo").await, "deny_continue: few: 1 calls per minute are used up");
    assert_eq!(why("peer.touch").await, "deny_continue: few: 1 calls per minute are used up");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn problems_are_listed_with_their_lines() {
    let config = format!("{}[policy]\nfloor = \"floor.toml\"\n", stdio_entry("peer", &[]));
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("floor.toml"), "[[deny]]\ntool = \"peer.grow\"\n").expect("written");
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    write(&gateway, "typo.toml", "[[allow]]\ntool = \"peeer.echo\"\n\n[[deny]]\ntool = \"peer.ecko\"\n");
    write(&gateway, "keys.toml", "[[allow]]\ntoool = \"peer.echo\"\n");
    write(&gateway, "allow.toml", "[[allow]]\ntool = \"peer.echo\"\n");
    write(
        &gateway,
        "test.toml",
        "[[deny]]\ntool = \"peer.echo\"\n\n[[tests]]\nname = \"echo\"\ntool = \"peer.echo\"\nexpect = \"ask\"\n",
    );
    let transcript = session(
        &gateway,
        &[
            "octroi policy check typo.toml",
            "octroi policy check keys.toml",
            "octroi policy check allow.toml --floor",
            "octroi policy check nothing.toml",
            "octroi policy test test.toml",
            "octroi policy check test.toml --json",
            "octroi policy apply typo.toml --yes",
            "octroi policy apply allow.toml --floor --yes",
            // Without a gateway less can be checked, and the output says so.
            "octroi policy check allow.toml --data .",
            "octroi policy check keys.toml --data .",
            "octroi policy test test.toml --data .",
            "octroi policy why peer.echo --data .",
            "octroi policy reject-proposal 7 --reason no",
        ],
    )
    .await;
    expect![[r#"
        $ octroi policy check typo.toml
        typo.toml:1: allow[1] can never match: no server is called `peeer`; did you mean `peer`?
        typo.toml:4: deny[1] can never match: no tool fits `peer.ecko` and its risk and side effects; did you mean `peer.echo`?
        error: 2 problems found
        hint: rules are explained in docs/policies.md
        [exit 1]
        $ octroi policy check keys.toml
        keys.toml:1: a rule needs `tool`, as in `tool = "github.create_*"`; `*` means every tool
        keys.toml:2: unknown key `toool`; did you mean `tool`?
        error: 2 problems found
        hint: rules are explained in docs/policies.md
        [exit 1]
        $ octroi policy check allow.toml --floor
        allow.toml:1: allow[1]: the floor can only deny and ask; allow at another level
        error: 1 problem found
        hint: rules are explained in docs/policies.md
        [exit 1]
        $ octroi policy check nothing.toml
        error: cannot read nothing.toml
          caused by: No such file or directory (os error 2)
        hint: name a policy file
        [exit 1]
        $ octroi policy test test.toml
        FAIL  echo: expects ask, got deny
        error: 1 of 1 test failed
        hint: `octroi policy check test.toml` lists the lines
        [exit 1]
        $ octroi policy check test.toml --json
        {"ok":false,"complaints":[{"line":4,"message":"test `echo` expects ask, got deny"}],"tests":[{"name":"echo","line":4,"expected":"ask","got":"deny","passed":false}]}
        {"error":{"kind":"failed","message":"1 problem found","hint":"rules are explained in docs/policies.md"}}
        [exit 1]
        $ octroi policy apply typo.toml --yes
        typo.toml:1: allow[1] can never match: no server is called `peeer`; did you mean `peer`?
        typo.toml:4: deny[1] can never match: no tool fits `peer.ecko` and its risk and side effects; did you mean `peer.echo`?
        error: 2 problems found
        hint: rules are explained in docs/policies.md
        [exit 1]
        $ octroi policy apply allow.toml --floor --yes
        error: the floor policy is in DIR/floor.toml
        hint: change that file; a running gateway reloads it by itself, or with `octroi reload`
        [exit 1]
        $ octroi policy check allow.toml --data .
        warning: no gateway is running: syntax, examples and tests are checked with what names of tools tell, but not whether tools exist
        allow.toml: fine, 1 rule, 0 tests
        $ octroi policy check keys.toml --data .
        warning: no gateway is running: syntax, examples and tests are checked with what names of tools tell, but not whether tools exist
        keys.toml:1: a rule needs `tool`, as in `tool = "github.create_*"`; `*` means every tool
        keys.toml:2: unknown key `toool`; did you mean `tool`?
        error: 2 problems found
        hint: rules are explained in docs/policies.md
        [exit 1]
        $ octroi policy test test.toml --data .
        warning: no gateway is running: syntax, examples and tests are checked with what names of tools tell, but not whether tools exist
        FAIL  echo: expects ask, got deny
        error: 1 of 1 test failed
        hint: `octroi policy check test.toml` lists the lines
        [exit 1]
        $ octroi policy why peer.echo --data .
        error: no gateway uses .
        hint: start one with `octroi up`, or name one with --url
        [exit 4]
        $ octroi policy reject-proposal 7 --reason no
        error: there is no such proposal
        hint: `octroi policy proposals` lists them
        [exit 1]
    "#]].assert_eq(&transcript);
    gateway.stop().await;
}

pub(crate) fn two_agents(policy: &str) -> String {
    let other = format!("[[tokens]]\ntoken = \"{OTHER_TOKEN}\"\nrole = \"agent\"\nagent_id = \"other\"\n");
    format!("{}{other}[policy]\n{policy}\n", stdio_entry("peer", &[]))
}

async fn read(client: &TestClient, uri: &str) -> Option<String> {
    let result = client.request("resources/read", json!({ "uri": uri })).await.ok()?;
    result["contents"][0]["text"].as_str().map(str::to_owned)
}

pub(crate) async fn done(client: &TestClient, tool: &str, arguments: Value) -> Value {
    let result = client.call(tool, arguments).await.expect("a result");
    assert_ne!(result["isError"], true, "{result}");
    result["structuredContent"].clone()
}

pub(crate) async fn refused(client: &TestClient, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments).await.expect("a result");
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// Of two people who change a policy at once, neither overwrites the other's change unseen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_is_replaced_only_by_who_knows_it() {
    let gateway = TestGateway::start(&octroi(), &two_agents("profile = \"open\"")).await;
    let person = person(&gateway, Era::Modern).await;
    let set = |expected: i64| json!({"source": "[[ask]]\ntool = \"*\"", "expected_version": expected});
    assert_eq!(done(&person, "policy_set_global", set(0)).await["version"], 1);
    let message = refused(&person, "policy_set_global", set(0)).await;
    assert!(message.contains("version 1 is active, not 0"), "{message}");
    assert_eq!(done(&person, "policy_set_global", set(1)).await["version"], 2);
    let schema = done(&person, "policy_schema", json!({})).await;
    assert!(schema["schema"].as_str().is_some_and(|text| text.contains("peer.echo")));
    for (tool, arguments) in [
        ("policy_show", json!({"level": "roof"})),
        ("policy_show", json!({"level": "agent"})),
        ("policy_why", json!({"tool": "peer.echo", "mode": "dreaming"})),
        ("policy_replay", json!({"source": "[[deny]]", "level": "global"})),
    ] {
        refused(&person, tool, arguments).await;
    }
    gateway.stop().await;
}
