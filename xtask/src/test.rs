//! `cargo xtask test`: every check, in steps that each report what they do and how long they took.
//!
//! Everything is compiled by one build of the whole workspace, so that no crate is compiled twice for two
//! selections of packages. The test programs of that build are then run directly.

use std::time::Instant;

use crate::shell::{self, Failure, cargo, cargo_command, duration, say};
use crate::{deny, interop, setup, tidy, web};

mod groups;
pub(crate) mod programs;
mod tally;

use groups::Threads;
use programs::Program;
use tally::Tally;

/// Runs everything; `bless` accepts changed snapshots and generated documents.
pub(crate) fn run(bless: bool) -> Result<(), Failure> {
    let mut steps = Steps { begun: Instant::now(), n_steps: 0 };
    steps.step("formatting", || cargo(&["fmt", "--all", "--check"]))?;
    steps.step("tidiness", tidy::check)?;
    steps.step("licences, sources and bans of dependencies", deny::check)?;
    steps.step("packages of npm and PyPI", setup::install)?;
    steps.step("build of the web interface", web::build)?;
    steps.step("checks of the web interface", web::check)?;
    steps.step("lints", || {
        shell::run_long(&mut cargo_command(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "--deny",
            "warnings",
        ]))
    })?;
    steps.step("documentation", || {
        shell::run_long(
            cargo_command(&["doc", "--workspace", "--no-deps", "--document-private-items"])
                .env("RUSTDOCFLAGS", "--deny warnings"),
        )
    })?;
    let programs = steps.step("build of all programs and tests", programs::build)?;
    steps.step("the web interface in a browser", web::browse)?;
    let mut tally = Tally::default();
    for program in &programs {
        for (tests, threads) in groups::split(program)? {
            let label = format!("tests of {} ({threads})", program.label);
            tally.add(steps.step(&label, || run_tests(program, &label, &tests, threads, bless))?);
        }
    }
    again(&mut steps, &programs, &mut tally, bless)?;
    tally.check()?;
    steps.step("generated documents", || interop::check(bless))?;
    if !tally.unsteady.is_empty() {
        say(&format!("\npassed only when they ran again: {}", tally.unsteady.join(", ")));
    }
    say(&format!(
        "\n{} tests passed, {} ignored, in {} steps, in {}",
        tally.n_passed,
        tally.n_ignored,
        steps.n_steps,
        duration(steps.begun.elapsed())
    ));
    Ok(())
}

/// Runs the tests that failed once more, one at a time. What passes then depends on the machine or on luck;
/// it does not stop a release, but the last line names it, because it is to be mended. What fails again is
/// the last thing that is printed.
fn again(steps: &mut Steps, programs: &[Program], tally: &mut Tally, bless: bool) -> Result<(), Failure> {
    for program in programs {
        let failed = tally.take_failed(&program.label);
        if failed.is_empty() {
            continue;
        }
        let label = format!("tests of {} that failed, once more", program.label);
        let second = steps.step(&label, || run_tests(program, &label, &failed, Threads::One, bless))?;
        tally.add_second(second, &program.label, &failed);
    }
    Ok(())
}

/// Counts and times the parts of a long command.
struct Steps {
    begun: Instant,
    n_steps: usize,
}

impl Steps {
    fn step<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        self.n_steps += 1;
        shell::step(&format!("{}. {name}", self.n_steps));
        let begun = Instant::now();
        let outcome = work();
        let (took, so_far) = (duration(begun.elapsed()), duration(self.begun.elapsed()));
        outcome.inspect(|_| say(&format!("   {name}: {took} (so far {so_far})"))).map_err(
            |Failure { message, hint }| Failure::new(format!("{name}: {message} (after {so_far})"), hint),
        )
    }
}

/// Runs some of a program's tests. Tests that fail are part of the tally, and the others still run.
fn run_tests(
    program: &Program,
    label: &str,
    tests: &[String],
    threads: Threads,
    bless: bool,
) -> Result<Tally, Failure> {
    let mut command = program.command();
    command.arg(format!("--test-threads={}", threads.number())).arg("--exact").args(tests);
    if bless {
        // Tests then write files and snapshots instead of comparing with them.
        command.env("UPDATE_EXPECT", "1");
    }
    let (output, is_success) = shell::show_and_keep(&mut command, label)?;
    let tally = tally::read(&output, &program.label);
    if is_success != tally.failed.is_empty() || tally.n_run() != tests.len() {
        return Err(Failure::new(
            format!("{} of {} tests have a result", tally.n_run(), tests.len()),
            "the program ended early; its output is above",
        ));
    }
    Ok(tally)
}
