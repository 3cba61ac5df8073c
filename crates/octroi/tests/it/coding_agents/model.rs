//! The scripted model of `tests/coding-agents`: a test sees every turn of an agent, and says what comes next.

use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::programs::directory;

/// An agent may take this long from one turn to the next.
const TURN_LIMIT: Duration = Duration::from_mins(1);

/// A running model, which ends with this value.
pub(super) struct ScriptedModel {
    pub(super) port: u16,
    steps: ChildStdin,
    turns: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

/// What an agent sends its model.
#[derive(Debug, Deserialize)]
pub(super) struct Turn {
    /// The names of the tools that the model may call.
    pub(super) tools: Vec<String>,
    /// What the last call returned, as the model sees it.
    pub(super) result: Option<ToolOutput>,
}

/// The result of a call in the words of an agent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolOutput {
    text: String,
    is_error: bool,
}

impl Turn {
    /// Whether the model may call this tool. Agents put a prefix of their own before its name.
    pub(super) fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|offered| offered == tool || offered.ends_with(&format!("_{tool}")))
    }

    /// Fails unless the last call succeeded and returned this. Errors may repeat the arguments of a call.
    pub(super) fn expect(&self, text: &str) -> Result<(), String> {
        match &self.result {
            Some(output) if output.text.contains(text) && !output.is_error => Ok(()),
            other => Err(format!("the model was shown {other:?} and not {text:?}")),
        }
    }

    /// Fails unless the model sees this reason.
    pub(super) fn expect_reason(&self, text: &str) -> Result<(), String> {
        match &self.result {
            Some(output) if output.text.contains(text) => Ok(()),
            other => Err(format!("the model was shown {other:?} and not {text:?}")),
        }
    }
}

impl ScriptedModel {
    pub(super) async fn start() -> Self {
        #[derive(Deserialize)]
        struct Listening {
            port: u16,
        }
        let mut child = Command::new("node")
            .arg(directory().join("model.mjs"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("node should start");
        let steps = child.stdin.take().expect("standard input is piped");
        let mut turns = BufReader::new(child.stdout.take().expect("standard output is piped")).lines();
        let first = turns.next_line().await.expect("it can be read").expect("the model should listen");
        let Listening { port } = serde_json::from_str(&first).expect("the first line has the port");
        Self { port, steps, turns, _child: child }
    }

    /// The next turn of the agent.
    pub(super) async fn turn(&mut self) -> Result<Turn, String> {
        let line = tokio::time::timeout(TURN_LIMIT, self.turns.next_line())
            .await
            .map_err(|_| "the agent did not ask its model again".to_owned())?;
        let line = line.expect("it can be read").expect("the model should run");
        Ok(serde_json::from_str(&line).expect("a line is a turn"))
    }

    /// Makes the agent call a tool.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) {
        self.step(&json!({ "call": tool, "arguments": arguments })).await;
    }

    /// Ends the agent's work with this text.
    pub(super) async fn say(&mut self, text: &str) {
        self.step(&json!({ "say": text })).await;
    }

    /// Makes the agent call a tool, and waits until its model sees the result.
    pub(super) async fn see(&mut self, tool: &str, arguments: Value) -> Result<Turn, String> {
        self.call(tool, arguments).await;
        self.turn().await
    }

    async fn step(&mut self, step: &Value) {
        self.steps.write_all(format!("{step}\n").as_bytes()).await.expect("the model should run");
    }
}
