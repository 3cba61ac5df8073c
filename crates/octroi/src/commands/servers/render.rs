//! Servers and custom gates as people read them.

use octroi_api::operations::servers::{GateStatus, ServerDetail, ServerStatus};
use octroi_core::Lifecycle;
use owo_colors::Style;

use crate::printer::{self, count, visible};
use crate::table::{Cell, Column, Table};

/// One row for each server.
pub(super) fn table(servers: &[ServerStatus]) -> Table {
    let mut table = Table::new(&[
        Column::text("name"),
        Column::text("state"),
        Column::text("health"),
        Column::text("transport"),
        Column::number("tools"),
        Column::sentence("error"),
    ]);
    for server in servers {
        table.row([
            Cell::new(&server.name),
            Cell::new(server.state.to_string()).styled(style_of(server.state.0)),
            server.health.to_string().into(),
            Cell::new(&server.transport),
            server.tools.to_string().into(),
            Cell::new(
                [quarantined(server), server.error.clone()]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join("; "),
            ),
        ]);
    }
    table
}

fn style_of(state: Lifecycle) -> Style {
    match state {
        Lifecycle::Running => Style::new().green(),
        Lifecycle::Failed | Lifecycle::NeedsAuth => Style::new().red(),
        Lifecycle::Disabled | Lifecycle::Stopped | Lifecycle::Starting | Lifecycle::Stopping => {
            Style::new().dimmed()
        }
    }
}

/// How many definitions of a server are quarantined, and where to see them; `None` if none are.
fn quarantined(server: &ServerStatus) -> Option<String> {
    (server.quarantined > 0).then(|| format!("{} quarantined, see `octroi pins`", server.quarantined))
}

/// Every member of a server's status, in labelled lines.
pub(super) fn detail_lines(detail: &ServerDetail) -> Vec<String> {
    let server = &detail.status;
    let texts = |texts: &[String]| texts.iter().map(|text| visible(text)).collect::<Vec<_>>().join(", ");
    // The newest first, so that the row shows since when a server is unhealthy.
    let checks = detail.checks.iter().map(|check| check.health.as_str()).collect::<Vec<_>>().join(", ");
    let rows = [
        ("name", Some(visible(&server.name))),
        ("title", server.title.as_deref().map(visible)),
        ("description", server.description.as_deref().map(visible)),
        ("transport", Some(visible(&server.transport))),
        ("state", Some(server.state.to_string())),
        ("health", Some(server.health.to_string())),
        ("era", server.era.as_deref().map(visible)),
        ("version", server.version.as_deref().map(visible)),
        ("tools", Some(server.tools.to_string())),
        ("quarantined", quarantined(server)),
        ("latency ms", server.latency_ms.map(|ms| ms.to_string())),
        ("consecutive failures", Some(server.consecutive_failures.to_string())),
        ("restarts", Some(server.restarts.to_string())),
        ("in flight", Some(server.in_flight.to_string())),
        ("waiting", Some(server.waiting.to_string())),
        ("error", server.error.as_deref().map(visible)),
        ("warnings", Some(texts(&server.warnings)).filter(|warnings| !warnings.is_empty())),
        ("checks", Some(checks)),
    ];
    let line = |(label, value): (&str, Option<String>)| Some(format!("{label:<22} {}", value?));
    rows.into_iter().filter_map(line).collect()
}

/// The status of a custom gate, in one line.
pub(in crate::commands) fn gate_line(gate: &GateStatus) -> String {
    let error = gate.last_error.as_ref().map(|error| format!(": {}", visible(error))).unwrap_or_default();
    format!(
        "gate {}  {}, asked {}, {} without a verdict{error}",
        visible(&gate.name),
        printer::word(&gate.state),
        count(gate.asked, "time"),
        gate.failed
    )
}

/// A line of a server's log without colours, and without other control sequences.
pub(super) fn log_line(line: &str) -> String {
    printer::visible_lines(&anstream::adapter::strip_str(line).to_string())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use octroi_api::operations::servers::{GateState, ServerCheck, ServerOwnership};
    use octroi_core::Health;

    use super::*;

    fn server(name: &str, state: Lifecycle) -> ServerStatus {
        ServerStatus {
            name: name.to_owned(),
            ownership: ServerOwnership::default(),
            title: None,
            description: None,
            transport: "stdio".to_owned(),
            state: state.into(),
            health: Health::Healthy.into(),
            era: None,
            version: None,
            tools: 16,
            quarantined: 0,
            latency_ms: None,
            consecutive_failures: 0,
            restarts: 1,
            in_flight: 0,
            waiting: 0,
            error: None,
            warnings: Vec::new(),
        }
    }

    fn plain(lines: &[String]) -> String {
        anstream::adapter::strip_str(&lines.join("\n")).to_string()
    }

    #[test]
    fn servers_stand_in_columns() {
        let failed =
            ServerStatus { error: Some("gone\nfor good".to_owned()), ..server("mail", Lifecycle::NeedsAuth) };
        let held = ServerStatus { tools: 0, quarantined: 5, ..server("new", Lifecycle::Running) };
        let servers = [server("a", Lifecycle::Running), failed, held];
        expect![[r"
            NAME  STATE       HEALTH   TRANSPORT  TOOLS  ERROR
            a     running     healthy  stdio         16
            mail  needs_auth  healthy  stdio         16  gone\nfor good
            new   running     healthy  stdio          0  5 quarantined, see `octroi pins`"]]
        .assert_eq(&plain(&table(&servers).lines(80)));
    }

    #[test]
    fn of_one_server_everything_is_shown_that_is_known() {
        let check =
            |health: Health| ServerCheck { at: 0, health: health.into(), latency_ms: None, error: None };
        let detail = ServerDetail {
            status: ServerStatus {
                era: Some("legacy".to_owned()),
                latency_ms: Some(4),
                warnings: vec!["no tool `x`".to_owned()],
                ..server("files", Lifecycle::Running)
            },
            checks: vec![check(Health::Healthy), check(Health::Unhealthy)],
            entry: None,
        };
        expect![[r"
            name                   files
            transport              stdio
            state                  running
            health                 healthy
            era                    legacy
            tools                  16
            latency ms             4
            consecutive failures   0
            restarts               1
            in flight              0
            waiting                0
            warnings               no tool `x`
            checks                 healthy, unhealthy"]]
        .assert_eq(&plain(&detail_lines(&detail)));
    }

    #[test]
    fn the_status_of_a_gate_is_one_line() {
        let gate = GateStatus {
            name: "days".to_owned(),
            state: GateState::Failing,
            is_running: false,
            asked: 6,
            failed: 5,
            last_error: Some("gate `days` ended".to_owned()),
            last_failed_at_ms: Some(1),
        };
        assert_eq!(
            gate_line(&gate),
            "gate days  failing, asked 6 times, 5 without a verdict: gate `days` ended"
        );
    }

    #[test]
    fn a_line_of_a_server_moves_no_terminal() {
        for (line, expected) in [
            ("ready\tin 3 ms", "ready\tin 3 ms"),
            ("\u{1b}[32mready\u{1b}[0m", "ready"),
            ("\u{1b}]0;title\u{7}ready\r", "ready\\r"),
            ("a\u{202e}b", "a\\u{202e}b"),
        ] {
            assert_eq!(log_line(line), expected, "{line:?}");
        }
    }
}
