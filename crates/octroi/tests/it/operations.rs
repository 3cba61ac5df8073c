//! The tables of operations and resources over HTTP: who may do what, and what is recorded.

mod access;
mod records;

use octroi_api::resource::ResourceKind;
use octroi_api::{ApiError, ResourceEntry};
use octroi_core::audit::{Actor, Event, Kind};
use octroi_gateway::audit::{AuditLog, Durability, Options};
use octroi_gateway::system_clock;
use octroi_testkit::client::TestClient;
use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::approvals::pending;
use crate::harness::{connect, octroi, stdio_entry};
use crate::manage::person;
use crate::policy::{OTHER_TOKEN, as_holder};

/// Calls of `add` need approval, agents may propose policies, one server changes a definition, and one cannot
/// be started. The file is reloaded on request only.
fn config() -> String {
    format!(
        "[server]\nmax_wrong_tokens_per_address = 10000\nmax_wrong_tokens_per_token = 10000\n\
         [mcp]\nauto_reload = false\n{}risk_overrides = {{ add = \"high\", reword = \"low\" }}\n\
         [[mcp.servers]]\nname = \"broken\"\nstart = \"lazy\"\ncommand = [\"false\"]\n\
         [[tokens]]\ntoken = \"{OTHER_TOKEN}\"\nrole = \"agent\"\nagent_id = \"other\"\n\
         [[tokens]]\ntoken = \"{ANA}\"\nrole = \"human\"\nuser = \"ana\"\n\
         [[tokens]]\ntoken = \"{BOB}\"\nrole = \"human\"\nuser = \"bob\"\n\
         [[agents]]\nid = \"tester\"\nowner = \"ana\"\n[[agents]]\nid = \"other\"\nowner = \"bob\"\n\
         [policy]\nprofile = \"guarded\"\nproposals = true\n[approvals]\nwait = false\n",
        stdio_entry("peer", &["--fault", "reword"])
    )
}

/// The tokens of two members: of the owner of the agent `tester`, and of a stranger.
const ANA: &str = "ana-s-token-of-this-test";
const BOB: &str = "bob-s-token-of-this-test";

/// A gateway and its clients.
struct TestSetup {
    gateway: TestGateway,
    /// The administrator.
    person: TestClient,
    /// The owner of the agent `tester`.
    owner: TestClient,
    /// A member who owns another agent.
    stranger: TestClient,
    /// The agent `tester`.
    agent: TestClient,
    other: TestClient,
}

impl TestSetup {
    async fn new() -> Self {
        Self::with(&config()).await
    }

    async fn with(config: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        old_records(&directory.path().join("data/audit")).await;
        // The log is older than everything else.
        let options = ["--accept-loss", "--accept-config"];
        let gateway = TestGateway::launch_in(directory, &octroi(), config, &options).await;
        let person = person(&gateway, Era::Modern).await;
        assert_eq!(outcome(&person.call("servers_test", json!({"name": "peer"})).await), "done");
        Self {
            person,
            owner: as_holder(&gateway, ANA, Era::Modern).await,
            stranger: as_holder(&gateway, BOB, Era::Modern).await,
            agent: connect(&gateway, Era::Modern, ClientOptions::default()).await,
            other: as_holder(&gateway, OTHER_TOKEN, Era::Modern).await,
            gateway,
        }
    }

    /// Performs an operation as a person.
    async fn done(&self, operation: &str, arguments: Value) -> Value {
        let result = self.person.call(operation, arguments).await;
        assert_eq!(outcome(&result), "done", "{operation}: {result:?}");
        result.expect("a result")["structuredContent"].clone()
    }

    /// Makes a call of the agent that needs approval; returns the approval.
    async fn asks(&self, a: i64) -> String {
        let arguments = json!({"a": a, "b": 2});
        pending(&self.agent.call("peer_add", arguments).await.expect("a result"))
    }

    /// The same with an argument that is masked.
    async fn asks_with_secret(&self) -> String {
        let arguments = json!({"a": 99, "b": 2, "token": "made-up-for-this-test"});
        pending(&self.agent.call("peer_add", arguments).await.expect("a result"))
    }

    /// Proposes a policy as the agent; returns its id.
    async fn proposes(&self) -> i64 {
        let arguments =
            json!({"source": "[[deny]]\ntool = \"peer.touch\"\n", "rationale": "I never need it"});
        let proposed = self.agent.call("policy_propose", arguments).await.expect("a result");
        proposed["structuredContent"]["id"].as_i64().unwrap_or_else(|| panic!("{proposed}"))
    }

    /// Makes the server change a definition, so that it is quarantined; returns the hash.
    async fn quarantined(&self) -> Value {
        assert_eq!(self.agent.call_text("peer_reword", json!({})).await.as_deref(), Ok("reworded"));
        for _ in 0..200 {
            let held = self.done("pins_list", json!({})).await;
            if held["count"] == 1 {
                return held["held"][0]["hash"].clone();
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("nothing is quarantined");
    }
}

/// Writes a log of two segments, the first of which is old enough to be removed.
async fn old_records(directory: &std::path::Path) {
    std::fs::create_dir_all(directory).expect("a directory");
    let opened = AuditLog::open(directory, &Options { segment_bytes: 600, ..Options::new(system_clock()) })
        .expect("a log");
    for at_ms in 1..3 {
        let context = json!({"long": "x".repeat(400)}).to_string();
        let event =
            Event { context: &context, ..Event::new(at_ms, Kind::AdministrativeChange, Actor::SYSTEM) };
        opened.log.append(&event, Durability::Disk).await.expect("a record");
    }
    opened.log.close().await.expect("it is kept");
}

/// The outcome of a request in one word: `done`, or the code of the error.
pub(crate) fn outcome(answered: &Result<Value, ClientError>) -> String {
    match answered {
        Ok(result) => match ApiError::from_result(result) {
            Some(error) => error.code.to_string(),
            None => "done".to_owned(),
        },
        Err(ClientError::Rpc(error)) => {
            ApiError::from_rpc(error.code, &error.message, Some(&error.data)).code.to_string()
        }
        Err(error) => panic!("{error}"),
    }
}

/// One URI for each entry of the table, about objects of the agent.
fn uri(entry: &ResourceEntry, approval: &str, proposal: i64, session: &str) -> String {
    match entry.kind {
        ResourceKind::Servers
        | ResourceKind::Health
        | ResourceKind::Templates
        | ResourceKind::Tools
        | ResourceKind::PendingApprovals
        | ResourceKind::HeldPins
        | ResourceKind::Agents
        | ResourceKind::Presets
        | ResourceKind::Users
        | ResourceKind::Tokens
        | ResourceKind::Sessions
        | ResourceKind::CompositorServers
        | ResourceKind::ActivePolicy
        | ResourceKind::ActivePolicyAlias
        | ResourceKind::RecentAudit
        | ResourceKind::RecentCalls
        | ResourceKind::Attention
        | ResourceKind::Clients
        | ResourceKind::Gateway => entry.uri.to_owned(),
        ResourceKind::Server | ResourceKind::ServerLogs => entry.uri.replace("{id}", "peer"),
        ResourceKind::SessionMcpConfig => entry.uri.replace("{id}", session),
        ResourceKind::CompositorState => entry.uri.replace("{server}", "peer"),
        ResourceKind::AgentInfo
        | ResourceKind::AgentState
        | ResourceKind::AgentSnapshot
        | ResourceKind::AgentSession
        | ResourceKind::AgentMounts
        | ResourceKind::AgentPendingApprovals
        | ResourceKind::AgentPastApprovals
        | ResourceKind::AgentPolicyState
        | ResourceKind::AgentPolicySource
        | ResourceKind::AgentProposals => entry.uri.replace("{agent_id}", "tester"),
        ResourceKind::AgentApproval => entry.uri.replace("{agent_id}", "tester").replace("{id}", approval),
        ResourceKind::Proposal => entry.uri.replace("{id}", &proposal.to_string()),
    }
}
