//! Policies in files, from the first start on.

use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::harness::{SOON, connect, octroi, stdio_entry};

const GLOBAL: &str = r#"
cedar = '''
@id("no-bad-words")
forbid(principal, action == Action::"peer.echo", resource)
when { context.args.text like "*bad*" };
'''
"#;
const FLOOR: &str = "[[deny]]\nid = \"no-sums\"\ntool = \"peer.add\"\n";

/// At the first start no tool is known that the policies could be checked against. Until one is known
/// everything is denied, and then the policies take effect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_holds_as_soon_as_its_tools_are_known_and_nothing_passes_before() {
    let config = format!(
        "{}[policy]\nprofile = \"open\"\nglobal = \"global.toml\"\nfloor = \"floor.toml\"\n",
        stdio_entry("peer", &[])
    );
    let mut directory = tempfile::tempdir().expect("a temporary directory");
    for n_start in 1..=2 {
        std::fs::write(directory.path().join("global.toml"), GLOBAL).expect("it can be written");
        std::fs::write(directory.path().join("floor.toml"), FLOOR).expect("it can be written");
        let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
        let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
        let until = Instant::now() + SOON;
        loop {
            let bad =
                agent.call("peer_echo", json!({"text": "a bad word"})).await.expect_err("never allowed");
            let good = agent.call_text("peer_echo", json!({"text": "a good word"})).await;
            if good.as_deref() == Ok("a good word") {
                break;
            }
            assert!(Instant::now() < until, "start {n_start}: {bad} {good:?}");
            sleep(std::time::Duration::from_millis(50)).await;
        }
        for (tool, arguments, rule) in [
            ("peer_echo", json!({"text": "a bad word"}), "no-bad-words"),
            ("peer_add", json!({"a": 1, "b": 2}), "no-sums"),
        ] {
            let Err(ClientError::Rpc(refused)) = agent.call(tool, arguments).await else {
                panic!("{tool} is denied");
            };
            assert_eq!(refused.code, -32951, "{refused:?}");
            assert!(refused.data.to_string().contains(rule), "{refused:?}");
        }
        (directory, _) = gateway.stop_and_keep().await;
    }
}
