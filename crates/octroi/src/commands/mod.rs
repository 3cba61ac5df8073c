//! One function per command.

use octroi_core::config::{Problem, Severity};

use crate::cli::{Cli, Command, Target};
use crate::client::Client;
use crate::config::ConfigError;
use crate::logging;

mod agents;
mod approvals;
mod audit;
mod config;
mod pins;
mod policy;
mod reload;
mod run;
mod servers;
mod stdio;
mod tools;
mod up;

/// Why a command failed, told in three parts: what, why, and what next.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) causes: Vec<String>,
    pub(crate) hint: Option<String>,
    pub(crate) exit_code: u8,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), causes: Vec::new(), hint: None, exit_code: 1 }
    }

    /// An outcome that is no failure and was told already, but is not a plain yes.
    pub(crate) fn outcome(exit_code: u8) -> Self {
        Self { exit_code, ..Self::new("") }
    }

    pub(crate) fn from_error(error: &dyn std::error::Error) -> Self {
        let mut failure = Self::new(error.to_string());
        let mut source = error.source();
        while let Some(cause) = source {
            failure.causes.push(cause.to_string().trim_end().to_owned());
            source = cause.source();
        }
        failure
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn cause(mut self, cause: impl ToString) -> Self {
        self.causes.push(cause.to_string());
        self
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let failure = Self::new(format!("{}: {}", problem.origin, problem.message));
        Self { hint: problem.hint, ..failure }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let mut failure = Self::from_error(&error);
        match error {
            ConfigError::Read { .. } => failure.hint("name a file that can be read with --config FILE"),
            ConfigError::Syntax { source, .. } => {
                let excerpt = source.excerpt.replace('\n', "\n    ");
                failure.causes = vec![format!("{source}\n    {excerpt}")];
                failure
            }
            ConfigError::Invalid { problems } => problems
                .iter()
                .filter(|problem| problem.severity == Severity::Fatal)
                .fold(failure, Self::cause)
                .hint("`octroi config check` lists everything; `--lenient` only warns of unknown keys"),
        }
    }
}

pub(crate) async fn run(cli: Cli) -> Result<(), Failure> {
    logging::start(cli.verbose);
    match cli.command {
        Some(Command::Up(options)) => up::run(options).await,
        Some(Command::Stdio(options)) => stdio::run(options).await,
        Some(Command::Config(command)) => config::run(command),
        Some(Command::Policy(command)) => policy::run(command).await,
        Some(Command::DemoServer) => crate::demo::serve().await.map_err(|error| Failure::from_error(&error)),
        Some(Command::Status(target)) => servers::status(&target).await,
        Some(Command::List(target)) => servers::list(&target).await,
        Some(Command::Get(server)) => servers::get(&server).await,
        Some(Command::Logs(options)) => servers::logs(&options).await,
        Some(Command::Restart(server)) => servers::act(&server, "servers_restart", "restarted").await,
        Some(Command::Test(server)) => servers::act(&server, "servers_test", "answers").await,
        Some(Command::Refresh(options)) => tools::refresh(&options).await,
        Some(Command::Tools(options)) => tools::run(&options).await,
        Some(Command::Enable(server)) => servers::toggle(&server, true).await,
        Some(Command::Disable(server)) => servers::toggle(&server, false).await,
        Some(Command::Audit(command)) => audit::run(command).await,
        Some(Command::Tail(options)) => audit::tail(&options).await,
        Some(Command::Reload(target)) => servers::reload(&target).await,
        Some(Command::Approvals(options)) => approvals::run(&options).await,
        Some(Command::Approve(options)) => approvals::approve(&options).await,
        Some(Command::Deny(options)) => approvals::deny(&options).await,
        Some(Command::Pins(options)) => pins::run(&options).await,
        Some(Command::Agents(options)) => agents::run(&options).await,
        None => {
            let target = Target::from_environment();
            if Client::find(&target).is_ok() {
                return servers::status(&target).await;
            }
            crate::printer::say("Octroi is the gate between AI agents and their tools.\n");
            crate::printer::fact("Try it", "octroi up --demo");
            crate::printer::fact("Run it", "octroi up --config octroi.toml");
            crate::printer::fact("More", "octroi --help");
            Ok(())
        }
    }
}
