//! `octroi audit` and `octroi tail`: reading the audit log.

mod files;
mod lines;
mod live;
mod purge;
mod query;
mod report;

use std::path::PathBuf;

use octroi_core::server::parse_duration;
use octroi_core::time::parse_time;

use crate::cli::audit::AuditCommand;
use crate::clock;
use crate::config::data_directory;
use crate::failure::Failure;

pub(super) use live::tail;

pub(super) async fn run(command: AuditCommand) -> Result<(), Failure> {
    match command {
        AuditCommand::List(options) => query::list(&options).await,
        AuditCommand::Show(options) => query::show(&options).await,
        AuditCommand::Report(options) => report::report(&options).await,
        AuditCommand::Verify(options) => files::verify(&options),
        AuditCommand::Prove(options) => files::prove(&options),
        AuditCommand::CheckProof(options) => files::check_proof(&options),
        AuditCommand::Export(options) => files::export(&options),
        AuditCommand::Purge(options) => purge::purge(&options).await,
    }
}

/// The directory of the audit log.
fn directory(data: Option<&PathBuf>) -> PathBuf {
    data.cloned().unwrap_or_else(data_directory).join("audit")
}

/// Parses a time, as milliseconds since 1970.
pub(super) fn moment(typed: &str) -> Result<u64, Failure> {
    moment_at(typed, clock::system().now_ms())
}

/// Parses a time that is written as how long ago, or as when. There are no records from before 1970.
fn moment_at(typed: &str, now_ms: i64) -> Result<u64, Failure> {
    let ago = parse_duration(typed).map(|ago| i64::try_from(ago.as_millis()).unwrap_or(i64::MAX));
    let at_ms = ago.map(|ago| now_ms.saturating_sub(ago)).or_else(|| parse_time(typed)).ok_or_else(|| {
        Failure::usage(format!("`{typed}` is not a time"))
            .hint("write how long ago, as in `30m` or `7d`, or when, as in `2027-01-31T12:00:00Z`")
    })?;
    Ok(u64::try_from(at_ms).unwrap_or_default())
}

/// A pattern for canonical ids. A plain name means the tool of that name, of any server.
fn tool_pattern(typed: &str) -> String {
    if typed.contains([':', '*', '?']) { typed.to_owned() } else { format!("*:{typed}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_ago_or_at() {
        const NOW_MS: i64 = 30 * 86_400_000;
        for (typed, expected) in [
            ("30m", 30 * 86_400_000 - 30 * 60_000),
            ("7d", 23 * 86_400_000),
            ("31d", 0),
            ("1970-01-02", 86_400_000),
            ("1969-01-02", 0),
        ] {
            assert_eq!(moment_at(typed, NOW_MS).unwrap(), expected, "{typed}");
        }
        for wrong in ["", "7", "yesterday", "-1d"] {
            assert!(moment_at(wrong, NOW_MS).unwrap_err().hint.is_some(), "{wrong}");
        }
    }

    #[test]
    fn a_plain_name_is_a_tool_of_any_server() {
        assert_eq!(tool_pattern("read"), "*:read");
        for typed in ["mcp:files:read", "*read*", "r?ad"] {
            assert_eq!(tool_pattern(typed), typed);
        }
    }
}
