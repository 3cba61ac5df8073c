//! Installs what tests need besides cargo: packages from npm and PyPI.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::shell::{Failure, output, root, run_long, say, target};

/// Directories with a `package-lock.json`.
const NODE: [&str; 4] = ["tests/conformance", "tests/peers/node", "tests/coding-agents", "web"];
/// Virtual environments below `target/peers`, and their requirements.
const PYTHON: [(&str, &str); 3] = [
    ("v1", "tests/peers/python/requirements-v1.txt"),
    ("v2", "tests/peers/python/requirements-v2.txt"),
    ("rest", "tests/peers/python/requirements-rest.txt"),
];
/// How long to wait before a registry is asked again.
const ASK_AGAIN_AFTER: [Duration; 3] =
    [Duration::from_secs(5), Duration::from_secs(20), Duration::from_secs(60)];

/// Installs what is missing or has changed.
pub(crate) fn install() -> Result<(), Failure> {
    check_program(
        "node",
        "--version",
        "install Node.js 20 or newer with npm, e.g. `apt-get install nodejs npm`",
    )?;
    check_program(
        "npm",
        "--version",
        "install Node.js 20 or newer with npm, e.g. `apt-get install nodejs npm`",
    )?;
    check_program(
        "python3",
        "--version",
        "install Python 3.11 or newer, e.g. `apt-get install python3 python3-venv`",
    )?;
    for directory in NODE {
        install_node(directory)?;
    }
    for (name, requirements) in PYTHON {
        let environment = target().join("peers").join(name);
        let requirements = root().join(requirements);
        fresh(&environment.join(".octroi-installed"), &requirements, || {
            say(&format!("pip install -r {}", relative_path(&requirements)));
            run_long(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
            patiently(
                Command::new(environment.join("bin/pip"))
                    .args(["install", "--quiet", "--disable-pip-version-check", "-r"])
                    .arg(&requirements),
            )
        })?;
    }
    Ok(())
}

/// Installs the packages of one directory.
pub(crate) fn install_node(directory: &str) -> Result<(), Failure> {
    let directory = root().join(directory);
    let stamp = directory.join("node_modules/.octroi-installed");
    fresh(&stamp, &directory.join("package-lock.json"), || {
        say(&format!("npm ci in {}", relative_path(&directory)));
        patiently(
            Command::new("npm")
                .args(["ci", "--no-audit", "--no-fund", "--loglevel=error"])
                .current_dir(&directory),
        )
    })
}

/// Runs what asks a registry: a registry that fails once is asked again.
fn patiently(command: &mut Command) -> Result<(), Failure> {
    for wait in ASK_AGAIN_AFTER {
        match run_long(command) {
            Ok(()) => return Ok(()),
            Err(failure) => say(&format!("{}; again in {} s", failure.message, wait.as_secs())),
        }
        std::thread::sleep(wait);
    }
    run_long(command)
}

fn check_program(program: &str, argument: &str, hint: &str) -> Result<(), Failure> {
    output(Command::new(program).arg(argument))
        .map(drop)
        .map_err(|_| Failure::new(format!("`{program}` is missing, and the tests need it"), hint))
}

/// Does `work` unless the stamp holds the same text as `source`.
fn fresh(stamp: &Path, source: &PathBuf, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let expected = std::fs::read_to_string(source).map_err(|error| {
        Failure::new(format!("cannot read {}: {error}", relative_path(source)), "is the checkout whole?")
    })?;
    if std::fs::read_to_string(stamp).is_ok_and(|found| found == expected) {
        return Ok(());
    }
    work()?;
    std::fs::write(stamp, expected).map_err(|error| {
        Failure::new(format!("cannot write {}: {error}", relative_path(stamp)), "is the disk full?")
    })
}

fn relative_path(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
