//! `octroi policy`: shows, tests, explains and changes policies.

use std::io::IsTerminal as _;
use std::path::Path;

use octroi_api::operations::NoArguments;
use octroi_api::operations::policies::{PolicyHistory, PolicySchema, PolicyShow, PolicyVersion};
use octroi_core::time::show_time;

use super::servers::gate_line;
use crate::cli::Target;
use crate::cli::policy::{PolicyCommand, ShowPolicy};
use crate::client::Client;
use crate::failure::Failure;
use crate::printer;
use crate::table::{Cell, Column, Table};

mod change;
mod check;
mod explain;
mod offline;
mod proposals;
mod replay;

pub(super) async fn run(command: PolicyCommand) -> Result<(), Failure> {
    match command {
        PolicyCommand::Show(options) => show(&options).await,
        PolicyCommand::Check(options) => check::check(&options).await,
        PolicyCommand::Test(options) => check::test(&options).await,
        PolicyCommand::Why(options) => explain::explain_call(&options).await,
        PolicyCommand::Explain(options) => explain::explain_policies(&options).await,
        PolicyCommand::Diff(options) => change::diff(&options).await,
        PolicyCommand::Apply(options) => change::apply(&options).await,
        PolicyCommand::Replay(options) => replay::replay(&options).await,
        PolicyCommand::Proposals(options) => proposals::run(&options).await,
        PolicyCommand::ApproveProposal(proposal) => proposals::approve(&proposal).await,
        PolicyCommand::RejectProposal(options) => proposals::reject(&options).await,
        PolicyCommand::Schema(target) => schema(&target).await,
    }
}

async fn schema(target: &Target) -> Result<(), Failure> {
    let schema = Client::find(target)?.call::<PolicySchema>(&NoArguments {}).await?;
    if target.json {
        printer::json(&schema);
    } else {
        print(&schema.schema);
    }
    Ok(())
}

async fn show(options: &ShowPolicy) -> Result<(), Failure> {
    if options.history {
        return history(options).await;
    }
    let scope = &options.scope;
    let active = Client::find(&options.target)?.call::<PolicyShow>(&scope.request()).await?;
    if options.target.json {
        printer::json(&active);
        return Ok(());
    }
    active.gates.iter().for_each(|gate| printer::say(&format!("# {}", gate_line(gate))));
    let version = active.policy.version();
    if version == 0 {
        let next = format!("`octroi policy apply FILE {}` sets one", scope.flag());
        printer::say(&format!("there is no {}; {next}", scope.name()));
        return Ok(());
    }
    let origin = match &active.file {
        Some(file) => format!("from {file}"),
        None => format!("set by {}", active.policy.author().unwrap_or_default()),
    };
    printer::say(&format!("# {}, version {version}, {origin}", scope.name()));
    let source = active.policy.source().trim_end();
    // A file gets the policy unchanged; on a terminal it must not move the cursor.
    if std::io::stdout().is_terminal() {
        print(source);
    } else {
        printer::data(source);
    }
    Ok(())
}

async fn history(options: &ShowPolicy) -> Result<(), Failure> {
    let history = Client::find(&options.target)?.call::<PolicyHistory>(&options.scope.request()).await?;
    if options.target.json {
        printer::json(&history);
        return Ok(());
    }
    if history.versions.is_empty() {
        printer::say(&format!("there was never a {}", options.scope.name()));
    } else {
        printer::table(&versions_table(&history.versions));
    }
    Ok(())
}

/// One row for each version.
fn versions_table(versions: &[PolicyVersion]) -> Table {
    let mut table = Table::new(&[
        Column::number("version"),
        Column::text("status"),
        Column::text("created_at"),
        Column::text("author"),
    ]);
    for policy in versions {
        table.row([
            policy.version.map_or_else(|| "-".to_owned(), |version| version.to_string()).into(),
            printer::word(&policy.status).into(),
            show_time(policy.created_at_ms).into(),
            Cell::new(&policy.author),
        ]);
    }
    table
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::new(format!("cannot read {}", path.display())).cause(error).hint("name a policy file")
    })
}

/// Prints text that may come from an agent or a server.
fn print(text: &str) {
    printer::data(&printer::visible_lines(text));
}
