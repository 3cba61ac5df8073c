//! `cargo xtask`: all tasks of the project; it needs only cargo to start.

use std::process::ExitCode;

mod deny;
mod interop;
mod release;
mod setup;
mod shell;
mod soak;
mod test;
mod tidy;
mod web;

use shell::{Failure, cargo, root};

const USAGE: &str = "\
cargo xtask COMMAND

  up [ARGS…]         build, and start the gateway with the demo server (ARGS go to `octroi up`)
  build [--release]  build the web interface, if Node.js is there, and the binary; a release build is small, with its
                     symbols in a file beside it
  web                check and test the web interface: types, units, and the real gateway in a browser
  codegen            write what the web interface knows of operations and resources again
  test [--bless]     run every test; --bless accepts changed snapshots and generated documents
  tidy               check rules that no compiler checks: crate and module directions, sizes, stray paths
  deny               check licences, sources and bans of dependencies by the rules of deny.toml
  bench [--against OCTROI] [ARGS…]
                     measure cost and latency against the same load sent directly, and against another binary
  soak [--minutes N] [--only NAME]
                     run what takes longer than a test: fuzzing, long loads, many kills
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    let outcome = match arguments.first().map(String::as_str) {
        Some("up") => up(&rest),
        Some("build") => web::build().and_then(|()| release::build(&rest)),
        Some("web") => web(),
        Some("codegen") => web::codegen(),
        Some("test") => test(&rest),
        Some("tidy") => tidy::check(),
        Some("deny") => deny::check(),
        Some("bench") => bench(&rest),
        Some("soak") => soak::run(&rest),
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
    web::build()?;
    shell::step("building octroi (a few minutes the first time)");
    cargo(&["build", "--package", "octroi"])?;
    cargo(&[&["run", "--quiet", "--package", "octroi", "--", "up", "--demo"], arguments].concat())
}

fn web() -> Result<(), Failure> {
    web::build()?;
    cargo(&["build", "--package", "octroi"])?;
    web::check()?;
    web::browse()
}

fn test(arguments: &[&str]) -> Result<(), Failure> {
    match arguments {
        [] => test::run(false),
        ["--bless"] => test::run(true),
        _ => Err(Failure::new("test takes no arguments but --bless", USAGE)),
    }
}

fn bench(arguments: &[&str]) -> Result<(), Failure> {
    build_for_measurement()?;
    let program = shell::target().join("release/octroi-bench");
    shell::run(std::process::Command::new(program).args(arguments).current_dir(root()))
}

/// Builds the gateway, its peers and the benchmarks, all optimised.
fn build_for_measurement() -> Result<(), Failure> {
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
    ])
}
