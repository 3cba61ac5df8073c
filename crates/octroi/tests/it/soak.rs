//! How long a test runs: for its own number of rounds, or in a soak until the time is over.

use std::time::{Duration, Instant};

/// Set by `cargo xtask soak`; without it every test is as long as it always is.
const MINUTES: &str = "OCTROI_SOAK_MINUTES";

/// The numbers of the rounds: at least this many, and more while the soak's time is not over.
pub(crate) fn rounds(at_least: u64) -> impl Iterator<Item = u64> {
    let until = minutes().map(|minutes| Instant::now() + minutes);
    rounds_while(at_least, move || until.is_some_and(|until| Instant::now() < until))
}

/// This long, or as long as the soak.
pub(crate) fn at_least(span: Duration) -> Duration {
    minutes().map_or(span, |minutes| span.max(minutes))
}

/// The time of the soak, if this is one.
pub(crate) fn minutes() -> Option<Duration> {
    let text = std::env::var(MINUTES).ok()?;
    let minutes: u64 = text.parse().unwrap_or_else(|_| panic!("{MINUTES} is a number, not `{text}`"));
    Some(Duration::from_mins(minutes))
}

fn rounds_while(at_least: u64, goes_on: impl Fn() -> bool) -> impl Iterator<Item = u64> {
    (0..).take_while(move |round| *round < at_least || goes_on())
}

#[test]
fn rounds_end_with_their_number_or_with_the_time() {
    assert_eq!(rounds_while(3, || false).collect::<Vec<_>>(), [0, 1, 2]);
    let n_asked = std::cell::Cell::new(0);
    let twice = || {
        n_asked.set(n_asked.get() + 1);
        n_asked.get() <= 2
    };
    assert_eq!(rounds_while(3, twice).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}
