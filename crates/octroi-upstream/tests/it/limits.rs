//! A gate cannot use more memory than its limit.

use octroi_upstream::GateError;

use crate::bench::{Bench, ID, LONG, python, shell, texts, until};

/// Allocates as many MiB as the question asks for, and answers with the size.
const HUNGRY: &str = r#"
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    allocated = bytearray(question["mib"] << 20)
    print(json.dumps({"id": question["id"], "verdict": "pass", "reason": str(len(allocated) >> 20)}), flush=True)
    del allocated
"#;

#[tokio::test]
async fn a_program_that_takes_too_much_memory_is_stopped() {
    let bench = Bench::new();
    let gate = bench.gate_with_memory(python(HUNGRY), LONG, 128);
    assert_eq!(gate.ask(r#"{"mib":32}"#).await.unwrap().reason.as_deref(), Some("32"));
    let error = gate.ask(r#"{"mib":1024}"#).await.unwrap_err();
    assert_eq!(error, GateError::Ended { gate: "g".to_owned(), how: "exit status: 1".to_owned() });
    assert!(error.hint().unwrap().contains("memory"));
    until("its last output is kept", || texts(&gate).iter().any(|text| text.contains("MemoryError"))).await;
    gate.close().await;
}

#[tokio::test]
async fn the_same_holds_for_what_the_program_starts() {
    let bench = Bench::new();
    let script = format!(
        r#"while read -r q; do {ID}; python3 -c 'bytearray(1 << 30)' 2>/dev/null; printf '{{"id":%s,"verdict":"deny","reason":"%s"}}\n' "$id" "$?"; done"#
    );
    let gate = bench.gate_with_memory(shell(&script), LONG, 128);
    assert_eq!(gate.ask("{}").await.unwrap().reason.as_deref(), Some("1"));
    gate.close().await;
}

#[tokio::test]
async fn the_limits_are_hard_also_without_a_reaper() {
    for bench in [Bench::new(), Bench::with_reaper(None)] {
        let script = format!(
            r#"while read -r q; do {ID}; printf '{{"id":%s,"verdict":"deny","reason":"%s"}}\n' "$id" "$(ulimit -Hd) $(ulimit -Sd) $(ulimit -Hc)"; done"#
        );
        let gate = bench.gate_with_memory(shell(&script), LONG, 100);
        assert_eq!(gate.ask("{}").await.unwrap().reason.as_deref(), Some("102400 102400 0"));
        gate.close().await;
        bench.until_nothing_is_left().await;
    }
}
