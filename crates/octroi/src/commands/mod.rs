//! One function per command.

use octroi_api::operations::servers::{ServersRestart, ServersTest};

use crate::cli::{Cli, Command, Target};
use crate::client::Client;
use crate::failure::Failure;
use crate::{logging, printer};

mod activity;
mod agents;
mod alerts;
mod approvals;
mod audit;
mod call;
mod certificate;
mod config;
mod db;
mod master_key;
mod open;
mod people;
mod pins;
mod policy;
mod reload;
mod run;
mod secrets;
mod servers;
mod sessions;
mod start;
mod stats;
mod stdio;
mod templates;
mod tools;
mod up;

pub(crate) async fn run(cli: Cli) -> Result<(), Failure> {
    logging::start(cli.verbose);
    let Some(command) = cli.command else {
        return run_without_command().await;
    };
    match command {
        Command::Up(options) => Box::pin(up::run(options)).await,
        Command::Open(options) => open::run(options).await,
        Command::Stdio(options) => Box::pin(stdio::run(options)).await,
        Command::Config(command) => config::run(command),
        Command::Policy(command) => policy::run(command).await,
        Command::DemoServer => crate::demo::serve().await.map_err(|error| Failure::from_error(&error)),
        Command::Status(target) => servers::status(&target).await,
        Command::List(target) => servers::list(&target).await,
        Command::Add(options) => servers::add(options).await,
        Command::Remove(options) => servers::remove(options).await,
        Command::Servers(command) => servers::stored(command).await,
        Command::Sessions(command) => sessions::run(command).await,
        Command::Get(server) => servers::get(&server).await,
        Command::Logs(options) => servers::logs(&options).await,
        Command::Restart(server) => servers::act::<ServersRestart>(&server, "restarted").await,
        Command::Test(server) => servers::act::<ServersTest>(&server, "answers").await,
        Command::Refresh(options) => servers::refresh(&options).await,
        Command::Tools(options) => tools::run(&options).await,
        Command::Templates(options) => templates::run(&options).await,
        Command::Presets(target) => templates::presets(&target).await,
        Command::Call(options) => call::run(&options).await,
        Command::Calls(options) => activity::calls(&options).await,
        Command::Clients(target) => activity::clients(&target).await,
        Command::Stats(options) => stats::run(&options).await,
        Command::Enable(server) => servers::toggle(&server, true).await,
        Command::Disable(server) => servers::toggle(&server, false).await,
        Command::Audit(command) => audit::run(command).await,
        Command::Db(command) => db::run(command).await,
        Command::Tail(options) => audit::tail(&options).await,
        Command::Reload(options) => servers::reload(&options).await,
        Command::Approvals(options) => approvals::run(&options).await,
        Command::Approve(options) => approvals::approve(&options).await,
        Command::Deny(options) => approvals::deny(&options).await,
        Command::Pins(options) => pins::run(&options).await,
        Command::Agents(options) => agents::run(&options).await,
        Command::User(command) => people::users(command).await,
        Command::Token(command) => people::tokens(command).await,
        Command::Secret(command) => secrets::run(command).await,
    }
}

/// Shows the status of the running gateway, or how to start one.
async fn run_without_command() -> Result<(), Failure> {
    let target = Target::from_environment();
    if Client::find(&target).is_ok() {
        return servers::status(&target).await;
    }
    printer::say("Octroi is the gate between AI agents and their tools.\n");
    printer::fact("Try it", "octroi up --demo");
    printer::fact("Run it", "octroi up --config octroi.toml");
    printer::fact("More", "octroi --help");
    Ok(())
}
