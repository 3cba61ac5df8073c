//! Finds and reads the configuration. `octroi_core::config` interprets it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use octroi_core::config::{
    self, Config as Settings, Discovered, Found, Problem, ProgramPlaces, Severity, TokenFile, Unknown,
    assumed_layer, build,
};
use octroi_core::server::{ServerSpec, Transport};
use octroi_core::syntax::{self, Format, Node, Origin, SyntaxError};
use octroi_core::trust::Trust;

use crate::failure::Failure;

pub(crate) mod accepted;
pub(crate) mod catalogues;
mod discovery;
mod exposed;
mod files;
mod find;
pub(crate) mod level;
mod lookup;
mod named_files;

pub(crate) use exposed::refuse_exposed;
use files::TextFile;
pub(crate) use files::{ConfigFiles, FileSource};
pub(crate) use find::data_directory;
use lookup::Lookups;
pub(crate) use lookup::{ResolvedReferences, StoredSecrets};

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
    /// What `${secret:…}` stands for.
    pub(crate) secrets: StoredSecrets,
}

/// The configuration and what it was read from.
#[derive(Debug)]
pub(crate) struct Config {
    /// The settings, as read and checked.
    pub(crate) settings: Settings,
    /// The file, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// Everything that was read for it.
    pub(crate) files: ConfigFiles,
    /// What references were resolved to.
    pub(crate) resolved: ResolvedReferences,
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
    let mut found = discovery::ScanResult::default();
    let mut files = ConfigFiles::default();
    if let Some(path) = file {
        let (beside, directory) = discovered_at(&path);
        found = discovery::scan(&beside, &directory, find::is_on_path);
        let text = std::fs::read_to_string(&path)
            .map_err(|source| ConfigError::Read { path: path.clone(), source })?;
        files = ConfigFiles {
            file: Some(TextFile { path, text }),
            directories: std::mem::take(&mut found.directories),
            ..ConfigFiles::default()
        };
    }
    let mut config = interpret(files, FileSource::Disk, found.servers, sources, None)?;
    config.settings.problems.extend(found.problems);
    config.watched.extend(candidates.into_iter().chain(found.watched));
    config.watched.sort();
    config.watched.dedup();
    refuse_fatal(config)
}

/// Reads the configuration that was accepted, as it was then, with what references other than to secrets were resolved
/// to `before`, if that is known.
pub(crate) fn load_accepted(
    files: &ConfigFiles,
    sources: &Sources,
    before: Option<&ResolvedReferences>,
) -> Result<Config, ConfigError> {
    let discovered = match &files.file {
        Some(TextFile { path, .. }) => {
            let (beside, directory) = discovered_at(path);
            // What is wrong with them was reported when they were accepted.
            discovery::interpret(&files.directories, &beside, &directory).0
        }
        None => Vec::new(),
    };
    let mut config = interpret(files.clone(), FileSource::Accepted(files), discovered, sources, before)?;
    leave_out_unseen(&mut config);
    refuse_fatal(config)
}

/// The directory for discovery beside a file: as messages name it, and where it is.
fn discovered_at(file: &Path) -> (PathBuf, PathBuf) {
    let beside = file.parent().unwrap_or(Path::new("")).join(discovery::DIRECTORY);
    (beside, directory_of(Some(file)).join(discovery::DIRECTORY))
}

/// Leaves out servers that nobody could see when the configuration was accepted, because a secret of theirs was not
/// set. Setting it must not start what nobody agreed to.
fn leave_out_unseen(config: &mut Config) {
    let Settings { servers, effective, .. } = &mut config.settings;
    let shown = std::mem::take(&mut effective.servers);
    let all = std::mem::take(servers).into_iter().zip(shown);
    let is_seen = |server: &ServerSpec| !config.files.unseen_servers.contains(server.name().as_str());
    (*servers, effective.servers) = all.filter(|(server, _)| is_seen(server)).unzip();
}

fn interpret(
    mut files: ConfigFiles,
    source: FileSource<'_>,
    mut discovered: Vec<Discovered>,
    sources: &Sources,
    before: Option<&ResolvedReferences>,
) -> Result<Config, ConfigError> {
    let root = files.file.as_ref().map(parse).transpose()?;
    let path = files.file.as_ref().map(|file| file.path.clone());
    let base = directory_of(path.as_deref());
    discovered.extend(if sources.demo { demo() } else { None });
    let lookup = Lookups::new(&sources.data, &base, source, &sources.secrets, before);
    let arguments = RefCell::new(BTreeMap::new());
    let exists = |path: &Path| {
        let found = source.find(path);
        if found != Found::Nothing {
            arguments.borrow_mut().insert(path.to_path_buf(), found == Found::Directory);
        }
        found
    };
    let own = server_directories(&sources.data);
    let mut settings = build(config::Sources {
        file: root.as_ref(),
        base: Arc::clone(&base),
        discovered,
        listen: sources.listen.clone(),
        unknown: sources.lenient.then_some(Unknown::IsIgnored),
        lookup: &|kind, name| lookup.find(kind, name),
        programs: ProgramPlaces { own: Some(&own), exists: &exists },
    });
    settings.problems.extend(lookup.problems());
    files.references = lookup.references();
    let mut watched: Vec<PathBuf> = lookup.files().into_iter().collect();
    if let Some(path) = settings.token_file().cloned() {
        files.token_file = read_tokens(&mut settings, source, &path);
        watched.push(path);
    }
    files.arguments = arguments.into_inner();
    Ok(Config { settings, file: path, files, watched, resolved: lookup.into_resolved() })
}

/// Reads the file of tokens; returns what is kept of it.
fn read_tokens(settings: &mut Settings, source: FileSource<'_>, path: &Path) -> Option<String> {
    let read = match source.token_file(path) {
        Ok(Some(text)) => TokenFile::parse(&text),
        Ok(None) => {
            settings.miss_token_file(path);
            return None;
        }
        Err(error) => Err(error.to_string()),
    };
    match read {
        Ok(file) => {
            let hashed = file.hashed();
            settings.add_token_file(path, file);
            Some(hashed)
        }
        Err(error) => {
            settings.refuse_token_file(path, &error);
            None
        }
    }
}

fn refuse_fatal(config: Config) -> Result<Config, ConfigError> {
    if config.settings.problems.iter().any(|problem| problem.severity == Severity::Fatal) {
        return Err(ConfigError::Invalid { problems: config.settings.problems });
    }
    Ok(config)
}

/// Creates the directories that servers have of their own.
pub(crate) fn make_server_directories(servers: &[ServerSpec], data: &Path) -> Result<(), Failure> {
    let own = server_directories(data);
    let programs = servers.iter().filter_map(|server| match &server.transport {
        Transport::Stdio(program) => program.cwd.as_ref(),
        Transport::Http(_) | Transport::Sse(_) => None,
    });
    for directory in programs.filter(|cwd| cwd.starts_with(&own)) {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.map_err(|error| {
            Failure::new(format!("cannot create {}", directory.display()))
                .cause(error)
                .hint("name a directory that can be written with --data DIR, or set `cwd`")
        })?;
    }
    Ok(())
}

/// The directory with one directory for each server that names none.
pub(crate) fn server_directories(data: &Path) -> PathBuf {
    let directory = data.join("servers");
    std::path::absolute(&directory).unwrap_or(directory)
}

fn parse(file: &TextFile) -> Result<Node, ConfigError> {
    let format = Format::of(&file.path);
    syntax::parse(format, &file.text, &Arc::from(file.path.as_path())).map_err(|source| ConfigError::Syntax {
        path: file.path.clone(),
        format,
        source,
    })
}

/// The file with variables beside a configuration.
pub(crate) fn env_file_in(file: Option<&Path>) -> PathBuf {
    lookup::env_file_in(&directory_of(file))
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

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let mut failure = Self::from_error(&error);
        match error {
            ConfigError::Read { .. } => failure.hint("name a file that can be read with --config FILE"),
            ConfigError::Syntax { source, .. } => {
                let excerpt = source.excerpt.replace('\n', "\n    ");
                failure.causes = vec![format!("{source}\n    {excerpt}")];
                failure
            }
            ConfigError::Invalid { problems } => problems
                .iter()
                .filter(|problem| problem.severity == Severity::Fatal)
                .fold(failure, Self::cause)
                .hint("`octroi config check` lists everything; `--lenient` only warns of unknown keys"),
        }
    }
}

#[cfg(test)]
mod tests;
