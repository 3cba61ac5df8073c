//! The files that a configuration consists of, as they were when it was read.
//!
//! They are kept in the data directory once they are accepted, so that the accepted configuration can be
//! read again after the files have changed. Contents of `${file:…}` are kept as digests only, stored secrets not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use octroi_core::config::Found;
use octroi_core::principal::hash_token;
use serde::{Deserialize, Serialize};

/// Everything that was read for a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConfigFiles {
    /// The configuration file, if there is one.
    pub(crate) file: Option<TextFile>,
    /// What was found in `mcpservers/`.
    pub(crate) directories: Vec<FoundDirectory>,
    /// Digests of what `${file:…}` was replaced by.
    pub(crate) references: BTreeMap<PathBuf, String>,
    /// Arguments of programs that name something beside the file, and whether it is a directory.
    pub(crate) arguments: BTreeMap<PathBuf, bool>,
    /// The policies, by their paths.
    pub(crate) policies: BTreeMap<PathBuf, String>,
    /// The lock file, if there is one.
    pub(crate) lock: Option<String>,
    /// The file of tokens, if there is one, with hashes instead of tokens.
    #[serde(default)]
    pub(crate) token_file: Option<String>,
    /// Servers of it that nobody has seen, because a secret of theirs was not set.
    #[serde(default)]
    pub(crate) unseen_servers: BTreeSet<String>,
}

impl ConfigFiles {
    /// Whether others are the same files, of which at most more is known: a server whose secret is set is read further.
    pub(super) fn are_within(&self, others: &Self) -> bool {
        let Self { file, directories, references, arguments, policies, lock, token_file, unseen_servers: _ } =
            self;
        let is_known = |(path, digest)| others.references.get(path) == Some(digest);
        let is_found = |(path, is_directory)| others.arguments.get(path) == Some(is_directory);
        *file == others.file
            && *directories == others.directories
            && *policies == others.policies
            && *lock == others.lock
            && *token_file == others.token_file
            && references.iter().all(is_known)
            && arguments.iter().all(is_found)
    }
}

/// A file and its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TextFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// A directory in `mcpservers/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FoundDirectory {
    pub(crate) name: String,
    /// How its entry script is started, if it has one.
    pub(crate) command: Option<Vec<String>>,
    /// Its own settings, if it has some.
    pub(crate) settings: Option<String>,
}

/// Where files are looked for.
#[derive(Clone, Copy)]
pub(crate) enum FileSource<'a> {
    /// On the disk, as they are now.
    Disk,
    /// Among those that were accepted.
    Accepted(&'a ConfigFiles),
}

impl FileSource<'_> {
    /// What a path leads to.
    pub(super) fn find(self, path: &Path) -> Found {
        let is_directory = match self {
            Self::Disk => std::fs::metadata(path).ok().map(|found| found.is_dir()),
            Self::Accepted(files) => files.arguments.get(path).copied(),
        };
        match is_directory {
            None => Found::Nothing,
            Some(true) => Found::Directory,
            Some(false) => Found::File,
        }
    }

    /// Checks what `${file:…}` was replaced by.
    pub(super) fn check_reference(self, path: &Path, text: &str) -> Result<(), String> {
        match self {
            Self::Disk => Ok(()),
            Self::Accepted(files) if files.references.get(path) == Some(&digest(text)) => Ok(()),
            Self::Accepted(_) => Err("it has changed since it was accepted".to_owned()),
        }
    }

    /// The text of a policy file.
    pub(crate) fn policy(self, path: &Path) -> std::io::Result<String> {
        match self {
            Self::Disk => std::fs::read_to_string(path),
            Self::Accepted(files) => {
                files.policies.get(path).cloned().ok_or_else(|| std::io::ErrorKind::NotFound.into())
            }
        }
    }

    /// The text of the lock file; `None` if there is none.
    pub(crate) fn lock(self, path: &Path) -> std::io::Result<Option<String>> {
        match self {
            Self::Disk => read_if_there(path),
            Self::Accepted(files) => Ok(files.lock.clone()),
        }
    }

    /// The text of the file of tokens; `None` if there is none.
    pub(super) fn token_file(self, path: &Path) -> std::io::Result<Option<String>> {
        match self {
            Self::Disk => read_if_there(path),
            Self::Accepted(files) => Ok(files.token_file.clone()),
        }
    }
}

fn read_if_there(path: &Path) -> std::io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The digest under which the content of a file is remembered.
pub(super) fn digest(text: &str) -> String {
    hash_token(text).iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}
