//! A client of the healthy server that never stops calling, and must never be affected.

use std::time::{Duration, Instant};

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::harness::connect;

/// The time for one call or one list, on a loaded machine.
const QUICK: Duration = Duration::from_secs(2);

pub(super) struct Witness {
    task: tokio::task::JoinHandle<Vec<String>>,
    done: CancellationToken,
}

impl Witness {
    pub(super) async fn start(gateway: &TestGateway) -> Self {
        let client = connect(gateway, Era::Modern, ClientOptions::default()).await;
        let done = CancellationToken::new();
        let until = done.clone();
        let task = tokio::spawn(async move {
            let mut complaints = Vec::new();
            let mut round = 0;
            while round == 0 || !until.is_cancelled() {
                let since = Instant::now();
                let text = format!("round {round}");
                match client.call_text("good_echo", json!({ "text": text })).await {
                    Ok(heard) if heard == text && since.elapsed() < QUICK => {}
                    other => complaints.push(format!("call after {:?}: {other:?}", since.elapsed())),
                }
                let since = Instant::now();
                match client.list_tools().await {
                    Ok(tools)
                        if since.elapsed() < QUICK
                            && tools.iter().any(|tool| tool["name"] == "good_echo") => {}
                    other => complaints.push(format!("list after {:?}: {other:?}", since.elapsed())),
                }
                round += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            complaints
        });
        Self { task, done }
    }

    /// Fails if any call was affected.
    pub(super) async fn finish(self, what: &str) {
        self.done.cancel();
        let complaints = self.task.await.expect("the witness lives");
        assert!(complaints.is_empty(), "{what}: the healthy server's client saw\n{}", complaints.join("\n"));
    }
}
