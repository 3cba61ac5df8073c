//! What a record says about how a call went, and sums of that.

use crate::audit::entry::Entry;
use crate::audit::words::Kind;

/// Upper bounds of durations, in milliseconds; longer ones are beyond the last.
pub const DURATION_BOUNDS_MS: [u64; 14] =
    [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000];

/// The number of durations by their bounds, and of longer ones.
pub type Durations = [u64; DURATION_BOUNDS_MS.len() + 1];

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// It was made.
    Made {
        /// Whether the tool or the server failed.
        is_error: bool,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// It was refused by a gate, a policy or a person.
    Denied,
}

impl CallEnd {
    /// What a record says about the end of a call of a tool; `None` if it says nothing about that.
    pub fn of(entry: &Entry<'_>) -> Option<Self> {
        entry.tool.as_ref()?;
        match entry.kind {
            // Denied requests that are not calls have no id of a call.
            Kind::PolicyViolation => entry.call.map(|_| Self::Denied),
            Kind::ToolInvocationEnd => {
                let outcome = member(entry.context, "\"outcome\":\"").and_then(|rest| rest.split('"').next());
                let duration = member(entry.context, "\"duration_ms\":").unwrap_or_default();
                let digits = duration.bytes().take_while(u8::is_ascii_digit).count();
                // A call that asks its client something goes on in another record.
                let is_error = !matches!(outcome, Some("completed" | "input_required"));
                Some(Self::Made { is_error, duration_ms: duration[..digits].parse().unwrap_or_default() })
            }
            _ => None,
        }
    }
}

/// The text after the beginning of a member. Inside of a string its quotes would be escaped.
fn member<'a>(context: &'a str, beginning: &str) -> Option<&'a str> {
    context.split_once(beginning).map(|(_, rest)| rest)
}

/// How many calls went how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSums {
    /// Calls that were made.
    pub calls: u64,
    /// Those of them in which the tool or the server failed.
    pub errors: u64,
    /// Calls that were refused.
    pub denials: u64,
    /// The durations of those that were made.
    pub durations: Durations,
}

impl CallSums {
    /// Counts a call.
    pub fn count(&mut self, end: CallEnd) {
        match end {
            CallEnd::Denied => self.denials += 1,
            CallEnd::Made { is_error, duration_ms } => {
                self.calls += 1;
                self.errors += u64::from(is_error);
                self.durations[DURATION_BOUNDS_MS.partition_point(|bound| *bound < duration_ms)] += 1;
            }
        }
    }

    /// Adds other calls.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.denials += other.denials;
        for (own, more) in self.durations.iter_mut().zip(other.durations) {
            *own += more;
        }
    }

    /// The duration that this share of the calls did not exceed, in milliseconds; `None` without calls. Exact to the
    /// bounds, between them as if durations were spread evenly. Those beyond the last bound count as that.
    pub fn quantile_ms(&self, per_mille: u64) -> Option<u64> {
        let n: u64 = self.durations.iter().sum();
        if n == 0 {
            return None;
        }
        let rank = (n * per_mille).div_ceil(1_000).max(1);
        let (mut before, mut lower) = (0, 0);
        for (count, bound) in self.durations.iter().zip(DURATION_BOUNDS_MS) {
            if before + count >= rank {
                // Rounded up: nobody is told that a call took no time.
                return Some(lower + ((bound - lower) * (rank - before)).div_ceil(*count));
            }
            before += count;
            lower = bound;
        }
        DURATION_BOUNDS_MS.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_say_how_calls_went() {
        let record = |kind: &str, tool: bool, call: bool, context: &str| {
            let tool = if tool { ",\"tool\":\"mcp:a:b\"" } else { "" };
            let call = if call { ",\"call\":\"ffffffff-ffff-7fff-8000-000000000001\"" } else { "" };
            format!(
                "{{\"at_ms\":1,\"kind\":\"{kind}\",\"level\":\"info\",\"actor\":{{\"kind\":\"agent\",\"id\":\"a\"}}{tool}{call},\"context\":{context}}}"
            )
        };
        let made = |is_error, duration_ms| Some(CallEnd::Made { is_error, duration_ms });
        for (text, expected) in [
            (
                record("tool_invocation_end", true, true, r#"{"outcome":"completed","duration_ms":12}"#),
                made(false, 12),
            ),
            (
                record(
                    "tool_invocation_end",
                    true,
                    true,
                    r#"{"outcome":"tool_error","duration_ms":0,"result":"x"}"#,
                ),
                made(true, 0),
            ),
            (
                record(
                    "tool_invocation_end",
                    true,
                    true,
                    r#"{"name":"\"duration_ms\":7","outcome":"input_required","duration_ms":3}"#,
                ),
                made(false, 3),
            ),
            (record("tool_invocation_end", true, true, "{}"), made(true, 0)),
            (record("tool_invocation_start", true, true, "{}"), None),
            (record("policy_violation", true, true, "{}"), Some(CallEnd::Denied)),
            (record("policy_violation", true, false, "{}"), None),
            (record("policy_violation", false, true, "{}"), None),
        ] {
            assert_eq!(CallEnd::of(&Entry::parse_text(&text).expect(&text)), expected, "{text}");
        }
    }

    #[test]
    fn quantiles_lie_between_bounds() {
        let mut sums = CallSums::default();
        assert_eq!(sums.quantile_ms(500), None);
        for duration_ms in 1..=100 {
            sums.count(CallEnd::Made { is_error: duration_ms > 90, duration_ms });
        }
        sums.count(CallEnd::Denied);
        assert_eq!((sums.calls, sums.errors, sums.denials), (100, 10, 1));
        assert_eq!([500, 950, 990].map(|share| sums.quantile_ms(share)), [50, 95, 99].map(Some));
        let mut slow = CallSums::default();
        slow.count(CallEnd::Made { is_error: false, duration_ms: 90_000 });
        assert_eq!(slow.quantile_ms(500), Some(30_000));
        slow.add(&sums);
        assert_eq!((slow.calls, slow.quantile_ms(1_000)), (101, Some(30_000)));
    }
}
