//! The processes that descend from the gateway, and whether they have ended.

use std::collections::BTreeMap;
use std::time::Duration;

/// All descendants of `ancestor`.
pub(crate) fn descendants(ancestor: u32) -> Vec<u32> {
    let parents: BTreeMap<u32, u32> = std::fs::read_dir("/proc")
        .expect("the processes can be listed")
        .flatten()
        .filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
        .filter_map(|id| Some((id, parent(id)?)))
        .collect();
    let mut found = vec![ancestor];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(parents.iter().filter(|(_, of)| **of == parent).map(|(id, _)| *id));
        next += 1;
    }
    found.split_off(1)
}

/// Those that still run after their grace period and a moment for the system to clean up.
pub(crate) async fn left_of(processes: &[u32]) -> Vec<u32> {
    let running = || -> Vec<u32> { processes.iter().copied().filter(|id| parent(*id).is_some()).collect() };
    for _ in 0..80 {
        if running().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    running()
}

/// The parent of a running process; `None` for a zombie.
fn parent(id: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The second field is the program's name in brackets, which may hold anything.
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?;
    if state == "Z" { None } else { fields.next()?.parse().ok() }
}
