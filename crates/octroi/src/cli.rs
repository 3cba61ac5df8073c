//! The command line: commands and their options.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) mod activity;
pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod calls;
mod config;
pub(crate) mod db;
mod gateway;
pub(crate) mod people;
pub(crate) mod pins;
pub(crate) mod policy;
mod read;
pub(crate) mod secrets;
pub(crate) mod servers;
pub(crate) mod sessions;
pub(crate) mod stats;
pub(crate) mod templates;
pub(crate) mod tools;
mod words;

pub(crate) use config::{CheckConfig, ConfigCommand, ShowConfig};
pub(crate) use gateway::{Open, Source, Stdio, Up};
pub(crate) use read::read;

/// The gate between AI agents and their tools: one endpoint in front of every MCP server.
#[derive(Debug, Parser)]
#[command(name = "octroi", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// The command to run; without one, the status is shown.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Log more; twice for debug messages.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// All commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the gateway in the foreground.
    #[command(visible_alias = "serve")]
    Up(Up),
    /// Open the web interface in the browser, signed in.
    Open(Open),
    /// Serve MCP over standard input and output, for clients that start a command: from the running gateway,
    /// or as a gateway of its own.
    Stdio(Stdio),
    /// Show, check and describe the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show, test, explain and change policies.
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// Show which servers are running, and all problems.
    Status(Target),
    /// List the servers.
    #[command(visible_alias = "ls")]
    List(Target),
    /// Add a server: for yourself, or as an administrator for everybody.
    Add(servers::AddServer),
    /// Remove a server that was added at run time.
    Remove(servers::RemoveServer),
    /// Show the history of servers that were added at run time, and go back in it.
    #[command(subcommand)]
    Servers(servers::ServersCommand),
    /// Manage sessions: which servers an agent uses for one piece of work.
    #[command(subcommand)]
    Sessions(sessions::SessionCommand),
    /// Show one server.
    Get(servers::OneServer),
    /// Show what a server wrote to its standard error.
    Logs(servers::Logs),
    /// End a server and start it again, or start a stopped one.
    Restart(servers::OneServer),
    /// Enable a server; undo with `octroi disable`.
    Enable(servers::OneServer),
    /// Disable a server; undo with `octroi enable`.
    Disable(servers::OneServer),
    /// Connect to a server and check whether it answers.
    Test(servers::OneServer),
    /// Fetch the lists of servers again.
    Refresh(servers::Refresh),
    /// Reload the configuration; shows what waits for a person, and asks.
    Reload(servers::Reload),
    /// List the tools of all servers, with their risk, side effects and visibility.
    Tools(tools::Tools),
    /// List servers that are known, and what must be filled in to add one.
    Templates(templates::Templates),
    /// Call a server's tool as an agent, subject to that agent's gates.
    Call(calls::CallTool),
    /// List calls with their decision and outcome, or show one.
    Calls(activity::Calls),
    /// List the clients that are connected.
    Clients(Target),
    /// Show how calls went: how many, how many failed or were denied, and how long they took.
    Stats(stats::Stats),
    /// Read, verify and export the audit log.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Look after the database.
    #[command(subcommand)]
    Db(db::DbCommand),
    /// Follow the audit log.
    Tail(audit::Tail),
    /// List the calls that wait for approval.
    Approvals(approvals::Approvals),
    /// Approve a waiting call: it may be made once, exactly as it was requested.
    Approve(approvals::Approve),
    /// Deny a waiting call.
    Deny(approvals::Deny),
    /// List the definitions that are quarantined until a person has reviewed them.
    Pins(pins::Pins),
    /// List the agents and their settings.
    Agents(agents::Agents),
    /// List presets, which agents can be created from.
    Presets(Target),
    /// Manage users: the people who own tokens and agents.
    #[command(subcommand)]
    User(people::UserCommand),
    /// Manage tokens of people, agents, sessions and services.
    #[command(subcommand)]
    Token(people::TokenCommand),
    /// Manage stored secrets, for `${secret:NAME}` in the configuration.
    #[command(subcommand)]
    Secret(secrets::SecretCommand),
    /// The demo server, over standard input and output.
    #[command(hide = true)]
    DemoServer,
}

/// The gateway that a command talks to, and the format of its output.
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

    /// Certificates to trust over HTTPS, as PEM, instead of those of the system [default: for the gateway that
    /// uses the data directory, its own].
    #[arg(long, value_name = "FILE", env = "OCTROI_CA_FILE")]
    pub(crate) ca_file: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Target {
    /// The target that environment variables select.
    pub(crate) fn from_environment() -> Self {
        match Cli::parse_from(["octroi", "status"]).command {
            Some(Command::Status(target)) => target,
            _ => Self::default(),
        }
    }
}
