//! The accepted configuration: what a person agreed to, kept in the data directory.
//!
//! A configuration on disk that differs from it takes effect only as far as it tightens or is harmless. What
//! was accepted is kept as the files it consisted of; after a mixed change these are followed by the files of
//! that change, of which only the harmless part counts.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use octroi_core::config::AutoReload;
use octroi_core::config::compare::{CompleteConfig, ConfigChange, compare};
use serde::{Deserialize, Serialize};

use super::{Config, ConfigFiles, FileSource, Sources, load_accepted, named_files};
use crate::failure::Failure;

const FILE_NAME: &str = "accepted-config.json";
/// How many mixed changes are kept. Beyond that, everything waits until a person has looked.
const MIXED_MAX: usize = 16;

/// A configuration that was read, with the files that it names.
pub(crate) struct ReadConfig {
    pub(crate) complete: CompleteConfig,
    pub(crate) files: ConfigFiles,
    /// The configuration file, if there is one.
    pub(crate) file: Option<PathBuf>,
    pub(crate) watched: Vec<PathBuf>,
}

impl ReadConfig {
    /// Reads the files that a configuration names.
    pub(crate) fn new(config: Config, source: FileSource<'_>) -> Result<Self, Failure> {
        let Config { settings, file, mut files, mut watched } = config;
        let named = named_files::read(&settings, source)?;
        watched.extend(named.paths);
        files.policies =
            named.policies.values().map(|policy| (policy.path.clone(), policy.source.clone())).collect();
        files.lock = named.lock_text;
        let complete = CompleteConfig { settings, policies: named.policies, lock: named.lock };
        Ok(Self { complete, files, file, watched })
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
    /// The files of the last complete acceptance, then those of mixed changes.
    history: Vec<ConfigFiles>,
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
        Self { complete: new.complete.clone(), history: vec![absolute(&new.files)] }
    }

    /// Reads what was accepted; `None` if nothing was yet.
    pub(crate) fn read(sources: &Sources) -> Result<Option<Self>, Failure> {
        let path = path_in(&sources.data);
        let unusable = |cause: &dyn ToString| {
            Failure::new(format!("the accepted configuration in {} cannot be used", path.display()))
                .cause(cause.to_string())
                .hint("look at the configuration file, then accept it with `octroi up --accept-config`")
        };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(&error)),
        };
        let kept: KeptConfigs = serde_json::from_str(&text).map_err(|error| unusable(&error))?;
        let mut accepted: Option<CompleteConfig> = None;
        for files in &kept.configs {
            let config = load_accepted(files, sources).map_err(|error| unusable(&error))?;
            let read = ReadConfig::new(config, FileSource::Accepted(files))?.complete;
            accepted = Some(match accepted {
                None => read,
                Some(before) => compare(&before, &read).effective,
            });
        }
        let complete = accepted.ok_or_else(|| unusable(&"it is empty"))?;
        Ok(Some(Self { complete, history: kept.configs }))
    }

    /// Keeps it in the data directory.
    pub(crate) fn keep(&self, data: &Path) -> io::Result<()> {
        let path = path_in(data);
        let text = serde_json::to_string(&KeptConfigs { configs: self.history.clone() })?;
        if fs::read_to_string(&path).is_ok_and(|kept| kept == text) {
            return Ok(());
        }
        let new = path.with_extension("new");
        let mut out =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        fs::rename(&new, &path)
    }

    /// Compares a configuration with what was accepted.
    pub(crate) fn review(&self, new: &ReadConfig, agreement: Agreement) -> Review {
        let comparison = compare(&self.complete, &new.complete);
        let waiting: Vec<ConfigChange> = comparison.waiting().cloned().collect();
        let applies_all = self.complete.settings.mcp.auto_reload == AutoReload::Always;
        if agreement == Agreement::Person || applies_all || waiting.is_empty() {
            return Review { accepted: Self::all_of(new), changes: comparison.changes, waiting: Vec::new() };
        }
        let is_mixed = waiting.len() < comparison.changes.len();
        if is_mixed && self.history.len() > MIXED_MAX {
            let (changes, waiting) = (comparison.changes.clone(), comparison.changes);
            return Review { accepted: self.clone(), changes, waiting };
        }
        let mut accepted = Self { complete: comparison.effective, history: self.history.clone() };
        if is_mixed {
            accepted.history.push(absolute(&new.files));
        }
        Review { accepted, changes: comparison.changes, waiting }
    }
}

/// What is kept in the data directory.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptConfigs {
    configs: Vec<ConfigFiles>,
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
