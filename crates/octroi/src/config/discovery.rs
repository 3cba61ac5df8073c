//! Discovered servers: each directory in `mcpservers/` with an entry script is one.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use octroi_core::config::{Discovered, Layer, Origin, Problem, Severity, Value, assumed_layer};

use super::{ConfigError, read};

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
        let origin = Origin::Directory(display_path.join(&name).into());
        let script = SCRIPTS.iter().map(|script| home.join(script)).find(|script| script.is_file());
        let mut layers = Vec::new();
        if let Some(script) = &script {
            let runner =
                if script.extension().is_some_and(|end| end == "py") { &["python3"] } else { javascript };
            let path = script.to_string_lossy();
            let command: Vec<&str> = runner.iter().copied().chain([&*path]).collect();
            layers.push(assumed_layer(&command, Some(&home), None, &origin));
        }
        match own_layer(&display_path.join(&name), &home) {
            Ok(own) => layers.extend(own.filter(|own| script.is_some() || own.map.get("command").is_some())),
            Err((origin, message)) => {
                let subject = Some(format!("server `{name}`"));
                found.problems.push(problem(Severity::LeftOut, origin, subject, message));
                continue;
            }
        }
        if !layers.is_empty() {
            found.servers.push(Discovered { name, origin, layers });
        }
    }
    found
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
fn own_layer(display_path: &Path, home: &Path) -> Result<Option<Layer>, (Origin, String)> {
    if !home.join(OWN_FILE).is_file() {
        return Ok(None);
    }
    let path = display_path.join(OWN_FILE);
    let node = read(&home.join(OWN_FILE), &path).map_err(|error| match error {
        ConfigError::Syntax { source, .. } => {
            let line = source.line;
            (Origin::File { path: Arc::from(path.as_path()), line }, source.message)
        }
        ConfigError::Read { source, .. } => (Origin::Directory(display_path.into()), source.to_string()),
        ConfigError::Invalid { .. } => (Origin::Directory(display_path.into()), "it is not valid".to_owned()),
    })?;
    match node.value {
        Value::Map(map) => Ok(Some(Layer { map, base: home.into() })),
        other => Err((node.origin, format!("the file must be a table, not {}", other.kind()))),
    }
}

fn problem(severity: Severity, origin: Origin, subject: Option<String>, message: String) -> Problem {
    Problem { severity, origin, subject, message, hint: None }
}
