//! The files that a configuration names: policies and the lock file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use octroi_core::config::Config as Settings;
use octroi_core::config::compare::PolicyText;
use octroi_core::pin::Lock;

use super::files::FileSource;
use super::level::{AGENT, FLOOR, GLOBAL};
use crate::failure::Failure;

/// The files that a configuration names.
pub(super) struct NamedFiles {
    /// The policies, by level.
    pub(super) policies: BTreeMap<String, PolicyText>,
    pub(super) lock: Lock,
    /// The text of the lock file, if there is one.
    pub(super) lock_text: Option<String>,
    /// All paths, to watch them.
    pub(super) paths: Vec<PathBuf>,
}

/// Reads the policies and the lock file that the configuration names.
pub(super) fn read(settings: &Settings, source: FileSource<'_>) -> Result<NamedFiles, Failure> {
    let mut paths = Vec::new();
    let mut policies = BTreeMap::new();
    let levels = [(FLOOR.to_owned(), &settings.policy.floor), (GLOBAL.to_owned(), &settings.policy.global)];
    let agents = settings.agents.iter().map(|agent| (format!("{AGENT}{}", agent.id), &agent.policy));
    for (level, path) in levels.into_iter().chain(agents) {
        let Some(path) = path else { continue };
        let source = source.policy(path).map_err(|error| {
            Failure::new(format!("cannot read the policy {}", path.display()))
                .cause(error)
                .hint("name a file that can be read, or remove the key")
        })?;
        paths.push(path.clone());
        policies.insert(level, PolicyText { path: path.clone(), source });
    }
    let path = &settings.pins.lock;
    paths.push(path.clone());
    let lock_text = source
        .lock(path)
        .map_err(|error| Failure::new(format!("cannot read {}", path.display())).cause(error))?;
    let lock = match &lock_text {
        // A missing lock file locks nothing.
        None => Lock::default(),
        Some(text) => Lock::parse(text).map_err(|error| {
            Failure::new(format!("{}:{}: this is not a lock file", path.display(), error.line))
                .cause(&error)
                .hint(error.hint())
        })?,
    };
    Ok(NamedFiles { policies, lock, lock_text, paths })
}
