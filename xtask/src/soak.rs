//! `cargo xtask soak`: runs that take longer than a test may. `docs/soak.md` says what it covers.
//!
//! Each part runs for the same number of minutes. One that fails does not keep the others from running.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::shell::{self, Failure, duration, root, say, target};
use crate::test::programs::{self, Program};

const MINUTES: u64 = 10;

/// Searching for expensive inputs takes longer until it finds any, so these parts run at least so long.
const COST_MINUTES_MIN: u64 = 20;

/// Records for each minute of reading a long audit log.
const RECORDS_A_MINUTE: u64 = 1_000_000;

/// Flags that make the compiler count edges for libFuzzer. They are stable, so that no other toolchain and
/// no `cargo fuzz` is needed; what those add is the address sanitizer, which safe code has no use for.
const COVERAGE: &str = "--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module \
     -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
     -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";

/// One part of a soak.
struct SoakPart {
    name: &'static str,
    what: &'static str,
    work: SoakWork,
}

enum SoakWork {
    /// A target of `fuzz/`.
    Fuzz(&'static str),
    /// A test of the binary that runs for a given time.
    Test(&'static str),
    /// The same with optimised programs, because it asserts how long things take.
    MeasuredTest(&'static str),
    /// A long audit log, written and read.
    AuditLog,
}

impl SoakPart {
    /// How long it runs if this many minutes are requested.
    fn minutes(&self, requested: u64) -> u64 {
        if self.name.starts_with("cost-") { requested.max(COST_MINUTES_MIN) } else { requested }
    }
}

const PARTS: [SoakPart; 18] = [
    SoakPart { name: "fuzz-envelope", what: "any bytes as a message", work: SoakWork::Fuzz("envelope") },
    SoakPart {
        name: "fuzz-translate",
        what: "any JSON through the translation between eras",
        work: SoakWork::Fuzz("translate"),
    },
    SoakPart { name: "fuzz-sse", what: "any bytes as an event stream", work: SoakWork::Fuzz("sse") },
    SoakPart {
        name: "cost-arguments",
        what: "what any schema and any arguments cost",
        work: SoakWork::Fuzz("cost-arguments"),
    },
    SoakPart {
        name: "cost-cedar",
        what: "what any Cedar policies cost, loaded and asked",
        work: SoakWork::Fuzz("cost-cedar"),
    },
    SoakPart {
        name: "cost-definitions",
        what: "what any definitions of tools cost, judged and compared",
        work: SoakWork::Fuzz("cost-definitions"),
    },
    SoakPart {
        name: "cost-envelope",
        what: "what any bytes as a message cost",
        work: SoakWork::Fuzz("cost-envelope"),
    },
    SoakPart {
        name: "cost-rules",
        what: "what any rules, facts and redaction cost",
        work: SoakWork::Fuzz("cost-rules"),
    },
    SoakPart {
        name: "cost-uris",
        what: "what any templates and any URI cost, compared",
        work: SoakWork::Fuzz("cost-uris"),
    },
    SoakPart {
        name: "chaos",
        what: "servers that crash, hang and talk nonsense while clients call healthy ones",
        work: SoakWork::Test("chaos::healthy_servers_do_not_notice"),
    },
    SoakPart {
        name: "hostile",
        what: "four hostile agents and a lying server while a fifth agent works",
        work: SoakWork::MeasuredTest("hostile::hostile_agents_harm_nobody"),
    },
    SoakPart {
        name: "hostile-usual",
        what: "the same while they compete for the cores with everybody",
        work: SoakWork::MeasuredTest("hostile::hostile_agents_that_compete_for_the_cores_harm_nobody"),
    },
    SoakPart {
        name: "kill-calls",
        what: "the gateway killed at any moment of an approved call",
        work: SoakWork::Test("once::an_approved_call_is_made_once_whenever_the_gateway_is_killed"),
    },
    SoakPart {
        name: "kill-tasks",
        what: "the gateway killed at any moment of a task",
        work: SoakWork::Test("tasks::a_task_is_made_once_whenever_the_gateway_is_killed"),
    },
    SoakPart {
        name: "kill-servers",
        what: "servers and what they started killed one after the other; nothing is left",
        work: SoakWork::Test("leaks::a_thousand_deaths_leave_nothing"),
    },
    SoakPart {
        name: "kill-gateways",
        what: "gateways ended and killed with hostile servers below them; nothing is left",
        work: SoakWork::Test("leaks::a_gateway_takes_everything_with_it"),
    },
    SoakPart {
        name: "rest",
        what: "requests to the REST interface made from its description; every answer is a described one",
        work: SoakWork::Test("rest::described::every_answer_is_one_of_the_description"),
    },
    SoakPart {
        name: "audit-log",
        what: "an audit log of a million records for each minute, verified and searched",
        work: SoakWork::AuditLog,
    },
];

/// Runs all parts, or those whose name begins with the argument of `--only`.
pub(crate) fn run(arguments: &[&str]) -> Result<(), Failure> {
    let options = SoakOptions::read(arguments)?;
    let parts: Vec<&SoakPart> = PARTS.iter().filter(|part| part.name.starts_with(&options.only)).collect();
    if parts.is_empty() {
        let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        return Err(Failure::new(format!("there is no part `{}`", options.only), names.join(", ")));
    }
    let minutes: u64 = parts.iter().map(|part| part.minutes(options.minutes)).sum();
    say(&format!("{} parts, {minutes} minutes altogether, plus the time to build", parts.len()));
    let (day, commit) = (today()?, commit()?);
    let mut results = Vec::new();
    for part in parts {
        let SoakPart { name, what, work } = part;
        let minutes = part.minutes(options.minutes);
        shell::step(&format!("{name}: {what}"));
        let begun = Instant::now();
        let outcome = match work {
            SoakWork::Fuzz(target) => fuzz(target, minutes),
            SoakWork::Test(test) => run_test(test, minutes, None),
            SoakWork::MeasuredTest(test) => run_measured_test(test, minutes),
            SoakWork::AuditLog => audit_log(minutes),
        };
        if let Err(failure) = &outcome {
            say(&format!("{name}: {}\n{}", failure.message, failure.hint));
        }
        let problem = outcome.err().map(|failure| failure.message);
        results.push(PartResult { name, minutes, problem, elapsed: begun.elapsed() });
    }
    let report = report(&day, &commit, &results);
    say(&format!("\nFor docs/soak.md, below \"Last clean run\" if all is clean:\n\n{report}"));
    let failed: Vec<&str> =
        results.iter().filter(|result| result.problem.is_some()).map(|result| result.name).collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("{} found something", failed.join(", ")), "the output of each is above"))
}

/// How one part went.
struct PartResult {
    name: &'static str,
    /// How long it was to run; building and cleaning up come on top.
    minutes: u64,
    problem: Option<String>,
    elapsed: Duration,
}

/// The block that `docs/soak.md` keeps of a run.
fn report(day: &str, commit: &str, results: &[PartResult]) -> String {
    let mut block =
        format!("{day}, commit {commit}:\n\n| Part | Minutes | Result | Time |\n|---|---|---|---|\n");
    for PartResult { name, minutes, problem, elapsed } in results {
        // A cell holds one line.
        let result =
            problem.as_deref().map_or_else(|| "clean".to_owned(), |text| text.replace(['\n', '|'], " "));
        block.push_str(&format!("| `{name}` | {minutes} | {result} | {} |\n", duration(*elapsed)));
    }
    block
}

/// The day, as `date` prints it: a calendar is more than this needs.
fn today() -> Result<String, Failure> {
    Ok(shell::output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?.trim().to_owned())
}

/// The commit that runs, and whether anything was changed since.
fn commit() -> Result<String, Failure> {
    let git = |arguments: &[&str]| shell::output(Command::new("git").args(arguments).current_dir(root()));
    let commit = git(&["rev-parse", "--short", "HEAD"])?.trim().to_owned();
    let is_clean = git(&["status", "--porcelain", "--untracked-files=no"])?.trim().is_empty();
    Ok(if is_clean { commit } else { format!("{commit} with changes that are not committed") })
}

/// The options of the command.
#[derive(Debug, PartialEq, Eq)]
struct SoakOptions {
    minutes: u64,
    only: String,
}

impl SoakOptions {
    fn read(arguments: &[&str]) -> Result<Self, Failure> {
        let mut options = Self { minutes: MINUTES, only: String::new() };
        let mut rest = arguments;
        loop {
            rest = match rest {
                [] => return Ok(options),
                ["--minutes", minutes, rest @ ..]
                    if minutes.parse::<u64>().is_ok_and(|minutes| minutes > 0) =>
                {
                    options.minutes = minutes.parse().unwrap_or(MINUTES);
                    rest
                }
                ["--only", name, rest @ ..] => {
                    (*name).clone_into(&mut options.only);
                    rest
                }
                [other, ..] => {
                    let usage = "cargo xtask soak [--minutes N] [--only NAME]";
                    return Err(Failure::new(format!("soak does not understand `{other}`"), usage));
                }
            }
        }
    }
}

fn fuzz(name: &str, minutes: u64) -> Result<(), Failure> {
    let built = target().join("fuzz");
    let host = shell::host_triple()?;
    // With a target, the flags are not for build scripts, which are not linked with libFuzzer.
    shell::run_long(
        Command::new(shell::cargo_program())
            .args(["build", "--release", "--bin", name, "--target", &host, "--target-dir"])
            .arg(&built)
            .env("RUSTFLAGS", COVERAGE)
            .current_dir(root().join("fuzz")),
    )?;
    let (corpus, artifacts) =
        (root().join("fuzz/corpus").join(name), root().join("fuzz/artifacts").join(name));
    for directory in [&corpus, &artifacts] {
        std::fs::create_dir_all(directory).map_err(|error| {
            Failure::new(format!("cannot create {}: {error}", directory.display()), "is the disk full?")
        })?;
    }
    let seeds = root().join("fuzz/seeds").join(name);
    let words = if seeds.is_dir() { "fuzz/cost.dict" } else { "fuzz/words.dict" };
    let mut command = Command::new(built.join(host).join("release").join(name));
    command
        .arg(&corpus)
        .args(seeds.is_dir().then_some(&seeds))
        .arg(format!("-max_total_time={}", Duration::from_mins(minutes).as_secs()))
        .arg(format!("-dict={}", root().join(words).display()))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(["-print_final_stats=1", "-timeout=30", "-rss_limit_mb=2048", "-reload=0"]);
    shell::run_long(&mut command).map_err(|failure| {
        Failure::new(
            failure.message,
            "what it found is in fuzz/artifacts; fuzz/README.md says how to reproduce it",
        )
    })
}

fn run_measured_test(test: &str, minutes: u64) -> Result<(), Failure> {
    crate::build_for_measurement()?;
    run_test(test, minutes, Some(&target().join("release")))
}

/// Runs a test of the binary, with the programs in a directory if one is given.
fn run_test(test: &str, minutes: u64, directory: Option<&Path>) -> Result<(), Failure> {
    let programs = programs::build()?;
    let program: &Program =
        programs.iter().find(|program| program.label == programs::BINARY).ok_or_else(|| {
            Failure::new(
                "the tests of the binary were not built",
                "run `cargo build --workspace --all-targets`",
            )
        })?;
    if !program.tests()?.iter().any(|known| known == test) {
        return Err(Failure::new(format!("there is no test `{test}`"), "correct PARTS in xtask/src/soak.rs"));
    }
    let mut command = program.command();
    command.args(["--exact", test, "--nocapture"]).env("OCTROI_SOAK_MINUTES", minutes.to_string());
    if let Some(directory) = directory {
        command.env("OCTROI_SOAK_PROGRAMS", directory);
    }
    shell::run_long(&mut command)
}

fn audit_log(minutes: u64) -> Result<(), Failure> {
    crate::build_for_measurement()?;
    let n_records = (minutes * RECORDS_A_MINUTE).to_string();
    let program = target().join("release/octroi-bench");
    shell::run_long(Command::new(program).args(["audit", &n_records]).current_dir(root()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searching_for_cost_takes_its_time() {
        for part in &PARTS {
            let expected = if part.name.starts_with("cost-") { [20, 20, 60] } else { [1, 10, 60] };
            assert_eq!([1, MINUTES, 60].map(|wanted| part.minutes(wanted)), expected, "{}", part.name);
        }
        assert_eq!(PARTS.iter().filter(|part| part.name.starts_with("cost-")).count(), 6);
    }

    #[test]
    fn the_report_can_be_pasted() {
        let result = |name, minutes, problem: Option<&str>, elapsed| PartResult {
            name,
            minutes,
            problem: problem.map(str::to_owned),
            elapsed: Duration::from_secs(elapsed),
        };
        let results = [
            result("chaos", 10, None, 610),
            result("kill-calls", 10, Some("`octroi` failed\nwith 1 | 2"), 20),
        ];
        assert_eq!(
            report("2026-01-31", "abc1234", &results),
            "2026-01-31, commit abc1234:\n\n\
             | Part | Minutes | Result | Time |\n|---|---|---|---|\n\
             | `chaos` | 10 | clean | 10 min 10 s |\n\
             | `kill-calls` | 10 | `octroi` failed with 1   2 | 20 s |\n"
        );
    }

    #[test]
    fn arguments_are_read_in_any_order() {
        let options = |minutes, only: &str| Some(SoakOptions { minutes, only: only.to_owned() });
        for (arguments, expected) in [
            (&[][..], options(MINUTES, "")),
            (&["--minutes", "3"], options(3, "")),
            (&["--only", "fuzz", "--minutes", "3"], options(3, "fuzz")),
            (&["--minutes", "0"], None),
            (&["--minutes", "long"], None),
            (&["--minutes"], None),
            (&["fuzz"], None),
        ] {
            assert_eq!(SoakOptions::read(arguments).ok(), expected, "{arguments:?}");
        }
    }
}
