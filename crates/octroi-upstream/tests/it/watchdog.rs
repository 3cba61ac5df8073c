//! The watchdog ends a process whose other threads are all stuck.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use octroi_upstream::{Heartbeats, start_watchdog, system_clock};

const GRACE: Duration = Duration::from_secs(1);

/// Not a test of its own: what the process of the test below does.
#[test]
#[ignore = "never ends; another test starts and ends it"]
fn a_process_that_is_stuck() {
    let heartbeats = Heartbeats::default();
    let _stuck = heartbeats.add("worker-0");
    start_watchdog(heartbeats, GRACE, system_clock()).expect("the thread can be started");
    loop {
        std::thread::sleep(Duration::from_mins(1));
    }
}

#[test]
fn a_stop_never_takes_longer_than_its_grace() {
    let this = std::env::current_exe().expect("this program");
    let mut stuck = Command::new(this)
        .args(["--exact", "watchdog::a_process_that_is_stuck", "--ignored", "--nocapture"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it can be started");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(stuck.try_wait().expect("its state"), None);
    let asked = Instant::now();
    let killed = Command::new("kill").args(["-TERM", &stuck.id().to_string()]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    while stuck.try_wait().expect("its state").is_none() {
        assert!(asked.elapsed() < GRACE + Duration::from_secs(5), "it did not end");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(asked.elapsed() >= GRACE, "it had its grace");
}
