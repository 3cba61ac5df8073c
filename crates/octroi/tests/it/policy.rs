//! Policies by the command line and by agents, with the real binary.

use std::fmt::Write as _;
use std::path::Path;

use expect_test::expect;
use octroi_gateway::audit::Reader;
use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::harness::{connect, octroi, stdio_entry};

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];
pub(crate) const OTHER_TOKEN: &str = "oct_agt_other";

/// Runs commands one after the other, in a directory, and gives all they say.
pub(crate) async fn session(gateway: &TestGateway, commands: &[&str]) -> String {
    let mut told = String::new();
    for command in commands {
        let (code, text) = sh(gateway.directory(), command).await;
        let _ = writeln!(told, "$ {command}\n{text}");
        if code != Some(0) {
            let _ = writeln!(told, "[exit {}]", code.unwrap_or(-1));
        }
    }
    told
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
    let told = String::from_utf8_lossy(&output.stdout).replace(&directory.display().to_string(), "DIR");
    let lines: Vec<&str> = told.trim_end().lines().map(str::trim_end).collect();
    (output.status.code(), timeless(&lines.join("\n")))
}

/// The text with one time in place of all times.
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
    let told = session(
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
        error: nobody can be asked whether to go on
        hint: say so with --yes
        $ octroi policy apply calm.toml --yes | tail -n 4
        added    ask[1]: ask a person about `peer.echo`, if argument `text` is like `*production*`
        added    no-secrets: deny every tool, if fact `secrets` holds anything (secrets stay here)
        1 test passed
        global policy version 1 is active; undo with `octroi policy apply /dev/null --global`
        $ octroi policy apply calm.toml --yes
        the global policy says this already
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
        removed  ask[1]: ask a person about `peer.echo`, if argument `text` is like `*production*`
        $ octroi policy apply calmer.toml --yes | tail -n 1
        global policy version 2 is active; undo with `octroi policy apply --version 1 --global`
        $ octroi policy show | head -n 3
        # global policy, version 2, set by admin
        [[deny]]
        id = "no-secrets"
        $ octroi policy show --history
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
    .assert_eq(&told);
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_becomes_of_a_call_and_why() {
    let config = format!("{}[policy]\nprofile = \"guarded\"\n", stdio_entry("peer", &[]));
    let gateway = TestGateway::start(&octroi(), &config).await;
    write(&gateway, "calm.toml", CALM);
    let told = session(
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
        hint: octroi policy why peer.echo '{"path": "/tmp"}'
        [exit 1]
        $ octroi policy why peer.ecco
        error: unknown tool `peer.ecco`; did you mean peer_echo?
        hint: `octroi list` shows the servers
        [exit 1]
        $ octroi policy explain --agent tester
        Agent tester has the profile guarded and is in mode execution.

        Gates:
          disabled: what it objects to is denied
          mode: what it objects to is denied
          spec_frozen: a person is asked about what it objects to
          project_binding: a person is asked about what it objects to
          blacklist: what it objects to is denied
          admin_token: a person is asked about what it objects to

        Policy floor:
          says nothing

        Policy global, version 1:
          no-secrets: deny every tool, if fact `secrets` holds anything (secrets stay here)
          ask[1]: ask a person about `peer.echo`, if argument `text` is like `*production*`

        Policy agent:
          says nothing

        Of what no rule speaks:
          a call of low risk is made
          a call of medium risk is made
          a call of high risk is asked about
          a call of critical risk is asked about
    "#]]
    .assert_eq(&told);
    gateway.stop().await;
}

/// A call that is only thought of meets the same programs and quotas as one that is made, and takes nothing.
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
async fn what_is_wrong_is_told_with_lines() {
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
    let told = session(
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
            // Without a gateway less can be told, and that is said.
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
        error: 2 things are wrong
        hint: rules are explained in docs/policies.md
        [exit 1]
        $ octroi policy check keys.toml
        keys.toml:1: a rule needs `tool`, as in `tool = "github.create_*"`; `*` means every tool
        keys.toml:2: unknown key `toool`; did you mean `tool`?
        error: 2 things are wrong
        hint: rules are explained in docs/policies.md
        [exit 1]
        $ octroi policy check allow.toml --floor
        allow.toml:1: allow[1]: the floor only forbids and asks; allow at another level
        error: 1 thing is wrong
        hint: rules are explained in docs/policies.md
        [exit 1]
        $ octroi policy check nothing.toml
        error: cannot read nothing.toml
          caused by: No such file or directory (os error 2)
        hint: name a policy file
        [exit 1]
        $ octroi policy test test.toml
        FAIL  echo: expects ask, got deny
        error: 1 of 1 tests failed
        hint: `octroi policy check test.toml` tells the lines
        [exit 1]
        $ octroi policy check test.toml --json
        {"ok":false,"complaints":[{"line":4,"message":"test `echo` expects ask, got deny"}],"tests":[{"name":"echo","expected":"ask","got":"deny","passed":false}]}
        error: 1 thing is wrong
        hint: rules are explained in docs/policies.md
        [exit 1]
        $ octroi policy apply typo.toml --yes
        typo.toml:1: allow[1] can never match: no server is called `peeer`; did you mean `peer`?
        typo.toml:4: deny[1] can never match: no tool fits `peer.ecko` and its risk and side effects; did you mean `peer.echo`?
        error: 2 things are wrong
        hint: rules are explained in docs/policies.md
        [exit 1]
        $ octroi policy apply allow.toml --floor --yes
        error: the floor policy stands in DIR/floor.toml
        hint: change that file; a running gateway takes it over by itself, or with `octroi reload`
        [exit 1]
        $ octroi policy check allow.toml --data .
        warning: no gateway is running: syntax, examples and tests are checked with what names of tools tell, but not whether tools exist
        allow.toml: fine, 1 rule, 0 tests
        $ octroi policy check keys.toml --data .
        warning: no gateway is running: syntax, examples and tests are checked with what names of tools tell, but not whether tools exist
        keys.toml:1: a rule needs `tool`, as in `tool = "github.create_*"`; `*` means every tool
        keys.toml:2: unknown key `toool`; did you mean `tool`?
        error: 2 things are wrong
        hint: rules are explained in docs/policies.md
        [exit 1]
        $ octroi policy test test.toml --data .
        warning: no gateway is running: syntax, examples and tests are checked with what names of tools tell, but not whether tools exist
        FAIL  echo: expects ask, got deny
        error: 1 of 1 tests failed
        hint: `octroi policy check test.toml` tells the lines
        [exit 1]
        $ octroi policy why peer.echo --data .
        error: no gateway uses .
        hint: start one with `octroi up`, or name one with --url
        [exit 4]
        $ octroi policy reject-proposal 7 --reason no
        error: there is no such proposal (`octroi policy proposals` lists them)
        [exit 1]
    "#]].assert_eq(&told);
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_calls_are_decided_again() {
    let config = format!("{}[policy]\nprofile = \"open\"\n", stdio_entry("peer", &[]));
    let gateway = TestGateway::start(&octroi(), &config).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    for text in ["x", "drop production", "AKIAIOSFODNN7EXAMPLE", &"long ".repeat(2_000)] {
        agent.call("peer_echo", json!({ "text": text })).await.expect("a result");
    }
    agent.call("peer_touch", json!({})).await.expect("a result");
    agent.call("peer_touch", json!({})).await.expect("a result");
    write(&gateway, "calm.toml", &CALM.replace("[[ask]]", "[[deny]]\nid = \"calm\""));
    write(&gateway, "first.toml", "[[ask]]\ntool = \"peer.*\"\nfacts = { is_first_use = true }\n");
    write(&gateway, "all.toml", "[[deny]]\ntool = \"*\"\n");
    let told = session(
        &gateway,
        &[
            "octroi policy replay --policy calm.toml",
            "octroi policy replay --policy first.toml",
            "octroi policy replay --policy all.toml --agent tester | head -n 2",
            "octroi policy replay --policy all.toml --agent other",
            "octroi policy replay --policy all.toml --since 2099-01-01",
            "octroi policy replay --policy all.toml --since yesterday",
            "octroi policy apply all.toml --yes | tail -n 1",
            "octroi policy replay --policy calm.toml | head -n 4",
        ],
    )
    .await;
    expect![[r#"
        $ octroi policy replay --policy calm.toml
        4 calls, 1 with another outcome
             1  allow → deny_continue
        2027-01-31T12:00:00.000Z #4 tester mcp:peer:echo: allow → deny_continue by global calm
        cannot tell of 2: arguments cut or redacted 2, tool gone 0, unreadable 0
        $ octroi policy replay --policy first.toml
        4 calls, 2 with another outcome
             2  allow → ask
        2027-01-31T12:00:00.000Z #2 tester mcp:peer:echo: allow → ask by global ask[1]
        2027-01-31T12:00:00.000Z #10 tester mcp:peer:touch: allow → ask by global ask[1]
        cannot tell of 2: arguments cut or redacted 2, tool gone 0, unreadable 0
        $ octroi policy replay --policy all.toml --agent tester | head -n 2
        4 calls, 4 with another outcome
             4  allow → deny_continue
        $ octroi policy replay --policy all.toml --agent other
        0 calls, 0 with another outcome
        $ octroi policy replay --policy all.toml --since 2099-01-01
        0 calls, 0 with another outcome
        $ octroi policy replay --policy all.toml --since yesterday
        error: `yesterday` is no time
        hint: write --since 30d or --since 2027-01-31
        [exit 1]
        $ octroi policy apply all.toml --yes | tail -n 1
        global policy version 1 is active; undo with `octroi policy apply /dev/null --global`
        $ octroi policy replay --policy calm.toml | head -n 4
        4 calls, 3 with another outcome
             3  deny_continue → allow
        2027-01-31T12:00:00.000Z #2 tester mcp:peer:echo: deny_continue → allow by global deny[1]
        2027-01-31T12:00:00.000Z #10 tester mcp:peer:touch: deny_continue → allow by global deny[1]
    "#]]
    .assert_eq(&told);
    gateway.rewrite_config("[policy]\nprofile = \"open\"\n");
    let told =
        session(&gateway, &["octroi reload | head -n 1", "octroi policy replay --policy calm.toml"]).await;
    expect![[r#"
        $ octroi reload | head -n 1
        removed    peer
        $ octroi policy replay --policy calm.toml
        0 calls, 0 with another outcome
        cannot tell of 6: arguments cut or redacted 0, tool gone 6, unreadable 0
    "#]]
    .assert_eq(&told);
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_and_denials_are_decided_again_too() {
    let config =
        format!("{}[policy]\nprofile = \"guarded\"\n[approvals]\nwait = false\n", stdio_entry("peer", &[]));
    let gateway = TestGateway::start(&octroi(), &config).await;
    let agent = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    write(&gateway, "touch.toml", "[[deny]]\ntool = \"peer.touch\"\n");
    write(&gateway, "add.toml", "[[allow]]\ntool = \"peer.add\"\n");
    let (_, told) = sh(gateway.directory(), "octroi policy apply touch.toml --yes | tail -n 1").await;
    assert!(told.contains("is active"), "{told}");
    assert!(agent.call("peer_touch", json!({})).await.is_err(), "it is denied");
    // The answer says that a person was asked.
    let _ = agent.call("peer_add", json!({"a": 1, "b": 2})).await;
    let told = session(&gateway, &["octroi policy replay --policy add.toml"]).await;
    expect![[r#"
        $ octroi policy replay --policy add.toml
        2 calls, 2 with another outcome
             1  ask → allow
             1  deny_continue → allow
        2027-01-31T12:00:00.000Z #3 tester mcp:peer:touch: deny_continue → allow by global deny[1]
        2027-01-31T12:00:00.000Z #4 tester mcp:peer:add: ask → allow by global allow[1]
    "#]]
    .assert_eq(&told);
    // What is tried counts for nothing.
    let (_, told) = sh(gateway.directory(), "octroi policy why --agent newcomer peer.echo --json").await;
    assert!(told.contains("\"is_first_use\":true") && told.contains("\"calls_last_minute\":0"), "{told}");
    let (_, again) = sh(gateway.directory(), "octroi policy why --agent newcomer peer.echo --json").await;
    assert_eq!(told, again);
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

async fn refused(client: &TestClient, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments).await.expect("a result");
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_propose_for_themselves_and_people_decide() {
    let gateway = TestGateway::start(&octroi(), &two_agents("profile = \"open\"\nproposals = true")).await;
    let mut version = 0;
    for era in ERAS {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let other = as_holder(&gateway, OTHER_TOKEN, era).await;
        let person = person(&gateway, era).await;
        let tools = agent.list_tools().await.expect("a list");
        let own: Vec<&str> = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .filter(|name| !name.starts_with("peer_"))
            .collect();
        assert_eq!(own, ["policy_propose", "policy_withdraw", "policy_check"]);

        let state = "resource://agents/tester/policy/state";
        let quiet = "[[deny]]\ntool = \"peer.touch\"\n";
        let faulty = json!({"source": "[[deny]]\ntool = \"peer.tuch\"", "rationale": "a typo"});
        let faulty = done(&agent, "policy_propose", faulty).await;
        assert_eq!((&faulty["status"], &faulty["check"]["ok"]), (&json!("proposed"), &json!(false)));
        let asked = json!({"source": quiet, "rationale": "I never need it"});
        let proposal = done(&agent, "policy_propose", asked).await;
        assert_eq!((&proposal["level"], &proposal["agent"]), (&json!("agent"), &json!("tester")));
        assert_eq!(proposal["check"]["ok"], true);
        agent.call("peer_touch", json!({})).await.expect("nothing has changed yet");

        // Others neither see nor touch it.
        let id = proposal["id"].as_i64().expect("a number");
        let uri = format!("resource://approval-policy/proposals/{id}");
        assert!(read(&agent, &uri).await.is_some_and(|text| text.contains("I never need it")));
        assert_eq!(read(&other, &uri).await, None);
        assert_eq!(read(&other, state).await, None);
        let not_found = other.request("resources/read", json!({ "uri": state })).await.expect_err("hidden");
        assert!(not_found.to_string().contains("unknown resource"), "{not_found}");
        assert!(refused(&other, "policy_withdraw", json!({ "id": id })).await.contains("no such proposal"));
        for tool in ["agents_approve_proposal", "policy_set_floor", "policy_why"] {
            let denied = agent.call(tool, json!({ "id": id })).await.expect_err("not for agents").to_string();
            assert!(denied.contains("unknown tool"), "{denied}");
        }

        let fault = refused(&person, "agents_approve_proposal", json!({"id": faulty["id"]})).await;
        assert!(fault.contains("line 1: deny[1] can never match"), "{fault}");
        done(&agent, "policy_withdraw", json!({"id": faulty["id"]})).await;
        let approved = done(&person, "agents_approve_proposal", json!({ "id": id })).await;
        version += 1;
        assert_eq!((&approved["status"], &approved["version"]), (&json!("active"), &json!(version)));
        assert!(agent.call("peer_touch", json!({})).await.is_err(), "from now on it is denied");
        other.call("peer_touch", json!({})).await.expect("for this agent alone");
        let told: Value = serde_json::from_str(&read(&agent, state).await.expect("a state")).expect("JSON");
        assert_eq!((&told["content"], &told["version"]), (&json!(quiet), &json!(version)));
        assert_eq!(told["proposals"][0], json!({"id": id, "status": "active"}));
        for uri in ["resource://approval-policy/policy", "resource://approval-policy/policy.py"] {
            assert_eq!(read(&agent, uri).await.as_deref(), Some(quiet), "the agent's own");
            assert_eq!(read(&person, uri).await.as_deref(), Some(""), "everybody's");
        }
        assert!(refused(&person, "agents_approve_proposal", json!({ "id": id })).await.contains("already"));

        let why = done(&agent, "policy_check", json!({"tool": "peer.touch"})).await;
        assert_eq!((&why["decision"], &why["agent"]), (&json!("deny_continue"), &json!("tester")));
        let check = done(&agent, "policy_check", json!({"source": "[[allow]]\ntool = \"peer.no\""})).await;
        assert_eq!(check["ok"], false);
        assert!(refused(&agent, "policy_check", json!({})).await.contains("either `source`"));

        let loose = json!({"source": "[[allow]]\ntool = \"*\"", "rationale": "please"});
        let loose = done(&agent, "policy_propose", loose).await;
        let rejected = json!({"id": loose["id"], "reason": "too much"});
        done(&person, "agents_reject_proposal", rejected).await;
        let uri = format!("resource://approval-policy/proposals/{}", loose["id"]);
        assert!(read(&agent, &uri).await.is_some_and(|text| text.contains("too much")));
        // So that the next era begins as this one did.
        done(&person, "agents_set_policy", json!({"agent_id": "tester", "source": ""})).await;
        version += 1;
    }
    let directory = gateway.stop_and_keep().await.0;
    let mut reader = Reader::open(&directory.path().join("data/audit")).expect("a log");
    let mut kinds: Vec<(String, String)> = Vec::new();
    for record in reader.records(1).expect("records") {
        let record = record.expect("a record");
        let entry = record.entry().expect("an entry");
        let context: Value = serde_json::from_str(entry.context).unwrap_or_default();
        let what = context["status"].as_str().or(entry.tool.as_deref()).unwrap_or_default().to_owned();
        if what.starts_with("builtin:") || context["status"].is_string() {
            kinds.push((entry.kind.as_str().to_owned(), what));
        }
    }
    let count =
        |kind: &str, what: &str| kinds.iter().filter(|(known, of)| known == kind && of == what).count();
    assert_eq!(count("proposal_created", "proposed"), 6);
    assert_eq!(count("proposal_resolved", "withdrawn"), 2);
    assert_eq!(count("proposal_resolved", "active"), 2);
    assert_eq!(count("proposal_resolved", "rejected"), 2);
    assert_eq!(count("policy_changed", "active"), 4);
    assert_eq!(count("tool_invocation_start", "builtin:policy_propose"), 6);
    assert_eq!(count("tool_invocation_end", "builtin:policy_check"), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_propose_only_where_they_may() {
    let gateway = TestGateway::start(&octroi(), &two_agents("profile = \"open\"")).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let tools = agent.list_tools().await.expect("a list");
    assert!(tools.iter().all(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with("peer_"))));
    let arguments = json!({"source": "", "rationale": ""});
    let denied = agent.call("policy_propose", arguments).await.expect_err("it is off").to_string();
    assert!(denied.contains("unknown tool"), "{denied}");
    assert_eq!(read(&agent, "resource://agents/tester/policy/state").await, None);
    gateway.rewrite_config(&two_agents("profile = \"open\"\nproposals = true"));
    let (code, told) = sh(gateway.directory(), "octroi reload").await;
    assert_eq!(code, Some(0), "{told}");
    for n in 0..20 {
        let arguments = json!({"source": "", "rationale": n.to_string()});
        done(&agent, "policy_propose", arguments).await;
    }
    let arguments = json!({"source": "", "rationale": "one more"});
    assert!(refused(&agent, "policy_propose", arguments).await.contains("20 proposals wait already"));
    let long = json!({"source": "#".repeat(70_000), "rationale": ""});
    assert!(refused(&agent, "policy_propose", long).await.contains("65536 bytes"));
    let (_, told) = sh(gateway.directory(), "octroi policy proposals --agent tester | tail -n 1").await;
    assert!(told.contains("proposed") && told.ends_with("fine    tester: 0"), "{told}");
    // What an agent writes does not move the cursor of the person who reads it.
    let other = as_holder(&gateway, OTHER_TOKEN, Era::Modern).await;
    let sly = json!({"source": "# \u{202e}x\u{1b}[2J", "rationale": "a\u{1b}[2Jb\nc"});
    let sly = done(&other, "policy_propose", sly).await;
    let shown = sh(gateway.directory(), "octroi policy proposals --agent other").await.1;
    assert!(shown.ends_with("faulty  other: a\\u{1b}[2Jb\\nc"), "{shown}");
    let shown = sh(gateway.directory(), &format!("octroi policy proposals {}", sly["id"])).await.1;
    assert!(shown.contains("# \\u{202e}x\\u{1b}[2J") && !shown.contains('\u{1b}'), "{shown}");
    gateway.stop().await;
}

/// Of two who change a policy at once, neither undoes the other's work unseen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_is_replaced_only_by_who_knows_it() {
    let gateway = TestGateway::start(&octroi(), &two_agents("profile = \"open\"")).await;
    let person = person(&gateway, Era::Modern).await;
    let set = |expected: i64| json!({"source": "[[ask]]\ntool = \"*\"", "expected_version": expected});
    assert_eq!(done(&person, "policy_set_global", set(0)).await["version"], 1);
    let told = refused(&person, "policy_set_global", set(0)).await;
    assert!(told.contains("version 1 is active, not 0"), "{told}");
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
