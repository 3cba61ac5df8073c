//! Claude Code, Codex and Gemini CLI at work through Octroi. Their models are scripted, so that a test decides
//! which tools they call, and sees which tools and results their models are shown.

mod beside;
mod model;
mod programs;

use std::fmt::Write as _;
use std::time::Duration;

use octroi_testkit::client::options::Transport;
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer::process::PeerProcess;
use serde_json::json;

use self::model::{ScriptedModel, Turn};
use self::programs::{CodingAgent, RunningAgent};
use crate::approvals::asked;
use crate::harness::{keep, octroi, remote_entry, stdio_entry};
use crate::manage::command;

/// What every agent does, in this order, in one run of it.
const FEATURES: [&str; 10] = [
    "list",
    "call",
    "question",
    "approved",
    "denied",
    "list change",
    "server restart",
    "gateway restart",
    "end",
    "next run",
];

/// What an agent cannot do over a transport, and what was seen.
const CANNOT: [(CodingAgent, &str, &str, &str); 2] = [
    (CodingAgent::Codex, "HTTP", "list change", FETCHES_ONCE),
    (CodingAgent::Codex, "stdio", "list change", FETCHES_ONCE),
];
const FETCHES_ONCE: &str = "does not fetch the list again during a run; the next run has the new tool";

/// What the tool `ask` hears from each agent, which has nobody to ask; and what that means.
const ANSWERS: [(CodingAgent, &str, &str); 3] = [
    (CodingAgent::ClaudeCode, "cancelled", "cancels it"),
    (CodingAgent::Codex, "declined", "declines it"),
    (
        CodingAgent::GeminiCli,
        "did not declare",
        "does not declare that it can be asked, and the tool gets that error",
    ),
];

/// How long an agent has to notice that the list has changed. It notices between its turns.
const NOTICE_TURNS: usize = 20;
const NOTICE_PAUSE: Duration = Duration::from_millis(500);

/// How long the name of a tool may be in the APIs of models.
const NAME_MAX: usize = 64;
/// A server whose tools have names that are too long for that.
const LONG_NAME: &str = "a-server-with-a-rather-long-name";

type Outcome = Result<(), String>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn coding_agents_work_through_octroi() {
    let mut rows = Vec::new();
    for (agent, over) in [
        (CodingAgent::ClaudeCode, "HTTP"),
        (CodingAgent::ClaudeCode, "stdio"),
        (CodingAgent::ClaudeCode, "HTTP+SSE"),
        (CodingAgent::Codex, "HTTP"),
        (CodingAgent::Codex, "stdio"),
        (CodingAgent::GeminiCli, "HTTP"),
        (CodingAgent::GeminiCli, "stdio"),
        (CodingAgent::GeminiCli, "HTTP+SSE"),
    ] {
        rows.push((agent, over, Scene::start(over).await.play(agent).await));
    }
    let table = render(&rows);
    println!("{table}");
    keep("coding-agents.md", &table);
    let wrong: Vec<String> = rows
        .iter()
        .flat_map(|(agent, over, outcomes)| {
            FEATURES.iter().zip(outcomes).filter_map(move |(feature, outcome)| {
                let place = format!("{} over {over}, {feature}", agent.name());
                match (outcome, is_known(*agent, over, feature)) {
                    (Err(reason), false) => Some(format!("{place}: {reason}")),
                    (Ok(()), true) => Some(format!("{place}: works now, correct CANNOT")),
                    (Ok(()), false) | (Err(_), true) => None,
                }
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{} are wrong\n{}", wrong.len(), wrong.join("\n"));
}

fn is_known(agent: CodingAgent, over: &str, feature: &str) -> bool {
    CANNOT.iter().any(|(who, way, what, _)| (*who, *way, *what) == (agent, over, feature))
}

/// A server, the gateway before it, and how an agent reaches that.
struct Scene {
    peer: PeerProcess,
    config: String,
    gateway: TestGateway,
    way: Transport,
    model: ScriptedModel,
}

impl Scene {
    async fn start(over: &str) -> Self {
        let peer = start_peer("127.0.0.1:0").await;
        let config = format!(
            "{}risk_overrides = {{ route = \"high\", grow = \"low\", ask = \"low\", grown_1 = \"low\" }}\n{}\
             [policy]\nprofile = \"guarded\"\n[approvals]\nwait = \"50s\"\n",
            remote_entry("peer", "http", &peer.url),
            stdio_entry(LONG_NAME, &["--tool", &"x".repeat(60)]),
        );
        let gateway = TestGateway::start(&octroi(), &config).await;
        let way = match over {
            "stdio" => gateway.relay(&octroi()),
            "HTTP+SSE" => gateway.sse_transport(),
            _ => gateway.transport(),
        };
        Self { peer, config, gateway, way, model: ScriptedModel::start().await }
    }

    /// One run of an agent; the outcomes of all features.
    async fn play(mut self, agent: CodingAgent) -> Vec<Outcome> {
        let home = tempfile::tempdir().expect("a temporary directory");
        let running = agent.start(home.path(), self.model.port, &self.way);
        let first = self.model.turn().await;
        let Ok(first) = first else {
            let reason = format!("{first:?}: {}", running.output());
            return FEATURES.iter().map(|_| Err(reason.clone())).collect();
        };
        let mut outcomes = vec![listed(&first), self.call("hello").await, self.question(agent).await];
        outcomes.push(self.approved("north").await);
        outcomes.push(self.denied("south").await);
        outcomes.push(self.list_change().await);
        outcomes.push(self.server_restart().await);
        self = self.restart_gateway().await;
        outcomes.push(self.call_after_gateway_restart().await);
        outcomes.push(self.finish(running).await);
        outcomes.push(self.next_run(agent).await);
        self.gateway.stop().await;
        outcomes
    }

    async fn call(&mut self, text: &str) -> Outcome {
        self.model.see("peer_echo", json!({ "text": text })).await?.expect(text)
    }

    /// A server asks, and no person is there.
    async fn question(&mut self, agent: CodingAgent) -> Outcome {
        let turn = self.model.see("peer_ask", json!({})).await?;
        let expected = ANSWERS.iter().find(|(who, _, _)| *who == agent);
        turn.expect_reason(expected.map(|(_, words, _)| *words).ok_or("no answer is expected")?)
    }

    /// An agent whose stream broke may need some seconds to open another.
    async fn call_after_gateway_restart(&mut self) -> Outcome {
        let mut outcome = Ok(());
        for _ in 0..NOTICE_TURNS {
            outcome = self.call("after the restart of the gateway").await;
            if outcome.is_ok() {
                break;
            }
            tokio::time::sleep(NOTICE_PAUSE).await;
        }
        outcome
    }

    async fn approved(&mut self, region: &str) -> Outcome {
        self.decide(region, &["approve"]).await;
        self.model.turn().await?.expect(region)
    }

    async fn denied(&mut self, region: &str) -> Outcome {
        self.decide(region, &["deny", "--reason", "not today"]).await;
        self.model.turn().await?.expect_reason("not today")
    }

    /// A call that needs approval, and a person who decides about it.
    async fn decide(&mut self, region: &str, decision: &[&str]) {
        self.model.call("peer_route", json!({ "region": region })).await;
        let id = asked(&self.gateway).await;
        let arguments = [&decision[..1], &[id.as_str()], &decision[1..]].concat();
        command(&self.gateway, 0, &arguments).await;
    }

    async fn server_restart(&mut self) -> Outcome {
        let address = self.peer.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        self.peer.stop().await.map_err(|error| error.to_string())?;
        self.peer = start_peer(&address).await;
        self.call("after the restart of the server").await?;
        // The new process has not grown yet, and the next run is to see that it has.
        self.model.see("peer_grow", json!({})).await?.expect("grown_1")
    }

    /// A tool appears during the run, and is called.
    async fn list_change(&mut self) -> Outcome {
        let mut turn = self.model.see("peer_grow", json!({})).await?;
        turn.expect("grown_1")?;
        for number in 0..NOTICE_TURNS {
            if turn.offers("peer_grown_1") {
                return self.model.see("peer_grown_1", json!({})).await?.expect("grown_1");
            }
            tokio::time::sleep(NOTICE_PAUSE).await;
            // Agents take the same call again and again for a loop, and end it.
            let text = format!("turn {number}");
            turn = self.model.see("peer_echo", json!({ "text": text })).await?;
        }
        Err("the model is not offered the new tool".to_owned())
    }

    async fn restart_gateway(mut self) -> Self {
        let address = self.gateway.address();
        let (directory, _) = self.gateway.stop_and_keep().await;
        self.gateway = TestGateway::launch_at(&address, directory, &octroi(), &self.config, &[]).await;
        self
    }

    /// Another run of the agent, which is offered the new tool from its start.
    async fn next_run(&mut self, agent: CodingAgent) -> Outcome {
        let home = tempfile::tempdir().expect("a temporary directory");
        let running = agent.start(home.path(), self.model.port, &self.way);
        let turn = self.model.turn().await?;
        self.finish(running).await?;
        if turn.offers("peer_grown_1") { Ok(()) } else { Err(format!("{:?}", turn.tools)) }
    }

    /// The model has said enough, and the agent prints its last words.
    async fn finish(&mut self, running: RunningAgent) -> Outcome {
        self.model.say("that is all").await;
        let output = running.finish().await?;
        if output.contains("that is all") { Ok(()) } else { Err(output) }
    }
}

async fn start_peer(listen: &str) -> PeerProcess {
    // As servers made after the examples of the SDKs do.
    let flags = ["--transport", "http", "--listen", listen, "--unknown-session", "bad-request"];
    PeerProcess::start(&flags).await.expect("the peer should start")
}

fn listed(turn: &Turn) -> Outcome {
    if let Some(missing) =
        ["peer_echo", "peer_route", "peer_grow"].into_iter().find(|tool| !turn.offers(tool))
    {
        return Err(format!("{missing} is not among {:?}", turn.tools));
    }
    // With the prefixes that agents put before them.
    if let Some(tool) = turn.tools.iter().find(|tool| tool.len() > NAME_MAX) {
        return Err(format!("{tool} is too long for APIs of models"));
    }
    if turn.tools.iter().any(|tool| tool.contains("_xxxx")) {
        Ok(())
    } else {
        Err(format!("the tool with the long name is not among {:?}", turn.tools))
    }
}

fn render(rows: &[(CodingAgent, &str, Vec<Outcome>)]) -> String {
    let mut out = format!("| agent | {} |\n|---|{}", FEATURES.join(" | "), "---|".repeat(FEATURES.len()));
    for (agent, over, outcomes) in rows {
        let _ = write!(out, "\n| {} {} over {over} |", agent.name(), agent.version());
        for outcome in outcomes {
            out.push_str(if outcome.is_ok() { " works |" } else { " no |" });
        }
    }
    out.push_str(
        "\n\nIn one run: the model is offered the tools, with names of at most 64 characters; calls one; a tool asks a \
         question, which nobody is there to answer; a person approves one call and denies another, and the model sees the \
         result and the reason; a tool is added and called; the server restarts; Octroi restarts; the agent ends. The next \
         run has the added tool from its start. What an agent does with the question:\n\n",
    );
    for (agent, _, meaning) in ANSWERS {
        let _ = writeln!(out, "- {} {meaning}.", agent.name());
    }
    out.push_str("\nWhat does not work:\n");
    for (agent, over, feature, seen) in CANNOT {
        let _ = write!(out, "\n- {} over {over}, {feature}: it {seen}.", agent.name());
    }
    out.push('\n');
    out
}
