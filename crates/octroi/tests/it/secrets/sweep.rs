//! Stored values are nowhere but where they are meant to be: in the environment of the program that uses them, and in
//! the requests to the server that does.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::raw;
use octroi_testkit::gateway::TestGateway;
use serde_json::json;

use super::stored::{entry_with_key, run, set, started_with};
use crate::approvals::recorded;
use crate::harness::{connect, octroi, remote_entry};
use crate::manage;
use crate::processes::descendants;

/// Values of all kinds: what they are for, and what an encoder does to them.
const VALUES: [(&str, &str); 12] = [
    ("plain", "plain-words-of-a-secret"),
    ("token", "ghp_Zz9Yy8Xx7Ww6Vv5Uu4Tt3Ss2Rr1Qq0Pp9Oo8"),
    ("hex", "00112233445566778899aabbccddeeff01020304"),
    ("base64", "c2VjcmV0LW9mLWEtdGVzdC1pbi1iYXNlNjQ="),
    ("url", "p@ss/w?rd&with=signs%20and+more"),
    ("quoted", "it's \"quoted\" \\ and $(not run) `at all`"),
    ("json", "{\"key\":\"inside-of-json-text\"}"),
    ("unicode", "Schlüssel-für-Zürich-αβγδ"),
    ("blanks", "  kept blanks at both ends  "),
    ("number", "8412093475610293"),
    ("multiline", "-----BEGIN KEY-----\nline-one-of-the-key\nline-two-of-the-key\n-----END KEY-----"),
    ("eight", "8letters"),
];

/// The value of `plain` as others may write it.
const ENCODED: [&str; 2] =
    ["cGxhaW4td29yZHMtb2YtYS1zZWNyZXQ=", "706c61696e2d776f7264732d6f662d612d736563726574"];

/// A server that repeats its key wherever it can: on standard error, in errors, in results.
const TALKER: &str = r#"
echo "my key is $KEY" >&2
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id": *\([0-9][0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) answer='"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}';;
    *'"tools/list"'*) answer='"result":{"tools":[{"name":"get_x","description":"Reads x.","inputSchema":{"type":"object"}}]}';;
    *'"tools/call"'*) answer='"error":{"code":-32055,"message":"login with '$KEY' failed"}';;
    *) answer='"error":{"code":-32601,"message":"no"}';;
  esac
  [ -n "$id" ] && echo '{"jsonrpc":"2.0","id":'"$id"','"$answer"'}'
done
"#;

/// The files of a directory, at any depth.
fn files_in(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("it can be listed").flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_in(&entry.path(), found),
            _ => found.push(entry.path()),
        }
    }
}

/// What a value would be found by: as it is, without its outer blanks, its lines, and as JSON has it.
fn spellings(value: &str) -> Vec<Vec<u8>> {
    let in_json = json!(value).to_string();
    let mut all = vec![value.to_owned(), value.trim().to_owned(), in_json.trim_matches('"').to_owned()];
    all.extend(value.lines().filter(|line| line.contains("line-")).map(str::to_owned));
    all.into_iter().map(String::into_bytes).collect()
}

fn assert_nowhere(place: &str, content: &[u8]) {
    for (name, value) in VALUES {
        for spelling in spellings(value) {
            let found = content.windows(spelling.len()).position(|window| window == spelling);
            if let Some(at) = found {
                let around = &content[at.saturating_sub(80)..(at + 80).min(content.len())];
                panic!("{name} is in {place}: {}", String::from_utf8_lossy(around));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_are_nowhere_else() {
    let directory = tempfile::tempdir().expect("a directory");
    let seen = tempfile::tempdir().expect("a directory of its own: what servers see is meant to be there");
    let mut config = "[mcp]\nauto_reload = \"ask\"\n".to_owned();
    for (name, _) in VALUES.iter().take(11) {
        config.push_str(&entry_with_key(seen.path(), name, &format!("${{secret:{name}}}")));
    }
    let talker = json!(["sh", "-c", TALKER]);
    let _ = write!(
        config,
        "[[mcp.servers]]\nname = \"talker\"\ncommand = {talker}\nenv = {{ KEY = \"${{secret:plain}}\" }}\n{}\
         headers = {{ X-Key = \"${{secret:url}}\" }}\n\
         [[mcp.servers]]\nname = \"placed\"\nurl = \"http://127.0.0.1:1/${{secret:token}}/mcp\"\n",
        remote_entry("down", "http", "http://127.0.0.1:1/mcp"),
    );
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &["-vv"]).await;
    for (name, value) in VALUES {
        set(&gateway, name, value).await;
    }
    for (name, value) in VALUES.iter().take(11) {
        started_with(seen.path(), name, value).await;
    }
    gateway.wait_until_settled().await;
    // Failed and refused attempts leave nothing either.
    let data = gateway.directory().join("data");
    let (_, output) = run(&data, &["secret", "set", "no name"], VALUES[0].1, &[]).await;
    assert_nowhere("the output of a refused command", output.as_bytes());

    let agent = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    let answer = format!("{:?}", agent.call("talker_get_x", json!({"text": VALUES[1].1})).await);
    assert!(answer.contains("login with") && answer.contains("[redacted"), "{answer}");
    assert_nowhere("an error of a server", answer.as_bytes());
    let _ = agent.call("talker_get_x", json!({"text": ENCODED})).await;
    let answer = format!("{:?}", agent.call("placed_anything", json!({})).await);
    assert_nowhere("an error about a server", answer.as_bytes());
    for refused in [
        json!({"name": "plain", "value": VALUES[0].1, "more": VALUES[1].1}),
        json!({"name": VALUES[0].1, "value": [VALUES[1].1]}),
    ] {
        let person = manage::person(&gateway, Era::Modern).await;
        let answer = person.call("secrets_set", refused).await.expect_err("it is malformed").to_string();
        assert_nowhere("a refusal", answer.as_bytes());
    }
    for arguments in [
        &["secret", "list"][..],
        &["secret", "list", "--json"],
        &["status", "--json"],
        &["list", "--json"],
        &["get", "talker", "--json"],
        &["get", "placed"],
        &["logs", "talker"],
        &["tools", "--json"],
        &["audit", "list", "--json"],
        &["audit", "export"],
        &["config", "show", "--origin"],
    ] {
        let (code, output) = manage::exit_and_output(&manage::run(&data, arguments).await);
        assert_ne!(code, Some(2), "{arguments:?}: {output}");
        assert_nowhere(&arguments.join(" "), output.as_bytes());
    }
    let bearer = format!("Bearer {}", gateway.kept_token("admin.token"));
    for path in ["/health", "/metrics"] {
        let url = format!("{}{path}", gateway.base);
        let page = raw::fetch(hyper::Method::GET, &url, &[("authorization", &bearer)], "").await;
        assert_nowhere(path, &page.expect("an answer").body);
    }
    let person = manage::person(&gateway, Era::Modern).await;
    for entry in &octroi_api::RESOURCES {
        let uri = entry.uri.replace("{id}", "talker").replace("{agent_id}", "tester");
        let read = person.request("resources/read", json!({ "uri": uri })).await;
        assert_nowhere(&uri, format!("{read:?}").as_bytes());
    }
    let gateway_id = gateway.child.id().expect("it runs");
    let processes = descendants(gateway_id);
    assert!(processes.len() > 11, "{processes:?}");
    for process in processes.iter().chain([&gateway_id]) {
        let arguments = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        assert_nowhere("the arguments of a process", &arguments);
    }
    let records = recorded(gateway.directory());
    assert!(records.contains("secret_set") && records.contains("talker"), "{records}");
    assert_nowhere("the records", records.as_bytes());
    for encoded in ENCODED {
        assert!(!records.contains(encoded), "{encoded} is in the records");
    }

    // As a power failure leaves it: with the write-ahead log, and nothing tidied up.
    let directory = gateway.kill().await;
    sweep(directory.path());
    // And after everything that was cut off was completed.
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &["-vv"]).await;
    gateway.wait_until_settled().await;
    let (directory, log) = gateway.stop_and_keep().await;
    assert!(log.contains("stopping"), "{log}");
    assert_nowhere("the log", log.as_bytes());
    sweep(directory.path());
}

fn sweep(directory: &Path) {
    let mut files = Vec::new();
    files_in(directory, &mut files);
    assert!(files.iter().any(|file| file.ends_with("octroi.db")), "{files:?}");
    assert!(files.iter().any(|file| file.ends_with("accepted-config.json")), "{files:?}");
    for file in files {
        // A socket cannot be read.
        let content = std::fs::read(&file).unwrap_or_default();
        assert_nowhere(&file.display().to_string(), &content);
    }
}
