//! Process information from the kernel (`/proc`).

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// All descendants of a process.
pub(crate) fn descendants(of: Pid) -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for id in all() {
        if let Some(parent) = parent(id) {
            children.entry(parent).or_default().push(id);
        }
    }
    let mut found = vec![of.as_raw_nonzero().get()];
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        if let Some(children) = children.remove(parent) {
            found.extend(children);
        }
        next += 1;
    }
    found.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}

/// The children of a process.
pub(crate) fn children(of: Pid) -> Vec<Pid> {
    let of = of.as_raw_nonzero().get();
    all().filter(|id| parent(*id) == Some(of)).filter_map(Pid::from_raw).collect()
}

/// Kills every process whose environment has this variable; returns how many there were. Children
/// inherit it, even if they detach themselves.
pub(crate) fn kill_marked(variable: &str, is_meant: impl Fn(&str) -> bool) -> usize {
    let mut killed = 0;
    for id in all() {
        let Ok(environment) = fs::read(format!("/proc/{id}/environ")) else {
            continue;
        };
        let value = environment.split(|byte| *byte == 0).find_map(|entry| {
            let value = entry.strip_prefix(variable.as_bytes())?.strip_prefix(b"=")?;
            std::str::from_utf8(value).ok()
        });
        if value.is_some_and(&is_meant)
            && let Some(process) = Pid::from_raw(id)
            && kill_process(process, Signal::KILL).is_ok()
        {
            killed += 1;
        }
    }
    killed
}

/// Kills these children of this process with all their descendants, and waits for them, but not for ever: a
/// process that hangs in the kernel ends later.
pub(crate) fn kill_children(children: &[Pid]) {
    const WAITS: u32 = 50;
    for child in children {
        for process in descendants(*child).into_iter().chain([*child]) {
            let _ = kill_process(process, Signal::KILL);
        }
        for _ in 0..WAITS {
            match waitpid(Some(*child), WaitOptions::NOHANG) {
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                Ok(Some(_)) | Err(_) => break,
            }
        }
    }
}

/// Private memory of these processes and their descendants, in bytes.
pub(crate) fn memory_of(processes: &[Pid]) -> u64 {
    let below = processes.iter().flat_map(|process| descendants(*process));
    let all = processes.iter().copied().chain(below);
    all.filter_map(|process| {
        let status = fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero())).ok()?;
        let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    })
    .sum::<u64>()
        * 1024
}

fn all() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parent(id: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The second field is the program's name in brackets, which may contain anything.
    stat[stat.rfind(')')? + 1..].split_whitespace().nth(1)?.parse().ok()
}
