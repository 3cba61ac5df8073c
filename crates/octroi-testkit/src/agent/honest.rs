//! An agent that works as it should, in both eras, and measures how long that takes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::AgentOptions;
use super::report::{HonestReport, Latencies};
use crate::client::TestClient;
use crate::client::options::{ClientOptions, Era, Transport};
use crate::peer::guarded::Guarded;

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];
/// Between two rounds of requests.
const PACE: Duration = Duration::from_millis(10);
/// After so many rounds it connects anew.
const ROUNDS: usize = 100;
/// The healthy servers that it calls.
const SERVERS: [&str; 3] = ["good", "fresh", "remote"];
/// The kind of a request that opens a connection.
const CONNECT: &str = "connect";
const FAILURES_MAX: usize = 20;

pub(crate) struct HonestAgent {
    gateway: String,
    token: String,
    phase: Guarded<Phase>,
}

/// What happened since the last report.
#[derive(Default)]
struct Phase {
    times: BTreeMap<&'static str, Vec<Duration>>,
    failures: Vec<String>,
    session: String,
}

impl HonestAgent {
    pub(crate) fn new(options: &AgentOptions) -> Self {
        Self { gateway: options.gateway.clone(), token: options.token.clone(), phase: Guarded::default() }
    }

    /// Works for ever.
    pub(crate) async fn work(&self) {
        futures_util::future::join_all(ERAS.map(|era| async move {
            loop {
                self.work_once(era).await;
            }
        }))
        .await;
    }

    /// What happened since the last report.
    pub(crate) fn report(&self) -> HonestReport {
        let Phase { mut times, failures, session } = self.phase.with(|phase| {
            let session = phase.session.clone();
            std::mem::replace(phase, Phase { session, ..Phase::default() })
        });
        let mut all: Vec<Duration> =
            times.iter().filter(|(kind, _)| **kind != CONNECT).flat_map(|(_, times)| times.clone()).collect();
        let mut latencies: BTreeMap<String, Latencies> =
            times.iter_mut().map(|(kind, times)| ((*kind).to_owned(), Latencies::of(times))).collect();
        latencies.insert("all".to_owned(), Latencies::of(&mut all));
        HonestReport { latencies, failures, session }
    }

    /// Connects, makes many requests, and disconnects.
    async fn work_once(&self, era: Era) {
        let Some(all) = self.connect(era, "/mcp").await else { return };
        let Some(one) = self.connect(era, "/mcp/servers/good").await else { return };
        if let Some(session) = all.session_id() {
            self.phase.with(|phase| phase.session = session);
        }
        for round in 0..ROUNDS {
            let text = format!("{round} {era:?}");
            for server in SERVERS {
                let params = json!({ "name": format!("{server}_echo"), "arguments": { "text": text } });
                let is_right = |result: &Value| result["content"][0]["text"] == text.as_str();
                self.request(&all, "call", "tools/call", params, is_right).await;
            }
            let uri = json!({ "uri": "peer://good/static" });
            let is_right = |result: &Value| result["contents"][0]["text"] == "always the same";
            self.request(&all, "read", "resources/read", uri, is_right).await;
            let is_right = |result: &Value| result["tools"].as_array().is_some_and(|tools| tools.len() > 5);
            self.request(&one, "list", "tools/list", json!({}), is_right).await;
            tokio::time::sleep(PACE).await;
        }
        for client in [all, one] {
            let _ = client.close().await;
        }
    }

    async fn connect(&self, era: Era, path: &str) -> Option<TestClient> {
        let transport =
            Transport::Http { url: format!("{}{path}", self.gateway), token: Some(self.token.clone()) };
        let begun = Instant::now();
        match TestClient::connect(transport, era, ClientOptions::default()).await {
            Ok(client) => {
                self.took(CONNECT, begun.elapsed());
                Some(client)
            }
            Err(error) => {
                self.failed(format!("{era:?} connect {path}: {error}"));
                tokio::time::sleep(PACE).await;
                None
            }
        }
    }

    async fn request(
        &self,
        client: &TestClient,
        kind: &'static str,
        method: &str,
        params: Value,
        is_right: impl Fn(&Value) -> bool,
    ) {
        let begun = Instant::now();
        match client.request(method, params).await {
            Ok(result) if is_right(&result) => self.took(kind, begun.elapsed()),
            Ok(result) => {
                let text: String = result.to_string().chars().take(500).collect();
                self.failed(format!("{:?} {kind} after {:?}: {text}", client.era(), begun.elapsed()));
            }
            Err(error) => {
                self.failed(format!("{:?} {kind} after {:?}: {error}", client.era(), begun.elapsed()))
            }
        }
    }

    fn took(&self, kind: &'static str, time: Duration) {
        self.phase.with(|phase| phase.times.entry(kind).or_default().push(time));
    }

    fn failed(&self, text: String) {
        self.phase.with(|phase| {
            if phase.failures.len() < FAILURES_MAX {
                phase.failures.push(text);
            }
        });
    }
}
