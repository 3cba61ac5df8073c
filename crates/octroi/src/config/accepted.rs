//! The accepted configuration: what a person agreed to, kept in the data directory.
//!
//! A configuration on disk that differs from it takes effect only as far as it tightens or is harmless. What
//! was accepted is kept as the files it consisted of; after a mixed change these are followed by the files of
//! that change, of which only the harmless part counts.
//!
//! The file is there from the first start on, before anything was accepted. So if it is missing, it was lost.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use octroi_core::ServerKey;
use octroi_core::config::AutoReload;
use octroi_core::config::compare::{Comparison, CompleteConfig, ConfigChange, Consequence, compare};
use octroi_gateway::has_earlier_state;
use serde::{Deserialize, Serialize};

use super::files::digest;
use super::{Config, ConfigFiles, FileSource, ResolvedReferences, Sources, load_accepted, named_files};
use crate::failure::Failure;

const FILE_NAME: &str = "accepted-config.json";
const TOO_MANY: &str = "too many changes in part: what tightens waits too";
/// How many mixed changes are kept, after those that make no difference any more were dropped. Beyond that,
/// everything waits until a person has looked.
const MIXED_MAX: usize = 32;

/// A configuration that was read, with the files that it names.
pub(crate) struct ReadConfig {
    pub(crate) complete: CompleteConfig,
    pub(crate) files: ConfigFiles,
    /// The configuration file, if there is one.
    pub(crate) file: Option<PathBuf>,
    pub(crate) watched: Vec<PathBuf>,
    resolved: ResolvedReferences,
}

impl ReadConfig {
    /// Reads the files that a configuration names.
    pub(crate) fn new(config: Config, source: FileSource<'_>) -> Result<Self, Failure> {
        let Config { settings, file, mut files, mut watched, resolved } = config;
        let named = named_files::read(&settings, source)?;
        watched.extend(named.paths);
        files.policies =
            named.policies.values().map(|policy| (policy.path.clone(), policy.source.clone())).collect();
        files.lock = named.lock_text;
        let complete = CompleteConfig { settings, policies: named.policies, lock: named.lock };
        Ok(Self { complete, files, file, watched, resolved })
    }

    /// The servers that differ from those of an accepted configuration; all, if there is none. Who agrees to the
    /// difference has seen them.
    pub(crate) fn changed_servers(&self, before: Option<&Accepted>) -> HashSet<ServerKey> {
        let before = before.map(|before| &before.complete.settings.servers[..]).unwrap_or_default();
        let changed = self.complete.settings.servers.iter().filter(|spec| !before.contains(spec));
        changed.map(|spec| spec.key.clone()).collect()
    }

    /// Servers that are left out, because a secret of theirs is not set, or may be.
    fn servers_without_secrets(&self) -> BTreeSet<String> {
        let settings = &self.complete.settings;
        let is_there = |name: &String| settings.servers.iter().any(|server| server.name().as_str() == name);
        let named = settings.secret_uses.iter().filter_map(|one| one.server.clone());
        named.filter(|name| !is_there(name)).collect()
    }

    /// Identifies exactly these files. Who agrees to a configuration names it by this.
    pub(crate) fn digest(&self) -> String {
        // The debug form has every field, and paths need not be UTF-8.
        digest(&format!("{:?}", absolute(&self.files)))
    }
}

/// Who agrees to a changed configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// A person, to all of it.
    Person,
    /// Nobody: only what tightens or is harmless takes effect.
    Nobody,
}

/// The accepted configuration, as it is in effect.
#[derive(Clone)]
pub(crate) struct Accepted {
    pub(crate) complete: CompleteConfig,
    /// The last complete acceptance, then mixed changes.
    history: Vec<AcceptedFiles>,
}

/// Files that were accepted, entirely or in part, and what they say.
#[derive(Clone)]
struct AcceptedFiles {
    files: ConfigFiles,
    complete: CompleteConfig,
    resolved: ResolvedReferences,
}

/// What the data directory has of the accepted configuration.
pub(crate) enum Kept {
    /// Nothing was accepted yet.
    NothingYet,
    /// Something was accepted, and it is gone.
    Lost,
    /// The accepted configuration.
    Accepted(Box<Accepted>),
}

/// What becomes of a configuration that was read.
pub(crate) struct Review {
    /// What is in effect from now on.
    pub(crate) accepted: Accepted,
    /// All differences from what was accepted before.
    pub(crate) changes: Vec<ConfigChange>,
    /// Those that wait for a person.
    pub(crate) waiting: Vec<ConfigChange>,
}

impl Accepted {
    /// Accepts all of a configuration.
    pub(crate) fn all_of(new: &ReadConfig) -> Self {
        let complete = new.complete.clone();
        Self { complete, history: vec![AcceptedFiles::of(new)] }
    }

    /// The configuration that consists of nothing, to compare with.
    pub(crate) fn nothing(sources: &Sources) -> Result<Self, Failure> {
        let files = ConfigFiles::default();
        let config = load_accepted(&files, sources, None)?;
        Ok(Self::all_of(&ReadConfig::new(config, FileSource::Accepted(&files))?))
    }

    /// Reads what was accepted.
    pub(crate) fn read(sources: &Sources) -> Result<Kept, Failure> {
        let path = path_in(&sources.data);
        let unusable = |cause: &dyn ToString| {
            Failure::new(format!("the accepted configuration in {} cannot be used", path.display()))
                .cause(cause.to_string())
                .hint("look at the configuration file, then accept it with `octroi up --accept-config`")
        };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::Lost),
            Err(error) => return Err(unusable(&error)),
        };
        let kept: KeptConfigs = serde_json::from_str(&text).map_err(|error| unusable(&error))?;
        let mut history = Vec::with_capacity(kept.configs.len());
        for files in kept.configs {
            let config = load_accepted(&files, sources, None).map_err(|error| unusable(&error))?;
            history.push(AcceptedFiles::again(files, config)?);
        }
        Ok(match replay(history.iter()) {
            Some(complete) => Kept::Accepted(Box::new(Self { complete, history })),
            None => Kept::NothingYet,
        })
    }

    /// The configuration file, if there is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        let last = self.history.last()?;
        last.files.file.as_ref().map(|file| file.path.as_path())
    }

    /// The same configuration with the secrets as they are now.
    pub(crate) fn with_secrets(&self, sources: &Sources) -> Result<Self, Failure> {
        let read = |one: &AcceptedFiles| {
            let config = load_accepted(&one.files, sources, Some(&one.resolved))?;
            AcceptedFiles::again(one.files.clone(), config)
        };
        let history = self.history.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
        let complete = replay(history.iter()).unwrap_or_else(|| self.complete.clone());
        Ok(Self { complete, history })
    }

    /// The servers that another configuration does not have.
    pub(crate) fn new_servers(&self, before: &Self) -> HashSet<ServerKey> {
        let before = &before.complete.settings.servers;
        let is_new = |key: &&ServerKey| !before.iter().any(|server| server.key == **key);
        self.complete.settings.servers.iter().map(|server| &server.key).filter(is_new).cloned().collect()
    }

    /// All of a configuration whose visible differences nobody has to agree to.
    fn unasked(&self, new: &ReadConfig) -> Self {
        let mut accepted = Self::all_of(new);
        let hidden = new.servers_without_secrets();
        let (Some(before), Some(after)) = (self.history.last(), accepted.history.first_mut()) else {
            return accepted;
        };
        // In changed files the entries may say anything, and differences in them would not be noticed.
        let is_same = self.history.len() == 1 && before.files.are_within(&after.files);
        let known = &before.files.unseen_servers;
        after.files.unseen_servers =
            hidden.into_iter().filter(|server| !is_same || known.contains(server)).collect();
        accepted
    }

    /// Keeps it in the data directory.
    pub(crate) fn keep(&self, data: &Path) -> io::Result<()> {
        let path = path_in(data);
        let configs = self.history.iter().map(|accepted| accepted.files.clone()).collect();
        let text = serde_json::to_string(&KeptConfigs { configs })?;
        if fs::read_to_string(&path).is_ok_and(|kept| kept == text) {
            return Ok(());
        }
        let new = path.with_extension("new");
        let mut out = private().create(true).truncate(true).open(&new)?;
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        fs::rename(&new, &path)
    }

    /// Compares a configuration with what was accepted.
    pub(crate) fn review(&self, new: &ReadConfig, agreement: Agreement) -> Review {
        let Comparison { changes, effective } = compare(&self.complete, &new.complete);
        if agreement == Agreement::Person {
            return Review { accepted: Self::all_of(new), changes, waiting: Vec::new() };
        }
        if changes.is_empty() {
            return Review { accepted: self.unasked(new), changes, waiting: Vec::new() };
        }
        if let Some(other) = self.other_file(new) {
            return self.all_wait(other, changes);
        }
        let is_waiting = |change: &&ConfigChange| change.consequence == Consequence::NeedsPerson;
        let waiting: Vec<ConfigChange> = changes.iter().filter(is_waiting).cloned().collect();
        let applies_all = self.complete.settings.mcp.auto_reload == AutoReload::Always;
        if applies_all {
            return Review { accepted: Self::all_of(new), changes, waiting: Vec::new() };
        }
        if waiting.is_empty() {
            return Review { accepted: self.unasked(new), changes, waiting };
        }
        let mut history = self.history.clone();
        if waiting.len() < changes.len() {
            history.push(AcceptedFiles::of(new));
            drop_needless(&mut history, &effective);
        }
        // The first is not a mixed change.
        if history.len() > MIXED_MAX + 1 {
            return self.all_wait(needs_person(TOO_MANY, None, None), changes);
        }
        Review { accepted: Self { complete: effective, history }, changes, waiting }
    }

    /// The difference, if the configuration comes from another file than the accepted one.
    fn other_file(&self, new: &ReadConfig) -> Option<ConfigChange> {
        let name = |files: &ConfigFiles| files.file.as_ref().map(|file| file.path.display().to_string());
        let before = self.history.first().and_then(|accepted| name(&accepted.files));
        let after = name(&absolute(&new.files));
        (before != after).then(|| needs_person("the configuration file", before, after))
    }

    /// Nothing takes effect, and `first` says why.
    fn all_wait(&self, first: ConfigChange, changes: Vec<ConfigChange>) -> Review {
        let waits = |change| ConfigChange { consequence: Consequence::NeedsPerson, ..change };
        let changes: Vec<ConfigChange> =
            std::iter::once(first).chain(changes.into_iter().map(waits)).collect();
        Review { accepted: self.clone(), waiting: changes.clone(), changes }
    }
}

impl AcceptedFiles {
    fn of(new: &ReadConfig) -> Self {
        Self { files: absolute(&new.files), complete: new.complete.clone(), resolved: new.resolved.clone() }
    }

    /// What accepted files say when they are read again.
    fn again(files: ConfigFiles, config: Config) -> Result<Self, Failure> {
        let ReadConfig { complete, resolved, .. } = ReadConfig::new(config, FileSource::Accepted(&files))?;
        Ok(Self { files, complete, resolved })
    }
}

/// What is in effect after these; `None` if there are none.
fn replay<'a>(history: impl Iterator<Item = &'a AcceptedFiles>) -> Option<CompleteConfig> {
    history.fold(None, |before, next| {
        Some(match before {
            None => next.complete.clone(),
            Some(before) => compare(&before, &next.complete).effective,
        })
    })
}

/// Drops mixed changes that make no difference any more, once there are too many.
fn drop_needless(history: &mut Vec<AcceptedFiles>, effective: &CompleteConfig) {
    let mut at = 1;
    while history.len() > MIXED_MAX + 1 && at < history.len() {
        let others = history.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, one)| one);
        if replay(others).is_some_and(|without| compare(&without, effective).changes.is_empty()) {
            history.remove(at);
        } else {
            at += 1;
        }
    }
}

/// Makes sure that a lost accepted configuration is noticed: says that nothing was accepted yet, unless the
/// data directory has been in use. Called before anything else is created there.
pub(crate) fn mark_first_start(data: &Path) {
    if has_earlier_state(data) {
        return;
    }
    // What is wrong with the directory is reported when it is opened. Another process may have been faster.
    let marked = fs::DirBuilder::new().recursive(true).mode(0o700).create(data).and_then(|()| {
        let text = serde_json::to_string(&KeptConfigs { configs: Vec::new() })?;
        private().create_new(true).open(path_in(data))?.write_all(text.as_bytes())
    });
    if let Err(error) = marked {
        tracing::debug!(%error, "no new accepted configuration");
    }
}

/// What is kept in the data directory.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptConfigs {
    configs: Vec<ConfigFiles>,
}

/// For a file that nobody else can read.
fn private() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

fn needs_person(setting: &str, before: Option<String>, after: Option<String>) -> ConfigChange {
    ConfigChange { setting: setting.to_owned(), before, after, consequence: Consequence::NeedsPerson }
}

fn path_in(data: &Path) -> PathBuf {
    data.join(FILE_NAME)
}

/// The next start may be in another directory.
fn absolute(files: &ConfigFiles) -> ConfigFiles {
    let mut files = files.clone();
    if let Some(file) = &mut files.file
        && let Ok(path) = std::path::absolute(&file.path)
    {
        file.path = path;
    }
    files
}

/// A difference, as a person reads it.
pub(crate) fn diff_lines(setting: &str, before: Option<&str>, after: Option<&str>) -> Vec<String> {
    let side = |sign: char, text: Option<&str>| -> Vec<String> {
        let lines = text.into_iter().flat_map(str::lines);
        lines.map(|line| format!("{sign} {}", octroi_core::visible(line))).collect()
    };
    let head = format!("@ {}", octroi_core::visible(setting));
    std::iter::once(head).chain(side('-', before)).chain(side('+', after)).collect()
}

#[cfg(test)]
mod tests;
