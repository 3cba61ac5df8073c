//! A gate is started once, asked often, and started again when it fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use octroi_core::Secret;
use octroi_core::decision::Outcome;
use octroi_core::server::Program;
use octroi_upstream::{GateAnswer, GateError, GateProgram};

use crate::bench::{Bench, ID, LONG, python, shell, texts, until};

/// A script that answers every question with `reason`, expanded by the shell.
fn answering(reason: &str) -> String {
    format!(
        r#"while read -r q; do {ID}; printf '{{"id":%s,"verdict":"deny","reason":"%s"}}\n' "$id" "{reason}"; done"#
    )
}

async fn reason(gate: &Arc<GateProgram>) -> String {
    gate.ask(r#"{"tool":"a"}"#).await.unwrap().reason.unwrap()
}

#[tokio::test]
async fn one_program_answers_all_questions() {
    let bench = Bench::new();
    let gate = bench.gate(shell(&answering("$$")), LONG);
    assert!(!gate.is_running(), "started at the first question");
    let (one, two, three) = tokio::join!(reason(&gate), reason(&gate), reason(&gate));
    assert_eq!([&two, &three, &reason(&gate).await], [&one, &one, &one]);
    assert_eq!(bench.processes().len(), 2, "the program and its reaper");
    gate.close().await;
    assert_eq!(gate.ask("{}").await, Err(GateError::Stopping { gate: "g".to_owned() }));
}

#[tokio::test]
async fn every_verdict_arrives() {
    let bench = Bench::new();
    let script = r#"
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps({"id": question["id"], "verdict": question["arguments"]["say"], "reason": question["arguments"].get("why")}), flush=True)
"#;
    let gate = bench.gate(python(script), LONG);
    for (arguments, outcome, reason) in [
        (r#"{"say":"pass"}"#, Outcome::Pass, None),
        (r#"{"say":"ask","why":"är\nger 🚧"}"#, Outcome::Ask, Some("är ger 🚧")),
        ("{\n\"say\":\n\"deny\",\"why\":\"\"}", Outcome::Deny, None),
    ] {
        let answer = gate.ask(&format!(r#"{{"tool":"mcp:fs:write_file","arguments":{arguments}}}"#)).await;
        assert_eq!(answer, Ok(GateAnswer { outcome, reason: reason.map(ToOwned::to_owned) }));
    }
    gate.close().await;
}

#[tokio::test]
async fn a_question_of_many_megabytes_arrives_whole() {
    let bench = Bench::new();
    let script = "import json, sys\nfor line in sys.stdin:\n q = json.loads(line)\n print(json.dumps({'id': q['id'], 'verdict': 'deny', 'reason': str(len(q['text']))}), flush=True)";
    let gate = bench.gate(python(script), LONG);
    let question = format!(r#"{{"text":"{}"}}"#, "x".repeat(5 << 20));
    assert_eq!(gate.ask(&question).await.unwrap().reason.as_deref(), Some("5242880"));
    gate.close().await;
}

#[tokio::test]
async fn answers_may_come_in_any_order() {
    let bench = Bench::new();
    let script = r#"
import json, sys
questions = [json.loads(sys.stdin.readline()) for _ in range(20)]
for question in reversed(questions):
    print(json.dumps({"id": question["id"], "verdict": "ask", "reason": question["tool"]}), flush=True)
sys.stdin.read()
"#;
    let gate = bench.gate(python(script), LONG);
    let asked = (0..20).map(|number| {
        let gate = Arc::clone(&gate);
        tokio::spawn(async move { gate.ask(&format!(r#"{{"tool":"t{number}"}}"#)).await.unwrap() })
    });
    let asked: Vec<_> = asked.collect();
    for (number, answer) in asked.into_iter().enumerate() {
        assert_eq!(answer.await.unwrap().reason, Some(format!("t{number}")));
    }
    gate.close().await;
}

#[tokio::test]
async fn a_wrong_answer_fails_only_its_question() {
    let bench = Bench::new();
    let script = r#"
import json, os, sys
for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps({"id": question["id"], "verdict": question["say"], "reason": str(os.getpid())}), flush=True)
"#;
    let gate = bench.gate(python(script), LONG);
    let before = gate.ask(r#"{"say":"pass"}"#).await.unwrap();
    let wrong = gate.ask(r#"{"say":"perhaps"}"#).await;
    assert_eq!(wrong, Err(GateError::Verdict { gate: "g".to_owned() }));
    assert_eq!(gate.ask(r#"{"say":"pass"}"#).await, Ok(before), "the same process");
    assert!(texts(&gate).concat().contains("perhaps"), "the author of the gate finds it in its log");
    gate.close().await;
}

#[tokio::test]
async fn all_questions_in_flight_fail_when_the_program_dies() {
    let bench = Bench::new();
    let gate = bench.gate(shell("read a; read b; exit 4"), LONG);
    let (one, two) = tokio::join!(gate.ask("{}"), gate.ask("{}"));
    let ended = GateError::Ended { gate: "g".to_owned(), how: "exit status: 4".to_owned() };
    assert_eq!((one, two), (Err(ended.clone()), Err(ended)));
    gate.close().await;
}

#[tokio::test]
async fn a_program_that_died_is_started_again() {
    let bench = Bench::new();
    let once = answering("$$").replace("while read", "read").replace("; do ", "; ").replace("; done", "");
    let gate = bench.gate(shell(&once), LONG);
    let mut seen = Vec::new();
    let asking = async {
        while seen.len() < 3 {
            match gate.ask(r#"{"tool":"a"}"#).await {
                Ok(answer) => seen.extend(answer.reason),
                // It takes a moment until its death is noticed, and then the backoff applies.
                Err(GateError::Ended { .. } | GateError::Resting { .. }) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    };
    tokio::time::timeout(LONG, asking).await.unwrap();
    seen.dedup();
    assert_eq!(seen.len(), 3, "three processes answered: {seen:?}");
    gate.close().await;
    assert_eq!(bench.processes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_program_that_fails_repeatedly_gets_a_pause() {
    let bench = Bench::new();
    let gate = bench.gate(shell("echo failing >&2; exit 1"), LONG);
    let asking = async {
        loop {
            match gate.ask("{}").await.unwrap_err() {
                resting @ GateError::Resting { .. } => return resting,
                GateError::Ended { .. } => {}
                other => panic!("{other}"),
            }
        }
    };
    let resting = tokio::time::timeout(LONG, asking).await.unwrap();
    let text = resting.to_string();
    assert!(text.starts_with("gate `g` ended: exit status: 1; next attempt in "), "{text}");
    assert!(resting.hint().is_some());
    let n_starts = texts(&gate).iter().filter(|text| *text == "failing").count();
    assert!(n_starts >= 2, "one failure is no reason to wait: {n_starts}");
    gate.close().await;
}

#[tokio::test]
async fn a_program_that_stops_answering_is_replaced() {
    let bench = Bench::new();
    // Long enough to start and to answer once; the first run answers one question only.
    let timeout = Duration::from_secs(5);
    let directory = tempfile::tempdir().unwrap();
    let script = format!("if mkdir first; then n=1; else n=1000; fi; {}", answering("$$"))
        .replace("; done", r"; n=$((n-1)); [ $n -gt 0 ] || exec sleep 1000; done");
    let gate = bench.gate(Program { cwd: Some(directory.path().to_owned()), ..shell(&script) }, timeout);
    let first = reason(&gate).await;
    let (one, two, three, four) =
        tokio::join!(gate.ask("{}"), gate.ask("{}"), gate.ask("{}"), gate.ask("{}"));
    let late = GateError::Late { gate: "g".to_owned(), timeout };
    let hung = GateError::Hung { gate: "g".to_owned() };
    let failed: Vec<_> = [one, two, three, four].into_iter().map(Result::unwrap_err).collect();
    let n_late = failed.iter().filter(|error| **error == late).count();
    // The fourth may be late itself, or fail with the program.
    assert!(n_late >= 3 && failed.iter().all(|error| *error == late || *error == hung), "{failed:?}");
    assert_ne!(reason(&gate).await, first, "another process");
    until("the first process ends", || !std::path::Path::new("/proc").join(&first).exists()).await;
    gate.close().await;
}

#[tokio::test]
async fn a_late_answer_changes_nothing() {
    let bench = Bench::new();
    let answer = |id| format!(r#"echo '{{"id":{id},"verdict":"pass"}}'"#);
    let script = format!("read a; read b; {}; {}; exec sleep 1000", answer(1), answer(2));
    let timeout = Duration::from_secs(3);
    let gate = bench.gate(shell(&script), timeout);
    assert_eq!(gate.ask("{}").await, Err(GateError::Late { gate: "g".to_owned(), timeout }));
    assert_eq!(gate.ask("{}").await, Ok(GateAnswer { outcome: Outcome::Pass, reason: None }));
    assert!(gate.is_running());
    gate.close().await;
}

#[tokio::test]
async fn a_caller_who_gives_up_changes_nothing() {
    let bench = Bench::new();
    let answer = |id| format!(r#"echo '{{"id":{id},"verdict":"pass"}}'"#);
    let script = format!("read a; echo read >&2; read b; {}; {}; exec sleep 1000", answer(1), answer(2));
    let gate = bench.gate(shell(&script), LONG);
    let asking = tokio::spawn({
        let gate = Arc::clone(&gate);
        async move { gate.ask("{}").await }
    });
    until("the question is read", || texts(&gate) == ["read"]).await;
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    assert_eq!(gate.ask("{}").await, Ok(GateAnswer { outcome: Outcome::Pass, reason: None }));
    gate.close().await;
}

#[tokio::test]
async fn a_gate_gets_a_small_environment_and_its_own_variables() {
    let bench = Bench::new();
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap();
    let env = BTreeMap::from([
        ("ZONE".to_owned(), Secret::new("UTC")),
        ("KEY".to_owned(), Secret::new("hunter2hunter2")),
    ]);
    let script = answering("$ZONE,$KEY,${CARGO_PKG_NAME-none},$PWD");
    let program = Program { env, cwd: Some(place.clone()), ..shell(&format!("echo $KEY >&2; {script}")) };
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some(), "run by cargo");
    let gate = bench.gate(program, LONG);
    assert_eq!(reason(&gate).await, format!("UTC,***,none,{}", place.display()));
    until("what it wrote is read", || texts(&gate) == ["***"]).await;
    gate.close().await;
}
