//! `cargo xtask build`: a small binary, with the data for backtraces in a file beside it.
//!
//! Symbols and line tables are four fifths of a release build. They go into `octroi.debug` beside the binary,
//! which names that file; the standard library finds it there, and so do gdb and perf.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{self, Failure, cargo_command, say, target};

/// The largest size of the binary without its symbols, in bytes.
const BYTES_MAX: u64 = 45_000_000;

/// Builds with these arguments of `cargo build`; an optimised build is split, and its size is checked.
pub(crate) fn build(arguments: &[&str]) -> Result<(), Failure> {
    shell::run_long(&mut cargo_command(&[&["build", "--package", "octroi"], arguments].concat()))?;
    match profile(arguments) {
        Some(profile) => finish(&target().join(profile).join("octroi")),
        None => Ok(()),
    }
}

/// The directory of a profile that optimises.
fn profile<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    arguments
        .iter()
        .enumerate()
        .find_map(|(index, argument)| match *argument {
            "--release" | "-r" => Some("release"),
            "--profile" => arguments.get(index + 1).copied(),
            _ => argument.strip_prefix("--profile="),
        })
        .filter(|profile| *profile != "dev" && *profile != "test")
}

fn finish(binary: &Path) -> Result<(), Failure> {
    // On other systems the linker leaves line tables out of the binary by itself.
    if cfg!(target_os = "linux") {
        split(binary)?;
    }
    check_size(binary, BYTES_MAX)
}

/// Moves symbols and line tables into a file of their own. Cargo's own copy in `deps` stays unchanged for the
/// next build: the binary is replaced by a new file.
fn split(binary: &Path) -> Result<(), Failure> {
    let (debug, small) = (with_suffix(binary, "debug"), with_suffix(binary, "small"));
    let objcopy = |arguments: &[&str], from: &Path, to: &Path| {
        shell::output(Command::new("objcopy").args(arguments).arg(from).arg(to)).map_err(|failure| {
            Failure::new(failure.message, "objcopy is part of binutils: `apt-get install binutils`")
        })
    };
    objcopy(&["--only-keep-debug"], binary, &debug)?;
    let link = format!("--add-gnu-debuglink={}", debug.display());
    objcopy(&["--strip-all", &link], binary, &small)?;
    std::fs::rename(&small, binary).map_err(|error| {
        Failure::new(format!("cannot replace {}: {error}", binary.display()), "is the disk full?")
    })?;
    say(&format!("   {} with symbols and line tables, for backtraces", describe(&debug)?));
    Ok(())
}

fn check_size(binary: &Path, limit: u64) -> Result<(), Failure> {
    let n_bytes = size(binary)?;
    if n_bytes > limit {
        return Err(Failure::new(
            format!("{} is larger than {}", describe(binary)?, megabytes(limit)),
            "which dependency made it grow? `cargo tree --package octroi`, `cargo bloat --release --crates`",
        ));
    }
    say(&format!("   {}", describe(binary)?));
    Ok(())
}

fn with_suffix(binary: &Path, suffix: &str) -> PathBuf {
    let mut path = binary.as_os_str().to_owned();
    path.push(".");
    path.push(suffix);
    path.into()
}

/// `target/release/octroi, 38.2 MB`.
fn describe(file: &Path) -> Result<String, Failure> {
    Ok(format!("{}, {}", file.display(), megabytes(size(file)?)))
}

fn size(file: &Path) -> Result<u64, Failure> {
    let metadata = std::fs::metadata(file).map_err(|error| {
        Failure::new(format!("cannot read the size of {}: {error}", file.display()), "was it built?")
    })?;
    Ok(metadata.len())
}

fn megabytes(n_bytes: u64) -> String {
    format!("{}.{} MB", n_bytes / 1_000_000, n_bytes % 1_000_000 / 100_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_for_use_are_split() {
        for (arguments, expected) in [
            (&[][..], None),
            (&["--release"], Some("release")),
            (&["-r", "--locked"], Some("release")),
            (&["--profile", "dist"], Some("dist")),
            (&["--profile=dist"], Some("dist")),
            (&["--profile", "dev"], None),
            (&["--features", "x"], None),
        ] {
            assert_eq!(profile(arguments), expected, "{arguments:?}");
        }
    }

    #[test]
    fn a_binary_that_is_too_large_is_refused_with_its_size() {
        let file = std::env::temp_dir().join(format!("octroi-xtask-size-{}", std::process::id()));
        std::fs::write(&file, vec![0; 1_250_000]).expect("the file can be written");
        let outcomes = [2_000_000, 1_000_000].map(|limit| check_size(&file, limit));
        std::fs::remove_file(&file).expect("the file can be removed");
        let [small, large] = outcomes;
        assert!(small.is_ok());
        let message = large.expect_err("it is too large").message;
        assert!(message.ends_with("1.2 MB is larger than 1.0 MB"), "{message}");
    }

    /// A program that panics says where, as long as its line tables are beside it.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_split_program_still_names_file_and_line() {
        let directory = std::env::temp_dir().join(format!("octroi-xtask-split-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let (source, program) = (directory.join("falls.rs"), directory.join("falls"));
        std::fs::write(&source, "#[inline(never)]\nfn deep(n: usize) -> usize {\n    std::hint::black_box([1, 2])[n]\n}\nfn main() {\n    deep(std::env::args().count() + 5);\n}\n")
            .expect("the source can be written");
        let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
        shell::output(
            Command::new(rustc)
                .args(["-O", "-C", "debuginfo=line-tables-only", "-o"])
                .arg(&program)
                .arg(&source),
        )
        .expect("it compiles");
        let backtrace = || {
            let output = Command::new(&program).env("RUST_BACKTRACE", "1").output().expect("it runs");
            String::from_utf8_lossy(&output.stderr).into_owned()
        };
        let before = size(&program).expect("its size");
        split(&program).expect("it can be split");
        let (with, after) = (backtrace(), size(&program).expect("its size"));
        std::fs::remove_file(with_suffix(&program, "debug")).expect("the line tables are there");
        let without = backtrace();
        std::fs::remove_dir_all(&directory).expect("the directory can be removed");
        assert!(after < before / 2, "{before} bytes before, {after} after");
        // The message has the line of the panic itself; the caller's is only in the tables.
        assert!(with.contains("deep") && with.contains("falls.rs:6"), "{with}");
        assert!(!without.contains("falls.rs:6"), "{without}");
    }
}
