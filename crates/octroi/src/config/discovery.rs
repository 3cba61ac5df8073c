//! Discovered servers: each directory in `mcpservers/` with an entry script is one.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use octroi_core::config::{Discovered, Layer, Problem, Severity, assumed_layer};
use octroi_core::syntax::{Format, Origin, Value, parse};

use super::files::FoundDirectory;

/// The directory, beside the configuration file.
pub(super) const DIRECTORY: &str = "mcpservers";
/// The optional settings that a directory has for its server.
const OWN_FILE: &str = "config.jsonc";
/// Entry scripts; the first that exists is used.
const SCRIPTS: [&str; 13] = [
    "server.mjs",
    "server.ts",
    "server.js",
    "index.mjs",
    "index.ts",
    "index.js",
    "src/server.mjs",
    "src/server.ts",
    "src/server.js",
    "src/index.mjs",
    "src/index.ts",
    "src/index.js",
    "server.py",
];

/// The result of a scan.
#[derive(Debug, Default)]
pub(super) struct ScanResult {
    pub(super) directories: Vec<FoundDirectory>,
    pub(super) servers: Vec<Discovered>,
    pub(super) problems: Vec<Problem>,
    pub(super) watched: Vec<PathBuf>,
}

/// Scans `directory`, which messages name `display_path`. A scan that fails finds nothing and reports a
/// problem.
pub(super) fn scan(display_path: &Path, directory: &Path, is_on_path: impl Fn(&str) -> bool) -> ScanResult {
    let mut found = ScanResult { watched: vec![directory.to_path_buf()], ..ScanResult::default() };
    let names = match names(directory) {
        Ok(names) => names,
        Err(error) if error.kind() == ErrorKind::NotFound => return found,
        Err(error) => {
            let origin = Origin::Directory(display_path.into());
            found.problems.push(problem(
                Severity::Warning,
                origin,
                None,
                format!("cannot read the directory: {error}"),
            ));
            return found;
        }
    };
    let javascript: &[&str] = if is_on_path("bun") { &["bun", "run"] } else { &["node"] };
    for name in names {
        let home = directory.join(&name);
        found.watched.extend([home.clone(), home.join("src"), home.join(OWN_FILE)]);
        let script = SCRIPTS.iter().map(|script| home.join(script)).find(|script| script.is_file());
        let command = script.map(|script| {
            let runner =
                if script.extension().is_some_and(|end| end == "py") { &["python3"] } else { javascript };
            let path = script.to_string_lossy().into_owned();
            runner.iter().map(|word| (*word).to_owned()).chain([path]).collect()
        });
        let own = home.join(OWN_FILE);
        let settings = match if own.is_file() { fs::read_to_string(&own).map(Some) } else { Ok(None) } {
            Ok(settings) => settings,
            Err(error) => {
                let origin = Origin::Directory(display_path.join(&name).into());
                let subject = Some(format!("server `{name}`"));
                found.problems.push(problem(Severity::LeftOut, origin, subject, error.to_string()));
                continue;
            }
        };
        found.directories.push(FoundDirectory { name, command, settings });
    }
    let (servers, problems) = interpret(&found.directories, display_path, directory);
    found.servers = servers;
    found.problems.extend(problems);
    found
}

/// The servers of directories that were found.
pub(super) fn interpret(
    directories: &[FoundDirectory],
    display_path: &Path,
    directory: &Path,
) -> (Vec<Discovered>, Vec<Problem>) {
    let (mut servers, mut problems) = (Vec::new(), Vec::new());
    for FoundDirectory { name, command, settings } in directories {
        let home = directory.join(name);
        let origin = Origin::Directory(display_path.join(name).into());
        let mut layers = Vec::new();
        if let Some(command) = command {
            let command: Vec<&str> = command.iter().map(String::as_str).collect();
            layers.push(assumed_layer(&command, Some(&home), None, &origin));
        }
        match settings.as_deref().map(|text| own_layer(&display_path.join(name), &home, text)).transpose() {
            Ok(own) => layers.extend(own.filter(|own| command.is_some() || own.map.get("command").is_some())),
            Err((origin, message)) => {
                let subject = Some(format!("server `{name}`"));
                problems.push(problem(Severity::LeftOut, origin, subject, message));
                continue;
            }
        }
        if !layers.is_empty() {
            servers.push(Discovered { name: name.clone(), origin, layers });
        }
    }
    (servers, problems)
}

/// The names of the directories, in order. Plain files and hidden directories are skipped.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The settings that a directory has for its server; relative paths are relative to the directory.
fn own_layer(display_path: &Path, home: &Path, text: &str) -> Result<Layer, (Origin, String)> {
    let path: Arc<Path> = Arc::from(display_path.join(OWN_FILE));
    let node = parse(Format::of(&path), text, &path)
        .map_err(|error| (Origin::File { path: Arc::clone(&path), line: error.line }, error.message))?;
    match node.value {
        Value::Map(map) => Ok(Layer { map, base: home.into() }),
        other => Err((node.origin, format!("the file must be a table, not {}", other.kind()))),
    }
}

fn problem(severity: Severity, origin: Origin, subject: Option<String>, message: String) -> Problem {
    Problem { severity, origin, subject, message, hint: None }
}
