//! However a gate or its gateway ends, none of its processes is left.

use std::io::BufRead as _;
use std::process::{Command, Stdio};

use crate::bench::{Bench, LONG, owner, processes_of, reaper, shell, until, until_nothing_is_left_of};

/// Starts processes that are hard to end, answers the first question, and goes on.
const HOSTILE: &str = r#"
setsid sleep 1000 &
(setsid sh -c 'trap "" TERM HUP; sleep 1000 & wait' &)
trap '' TERM
read q
echo '{"id":1,"verdict":"pass"}'
while :; do sleep 1000; done
"#;
/// The reaper, the script, its sleep, two that left the group, and a child of one of those.
const N_HOSTILE: usize = 6;

#[tokio::test]
async fn nothing_is_left_after_close() {
    let bench = Bench::new();
    let gate = bench.gate(shell(HOSTILE), LONG);
    gate.ask("{}").await.unwrap();
    until("everything runs", || bench.processes().len() == N_HOSTILE).await;
    gate.close().await;
    assert_eq!(bench.processes(), Vec::<String>::new());
}

#[tokio::test]
async fn nothing_is_left_of_a_gate_that_nobody_closed() {
    let bench = Bench::new();
    let gate = bench.gate(shell(HOSTILE), LONG);
    gate.ask("{}").await.unwrap();
    until("everything runs", || bench.processes().len() == N_HOSTILE).await;
    drop(gate);
    bench.until_nothing_is_left().await;
}

#[tokio::test]
async fn a_close_in_the_middle_of_a_start_leaves_nothing() {
    for _ in 0..20 {
        let bench = Bench::new();
        let gate = bench.gate(shell(HOSTILE), LONG);
        let (answer, ()) = tokio::join!(gate.ask("{}"), async {
            tokio::task::yield_now().await;
            gate.close().await;
        });
        assert!(answer.is_err());
        assert_eq!(bench.processes(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn nothing_is_left_after_a_shutdown() {
    let bench = Bench::new();
    let gate = bench.gate(shell(HOSTILE), LONG);
    gate.ask("{}").await.unwrap();
    bench.context.shutdown.cancel();
    tokio::time::timeout(LONG, bench.context.tasks.wait()).await.unwrap();
    assert_eq!(bench.processes(), Vec::<String>::new());
    assert!(gate.ask("{}").await.is_err());
}

#[tokio::test]
async fn nothing_is_left_of_a_gateway_that_was_killed() {
    let owner = owner();
    let mut gateway =
        Command::new(reaper()).args([owner.as_str(), HOSTILE]).stdout(Stdio::piped()).spawn().unwrap();
    let mut answer = String::new();
    std::io::BufReader::new(gateway.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    assert_eq!(answer, "pass\n");
    until("everything runs", || processes_of(&owner).len() == N_HOSTILE).await;
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    until_nothing_is_left_of(&owner).await;
}
