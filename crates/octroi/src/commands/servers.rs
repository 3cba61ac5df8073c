//! Commands about the servers of a running gateway.

use std::time::Duration;

use octroi_api::operations::NoArguments;
use octroi_api::operations::approvals::{Approval, ApprovalsList, ListApprovalsRequest};
use octroi_api::operations::config::{ConfigChanges, ConfigDifference, ConfigReload, ReloadRequest};
use octroi_api::operations::servers::{
    LogsRequest, RefreshRequest, Refreshed, ServerList, ServerRequest, ServerStatus, ServersGet, ServersList,
    ServersLogs, ServersRefresh, ServersToggle, ToggleRequest,
};
use octroi_api::{ErrorCode, Operation};
use octroi_core::Lifecycle;
use serde_json::{Value, json};

use super::approvals::waiting_lines;
use crate::cli::Target;
use crate::cli::servers::{Logs, OneServer, Refresh, Reload};
use crate::client::Client;
use crate::config::accepted::diff_lines;
use crate::failure::Failure;
use crate::printer::{self, visible};

mod render;
mod stored;

pub(super) use render::gate_line;
use render::{detail_lines, table};
pub(super) use stored::{add, remove, run as stored};

/// How many waiting calls are counted, and how many of them the status shows.
const CALLS_MAX: u64 = 1000;
const CALLS_SHOWN: usize = 5;

/// How often `logs --follow` asks for more.
const FOLLOW_EVERY: Duration = Duration::from_millis(300);

pub(super) async fn status(target: &Target) -> Result<(), Failure> {
    let client = Client::find(target)?;
    let list = client.call::<ServersList>(&NoArguments {}).await?;
    let waiting = calls_waiting(&client).await?;
    if target.json {
        printer::json(&json_status(&list, &waiting));
        return no_failed(&list.servers);
    }
    let n_running = list.servers.iter().filter(|server| server.state.0 == Lifecycle::Running).count();
    let n_servers = printer::count(list.servers.len(), "server");
    printer::data(&format!("{}  {n_running} of {n_servers} running", client.url));
    if !list.servers.is_empty() {
        printer::table(&table(&list.servers));
    }
    list.gates.iter().for_each(|gate| printer::data(&format!("  {}", gate_line(gate))));
    list.problems.iter().for_each(|problem| printer::warn(problem));
    show_waiting(&list.waiting);
    // Servers choose the names of tools, so the text is not trusted.
    let warnings = list.servers.iter().flat_map(|server| &server.warnings);
    warnings.for_each(|warning| printer::warn(&visible(warning)));
    show_calls(&waiting);
    no_failed(&list.servers)
}

/// Fails if a server that should run does not, so that scripts notice it.
fn no_failed(servers: &[ServerStatus]) -> Result<(), Failure> {
    let has_failed =
        |server: &&ServerStatus| matches!(server.state.0, Lifecycle::Failed | Lifecycle::NeedsAuth);
    let failed: Vec<&str> = servers.iter().filter(has_failed).map(|server| server.name.as_str()).collect();
    let Some(first) = failed.first() else {
        return Ok(());
    };
    let message = format!(
        "{} of {} failed: {}",
        failed.len(),
        printer::count(servers.len(), "server"),
        failed.join(", ")
    );
    Err(Failure::new(message).hint(format!(
        "`octroi get {first}` shows the whole error, `octroi logs {first}` what the server wrote"
    )))
}

/// The calls that wait for approval.
async fn calls_waiting(client: &Client) -> Result<Vec<Approval>, Failure> {
    let request = ListApprovalsRequest { limit: Some(CALLS_MAX), ..Default::default() };
    match client.call::<ApprovalsList>(&request).await {
        Ok(list) => Ok(list.approvals),
        // Without storage no call waits, and the status says so itself.
        Err(failure) if failure.code == Some(ErrorCode::StorageUnavailable) => Ok(Vec::new()),
        Err(failure) => Err(failure),
    }
}

/// The status for programs: the servers, and what waits for a person.
fn json_status(list: &ServerList, waiting: &[Approval]) -> Value {
    let call = |approval: &Approval| {
        json!({
            "id": approval.id, "agent_id": approval.agent_id, "tool": approval.tool,
            "reasons": approval.reasons, "page": approval.page, "requested_at": approval.requested_at,
        })
    };
    let mut status = serde_json::to_value(list).unwrap_or_default();
    status["calls_waiting"] = waiting.iter().map(call).collect();
    status
}

/// Shows the calls that wait for approval, the oldest first, and how to decide.
fn show_calls(waiting: &[Approval]) {
    if waiting.is_empty() {
        return;
    }
    let (calls, wait) =
        (printer::count(waiting.len(), "call"), if waiting.len() == 1 { "waits" } else { "wait" });
    printer::data("");
    printer::data(&format!("{calls} {wait} for approval:"));
    for line in waiting.iter().rev().take(CALLS_SHOWN).flat_map(waiting_lines) {
        printer::data(&line);
    }
    match waiting.len().saturating_sub(CALLS_SHOWN) {
        0 => printer::data("decide there, or with `octroi approve ID` or `octroi deny ID`"),
        n_more => printer::data(&format!("  … and {n_more} more: see them with `octroi approvals`")),
    }
}

/// Shows what waits as a difference, and how to go on.
fn show_waiting(waiting: &[ConfigDifference]) {
    if waiting.is_empty() {
        return;
    }
    printer::data("");
    show_differences(waiting);
    printer::data("accept with `octroi reload`, or undo the change in the file");
}

/// Shows what is on disk and not in effect.
fn show_differences(waiting: &[ConfigDifference]) {
    let n_waiting = printer::count(waiting.len(), "change");
    printer::data(&format!("{n_waiting} of the configuration on disk, not in effect:"));
    for change in waiting {
        for line in diff_lines(&change.setting, change.before.as_deref(), change.after.as_deref()) {
            printer::data(&format!("  {line}"));
        }
    }
}

pub(super) async fn list(target: &Target) -> Result<(), Failure> {
    let list = Client::find(target)?.call::<ServersList>(&NoArguments {}).await?;
    if target.json {
        printer::json(&list.servers);
    } else if list.servers.is_empty() {
        printer::say("no servers; add [[mcp.servers]] to the configuration, see examples/octroi.toml");
    } else {
        printer::table(&table(&list.servers));
    }
    Ok(())
}

pub(super) async fn get(server: &OneServer) -> Result<(), Failure> {
    let request = ServerRequest { name: server.name.clone() };
    let detail = Client::find(&server.target)?.call::<ServersGet>(&request).await?;
    if server.target.json {
        printer::json(&detail);
    } else {
        for line in detail_lines(&detail) {
            printer::data(&line);
        }
    }
    Ok(())
}

pub(super) async fn logs(options: &Logs) -> Result<(), Failure> {
    let OneServer { name, target } = &options.server;
    let client = Client::find(target)?;
    let mut request = LogsRequest { name: name.clone(), lines: Some(options.lines), from: Some(0) };
    loop {
        for line in client.call::<ServersLogs>(&request).await?.lines {
            request.from = Some(line.number + 1);
            if target.json {
                printer::json(&line);
            } else {
                printer::data(&render::log_line(&line.text));
            }
        }
        if !options.follow {
            return Ok(());
        }
        // From now on all new lines are shown, however many there are.
        request.lines = Some(u64::from(u32::MAX));
        tokio::time::sleep(FOLLOW_EVERY).await;
    }
}

/// Performs an operation on one server and prints its status.
pub(super) async fn act<O>(server: &OneServer, done: &str) -> Result<(), Failure>
where
    O: Operation<Request = ServerRequest, Response = ServerStatus>,
{
    let request = ServerRequest { name: server.name.clone() };
    let status = Client::find(&server.target)?.call::<O>(&request).await?;
    report(server, &status, done);
    Ok(())
}

pub(super) async fn toggle(server: &OneServer, enabled: bool) -> Result<(), Failure> {
    let request = ToggleRequest { name: server.name.clone(), enabled, for_me: false };
    let status = Client::find(&server.target)?.call::<ServersToggle>(&request).await?;
    if enabled && status.state.0 == Lifecycle::Disabled {
        return Err(still_off(server, &status));
    }
    let (done, undo) = if enabled { ("enabled", "disable") } else { ("disabled", "enable") };
    report(server, &status, &format!("{done}; undo with `octroi {undo} {}`", server.name));
    Ok(())
}

/// The failure of switching a server on that something else keeps off.
fn still_off(server: &OneServer, status: &ServerStatus) -> Failure {
    if server.target.json {
        printer::json(status);
    }
    let failure = Failure::new(format!("{} is switched on, but stays disabled", server.name))
        .hint("set `enabled = true` under [mcp] in the configuration, then run `octroi reload`");
    match &status.error {
        Some(error) => failure.cause(visible(error)),
        None => failure,
    }
}

fn report(server: &OneServer, status: &ServerStatus, done: &str) {
    if server.target.json {
        printer::json(status);
    } else {
        let latency = status.latency_ms.map(|ms| format!(", {ms} ms")).unwrap_or_default();
        printer::data(&format!("{} {done} ({}{latency})", server.name, status.state));
    }
}

pub(super) async fn refresh(options: &Refresh) -> Result<(), Failure> {
    let request = RefreshRequest { name: options.server.clone(), start: options.start };
    let refreshed = Client::find(&options.target)?.call::<ServersRefresh>(&request).await?;
    if options.target.json {
        printer::json(&refreshed);
        return Ok(());
    }
    match refreshed {
        Refreshed::One(server) => {
            printer::data(&format!("{} listed {}", server.name, printer::count(server.tools, "tool")));
        }
        Refreshed::All(all) => {
            printer::data(&format!("{} refreshed", printer::count(all.refreshed, "server")));
            for (server, reason) in all.failed {
                printer::warn(&format!("{server}: {}", visible(&reason)));
            }
        }
    }
    Ok(())
}

/// Reloads the configuration. What waits for a person is shown and accepted exactly as it was shown.
pub(super) async fn reload(options: &Reload) -> Result<(), Failure> {
    let client = Client::find(&options.target)?;
    let request = ReloadRequest { digest: options.digest.clone() };
    let mut changes = client.call::<ConfigReload>(&request).await?;
    if let Some(digest) = changes.waiting_digest.clone() {
        if !options.target.json {
            show_differences(&changes.waiting);
        }
        if !options.yes && !is_agreed(options, &changes, &digest)? {
            return Err(Failure::new("not accepted: what waits still waits"));
        }
        let accepted = client.call::<ConfigReload>(&ReloadRequest { digest: Some(digest) }).await?;
        let before = changes;
        changes = ConfigChanges {
            added: [before.added, accepted.added].concat(),
            changed: [before.changed, accepted.changed].concat(),
            removed: [before.removed, accepted.removed].concat(),
            ..accepted
        };
    }
    if options.target.json {
        printer::json(&changes);
        return Ok(());
    }
    let lists = [("added", &changes.added), ("changed", &changes.changed), ("removed", &changes.removed)];
    for (word, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
        printer::data(&format!("{word:<10} {}", names.join(", ")));
    }
    printer::data(&format!("{:<10} {}", "unchanged", changes.unchanged));
    changes.problems.iter().for_each(|problem| printer::warn(problem));
    Ok(())
}

/// Asks the person at the terminal. Fails where nobody can be asked.
fn is_agreed(options: &Reload, changes: &ConfigChanges, digest: &str) -> Result<bool, Failure> {
    let answer = if options.target.json {
        printer::json(changes);
        None
    } else {
        printer::confirm("Accept these changes?")
    };
    answer.ok_or_else(|| {
        let n_waiting = printer::count(changes.waiting.len(), "change");
        Failure::new(format!("{n_waiting} of the configuration not accepted: nobody can be asked here"))
            .hint(format!("accept exactly these with `octroi reload --digest {digest}`, or all with --yes"))
    })
}
