//! CPU time and memory of a process, as the kernel counts them.

use std::fs;
use std::time::Duration;

/// Time all threads of a process have run so far.
pub(crate) fn time_of(process: u32) -> Duration {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Duration::ZERO;
    };
    let nanoseconds = threads.flatten().filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// Memory a process holds that no other shares, in KiB.
pub(crate) fn memory_of(process: u32) -> u64 {
    status_of(process, "RssAnon:")
}

/// The most memory a process has ever held, including its program and mapped files, in KiB.
pub(crate) fn most_memory_of(process: u32) -> u64 {
    status_of(process, "VmHWM:")
}

fn status_of(process: u32, member: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(member)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The program of a server that Octroi started, below its reaper.
pub(crate) fn server_of(octroi: u32) -> Option<u32> {
    let reaper = children_of(octroi).into_iter().next()?;
    children_of(reaper).into_iter().next()
}

fn children_of(process: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|text| text.split_whitespace().filter_map(|number| number.parse().ok()).collect::<Vec<_>>())
        .collect()
}
