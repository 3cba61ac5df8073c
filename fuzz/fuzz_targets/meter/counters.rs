//! Tells libFuzzer how much a step costs: it keeps inputs that reach a counter for the first time, so each new level of
//! cost is kept like new code.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Levels for each of time and memory, four to each doubling; the limit is near level 40.
const LEVELS: usize = 64;

#[unsafe(link_section = "__libfuzzer_extra_counters")]
static COUNTERS: [AtomicU8; 2 * LEVELS] = [const { AtomicU8::new(0) }; 2 * LEVELS];

/// The highest cost so far, in thousandths of the limit.
static WORST: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Marks all levels up to those that were reached, and prints the step if it is the worst so far.
pub(super) fn report(step: &str, nanoseconds: u64, nanoseconds_max: u64, bytes: u64, bytes_max: u64) {
    for (kind, cost, limit) in [(0, nanoseconds, nanoseconds_max), (1, bytes, bytes_max)] {
        let share = cost.saturating_mul(1_000) / limit.max(1);
        for counter in &COUNTERS[kind * LEVELS..kind * LEVELS + level(share)] {
            counter.store(1, Ordering::Relaxed);
        }
        if WORST[kind].fetch_max(share, Ordering::Relaxed) < share {
            let what = ["processor time", "memory"][kind];
            eprintln!("WORST {what}: {}.{} % of the limit: {step}, {} µs, {bytes} bytes", share / 10, share % 10, nanoseconds / 1_000);
        }
    }
}

/// Four levels for each doubling.
fn level(share: u64) -> usize {
    let log = share.max(1).ilog2() as usize;
    let quarter = ((share.max(1) << 2 >> log) & 3) as usize;
    (4 * log + quarter).min(LEVELS)
}
