//! `octroi audit` and `octroi tail`: reading what was recorded.

mod files;
mod lines;
mod live;
mod purge;
mod query;

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use octroi_core::audit::Kind;
use octroi_core::server::parse_duration;
use octroi_core::time::parse_time;

use super::Failure;
use crate::cli::audit::AuditCommand;
use crate::config::data_directory;

pub(super) use live::tail;

pub(super) async fn run(command: AuditCommand) -> Result<(), Failure> {
    match command {
        AuditCommand::List(options) => query::list(&options).await,
        AuditCommand::Show(options) => query::show(&options).await,
        AuditCommand::Report(options) => query::report(&options).await,
        AuditCommand::Verify(options) => files::verify(&options),
        AuditCommand::Prove(options) => files::prove(&options),
        AuditCommand::CheckProof(options) => files::check_proof(&options),
        AuditCommand::Export(options) => files::export(&options),
        AuditCommand::Purge(options) => purge::purge(&options).await,
    }
}

/// Where the log of a data directory is.
fn directory(data: Option<&PathBuf>) -> PathBuf {
    data.cloned().unwrap_or_else(data_directory).join("audit")
}

/// A moment as it was typed: how long ago, or when.
fn moment(text: &str) -> Result<i64, Failure> {
    if let Some(ago) = parse_duration(text) {
        return Ok(now_ms().saturating_sub(i64::try_from(ago.as_millis()).unwrap_or(i64::MAX)));
    }
    parse_time(text).ok_or_else(|| {
        Failure::new(format!("`{text}` is no time"))
            .hint("write how long ago, as in `30m` or `7d`, or when, as in `2027-01-31T12:00:00Z`")
    })
}

/// Kinds as they were typed.
fn kinds(words: &[String]) -> Result<Vec<Kind>, Failure> {
    let read = |word: &String| {
        Kind::parse(word).ok_or_else(|| {
            let known: Vec<&str> = Kind::WORDS.iter().map(|(word, _)| *word).collect();
            Failure::new(format!("there are no records of the kind `{word}`"))
                .hint(format!("there are: {}", known.join(", ")))
        })
    };
    words.iter().map(read).collect()
}

/// A pattern for canonical ids. Who types a plain name means the tool of that name, of any server.
fn tool_pattern(typed: &str) -> String {
    if typed.contains([':', '*', '?']) { typed.to_owned() } else { format!("*:{typed}") }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_ago_or_at() {
        let near = |text: &str, ago_ms: i64| {
            let found = moment(text).unwrap();
            assert!((now_ms() - ago_ms - found).abs() < 5_000, "{text}: {found}");
        };
        near("30m", 30 * 60_000);
        near("7d", 7 * 86_400_000);
        assert_eq!(moment("1970-01-02").unwrap(), 86_400_000);
        for wrong in ["", "7", "yesterday", "-1d"] {
            assert!(moment(wrong).unwrap_err().hint.is_some(), "{wrong}");
        }
    }

    #[test]
    fn a_plain_name_is_a_tool_of_any_server() {
        assert_eq!(tool_pattern("read"), "*:read");
        for typed in ["mcp:files:read", "*read*", "r?ad"] {
            assert_eq!(tool_pattern(typed), typed);
        }
        assert!(kinds(&["policy_violation".to_owned()]).is_ok());
        assert!(kinds(&["violation".to_owned()]).unwrap_err().hint.unwrap().contains("policy_violation"));
    }
}
