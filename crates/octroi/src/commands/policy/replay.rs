//! `octroi policy replay`: which recorded calls another policy would decide differently.

use octroi_api::operations::policies::{Flip, PolicyReplay, Replay, ReplayGaps, ReplayRequest};
use octroi_core::server::parse_duration;
use octroi_core::time::{parse_time, show_time};

use super::{print, read};
use crate::cli::policy::ReplayCalls;
use crate::client::Client;
use crate::clock;
use crate::commands::Failure;
use crate::printer;

pub(super) async fn replay(options: &ReplayCalls) -> Result<(), Failure> {
    let source = read(&options.policy)?;
    let since_ms = since(&options.since, clock::system().now_ms()).ok_or_else(|| {
        Failure::usage(format!("`{}` is not a time", options.since))
            .hint("write --since 30d or --since 2027-01-31")
    })?;
    let request = ReplayRequest {
        source,
        level: options.scope.level().into(),
        agent_id: options.scope.agent.clone(),
        since_ms: Some(since_ms),
    };
    let replay = Client::find(&options.target)?.call::<PolicyReplay>(&request).await?;
    if options.target.json {
        printer::json(&replay);
    } else {
        for line in lines(&replay) {
            print(&line);
        }
    }
    Ok(())
}

/// Parses how far back to go: for how long, or since when.
fn since(typed: &str, now_ms: i64) -> Option<i64> {
    let ago = parse_duration(typed).and_then(|ago| i64::try_from(ago.as_millis()).ok());
    ago.map(|ago| now_ms.saturating_sub(ago).max(0)).or_else(|| parse_time(typed))
}

fn lines(replay: &Replay) -> Vec<String> {
    let mut lines = vec![format!(
        "{}, {} with another outcome",
        printer::count(replay.n_calls, "call"),
        replay.n_flipped
    )];
    lines.extend(replay.kinds.iter().map(|(kind, n)| format!("{n:>6}  {kind}")));
    lines.extend(replay.flips.iter().map(flip_line));
    if replay.n_flipped > replay.flips.len() as u64 {
        lines.push(format!("only the first {} are listed", replay.flips.len()));
    }
    let ReplayGaps { arguments_not_kept: cut, tool_gone: gone, unreadable } = replay.cannot_tell;
    let n_unknown = cut + gone + unreadable;
    if n_unknown > 0 {
        lines.push(format!(
            "cannot tell of {n_unknown}: arguments cut or redacted {cut}, tool gone {gone}, unreadable {unreadable}"
        ));
    }
    lines
}

fn flip_line(flip: &Flip) -> String {
    let rule = flip.rule.as_ref().map(|rule| format!(" by {rule}")).unwrap_or_default();
    format!(
        "{} #{} {} {}: {} → {}{rule}",
        show_time(i64::try_from(flip.at_ms).unwrap_or(i64::MAX)),
        flip.seq,
        flip.agent.as_deref().unwrap_or("a person"),
        flip.tool,
        flip.from,
        flip.to,
    )
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn it_lists_what_would_change_and_what_is_unknown() {
        let replay = json!({
            "n_calls": 9, "n_flipped": 2, "kinds": {"allow → ask": 2},
            "flips": [{"seq": 3, "at_ms": 0, "agent": null, "tool": "mcp:a:b", "from": "allow", "to": "ask", "rule": "ask[1]", "reason": null}],
            "cannot_tell": {"arguments_not_kept": 1, "tool_gone": 2, "unreadable": 0}, "n_read": 20,
        });
        expect![[r"
            9 calls, 2 with another outcome
                 2  allow → ask
            1970-01-01T00:00:00.000Z #3 a person mcp:a:b: allow → ask by ask[1]
            only the first 1 are listed
            cannot tell of 3: arguments cut or redacted 1, tool gone 2, unreadable 0"]]
        .assert_eq(&lines(&serde_json::from_value(replay).unwrap()).join("\n"));
    }

    #[test]
    fn the_past_is_ago_or_at() {
        const NOW_MS: i64 = 40 * 86_400_000;
        for (typed, expected) in [
            ("30d", Some(10 * 86_400_000)),
            ("50d", Some(0)),
            ("1970-01-02", Some(86_400_000)),
            ("soon", None),
        ] {
            assert_eq!(since(typed, NOW_MS), expected, "{typed}");
        }
    }
}
