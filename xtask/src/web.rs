//! The web interface: its build, which the binary embeds, and its tests.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::setup;
use crate::shell::{self, Failure, output, root, run_long, say, target};

/// What the build does not read.
const NOT_SOURCE: [&str; 3] = ["node_modules", "dist", "e2e"];
const CHROMIUM: [&str; 2] = ["/usr/bin/chromium", "/usr/bin/google-chrome"];

/// Builds the interface if its source has changed. Without Node.js there is none, which the page of such a binary says.
pub(crate) fn build() -> Result<(), Failure> {
    if !["node", "npm"].into_iter().all(is_installed) {
        say(
            "   without the web interface: it needs Node.js 20.19 or newer with npm, e.g. `apt-get install nodejs npm`",
        );
        return Ok(());
    }
    let (stamp, now) = (target().join("web-built"), digest()?);
    let is_built = directory().join("dist/index.html").is_file();
    if is_built && std::fs::read_to_string(&stamp).is_ok_and(|before| before == now) {
        return Ok(());
    }
    setup::install_node("web")?;
    shell::step("building the web interface");
    build_into("dist")?;
    std::fs::create_dir_all(target()).and_then(|()| std::fs::write(&stamp, now)).map_err(|error| {
        Failure::new(format!("cannot write {}: {error}", stamp.display()), "is the disk full?")
    })
}

/// Checks the source, and runs its tests without a gateway.
pub(crate) fn check() -> Result<(), Failure> {
    for arguments in [["run", "check"].as_slice(), &["run", "test"]] {
        run_long(&mut npm(arguments))?;
    }
    is_reproducible()
}

/// Runs the tests in a browser, against the binary that was built.
pub(crate) fn browse() -> Result<(), Failure> {
    install_chromium()?;
    run_long(npm(&["run", "e2e"]).env("OCTROI_BINARY", target().join("debug/octroi")))
}

/// Writes what the interface knows of the tables again.
pub(crate) fn codegen() -> Result<(), Failure> {
    let arguments = ["test", "--package", "octroi-api", "--test", "it", "generated::"];
    shell::run(shell::cargo_command(&arguments).env("UPDATE_EXPECT", "1"))
}

fn directory() -> PathBuf {
    root().join("web")
}

fn npm(arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.args(arguments).current_dir(directory());
    command
}

fn build_into(out: &str) -> Result<(), Failure> {
    run_long(&mut npm(&["run", "build", "--", "--emptyOutDir", "--outDir", out]))
}

/// Builds the same source again, elsewhere.
fn is_reproducible() -> Result<(), Failure> {
    let again = target().join("web-again");
    build_into(&again.display().to_string())?;
    let (one, other) = (files(&directory().join("dist"), &[])?, files(&again, &[])?);
    match one.iter().find(|(name, content)| other.get(*name) != Some(content)) {
        None if one.len() == other.len() => Ok(()),
        found => Err(Failure::new(
            format!("two builds differ in {}", found.map_or("their files", |(name, _)| name.as_str())),
            "which plugin of web/vite.config.ts writes the time, a path or a random name?",
        )),
    }
}

fn install_chromium() -> Result<(), Failure> {
    if CHROMIUM.iter().any(|path| Path::new(path).exists()) || std::env::var_os("OCTROI_CHROMIUM").is_some() {
        return Ok(());
    }
    let hint = "as root: `apt-get install chromium`; or name a browser in OCTROI_CHROMIUM";
    let is_root = output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !is_root || !is_installed("apt-get") {
        return Err(Failure::new("Chromium is missing, and the tests of the web interface need it", hint));
    }
    say("apt-get install chromium");
    let install = |arguments: &[&str]| {
        run_long(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let arguments =
        ["install", "--yes", "--quiet", "--no-install-recommends", "chromium", "fonts-wqy-zenhei"];
    install(&arguments).or_else(|_| install(&["update", "--quiet"]).and_then(|()| install(&arguments)))
}

fn is_installed(program: &str) -> bool {
    output(Command::new(program).arg("--version")).is_ok()
}

/// Changes with every file that the build reads.
fn digest() -> Result<String, Failure> {
    let mut hasher = DefaultHasher::new();
    files(&directory(), &NOT_SOURCE)?.hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}

/// All files below a directory with their contents, by relative path.
fn files(directory: &Path, skipped: &[&str]) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    let failed = |path: &Path, error: std::io::Error| {
        Failure::new(format!("cannot read {}: {error}", path.display()), "is the checkout whole?")
    };
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).map_err(|error| failed(&next, error))? {
            let path = entry.map_err(|error| failed(&next, error))?.path();
            let name = path.strip_prefix(directory).unwrap_or(&path).to_string_lossy().into_owned();
            if skipped.contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else {
                let content = std::fs::read(&path).map_err(|error| failed(&path, error))?;
                found.insert(name, content);
            }
        }
    }
    Ok(found)
}
