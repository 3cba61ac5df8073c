//! No secret of the configuration or of a server's errors reaches agents, the status, the log or the records.

mod members;
mod rekey;
mod stored;
mod sweep;

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::json;

use crate::approvals::recorded;
use crate::harness::{connect, octroi, stdio_entry};
use crate::manage;

/// A legacy server whose only tool fails with an error that holds secrets, and that writes a long line.
const SERVER: &str = r#"
printf '%0500d password= ghp_A1b2C3d4E5A1b2C3d4E5A1b2C3d4E5A1b2C3 %05000d\n' 0 0 >&2
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id": *\([0-9][0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) answer='"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}';;
    *'"tools/list"'*) answer='"result":{"tools":[{"name":"get_x","description":"Reads x.","inputSchema":{"type":"object"}}]}';;
    *'"tools/call"'*) answer='"error":{"code":-32055,"message":"login with password=hunter2secret failed","data":{"dsn":"postgres://u:pw12345678@db/a","given":"'$1'"}}';;
    *) answer='"error":{"code":-32601,"message":"no"}';;
  esac
  [ -n "$id" ] && echo '{"jsonrpc":"2.0","id":'"$id"','"$answer"'}'
done
"#;

const SECRETS: [&str; 6] = [
    "secret-of-an-argument",
    "secret-of-a-url",
    "secret-literal-token",
    "hunter2secret",
    "pw12345678",
    "ghp_A1b2",
];

#[tokio::test]
async fn secrets_of_the_configuration_and_of_errors_are_shown_to_nobody() {
    let directory = tempfile::tempdir().expect("a directory");
    for (file, secret) in [("argument.txt", SECRETS[0]), ("url.txt", SECRETS[1])] {
        std::fs::write(directory.path().join(file), secret).expect("it can be written");
    }
    let command = json!(["sh", "-c", SERVER, "server", "${file:argument.txt}"]);
    let config = format!(
        "[policy]\nprofile = \"open\"\n\
         [[tokens]]\ntoken = \"{}\"\nrole = \"agent\"\nagent_id = \"coder\"\n\
         [[mcp.servers]]\nname = \"t\"\ncommand = {}\n\
         [[mcp.servers]]\nname = \"down\"\nurl = \"http://127.0.0.1:1/${{file:url.txt}}/mcp\"\n",
        SECRETS[2], command,
    );
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let client = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    let arguments = json!({"text": SECRETS[..3].join(" ")});
    let answer = format!("{:?}", client.call("t_get_x", arguments).await);
    assert!(answer.contains("-32055") && answer.contains("login with password=[redacted"), "{answer}");
    let other = format!("{:?}", client.call("down_anything", json!({})).await);
    let status = manage::command(&gateway, 1, &["status"]).await;
    assert!(status.contains("cannot connect to http://127.0.0.1:1"), "{status}");
    let details = manage::command(&gateway, 0, &["get", "down"]).await;
    let logs = manage::command(&gateway, 0, &["logs", "t"]).await;
    assert!(logs.contains("(the line is too long)"), "{logs}");
    let records = recorded(gateway.directory());
    assert!(records.contains("t:get_x") && records.contains("[redacted]"), "{records}");
    let log = gateway.stop().await;
    for text in [answer, other, status, details, logs, records, log] {
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

/// Without its key nothing can wait for approval. People are told what to do, agents no path.
#[tokio::test]
async fn an_unusable_key_is_reported_to_people() {
    let config = format!(
        "{}risk_overrides = {{ echo = \"high\" }}\n[policy]\nprofile = \"guarded\"\n",
        stdio_entry("peer", &[])
    );
    let (directory, _) = TestGateway::start(&octroi(), &config).await.stop_and_keep().await;
    std::fs::write(directory.path().join("data/master.key"), "no key").expect("it can be written");
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let client = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    let answer = format!("{:?}", client.call("peer_echo", json!({"text": "x"})).await);
    assert!(answer.contains("the gateway has no key to encrypt approvals with"), "{answer}");
    assert!(!answer.contains(&*gateway.directory().to_string_lossy()), "{answer}");
    let status = manage::command(&gateway, 0, &["status"]).await;
    assert!(status.contains("master.key of the data directory cannot be used"), "{status}");
    gateway.stop().await;
}
