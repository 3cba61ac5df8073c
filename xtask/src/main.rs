//! `cargo xtask`: everything that is done with the project, needing nothing but cargo to start.

use std::process::ExitCode;

mod interop;
mod setup;
mod shell;
mod tidy;

use shell::{Failure, cargo, root};

const USAGE: &str = "\
cargo xtask COMMAND

  up [ARGS…]       build, and start the gateway with the demo server (ARGS go to `octroi up`)
  build [--release]  build the binary
  test [--bless]   run every test; --bless accepts changed generated documents
  tidy             check what no compiler checks: crate directions, file lengths, stray paths
  bench [ARGS…]    measure cost and latency against the same load sent directly
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    let outcome = match arguments.first().map(String::as_str) {
        Some("up") => up(&rest),
        Some("build") => build(&rest),
        Some("test") => test(&rest),
        Some("tidy") => tidy::check(),
        Some("bench") => bench(&rest),
        Some("help" | "--help" | "-h") | None => {
            shell::say(USAGE);
            Ok(())
        }
        Some(other) => Err(Failure::new(format!("there is no command `{other}`"), USAGE)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            shell::say(&format!("\nerror: {}\nhint: {}", failure.message, failure.hint));
            ExitCode::FAILURE
        }
    }
}

fn up(arguments: &[&str]) -> Result<(), Failure> {
    shell::step("building octroi (a few minutes the first time)");
    cargo(&["build", "--package", "octroi"])?;
    cargo(&[&["run", "--quiet", "--package", "octroi", "--", "up", "--demo"], arguments].concat())
}

fn build(arguments: &[&str]) -> Result<(), Failure> {
    cargo(&[&["build", "--package", "octroi"], arguments].concat())
}

fn test(arguments: &[&str]) -> Result<(), Failure> {
    let bless = match arguments {
        [] => false,
        ["--bless"] => true,
        _ => return Err(Failure::new("test takes no arguments but --bless", USAGE)),
    };
    shell::step("formatting");
    cargo(&["fmt", "--all", "--check"])?;
    shell::step("tidiness");
    tidy::check()?;
    shell::step("what tests need besides cargo");
    setup::install()?;
    shell::step("lints");
    cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"])?;
    shell::step("documentation");
    shell::run(
        std::process::Command::new(shell::cargo_program())
            .args(["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"])
            .env("RUSTDOCFLAGS", "--deny warnings")
            .current_dir(root()),
    )?;
    shell::step("building test programs");
    cargo(&["build", "--workspace", "--bins"])?;
    if bless {
        // What tests compare with files, they write instead.
        shell::step("accepting changed snapshots");
        shell::run(
            std::process::Command::new(shell::cargo_program())
                .args(["test", "--package", "octroi-core"])
                .env("UPDATE_EXPECT", "1")
                .current_dir(root()),
        )?;
    }
    shell::step("tests");
    cargo(&["test", "--workspace", "--exclude", "octroi"])?;
    shell::step("tests of the binary");
    // One after the other: they start many processes, and some of the suite's checks wait only
    // half a second.
    cargo(&["test", "--package", "octroi", "--", "--test-threads=1"])?;
    shell::step("generated documents");
    interop::check(bless)
}

fn bench(arguments: &[&str]) -> Result<(), Failure> {
    shell::step("building for measurement (a few minutes the first time)");
    cargo(&[
        "build",
        "--release",
        "--package",
        "octroi",
        "--package",
        "octroi-testkit",
        "--package",
        "octroi-bench",
    ])?;
    let program = shell::target().join("release/octroi-bench");
    shell::run(std::process::Command::new(program).args(arguments).current_dir(root()))
}
