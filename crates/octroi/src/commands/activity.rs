//! `octroi calls` and `octroi clients`.

use octroi_api::operations::NoArguments;
use octroi_api::operations::activity::{
    Call, CallDetail, CallRequest, CallsGet, CallsList, ListCallsRequest,
};
use octroi_api::operations::clients::{Client as Connected, ClientsList};
use octroi_core::time::show_time;
use owo_colors::Style;

use super::audit::{moment, tool_pattern};
use crate::cli::Target;
use crate::cli::activity::Calls;
use crate::client::Client;
use crate::failure::Failure;
use crate::printer::{self, visible};
use crate::table::{Cell, Column, Table};

/// How many calls one answer has at most.
const PAGE: u64 = 500;

pub(super) async fn calls(options: &Calls) -> Result<(), Failure> {
    let client = Client::find(&options.target)?;
    if let Some(id) = &options.id {
        let detail = client.call::<CallsGet>(&CallRequest { id: id.clone() }).await?;
        if options.target.json {
            printer::json(&detail);
        } else {
            show(&detail);
        }
        return Ok(());
    }
    let time = |typed: &Option<String>| typed.as_deref().map(moment).transpose();
    let mut request = ListCallsRequest {
        since_ms: time(&options.since)?,
        until_ms: time(&options.until)?,
        agent: options.agent.clone(),
        server: options.server.clone(),
        tool: options.tool.as_deref().map(tool_pattern),
        decision: options.decision.map(Into::into),
        outcome: options.outcome.clone(),
        ..ListCallsRequest::default()
    };
    let mut calls = Vec::new();
    loop {
        let n_left = options.n_max.saturating_sub(u64::try_from(calls.len()).unwrap_or(u64::MAX));
        if n_left == 0 {
            break;
        }
        request.limit = Some(n_left.min(PAGE));
        let page = client.call::<CallsList>(&request).await?;
        calls.extend(page.calls);
        // A page may be short though there are more.
        match page.next {
            Some(next) => request.before = Some(next),
            None => break,
        }
    }
    if options.target.json {
        calls.iter().for_each(printer::json);
    } else if calls.is_empty() {
        printer::say("no call matches");
    } else {
        printer::table(&table(&calls));
    }
    Ok(())
}

fn table(calls: &[Call]) -> Table {
    let mut table = Table::new(&[
        Column::text("at"),
        Column::text("agent"),
        Column::text("tool"),
        Column::text("decision"),
        Column::text("outcome"),
        Column::number("duration_ms"),
        Column::sentence("reason"),
        Column::text("id"),
    ]);
    for call in calls {
        table.row([
            Cell::new(to_the_second(call.at_ms)).styled(Style::new().dimmed()),
            who(call).into(),
            call.tool.clone().into(),
            call.decided.decision.map(|decision| decision.to_string()).unwrap_or_default().into(),
            Cell::new(&call.outcome).styled(style(&call.outcome)),
            call.duration_ms.map(|ms| ms.to_string()).unwrap_or_default().into(),
            call.decided.reason.clone().unwrap_or_default().into(),
            call.id.clone().into(),
        ]);
    }
    table
}

fn to_the_second(at_ms: u64) -> String {
    let time = show_time(i64::try_from(at_ms).unwrap_or(i64::MAX));
    let (second, _) = time.split_once('.').unwrap_or((&time, ""));
    format!("{}Z", second.trim_end_matches('Z').replace('T', " "))
}

fn who(call: &Call) -> String {
    let agent = call.caller.agent.clone().unwrap_or_default();
    match &call.caller.person {
        Some(person) => format!("{person} as {agent}"),
        None => agent,
    }
}

fn style(outcome: &str) -> Style {
    match outcome {
        "completed" => Style::new().green(),
        "running" | "waiting" | "approved" | "input_required" => Style::new().cyan(),
        _ => Style::new().red(),
    }
}

fn show(detail: &CallDetail) {
    let call = &detail.call;
    printer::fact("Call", &visible(&call.id));
    printer::fact("Tool", &visible(&call.tool));
    printer::fact("Agent", &visible(&who(call)));
    printer::fact("Outcome", &visible(&call.outcome));
    if let Some(ms) = call.duration_ms {
        printer::fact("Took", &format!("{ms} ms"));
    }
    printer::fact("Arguments", &visible(&detail.request.arguments.to_string()));
    if let Some(summary) = detail.answer.as_ref().and_then(|answer| answer.summary.as_ref()) {
        printer::fact("Answer", &visible(summary));
    }
    for gate in detail.gates.iter().filter(|gate| gate.reason.is_some() || gate.by.is_some()) {
        let by = gate.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        let reason = gate.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        printer::fact(&gate.gate, &visible(&format!("{}{by}{reason}", gate.outcome)));
    }
    for event in &detail.events {
        let reason = event.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let line =
            format!("{}  {:>7}  {}  {}{reason}", to_the_second(event.at_ms), event.seq, event.by, event.what);
        printer::data(&visible(&line));
    }
}

pub(super) async fn clients(target: &Target) -> Result<(), Failure> {
    let list = Client::find(target)?.call::<ClientsList>(&NoArguments {}).await?;
    if target.json {
        printer::json(&list.clients);
    } else if list.clients.is_empty() {
        printer::say("no client is connected");
    } else {
        printer::table(&clients_table(&list.clients));
    }
    Ok(())
}

fn clients_table(clients: &[Connected]) -> Table {
    let mut table = Table::new(&[
        Column::text("user"),
        Column::text("agent"),
        Column::text("program"),
        Column::text("era"),
        Column::text("transport"),
        Column::text("since"),
        Column::text("last_request"),
        Column::number("in_flight"),
        Column::number("streams"),
        Column::number("subscriptions"),
    ]);
    for client in clients {
        let program = [&client.program.name, &client.program.version];
        let program: Vec<&str> = program.into_iter().flatten().map(String::as_str).collect();
        table.row([
            client.user.clone().into(),
            client.agent.clone().unwrap_or_default().into(),
            program.join(" ").into(),
            client.era.clone().into(),
            client.transport.clone().into(),
            to_the_second(client.since_ms).into(),
            to_the_second(client.last_request_ms).into(),
            client.in_flight.to_string().into(),
            client.streams.to_string().into(),
            client.subscriptions.to_string().into(),
        ]);
    }
    table
}
