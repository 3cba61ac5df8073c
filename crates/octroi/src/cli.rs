//! What can be typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) mod audit;
pub(crate) mod people;
pub(crate) mod policy;
pub(crate) mod tools;

pub(crate) use policy::PolicyCommand;

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
    Policy(PolicyCommand),
    /// Say what is running and whether all is well.
    Status(Target),
    /// List the servers.
    #[command(visible_alias = "ls")]
    List(Target),
    /// Show one server.
    Get(OneServer),
    /// Show what a server wrote to its standard error.
    Logs(Logs),
    /// End a server and start it again, or start a stopped one.
    Restart(OneServer),
    /// Switch a server on; undone by `octroi disable`.
    Enable(OneServer),
    /// Switch a server off; undone by `octroi enable`.
    Disable(OneServer),
    /// Connect to a server and ask it whether it is well.
    Test(OneServer),
    /// Ask servers for their lists again.
    Refresh(tools::Refresh),
    /// Read the configuration file again.
    Reload(Target),
    /// List the tools of all servers: how risky they are, what they do, and who sees them.
    Tools(tools::Tools),
    /// Read, verify and export the audit log.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Show what happens while it happens.
    Tail(audit::Tail),
    /// List the calls that wait for a person.
    Approvals(people::Approvals),
    /// Let a call that waits be made, once and exactly as it was asked for.
    Approve(people::Approve),
    /// Refuse a call that waits.
    Deny(people::Deny),
    /// List the definitions that are kept back until a person has seen them.
    Pins(people::Pins),
    /// List the agents and what is set about them.
    Agents(people::Agents),
    /// The demo server, over standard input and output.
    #[command(hide = true)]
    DemoServer,
}

/// Where settings come from.
#[derive(Debug, Args)]
pub(crate) struct Source {
    /// The configuration file [default: ./octroi.toml, then the user's configuration directory].
    #[arg(long, value_name = "FILE", env = "OCTROI_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// Where Octroi keeps its data [default: the user's data directory].
    #[arg(long, value_name = "DIR", env = "OCTROI_DATA")]
    pub(crate) data: Option<PathBuf>,

    /// Warn of unknown keys in the configuration instead of refusing them.
    #[arg(long)]
    pub(crate) lenient: bool,

    /// Add a built-in demo server, which runs as a child process.
    #[arg(long)]
    pub(crate) demo: bool,
}

/// Options of `octroi up`.
#[derive(Debug, Args)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) source: Source,

    /// Address to listen at; port 0 takes any free one [default: 127.0.0.1:7878].
    #[arg(long, value_name = "ADDRESS", env = "OCTROI_LISTEN")]
    pub(crate) listen: Option<SocketAddr>,
}

/// Options of `octroi stdio`.
#[derive(Debug, Args)]
pub(crate) struct Stdio {
    #[command(flatten)]
    pub(crate) source: Source,

    /// Act as the holder of this token [default: as the agent `local`].
    #[arg(long, env = "OCTROI_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
}

/// Which gateway is meant.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Target {
    /// The gateway's endpoint [default: the one that uses the data directory].
    #[arg(long, value_name = "URL", env = "OCTROI_URL")]
    pub(crate) url: Option<String>,

    /// A human's token [default: the admin token in the data directory].
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

/// One server of a gateway.
#[derive(Debug, Args)]
pub(crate) struct OneServer {
    /// The server.
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi logs`.
#[derive(Debug, Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    pub(crate) server: OneServer,

    /// Go on as more is written.
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// How many lines to begin with.
    #[arg(short = 'n', long, default_value_t = 100)]
    pub(crate) lines: u64,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Say what is wrong, and where.
    Check(CheckConfig),
    /// Show what counts, in canonical form and without secrets.
    Show(ShowConfig),
    /// Print the JSON Schema of the file.
    Schema,
}

/// Options of `octroi config check`.
#[derive(Debug, Args)]
pub(crate) struct CheckConfig {
    #[command(flatten)]
    pub(crate) source: Source,

    /// Address to listen at, as for `octroi up`.
    #[arg(long, value_name = "ADDRESS", env = "OCTROI_LISTEN")]
    pub(crate) listen: Option<SocketAddr>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `octroi config show`.
#[derive(Debug, Args)]
pub(crate) struct ShowConfig {
    #[command(flatten)]
    pub(crate) source: Source,

    /// Address to listen at, as for `octroi up`.
    #[arg(long, value_name = "ADDRESS", env = "OCTROI_LISTEN")]
    pub(crate) listen: Option<SocketAddr>,

    /// Tell where each value comes from.
    #[arg(long)]
    pub(crate) origin: bool,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
