//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod calls;
mod config;
mod gateway;
pub(crate) mod pins;
pub(crate) mod policy;
mod read;
pub(crate) mod servers;
pub(crate) mod tools;
mod words;

pub(crate) use config::{CheckConfig, ConfigCommand, ShowConfig};
pub(crate) use gateway::{Source, Stdio, Up};
pub(crate) use read::read;

/// The gate between AI agents and their tools: one endpoint in front of every MCP server.
#[derive(Debug, Parser)]
#[command(name = "octroi", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Say more; twice for everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the gateway in the foreground.
    #[command(visible_alias = "serve")]
    Up(Up),
    /// Offer the gateway over standard input and output, for clients that start a command: the one that runs,
    /// or one of its own.
    Stdio(Stdio),
    /// Show, check and describe the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show, try, explain and change what is allowed.
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// Say what is running and whether all is well.
    Status(Target),
    /// List the servers.
    #[command(visible_alias = "ls")]
    List(Target),
    /// Show one server.
    Get(servers::OneServer),
    /// Show what a server wrote to its standard error.
    Logs(servers::Logs),
    /// End a server and start it again, or start a stopped one.
    Restart(servers::OneServer),
    /// Switch a server on; undone by `octroi disable`.
    Enable(servers::OneServer),
    /// Switch a server off; undone by `octroi enable`.
    Disable(servers::OneServer),
    /// Connect to a server and check whether it answers.
    Test(servers::OneServer),
    /// Ask servers for their lists again.
    Refresh(servers::Refresh),
    /// Read the configuration file again.
    Reload(Target),
    /// List the tools of all servers: how risky they are, what they do, and who sees them.
    Tools(tools::Tools),
    /// Try a server's tool as an agent, past that agent's gates.
    Call(calls::CallTool),
    /// Read, verify and export the audit log.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Show what happens while it happens.
    Tail(audit::Tail),
    /// List the calls that wait for a person.
    Approvals(approvals::Approvals),
    /// Let a call that waits be made, once and exactly as it was asked for.
    Approve(approvals::Approve),
    /// Deny a call that waits.
    Deny(approvals::Deny),
    /// List the definitions that are quarantined until a person has reviewed them.
    Pins(pins::Pins),
    /// List the agents and what is set about them.
    Agents(agents::Agents),
    /// The demo server, over standard input and output.
    #[command(hide = true)]
    DemoServer,
}

/// Which gateway is meant.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Target {
    /// The gateway's endpoint [default: the one that uses the data directory].
    #[arg(long, value_name = "URL", env = "OCTROI_URL")]
    pub(crate) url: Option<String>,

    /// A person's token [default: the admin token in the data directory].
    #[arg(long, env = "OCTROI_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,

    /// The gateway's data directory [default: the user's data directory].
    #[arg(long, value_name = "DIR", env = "OCTROI_DATA")]
    pub(crate) data: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Target {
    /// What the variables say, where nothing was typed.
    pub(crate) fn from_environment() -> Self {
        match Cli::parse_from(["octroi", "status"]).command {
            Some(Command::Status(target)) => target,
            _ => Self::default(),
        }
    }
}
