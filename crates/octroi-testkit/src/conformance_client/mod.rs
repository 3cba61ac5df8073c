//! The client scenarios of the official suite: Octroi as the client of the suite's server.
//!
//! The suite starts a server that observes its client, and a program that acts as that client. This program
//! starts the real gateway in front of that server and then, as a client of the gateway, makes the gateway do
//! what the scenario checks. It works in either era, so every scenario also shows whether a client of the
//! other era gets the same from the server.
//!
//! Nothing here checks the results beyond their arrival: the suite decides what is correct.

mod scenarios;
mod user;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::client::TestClient;
use crate::client::error::ClientError;
use crate::client::options::{ClientOptions, Era, Transport};
use crate::gateway::{AGENT_TOKEN, TestGateway};
use user::User;

/// The name of the suite's server in Octroi's configuration.
const SERVER: &str = "suite";

/// Octroi retries a second after a failed attempt; this allows for a few of them on a loaded machine.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Why a scenario could not be completed.
#[derive(Debug)]
pub enum Failure {
    /// No steps are defined for this scenario.
    UnknownScenario(String),
    /// The gateway cannot connect to the suite's server.
    NotConnected(Value),
    /// A request of the client failed.
    Request(ClientError),
    /// A tool that should succeed reported an error.
    ToolFailed(Value),
    /// The suite's server has no tool of this name, or its context is not as expected.
    Missing(String),
}

/// Runs one scenario as a client of this era.
pub async fn run(scenario: &str, url: &str, era: Era, context: &Value, octroi: &Path) -> Result<(), Failure> {
    let steps = scenarios::find(scenario).ok_or_else(|| Failure::UnknownScenario(scenario.to_owned()))?;
    let config = format!("[[mcp.servers]]\nname = \"{SERVER}\"\ntransport = \"http\"\nurl = \"{url}\"\n");
    let gateway = TestGateway::launch(octroi, &config, &[]).await;
    wait_until_connected(&gateway).await?;
    let outcome = scenarios::run(steps, &ScenarioSession::open(&gateway, era).await?, context).await;
    let log = gateway.stop().await;
    if outcome.is_err() {
        eprintln!("log of octroi:\n{log}");
    }
    outcome
}

/// A client of the gateway and its user.
struct ScenarioSession {
    client: TestClient,
    user: Arc<User>,
    /// The endpoint of the suite's server alone, where the gateway knows no more than the server.
    alone: TestClient,
}

impl ScenarioSession {
    async fn open(gateway: &TestGateway, era: Era) -> Result<Self, Failure> {
        let user = Arc::new(User::default());
        let connect = |url: String| {
            let transport = Transport::Http { url, token: Some(AGENT_TOKEN.to_owned()) };
            TestClient::connect(transport, era, options(&user))
        };
        let client = connect(gateway.url()).await?;
        let alone = connect(gateway.server_url(SERVER)).await?;
        Ok(Self { client, user, alone })
    }

    /// Calls a tool by the suite server's own name.
    async fn call(&self, tool: &str, arguments: Value) -> Result<Value, Failure> {
        let result = self.client.call(&wire_name(tool), arguments).await?;
        if result["isError"] == true {
            return Err(Failure::ToolFailed(result));
        }
        Ok(result)
    }
}

/// The name under which the gateway lists an item of the suite's server.
fn wire_name(name: &str) -> String {
    format!("{SERVER}_{name}")
}

fn options(user: &Arc<User>) -> ClientOptions {
    let user = Arc::clone(user);
    ClientOptions {
        capabilities: User::capabilities(),
        on_request: Arc::new(move |method, params| {
            let user = Arc::clone(&user);
            Box::pin(async move { user.answer(&method, &params).await })
        }),
        ..ClientOptions::default()
    }
}

async fn wait_until_connected(gateway: &TestGateway) -> Result<(), Failure> {
    let connected = async {
        while gateway.health().await["servers"]["running"] != 1 {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    match tokio::time::timeout(CONNECTS_WITHIN, connected).await {
        Ok(()) => Ok(()),
        Err(_) => Err(Failure::NotConnected(gateway.health().await)),
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::Request(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownScenario(name) => write!(formatter, "no steps are written for scenario `{name}`"),
            Self::NotConnected(health) => write!(formatter, "octroi does not reach the server: {health}"),
            Self::Request(error) => write!(formatter, "{error}"),
            Self::ToolFailed(result) => write!(formatter, "the tool reported an error: {result}"),
            Self::Missing(what) => write!(formatter, "the suite has no {what}"),
        }
    }
}

impl std::error::Error for Failure {}
