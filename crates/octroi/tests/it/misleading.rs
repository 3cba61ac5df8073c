//! Errors name the mistake and the next command. Each of these once said something else.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use expect_test::{Expect, expect};
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::harness::{octroi, stdio_entry};
use crate::manage::{command, exit_and_output, run};

/// Runs commands and shows what each prints, with what differs from run to run replaced.
async fn shown(gateway: &TestGateway, commands: &[&[&str]]) -> String {
    let data = gateway.directory().join("data");
    let mut text = String::new();
    for arguments in commands {
        let (code, output) = exit_and_output(&run(&data, arguments).await);
        let _ = write!(text, "$ octroi {}\n{output}[exit {}]\n", arguments.join(" "), code.unwrap_or(-1));
    }
    text.replace(&data.display().to_string(), "DATA").replace(&gateway.address(), "ADDRESS")
}

async fn check(gateway: &TestGateway, commands: &[&[&str]], expected: Expect) {
    expected.assert_eq(&shown(gateway, commands).await);
}

/// Servers that never run, each for its own reason, beside one that does.
fn servers_that_do_not_run() -> String {
    let entry = |name: &str, command: &[&str], more: &str| {
        format!("[[mcp.servers]]\nname = \"{name}\"\ncommand = {}\nreconnect = false\n{more}", json!(command))
    };
    [
        stdio_entry("peer", &[]),
        entry("missing", &["/no/such/program"], ""),
        entry("ends", &["sh", "-c", "echo secret of the log >&2; exit 3"], ""),
        entry("manual", &["sh", "-c", "exit 1"], "start = \"manual\"\n"),
        entry("off", &["sh", "-c", "exit 1"], "enabled = false\n"),
    ]
    .concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agents_token_is_recognised() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    check(
        &gateway,
        &[
            &["status", "--token", AGENT_TOKEN],
            &["call", "peer.echo", "text=x", "--token", AGENT_TOKEN, "--json"],
        ],
        expect![[r#"
            $ octroi status --token oct_agt_test
            error: this is an agent's token; commands need a person's token
            hint: leave --token and OCTROI_TOKEN out to use the admin token of the data directory, or give a person's token
            [exit 3]
            $ octroi call peer.echo text=x --token oct_agt_test --json
            {"error":{"kind":"people_only","message":"this is an agent's token; commands need a person's token","hint":"leave --token and OCTROI_TOKEN out to use the admin token of the data directory, or give a person's token"}}
            [exit 3]
        "#]],
    )
    .await;
    // Also where it was put into the wrong file.
    let other = gateway.directory().join("other");
    std::fs::create_dir_all(&other).expect("a directory");
    std::fs::write(other.join("admin.token"), AGENT_TOKEN).expect("a file");
    let (code, text) = exit_and_output(&run(&other, &["agents", "--url", &gateway.address()]).await);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("other/admin.token is an agent's"), "{text}");
    // A person's token for something that is not there is still that.
    let text = command(&gateway, 1, &["tools", "show", "servers_lisst"]).await;
    assert!(text.contains("unknown tool `servers_lisst`"), "{text}");
    for wrong in ["", "two\nlines"] {
        let text = command(&gateway, 3, &["status", "--token", wrong]).await;
        assert!(text.contains("the token"), "{text}");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addresses_are_completed_or_explained() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let address = gateway.address();
    for url in
        [address.clone(), format!("{address}/mcp"), format!("http://{address}"), format!("http://{address}/")]
    {
        let text = command(&gateway, 0, &["status", "--url", &url]).await;
        assert!(text.contains("1 of 1 server running"), "{url}: {text}");
    }
    let (tls, elsewhere) = (format!("https://{address}"), format!("http://{address}/elsewhere"));
    let given = |url: &'static str| ["status", "--token", "x", "--url", url];
    check(
        &gateway,
        &[
            &["status", "--url", &tls],
            &["status", "--url", &elsewhere],
            &given("gateway.example:7878"),
            &given("ftp://gateway.example"),
            &given(""),
        ],
        expect![[r#"
            $ octroi status --url https://ADDRESS
            error: what listens at https://ADDRESS/mcp does not speak TLS
              caused by: received corrupt message of type InvalidContentType
            hint: write http://ADDRESS/mcp
            [exit 4]
            $ octroi status --url http://ADDRESS/elsewhere
            error: what answers at http://ADDRESS/elsewhere is not a gateway: HTTP 404 Not Found
            hint: the address of a gateway ends in /mcp, as in http://127.0.0.1:7878/mcp
            [exit 4]
            $ octroi status --token x --url gateway.example:7878
            error: `gateway.example:7878` does not say whether it is http:// or https://
            hint: write https://gateway.example:7878, or http://gateway.example:7878 if the gateway has no certificate
            [exit 2]
            $ octroi status --token x --url ftp://gateway.example
            error: `ftp://` is not the scheme of a gateway's address
            hint: write http://gateway.example, or https://gateway.example if the gateway has a certificate
            [exit 2]
            $ octroi status --token x --url 
            error: the address of the gateway is empty
            hint: write one after --url or into OCTROI_URL, or leave both out to use the gateway of the data directory
            [exit 2]
        "#]],
    )
    .await;
    gateway.stop().await;
}

/// What a listener with TLS answers to plain HTTP: an alert, or nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_http_on_a_port_with_tls_is_recognised() {
    for answer in [&b"\x15\x03\x03\x00\x02\x02\x46"[..], &[]] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream.write_all(answer).await;
        });
        let (code, text) = exit_and_output(
            &run(Path::new("/nonexistent"), &["status", "--token", "x", "--url", &url]).await,
        );
        serving.await.expect("it was reached");
        assert_eq!(code, Some(4), "{text}");
        assert!(text.contains("does not answer in plain HTTP"), "{answer:?}: {text}");
        assert!(text.contains(&format!("write {}", url.replace("http:", "https:"))), "{answer:?}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_exist_is_not_found() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    check(
        &gateway,
        &[
            &["tools", "--server", "pear"],
            &["tools", "--server", "nope", "--json"],
            &["get", "nope"],
            &["agents", "set", "nobody", "--mode", "planning"],
            &["call", "peer.echo", "text=x", "--agent", "nobody"],
            &["call", "peer.nothing"],
            &["approvals", "--agent", "nobody"],
            &["audit", "show", "999999"],
            &["audit", "show", "nonsense"],
            &["policy", "why", "peer.nothing"],
        ],
        expect![[r#"
            $ octroi tools --server pear
            error: there is no server `pear`; did you mean `peer`?
            hint: `octroi list` shows all servers
            [exit 1]
            $ octroi tools --server nope --json
            {"error":{"kind":"not_found","message":"there is no server `nope`; there are: peer","hint":"`octroi list` shows all servers"}}
            [exit 1]
            $ octroi get nope
            error: there is no server `nope`; there are: peer
            hint: `octroi list` shows all servers
            [exit 1]
            $ octroi agents set nobody --mode planning
            error: there is no agent `nobody`
            hint: `octroi agents` lists agents; `octroi token create --agent nobody` makes this one, and a token for it
            [exit 1]
            $ octroi call peer.echo text=x --agent nobody
            error: there is no agent `nobody`
            hint: `octroi agents` lists agents; `octroi token create --agent nobody` makes this one, and a token for it
            [exit 1]
            $ octroi call peer.nothing
            error: unknown tool `peer.nothing`
            hint: `octroi tools` lists all
            [exit 1]
            $ octroi approvals --agent nobody
            error: there is no agent `nobody`
            hint: `octroi agents` lists agents; `octroi token create --agent nobody` makes this one, and a token for it
            [exit 1]
            $ octroi audit show 999999
            error: there is no record 999999
            hint: `octroi audit list` shows the records, with --json also their calls
            [exit 1]
            $ octroi audit show nonsense
            error: `nonsense` is not the id of a call
            hint: give the number of a record, or the `call` that `octroi audit list --json` shows
            [exit 1]
            $ octroi policy why peer.nothing
            error: unknown tool `peer.nothing`
            hint: `octroi tools` lists all tools, `octroi list` the servers
            [exit 1]
        "#]],
    )
    .await;
    let agents = run(&gateway.directory().join("data"), &["agents", "--json"]).await;
    let agents: Vec<Value> = serde_json::from_slice(&agents.stdout).expect("JSON");
    assert!(agents.iter().all(|agent| agent["id"] != "nobody"), "{agents:?}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_values_are_named_in_words() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    check(
        &gateway,
        &[
            &["audit", "list", "-n", "many"],
            &["logs", "peer", "-n", "many"],
            &["policy", "proposals", "first"],
            &["policy", "apply", "--version", "old"],
            &["up", "--listen", "localhost:7878"],
            &["audit", "list", "--since", "soon"],
            &["policy", "why", "peer.echo", "text"],
            &["call", "peer.add", "a=one", "b=2"],
            &["call", "peer.add", "a=1"],
        ],
        expect![[r#"
            $ octroi audit list -n many
            error: invalid value 'many' for '--lines <N>': it must be a whole number, such as 20

            For more information, try '--help'.
            [exit 2]
            $ octroi logs peer -n many
            error: invalid value 'many' for '--lines <N>': it must be a whole number, such as 20

            For more information, try '--help'.
            [exit 2]
            $ octroi policy proposals first
            error: invalid value 'first' for '[NUMBER]': it must be a whole number, such as 20

            For more information, try '--help'.
            [exit 2]
            $ octroi policy apply --version old
            error: invalid value 'old' for '--version <N>': it must be a whole number, such as 20

            For more information, try '--help'.
            [exit 2]
            $ octroi up --listen localhost:7878
            error: invalid value 'localhost:7878' for '--listen <ADDRESS>': it must be an IP address with a port, such as 127.0.0.1:7878 or [::1]:7878

            For more information, try '--help'.
            [exit 2]
            $ octroi audit list --since soon
            error: `soon` is not a time
            hint: write how long ago, as in `30m` or `7d`, or when, as in `2027-01-31T12:00:00Z`
            [exit 2]
            $ octroi policy why peer.echo text
            error: `text` is not a JSON object
            hint: write the arguments as in `octroi policy why peer.echo '{"path": "/tmp"}'`
            [exit 2]
            $ octroi call peer.add a=one b=2
            error: `a` must be a number, not `one`
            hint: `octroi tools show peer.add` shows its arguments
            [exit 2]
            $ octroi call peer.add a=1
            error: invalid arguments: arguments: "b" is a required property
            hint: `octroi tools show peer.add` shows its arguments
            [exit 1]
        "#]],
    )
    .await;
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_do_not_run_say_why() {
    let gateway = TestGateway::launch(&octroi(), &servers_that_do_not_run(), &[]).await;
    let data = gateway.directory().join("data");
    for _ in 0..200 {
        let (_, text) = exit_and_output(&run(&data, &["list"]).await);
        if text.matches(" failed ").count() == 2 && text.contains(" healthy ") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    check(
        &gateway,
        &[
            &["list"],
            &["status"],
            &["call", "missing.anything"],
            &["call", "ends.anything"],
            &["call", "manual.anything"],
            &["tools", "show", "manual.anything"],
            &["test", "manual"],
            &["test", "off"],
            &["test", "ends"],
        ],
        expect![[r#"
            $ octroi list
            NAME     STATE     HEALTH     TRANSPORT  TOOLS  ERROR
            ends     failed    unhealthy  stdio          0  the server ended: exit status: 3; last output: secret of the log
            manual   stopped   unknown    stdio          0
            missing  failed    unhealthy  stdio          0  cannot run `/no/such/program`: there is no such file
            off      disabled  unknown    stdio          0
            peer     running   healthy    stdio         16
            [exit 0]
            $ octroi status
            http://ADDRESS/mcp  1 of 5 servers running
            NAME     STATE     HEALTH     TRANSPORT  TOOLS  ERROR
            ends     failed    unhealthy  stdio          0  the server ended: exit status: 3; last output: secret of the log
            manual   stopped   unknown    stdio          0
            missing  failed    unhealthy  stdio          0  cannot run `/no/such/program`: there is no such file
            off      disabled  unknown    stdio          0
            peer     running   healthy    stdio         16
            error: 2 of 5 servers failed: ends, missing
            hint: `octroi get ends` shows the whole error, `octroi logs ends` what the server wrote
            [exit 1]
            $ octroi call missing.anything
            error: unknown tool `missing.anything`: server `missing` has no tools: it does not run: cannot run `/no/such/program`: there is no such file (see why with `octroi logs missing` and `octroi test missing`)
            hint: see why with `octroi logs missing` and `octroi test missing`
            [exit 1]
            $ octroi call ends.anything
            error: unknown tool `ends.anything`: server `ends` has no tools: it does not run: the server ended: exit status: 3 (see why with `octroi logs ends` and `octroi test ends`)
            hint: see why with `octroi logs ends` and `octroi test ends`
            [exit 1]
            $ octroi call manual.anything
            error: unknown tool `manual.anything`: server `manual` has no tools: it has not been started (start it with `octroi restart manual`)
            hint: start it with `octroi restart manual`
            [exit 1]
            $ octroi tools show manual.anything
            error: unknown tool `manual.anything`: server `manual` has no tools: it has not been started (start it with `octroi restart manual`)
            hint: `octroi tools` lists all
            [exit 1]
            $ octroi test manual
            error: server `manual` is not available: it is stopped
            hint: start it with `octroi restart manual`
            [exit 1]
            $ octroi test off
            error: server `off` is not available: it is disabled
            hint: switch it on with `octroi enable off`
            [exit 1]
            $ octroi test ends
            error: server `ends` is not available: the server ended: exit status: 3; last output: secret of the log
            hint: `octroi logs ends` shows what it wrote, `octroi get ends` its last checks
            [exit 1]
        "#]],
    )
    .await;
    let output = run(&data, &["status", "--json"]).await;
    assert_eq!(output.status.code(), Some(1), "it fails for programs, too");
    let status: Value = serde_json::from_slice(&output.stdout).expect("the status is printed anyway");
    assert_eq!(status["servers"].as_array().map(Vec::len), Some(5));
    let error: Value = serde_json::from_slice(&output.stderr).expect("one line of JSON");
    assert_eq!(error["error"]["message"], "2 of 5 servers failed: ends, missing");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_switch_of_all_servers_is_named() {
    let config = format!("[mcp]\nenabled = false\n{}", stdio_entry("peer", &[]));
    let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
    check(
        &gateway,
        &[&["enable", "peer"], &["status"], &["test", "peer"], &["disable", "peer"]],
        expect![[r#"
            $ octroi enable peer
            error: peer is switched on, but stays disabled
              caused by: `enabled = false` under [mcp] keeps every server off
            hint: set `enabled = true` under [mcp] in the configuration, then run `octroi reload`
            [exit 1]
            $ octroi status
            http://ADDRESS/mcp  0 of 1 server running
            NAME  STATE     HEALTH   TRANSPORT  TOOLS  ERROR
            peer  disabled  unknown  stdio          0  `enabled = false` under [mcp] keeps every server off
            [exit 0]
            $ octroi test peer
            error: server `peer` is not available: it is disabled, like every server
            hint: set `enabled = true` under [mcp] in the configuration, then run `octroi reload`
            [exit 1]
            $ octroi disable peer
            peer disabled; undo with `octroi enable peer` (disabled)
            [exit 0]
        "#]],
    )
    .await;
    gateway.stop().await;
}

#[tokio::test]
async fn mistakes_in_the_configuration_are_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("octroi.toml");
    let entry = |entry: &str| format!("[[mcp.servers]]\nname = \"fs\"\n{entry}\n");
    let mut text = String::new();
    for config in [
        entry("command = \"npx -y a-server --token abc\""),
        entry("command = [\"npx -y a-server\"]"),
        entry("command = \"/bin/sh -c true\""),
        entry("command = \"/opt/My Tools/serve\""),
        entry("url = \"localhost:3000/mcp\""),
        "[[mcp.server]]\nname = \"fs\"\ncommand = \"npx\"\n".to_owned(),
        "[[server]]\nname = \"fs\"\ncommand = \"npx\"\n".to_owned(),
        "[[gates]]\nname = \"days\"\ncommand = \"python gate.py\"\n".to_owned(),
    ] {
        std::fs::write(&file, &config).expect("a file");
        let path = file.display().to_string();
        let output = run(directory.path(), &["config", "check", "--config", &path]).await;
        let (code, output) = exit_and_output(&output);
        let _ = writeln!(text, "{config}=> {code:?} {}", output.replace(&path, "octroi.toml"));
        assert!(!output.contains("abc"), "{output}");
    }
    expect![[r#"
        [[mcp.servers]]
        name = "fs"
        command = "npx -y a-server --token abc"
        => Some(1) error: octroi.toml:3: server `fs` is left out: `command` is the name of one program, and this has blanks in it; write the program in `command` and the rest in `args`, word by word: `command = "npx"`
        error: 1 problem found
        hint: `octroi config schema` has every key

        [[mcp.servers]]
        name = "fs"
        command = ["npx -y a-server"]
        => Some(1) error: octroi.toml:3: server `fs` is left out: `command` is the name of one program, and this has blanks in it; write the program in `command` and the rest in `args`, word by word: `command = "npx"`
        error: 1 problem found
        hint: `octroi config schema` has every key

        [[mcp.servers]]
        name = "fs"
        command = "/bin/sh -c true"
        => Some(1) error: octroi.toml:3: server `fs` is left out: `command` is the name of one program, and this has blanks in it; write the program in `command` and the rest in `args`, word by word: `command = "/bin/sh"`
        error: 1 problem found
        hint: `octroi config schema` has every key

        [[mcp.servers]]
        name = "fs"
        command = "/opt/My Tools/serve"
        => Some(0) octroi.toml: fine, 1 server

        [[mcp.servers]]
        name = "fs"
        url = "localhost:3000/mcp"
        => Some(1) error: octroi.toml:3: server `fs` is left out: the `url` is not an http:// or https:// address; write it like http://127.0.0.1:3000/mcp
        error: 1 problem found
        hint: `octroi config schema` has every key

        [[mcp.server]]
        name = "fs"
        command = "npx"
        => Some(1) error: octroi.toml:1: unknown key `[[mcp.server]]`; did you mean `[[mcp.servers]]`?
        error: 1 problem found
        hint: `octroi config schema` has every key

        [[server]]
        name = "fs"
        command = "npx"
        => Some(1) error: octroi.toml:1: unknown key `[[server]]`; did you mean `[[mcp.servers]]`?
        error: 1 problem found
        hint: `octroi config schema` has every key

        [[gates]]
        name = "days"
        command = "python gate.py"
        => Some(1) error: octroi.toml:3: gate `days`: `command` is the name of one program, and this has blanks in it; write the program in `command` and the rest in `args`, word by word: `command = "python"`
        error: 1 problem found
        hint: `octroi config schema` has every key

    "#]].assert_eq(&text);
}
