//! Finds and reads the configuration. `octroi_core::config` interprets it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use octroi_core::config::{
    self, Config as Settings, Discovered, Format, Node, Origin, Problem, Severity, SyntaxError, Unknown,
    assumed_layer, build,
};
use octroi_core::server::Trust;

mod discovery;
mod find;
mod lookup;

pub(crate) use find::data_directory;

/// Where the configuration comes from. Loading from the same sources again reads the files again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// The file given by option or variable, if any.
    pub(crate) config: Option<PathBuf>,
    /// The data directory, which holds stored credentials.
    pub(crate) data: PathBuf,
    /// The address to listen at; overrides the file.
    pub(crate) listen: Option<(SocketAddr, Origin)>,
    /// Only warn about unknown keys; overrides the file.
    pub(crate) lenient: bool,
    /// Add the demo server.
    pub(crate) demo: bool,
}

/// The configuration and what it was read from.
#[derive(Debug)]
pub(crate) struct Config {
    /// The settings, as read and checked.
    pub(crate) settings: Settings,
    /// The file, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// Every file and directory that it depends on, for the watcher.
    pub(crate) watched: Vec<PathBuf>,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}:{}:{}: this is not {}", path.display(), source.line, source.column, format.name())]
    Syntax { path: PathBuf, format: Format, source: SyntaxError },
    #[error("the configuration cannot be used")]
    Invalid { problems: Vec<Problem> },
}

/// Reads the file: the named one, else `octroi.toml` here, else the user's; without any, the configuration is
/// empty. Files that were looked for and not found are watched as well: they may be created later.
pub(crate) fn load(sources: &Sources) -> Result<Config, ConfigError> {
    let candidates = sources.config.clone().map_or_else(find::candidates, |named| vec![named]);
    let file = sources.config.clone().or_else(|| candidates.iter().find(|path| path.is_file()).cloned());
    let base = directory_of(file.as_deref());
    let mut watched: BTreeSet<PathBuf> = candidates.into_iter().collect();
    let mut problems = Vec::new();
    let (root, mut discovered) = match &file {
        None => (None, Vec::new()),
        Some(file) => {
            let beside = file.parent().unwrap_or(Path::new("")).join(discovery::DIRECTORY);
            let found = discovery::scan(&beside, &base.join(discovery::DIRECTORY), find::is_on_path);
            watched.extend(found.watched);
            problems.extend(found.problems);
            (Some(read(file, file)?), found.servers)
        }
    };
    discovered.extend(if sources.demo { demo() } else { None });
    let lookup = lookup::Lookups::new(&sources.data, &base);
    let mut settings = build(config::Sources {
        file: root.as_ref(),
        base: Arc::clone(&base),
        discovered,
        listen: sources.listen.clone(),
        unknown: sources.lenient.then_some(Unknown::IsIgnored),
        lookup: &|kind, name| lookup.find(kind, name),
    });
    settings.problems.extend(problems);
    settings.problems.extend(lookup.problems());
    watched.extend(lookup.files());
    if settings.problems.iter().any(|problem| problem.severity == Severity::Fatal) {
        return Err(ConfigError::Invalid { problems: settings.problems });
    }
    Ok(Config { settings, file, watched: watched.into_iter().collect() })
}

/// Reads one file in its format; messages name it `display_path`.
fn read(path: &Path, display_path: &Path) -> Result<Node, ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::Read { path: display_path.to_path_buf(), source })?;
    let format = Format::of(path);
    config::parse(format, &text, &Arc::from(display_path)).map_err(|source| ConfigError::Syntax {
        path: display_path.to_path_buf(),
        format,
        source,
    })
}

/// The directory that relative paths in a file are relative to.
fn directory_of(file: Option<&Path>) -> Arc<Path> {
    let parent = file.and_then(Path::parent).filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    // Fails only if there is no current directory; then a relative path works as well.
    let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_path_buf());
    directory.into()
}

/// The demo server, which is part of this program. It is configured like any other, and its own annotations
/// are trusted.
fn demo() -> Option<Discovered> {
    let program = std::env::current_exe().ok()?;
    let origin = Origin::Flag("--demo");
    let layer = assumed_layer(&[&program.to_string_lossy(), "demo-server"], None, Some(Trust::High), &origin);
    Some(Discovered { name: "demo".to_owned(), origin, layers: vec![layer] })
}

#[cfg(test)]
mod tests;
