//! Starts pairs of peers.

use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::peer::process::PeerProcess;
use octroi_testkit::peer_binary;
use serde_json::{Value, json};

/// Long enough for a loaded machine; tests normally do not wait this long.
pub const SOON: Duration = Duration::from_secs(10);

/// How a client and a server are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    pub era: Era,
    pub wire: Wire,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Stdio,
    Http,
}

pub const PAIRS: [Pair; 8] = [
    Pair { era: Era::Modern, wire: Wire::Stdio },
    Pair { era: Era::Modern, wire: Wire::Http },
    Pair { era: Era::Legacy("2025-11-25"), wire: Wire::Stdio },
    Pair { era: Era::Legacy("2025-11-25"), wire: Wire::Http },
    Pair { era: Era::Legacy("2025-06-18"), wire: Wire::Stdio },
    Pair { era: Era::Legacy("2025-06-18"), wire: Wire::Http },
    Pair { era: Era::Legacy("2025-03-26"), wire: Wire::Http },
    Pair { era: Era::Legacy("2024-11-05"), wire: Wire::Stdio },
];

/// A client and the server it talks to.
pub struct Setup {
    pub pair: Pair,
    pub client: TestClient,
    /// On stdio the client owns the server.
    pub server: Option<PeerProcess>,
}

impl Pair {
    /// Whether both sides support what this version introduced.
    pub fn speaks(self, since: &str) -> bool {
        match self.era {
            Era::Legacy(version) => version >= since,
            Era::Modern => true,
        }
    }

    pub async fn start(self, server_flags: &[&str], options: ClientOptions) -> Setup {
        self.try_start(server_flags, options).await.expect("the pair should connect")
    }

    pub async fn try_start(
        self,
        server_flags: &[&str],
        options: ClientOptions,
    ) -> Result<Setup, ClientError> {
        let mut flags = match self.era {
            Era::Legacy(version) => vec!["--era", "legacy", "--legacy-version", version],
            Era::Modern => vec!["--era", "modern"],
        };
        flags.extend_from_slice(server_flags);
        let (transport, server) = match self.wire {
            Wire::Stdio => (Transport::stdio(peer_binary(), &flags), None),
            Wire::Http => {
                flags.extend(["--transport", "http"]);
                let server = PeerProcess::start(&flags).await.expect("the peer should start");
                (Transport::http(&server.url), Some(server))
            }
        };
        let client = TestClient::connect(transport, self.era, options).await?;
        Ok(Setup { pair: self, client, server })
    }
}

/// Runs a check on every pair; the output of a failed test names the pair.
pub async fn on_every_pair(flags: &[&str], options: ClientOptions, check: impl AsyncFn(Setup)) {
    for pair in PAIRS {
        println!("{pair:?}");
        check(pair.start(flags, options.clone()).await).await;
    }
}

/// A user who accepts the form with this name, a model, and one root.
pub fn cooperative(name: &'static str) -> ClientOptions {
    answering(json!({ "action": "accept", "content": { "name": name } }))
}

/// A client with all capabilities, whose user handles forms this way.
pub fn answering(elicitation: Value) -> ClientOptions {
    let capabilities = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
    ClientOptions::answering(capabilities, move |method, params| {
        Ok(match method {
            "elicitation/create" => {
                assert_eq!(params["requestedSchema"]["properties"]["name"]["type"], "string");
                elicitation.clone()
            }
            "sampling/createMessage" => json!({
                "role": "assistant", "model": "test", "content": { "type": "text", "text": "something" },
            }),
            "roots/list" => json!({ "roots": [{ "uri": "file:///a" }, { "uri": "file:///b" }] }),
            other => panic!("an unexpected request: {other}"),
        })
    })
}

/// Waits until a counter has a value; a cancellation has no answer to wait for.
pub async fn wait_for_count(client: &TestClient, tool: &str, expected: u64) {
    let counted = async {
        while client.call_text(tool, json!({})).await.expect("counting works") != expected.to_string() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(SOON, counted).await.unwrap_or_else(|_| panic!("{tool} never became {expected}"));
}
