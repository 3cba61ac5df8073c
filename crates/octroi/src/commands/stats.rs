//! `octroi stats`: how calls went.

use octroi_api::operations::stats::{CallNumbers, CallStatistics, CallsStats, CallsStatsRequest};
use octroi_core::time::show_time;

use super::audit::moment;
use crate::cli::stats::Stats;
use crate::client::Client;
use crate::failure::Failure;
use crate::printer;
use crate::table::{Cell, Column, Table};

pub(super) async fn run(options: &Stats) -> Result<(), Failure> {
    let request = CallsStatsRequest {
        since_ms: Some(moment(&options.since)?),
        until_ms: options.until.as_deref().map(moment).transpose()?,
        by: Some(options.by.into()),
        agent: options.agent.clone(),
        server: options.server.clone(),
        tool: options.tool.clone(),
        step: options.over.map(Into::into),
        limit: Some(options.limit),
    };
    let found = Client::find(&options.target)?.call::<CallsStats>(&request).await?;
    if options.target.json {
        printer::json(&found);
        return Ok(());
    }
    let total = found.total;
    let since = show_time(i64::try_from(found.since_ms).unwrap_or(i64::MAX));
    let parts = [
        printer::count(total.calls, "call"),
        printer::count(total.errors, "error"),
        printer::count(total.denials, "denial"),
    ];
    printer::data(&format!("{} since {since}", parts.join(", ")));
    if !found.rows.is_empty() {
        printer::table(&rows(&found));
    }
    if found.more > 0 {
        printer::say(&format!("{} more; --limit shows them", printer::count(found.more, "row")));
    }
    if options.over.is_some() {
        printer::table(&series(&found));
    }
    Ok(())
}

const NUMBERS: [Column; 6] = [
    Column::number("calls"),
    Column::number("errors"),
    Column::number("denials"),
    Column::number("p50_ms"),
    Column::number("p95_ms"),
    Column::number("p99_ms"),
];

fn rows(found: &CallStatistics) -> Table {
    let mut table = Table::new(&with_numbers(Column::text("name")));
    for row in &found.rows {
        table.row(cells(&row.name, &row.numbers));
    }
    table
}

/// The steps in which something happened.
fn series(found: &CallStatistics) -> Table {
    let mut table = Table::new(&with_numbers(Column::text("at")));
    for step in found.series.iter().filter(|step| step.numbers != CallNumbers::default()) {
        table.row(cells(&show_time(i64::try_from(step.at_ms).unwrap_or(i64::MAX)), &step.numbers));
    }
    table
}

fn with_numbers(first: Column) -> [Column; 7] {
    let [calls, errors, denials, p50, p95, p99] = NUMBERS;
    [first, calls, errors, denials, p50, p95, p99]
}

fn cells(name: &str, numbers: &CallNumbers) -> [Cell; 7] {
    let duration = |ms: Option<u64>| Cell::new(ms.map(|ms| ms.to_string()).unwrap_or_default());
    let number = |number: u64| Cell::new(number.to_string());
    [
        Cell::new(name),
        number(numbers.calls),
        number(numbers.errors),
        number(numbers.denials),
        duration(numbers.p50_ms),
        duration(numbers.p95_ms),
        duration(numbers.p99_ms),
    ]
}
