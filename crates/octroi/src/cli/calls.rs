//! Options of `octroi call`.

use clap::Args;
use octroi_api::Exit;
use octroi_core::principal::DEFAULT_AGENT;

use super::Target;

/// Options of `octroi call`.
#[derive(Debug, Args)]
#[command(after_help = exit_codes())]
pub(crate) struct CallTool {
    /// The tool: `server.tool`, its id, or the name that clients call it by.
    #[arg(value_name = "SERVER.TOOL")]
    pub(crate) tool: String,

    /// Its arguments.
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) arguments: Vec<String>,

    /// More arguments, as a JSON object.
    #[arg(long, value_name = "JSON")]
    pub(crate) json_args: Option<String>,

    /// The agent to call as: its gates decide, and the record names it and you.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_AGENT)]
    pub(crate) agent: String,

    /// Wait for the approval, if the call needs one.
    #[arg(long)]
    pub(crate) wait: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// The exit codes that depend on the outcome of the call, for the help.
fn exit_codes() -> String {
    let exits = [Exit::Done, Exit::Failed, Exit::ToolError, Exit::Denied, Exit::Approval];
    let exits = exits.map(|exit| format!("{} {}", exit.code(), exit.about()));
    format!("Exit codes: {}.", exits.join("; "))
}
