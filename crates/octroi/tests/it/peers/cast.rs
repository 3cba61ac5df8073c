//! The clients: scripts of `tests/peers` that follow a plan and print the result of each step.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use octroi_testkit::client::options::Transport;
use serde::Deserialize;
use serde_json::Value;
use tokio::process::Command;

use super::installed::Installed;

/// A script aborts a step, and with it the rest of its plan, after half a minute.
const LIMIT: Duration = Duration::from_mins(2);

/// A client that is built with a real library.
pub(super) struct RealClient {
    pub(super) label: &'static str,
    program: ClientProgram,
    script: &'static str,
    version: &'static str,
}

enum ClientProgram {
    Node,
    /// Python from this virtual environment.
    Python(&'static str),
}

/// The result of a plan.
pub(super) struct PlanOutcome {
    pub(super) passed: usize,
    /// `check: what is wrong`.
    pub(super) failed: Vec<String>,
}

/// A line that a script prints.
#[derive(Deserialize)]
struct ScriptLine {
    check: String,
    ok: bool,
    detail: String,
}

pub(super) const NODE_V1: RealClient = RealClient {
    label: "TypeScript SDK 1.x (legacy)",
    program: ClientProgram::Node,
    script: "node/client-v1.mjs",
    version: "2025-11-25",
};

pub(super) const NODE_V2: RealClient = RealClient {
    label: "TypeScript SDK 2.x (modern)",
    program: ClientProgram::Node,
    script: "node/client-v2.mjs",
    version: "2026-07-28",
};

pub(super) const PYTHON_V1: RealClient = RealClient {
    label: "Python SDK 1.x (legacy)",
    program: ClientProgram::Python("v1"),
    script: "python/client_v1.py",
    version: "2025-11-25",
};

pub(super) const PYTHON_V2: RealClient = RealClient {
    label: "Python SDK 2.x (modern)",
    program: ClientProgram::Python("v2"),
    script: "python/client_v2.py",
    version: "2026-07-28",
};

impl RealClient {
    /// Follows a plan with the server of this name.
    pub(super) async fn run(
        &self,
        installed: &Installed,
        way: &Transport,
        server: &str,
        plan: &str,
        files: &Path,
    ) -> PlanOutcome {
        let mut command = Command::new(match self.program {
            ClientProgram::Node => "node".into(),
            ClientProgram::Python(environment) => installed.python(environment),
        });
        command.arg(installed.script(self.script)).arg("--plan").arg(installed.plan(plan));
        command.args(["--server", server, "--var"]).arg(format!("dir={}", files.display()));
        match way {
            Transport::Http { url, token } => {
                command.args(["--url", url]).args(token.iter().flat_map(|token| ["--token", token]));
            }
            Transport::Sse { url, token } => {
                command.args(["--sse", "--url", url]).args(token.iter().flat_map(|token| ["--token", token]));
            }
            Transport::Stdio { command: program, args, env } => {
                command.envs(env.iter().cloned()).arg("--").arg(program).args(args);
            }
        }
        let run = command.stdin(Stdio::null()).kill_on_drop(true).output();
        let output =
            tokio::time::timeout(LIMIT, run).await.expect("a plan ends").expect("the client should start");
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert_ne!(
            output.status.code(),
            Some(2),
            "{} did nothing; `cargo xtask test` installs what it needs:\n{complaints}",
            self.script
        );
        let checks = String::from_utf8_lossy(&output.stdout);
        let checks = checks.lines().map(|line| serde_json::from_str(line).expect("a line is a check"));
        self.judge(checks.collect(), steps(&installed.plan(plan)), &complaints)
    }

    fn judge(&self, checks: Vec<ScriptLine>, n_steps: usize, complaints: &str) -> PlanOutcome {
        let mut outcome = PlanOutcome { passed: 0, failed: Vec::new() };
        let expected = format!("protocol {},", self.version);
        for ScriptLine { check, ok, detail } in checks {
            let is_wrong_era = check == "connect" && !detail.starts_with(&expected);
            if ok && !is_wrong_era {
                outcome.passed += 1;
            } else {
                outcome.failed.push(format!("{check}: {detail}"));
            }
        }
        // Connecting and closing are checks as well. A client that died midway printed too few.
        let n_missing = (n_steps + 2).saturating_sub(outcome.passed + outcome.failed.len());
        outcome
            .failed
            .extend((0..n_missing).map(|_| format!("a check is missing; standard error: {complaints}")));
        outcome
    }
}

fn steps(plan: &Path) -> usize {
    let text = std::fs::read_to_string(plan).expect("the plan can be read");
    let steps: Vec<Value> = serde_json::from_str(&text).expect("the plan is a list");
    steps.len()
}
