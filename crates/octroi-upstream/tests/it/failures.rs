//! Whatever a gate does instead of answering, the question fails with a reason.

use std::path::PathBuf;
use std::time::Duration;

use octroi_core::server::Program;
use octroi_upstream::GateError;

use crate::bench::{Bench, LONG, program, shell, texts, until};

const SHORT: Duration = Duration::from_millis(300);

/// The first question has the id 1.
async fn check(program: Program, timeout: Duration, expected: &str) {
    let bench = Bench::new();
    let what = format!("{program:?}");
    let gate = bench.gate(program, timeout);
    let answered = gate.ask(r#"{"tool":"mcp:fs:write_file"}"#).await;
    let error = answered.expect_err(&what);
    assert_eq!(error.to_string(), expected, "{what}");
    assert!(error.hint().is_some(), "{what}");
    gate.close().await;
    assert_eq!(bench.processes(), Vec::<String>::new(), "{what}");
}

async fn check_each(rows: &[(&str, &str)], timeout: Duration) {
    for (script, expected) in rows {
        check(shell(script), timeout, expected).await;
    }
}

#[tokio::test]
async fn a_gate_that_does_not_answer_in_time() {
    let late = "gate `g` did not answer within 300ms";
    let rows = [
        ("exec cat >/dev/null", late),
        ("exec sleep 1000", late),
        ("trap '' TERM; while :; do sleep 1000; done", late),
        // An answer without a line break could still be continued.
        (r#"read q; printf '{"id":1,"verdict":"pass"}'; exec sleep 1000"#, late),
    ];
    check_each(&rows, SHORT).await;
}

#[tokio::test]
async fn a_gate_that_answers_wrongly() {
    let verdict = "gate `g` answered with an unknown verdict";
    let rows = [
        (r#"{"id":1,"verdict":"maybe"}"#, verdict),
        (r#"{"id":1,"verdict":"allow"}"#, verdict),
        (r#"{"id":1,"verdict":"PASS"}"#, verdict),
        (r#"{"id":1}"#, "gate `g` gave a malformed answer: `verdict` is missing"),
        (r#"{"id":1,"verdict":true}"#, "gate `g` gave a malformed answer: `verdict` is not a string"),
        (
            r#"{"id":1,"verdict":"pass","reason":{}}"#,
            "gate `g` gave a malformed answer: `reason` is not a string",
        ),
        (r#"{"id":2,"verdict":"pass"}"#, "gate `g` answered a question that it was not asked"),
        (r#"{"id":0,"verdict":"pass"}"#, "gate `g` answered a question that it was not asked"),
        (r#"{"id":"1","verdict":"pass"}"#, "gate `g` wrote a line that is not an answer"),
        (r#"{"verdict":"pass"}"#, "gate `g` wrote a line that is not an answer"),
        (r#"{"id":1,"verdict":"pass""#, "gate `g` wrote a line that is not an answer"),
        (r#"{"id":1,"verdict":"deny","verdict":"pass"}"#, "gate `g` wrote a line that is not an answer"),
        (r#"[{"id":1,"verdict":"pass"}]"#, "gate `g` wrote a line that is not an answer"),
        ("pass", "gate `g` wrote a line that is not an answer"),
        ("", "gate `g` wrote a line that is not an answer"),
        // Output before the answer is an error too.
        ("ready\n{\"id\":1,\"verdict\":\"pass\"}", "gate `g` wrote a line that is not an answer"),
    ];
    for (answer, expected) in rows {
        check(shell(&format!("read q; echo '{answer}'; exec sleep 1000")), LONG, expected).await;
    }
}

#[tokio::test]
async fn a_gate_that_ends_or_makes_noise() {
    let rows = [
        ("exit 3", "gate `g` ended: exit status: 3"),
        ("exit 0", "gate `g` ended: exit status: 0"),
        ("read q; exit 0", "gate `g` ended: exit status: 0"),
        ("read q; kill -KILL $$", "gate `g` ended: signal: 9 (SIGKILL)"),
        ("exec >&-; exec sleep 1000", "gate `g` ended: it closed its output"),
        ("echo ready; exec sleep 1000", "gate `g` wrote a line that is not an answer"),
        // A line that never ends.
        ("read q; yes | tr -d '\\n'", "gate `g` wrote a line of more than 64 KiB"),
        (
            "read q; head -c 65537 /dev/zero | tr '\\0' x; echo; exec sleep 1000",
            "gate `g` wrote a line of more than 64 KiB",
        ),
        (
            // A valid answer, apart from its length.
            r#"read q; printf '{"id":1,"verdict":"pass","reason":"'; head -c 65536 /dev/zero | tr '\0' x; echo '"}'; exec sleep 1000"#,
            "gate `g` wrote a line of more than 64 KiB",
        ),
    ];
    check_each(&rows, LONG).await;
}

#[tokio::test]
async fn a_gate_that_closes_its_input() {
    let bench = Bench::new();
    let answer = r#"read q; echo '{"id":1,"verdict":"pass"}'"#;
    // Its reaper closes the pipe a moment after it starts the program.
    let let_go = r#"until [ "$(readlink /proc/$PPID/fd/0)" = /dev/null ]; do sleep 0.01; done"#;
    let script = format!("{answer}; exec <&-; {let_go}; echo closed >&2; exec sleep 1000");
    let gate = bench.gate(shell(&script), LONG);
    gate.ask("{}").await.unwrap();
    until("it is closed", || texts(&gate) == ["closed"]).await;
    let ended = GateError::Ended { gate: "g".to_owned(), how: "it closed its input".to_owned() };
    assert_eq!(gate.ask("{}").await, Err(ended));
    gate.close().await;
}

#[tokio::test]
async fn a_gate_that_cannot_be_started() {
    let start = "gate `g` cannot be started: cannot run";
    let no_such = format!("{start} `no-such-program-anywhere`: no such program on the PATH");
    check(program(&["no-such-program-anywhere"]), LONG, &no_such).await;
    check(program(&["./no-such-file"]), LONG, &format!("{start} `./no-such-file`: there is no such file"))
        .await;
    let elsewhere = Program { cwd: Some(PathBuf::from("/no-such-directory")), ..shell("cat") };
    check(elsewhere, LONG, &format!("{start} `sh`: its directory /no-such-directory does not exist")).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    // Only the process that executes it notices.
    check(program(&[file.path().to_str().unwrap()]), LONG, "gate `g` ended: exit status: 126").await;
}

#[tokio::test]
async fn an_answer_that_is_given_twice_ends_the_program() {
    let bench = Bench::new();
    let answer = r#"{"id":1,"verdict":"pass"}"#;
    let gate = bench.gate(shell(&format!("read q; echo '{answer}'; echo '{answer}'; exec sleep 1000")), LONG);
    gate.ask("{}").await.unwrap();
    until("it is ended", || !gate.is_running()).await;
    gate.close().await;
}

#[tokio::test]
async fn an_invalid_question_is_not_asked() {
    let bench = Bench::new();
    let gate = bench.gate(shell("exec cat"), LONG);
    for question in ["", "[]", "7", r#"{"id":1}"#] {
        let error = gate.ask(question).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "gate `g` cannot be asked: the question must be an object without an id",
            "{question}"
        );
    }
    assert!(!gate.is_running());
    gate.close().await;
}
