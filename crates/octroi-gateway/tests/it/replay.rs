//! The inputs in `fuzz/seeds`, each within a generous limit. The fuzz targets are stricter.
//!
//! Memory is measured as the resident memory of the whole process, so the test runs alone in a process of its own.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::cost::{
    BYTES_FOR_BYTE, BYTES_MAX, NANOSECONDS_FOR_BYTE, NANOSECONDS_MAX, TARGETS, Target, template,
};

/// How much slower than the fuzz targets this may be: a build without optimisation on a machine with other work.
const FACTOR: u64 = 50;

/// How often a step is repeated before it counts as too expensive.
const REPETITIONS: usize = 3;

/// How many times larger the inputs are that have repetitions, to see what grows faster than they do: up to 4 MiB, as
/// long as a request may be.
const LARGE: usize = 16;

/// After this time no more large inputs are begun, unless the variable of the soak is set.
const LARGE_TIME: Duration = Duration::from_secs(40);
const MINUTES: &str = "OCTROI_SOAK_MINUTES";

/// Set for the process that runs alone.
const ALONE: &str = "OCTROI_TEST_ALONE";

/// What the allocator may keep for itself besides.
const KEPT_BYTES: u64 = 16 << 20;

#[test]
#[expect(clippy::disallowed_methods, reason = "the test runs in a process of its own")]
fn kept_inputs_cost_what_they_may() {
    if std::env::var_os(ALONE).is_none() {
        let program = std::env::current_exe().unwrap();
        let test = "replay::kept_inputs_cost_what_they_may";
        let output =
            Command::new(program).args(["--exact", test, "--nocapture"]).env(ALONE, "1").output().unwrap();
        let printed =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(output.status.success() && printed[0].contains("1 passed"), "{}", printed.concat());
        return;
    }
    let begun = Instant::now();
    let has_time = || std::env::var_os(MINUTES).is_some() || begun.elapsed() < LARGE_TIME;
    let mut large = Vec::new();
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    for (name, target) in TARGETS {
        let directory = seeds.join(name);
        let mut files: Vec<_> = directory.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(files.len() >= 5, "{} has only {} files", directory.display(), files.len());
        for file in files {
            let input = std::fs::read(&file).unwrap();
            replay(&file, name, target, &input);
            large.extend(input.starts_with(b"T\n").then_some((name, target, file, input)));
        }
    }
    let mut n_left_out = large.len();
    for (name, target, file, input) in large {
        if has_time() {
            template::at_scale(LARGE, || replay(&file, name, target, &input));
            n_left_out -= 1;
        }
    }
    println!("{n_left_out} large inputs were left out");
}

/// Runs the steps of one input. Each may cost as much as one message, and all together may take as long. Memory is
/// judged by step: between steps the allocator keeps what it likes.
#[expect(clippy::disallowed_methods, reason = "a test of how long it takes, in a process of its own")]
fn replay(file: &Path, name: &str, target: Target, input: &[u8]) {
    let file = file.display();
    let limits = |n_bytes: usize| {
        let limit = (NANOSECONDS_MAX + NANOSECONDS_FOR_BYTE * n_bytes as u64) * FACTOR;
        (Duration::from_nanos(limit), BYTES_MAX + BYTES_FOR_BYTE * n_bytes as u64 + KEPT_BYTES)
    };
    let (mut n_bytes_max, mut together, mut n_steps) = (0, Duration::ZERO, 0);
    target(input, &mut |step, n_bytes, work| {
        let (limit, bytes_max) = limits(n_bytes);
        let (mut fastest, mut least) = (Duration::MAX, u64::MAX);
        for _ in 0..REPETITIONS {
            let held = forget_peak();
            let begun = Instant::now();
            work();
            fastest = fastest.min(begun.elapsed());
            least = least.min(resident("VmHWM").saturating_sub(held));
            if fastest <= limit && least <= bytes_max {
                break;
            }
        }
        assert!(fastest <= limit, "{file}: {step} takes {fastest:?} for {n_bytes} bytes");
        assert!(least <= bytes_max, "{file}: {step} takes {least} bytes for {n_bytes} bytes");
        together += fastest;
        n_bytes_max = n_bytes_max.max(n_bytes);
        n_steps += 1;
    });
    assert!(n_steps > 0, "{file} is not an input of {name}");
    let (limit, _) = limits(n_bytes_max);
    assert!(together <= limit, "{file}: all steps take {together:?} for {n_bytes_max} bytes");
}

/// Begins to measure the peak again; returns what is resident now.
#[expect(clippy::unwrap_used, reason = "a test cannot go on without it")]
fn forget_peak() -> u64 {
    // Documented in proc(5).
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    resident("VmRSS")
}

/// A size from `/proc/self/status`, in bytes.
#[expect(clippy::unwrap_used, reason = "a test cannot go on without it")]
fn resident(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).and_then(|size| size.parse::<u64>().ok()).unwrap() * 1024
}

#[test]
fn the_measure_of_memory_sees_what_is_held() {
    if std::env::var_os(ALONE).is_some() {
        return;
    }
    let held = forget_peak();
    drop(std::hint::black_box(vec![1_u8; 100 << 20]));
    assert!(resident("VmHWM") > held + (90 << 20));
}
