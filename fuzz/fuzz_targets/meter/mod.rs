//! Fails when a step costs more processor time or memory than it may, and leads libFuzzer towards what costs more.

#[path = "../../../crates/octroi-gateway/tests/it/cost/mod.rs"]
mod cost;

mod counters;
mod memory;

use cost::{BYTES_FOR_BYTE, BYTES_MAX, NANOSECONDS_FOR_BYTE, NANOSECONDS_MAX, TARGETS};

/// How much slower code is that counts its edges for libFuzzer. Over the seeds the same steps took two to six times as
/// long as in a release build, most of them about four times. What is found is confirmed in a build without it.
const INSTRUMENTED: u64 = if cfg!(fuzzing) { 4 } else { 1 };

/// How often a step is repeated that seems to cost too much: what else the machine does is no finding.
const REPETITIONS: usize = 3;

/// Runs the target of this name. Each step may cost as much as one message, and all together may take as long.
pub(crate) fn check(name: &str, input: &[u8]) {
    let (_, target) = TARGETS.into_iter().find(|(known, _)| *known == name).expect("a target");
    let (mut n_bytes_max, mut together) = (0, 0);
    target(input, &mut |step, n_bytes, work| {
        let n_bytes = n_bytes as u64;
        let (mut nanoseconds, mut bytes) = (u64::MAX, u64::MAX);
        for _ in 0..REPETITIONS {
            let (first, held) = (processor_time(), memory::start());
            work();
            nanoseconds = nanoseconds.min(processor_time() - first);
            bytes = bytes.min(memory::peak_since(held));
            if nanoseconds <= nanoseconds_max(n_bytes) && bytes <= bytes_max(n_bytes) {
                break;
            }
        }
        judge(step, n_bytes, nanoseconds, bytes);
        together += nanoseconds;
        n_bytes_max = n_bytes.max(n_bytes_max);
    });
    judge("all steps", n_bytes_max, together, 0);
}

fn nanoseconds_max(n_bytes: u64) -> u64 {
    (NANOSECONDS_MAX + NANOSECONDS_FOR_BYTE * n_bytes) * INSTRUMENTED
}

fn bytes_max(n_bytes: u64) -> u64 {
    BYTES_MAX + BYTES_FOR_BYTE * n_bytes
}

fn judge(step: &str, n_bytes: u64, nanoseconds: u64, bytes: u64) {
    let (nanoseconds_max, bytes_max) = (nanoseconds_max(n_bytes), bytes_max(n_bytes));
    counters::report(step, nanoseconds, nanoseconds_max, bytes, bytes_max);
    assert!(
        nanoseconds <= nanoseconds_max,
        "{step}: {} µs of processor time for {n_bytes} bytes, limit {} µs",
        nanoseconds / 1_000,
        nanoseconds_max / 1_000
    );
    assert!(bytes <= bytes_max, "{step}: {bytes} bytes of memory for {n_bytes} bytes, limit {bytes_max}");
}

/// What this thread used of the processor, in nanoseconds.
fn processor_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local value of the right type.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0, "the clock of the thread can be read");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
