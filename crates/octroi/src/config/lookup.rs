//! What `${…}` in the configuration names: variables, credentials, stored secrets, files.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use octroi_core::Secret;
use octroi_core::config::{Problem, Severity};
use octroi_core::env_file;
use octroi_core::substitute::ReferenceKind;
use octroi_core::syntax::{self, Format, Node, Origin};
use octroi_gateway::SystemSecrets;

use super::files::{FileSource, digest};

/// The variables that hold master keys. A server that had one could decrypt what others own.
const MASTER_KEYS: [&str; 2] = ["OCTROI_MASTER_KEY", "OCTROI_NEW_MASTER_KEY"];
/// Stands for every secret as long as they cannot be read. It may be a part of an address, or one.
const NOT_READ: &str = "https://not-read.invalid/";

/// What `${secret:…}` stands for.
#[derive(Clone, Debug, Default)]
pub(crate) enum StoredSecrets {
    /// The store is not open: every secret counts as set.
    #[default]
    NotRead,
    /// As they are stored.
    Read(SystemSecrets),
}

impl StoredSecrets {
    fn find(&self, name: &str) -> Result<Option<String>, String> {
        match self {
            Self::NotRead => Ok(Some(NOT_READ.to_owned())),
            Self::Read(secrets) => match secrets.by_name.get(name) {
                None => Ok(None),
                // A line break at its end belongs to the file or the terminal that it came from.
                Some(Some(value)) => Ok(Some(value.expose().trim_end_matches(['\r', '\n']).to_owned())),
                Some(None) => Err(format!(
                    "it is encrypted with another master key; set it again with `octroi secret set {name}`"
                )),
            },
        }
    }
}

/// The file with variables beside the configuration.
const ENV_FILE: &str = ".env";

/// What credentials, files and variables of `.env` were resolved to. Kept in memory only: reading an accepted configuration again must not
/// bring in what has changed in them since.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResolvedReferences {
    credentials: BTreeMap<String, Result<Option<Secret>, String>>,
    files: BTreeMap<String, Result<Secret, String>>,
    variables: BTreeMap<String, Result<Option<Secret>, String>>,
}

impl ResolvedReferences {
    /// The variables that come from `.env`.
    pub(crate) fn variables_of_file(&self) -> impl Iterator<Item = &str> {
        let is_found = |found: &Result<Option<Secret>, String>| matches!(found, Ok(Some(_)));
        self.variables.iter().filter(move |(_, found)| is_found(found)).map(|(name, _)| name.as_str())
    }
}

/// The file with variables beside the configuration in this directory.
pub(super) fn env_file_in(base: &Path) -> PathBuf {
    base.join(ENV_FILE)
}

/// Resolves references, and remembers which files they named.
pub(super) struct Lookups<'a> {
    credentials_file: PathBuf,
    credentials: OnceCell<Result<Option<Node>, String>>,
    variables: OnceCell<Result<BTreeMap<String, Secret>, String>>,
    base: &'a Path,
    source: FileSource<'a>,
    files: RefCell<BTreeSet<PathBuf>>,
    /// Digests of what `${file:…}` was replaced by.
    references: RefCell<BTreeMap<PathBuf, String>>,
    secrets: &'a StoredSecrets,
    resolved: RefCell<ResolvedReferences>,
}

impl<'a> Lookups<'a> {
    pub(super) fn new(
        data: &Path,
        base: &'a Path,
        source: FileSource<'a>,
        secrets: &'a StoredSecrets,
        before: Option<&ResolvedReferences>,
    ) -> Self {
        Self {
            credentials_file: data.join("auth.json"),
            credentials: OnceCell::new(),
            variables: OnceCell::new(),
            base,
            source,
            files: RefCell::default(),
            references: RefCell::default(),
            secrets,
            resolved: RefCell::new(before.cloned().unwrap_or_default()),
        }
    }

    pub(super) fn find(&self, kind: ReferenceKind, name: &str) -> Result<Option<String>, String> {
        match kind {
            ReferenceKind::Env if MASTER_KEYS.contains(&name) => {
                Err("it is the key of the stored secrets, which nobody else may have".to_owned())
            }
            ReferenceKind::Env => match std::env::var(name) {
                Ok(value) => Ok(Some(value)),
                Err(std::env::VarError::NotPresent) => {
                    let before = self.resolved.borrow().variables.get(name).cloned();
                    let found = before.unwrap_or_else(|| Ok(self.variables()?.get(name).cloned()));
                    self.resolved.borrow_mut().variables.insert(name.to_owned(), found.clone());
                    Ok(found?.map(|value| value.expose().to_owned()))
                }
                Err(std::env::VarError::NotUnicode(_)) => Err("it is not UTF-8".to_owned()),
            },
            ReferenceKind::Auth => {
                let before = self.resolved.borrow().credentials.get(name).cloned();
                let found = before.unwrap_or_else(|| Ok(self.credential(name)?.map(Secret::new)));
                self.resolved.borrow_mut().credentials.insert(name.to_owned(), found.clone());
                Ok(found?.map(|value| value.expose().to_owned()))
            }
            ReferenceKind::Secret => self.secrets.find(name),
            ReferenceKind::File => {
                let before = self.resolved.borrow().files.get(name).cloned();
                let found = before.unwrap_or_else(|| self.file(name).map(Secret::new));
                self.resolved.borrow_mut().files.insert(name.to_owned(), found.clone());
                Ok(Some(found?.expose().to_owned()))
            }
            ReferenceKind::Input => Ok(None),
        }
    }

    /// Warnings about the files that were read.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let has_credentials = self.credentials.get().is_some_and(|read| matches!(read, Ok(Some(_))));
        let has_variables =
            self.variables.get().is_some_and(|read| read.as_ref().is_ok_and(|read| !read.is_empty()));
        let credentials = has_credentials.then(|| self.credentials_file.clone());
        let variables = has_variables.then(|| env_file_in(self.base));
        let mut problems: Vec<Problem> =
            credentials.into_iter().chain(variables).filter_map(|path| readable_for_others(&path)).collect();
        if let Some(Err(reason)) = self.variables.get() {
            problems.push(Problem {
                severity: Severity::Warning,
                origin: Origin::Default,
                subject: None,
                message: format!("no variable of {} is used: {reason}", env_file_in(self.base).display()),
                hint: Some("correct the file; the environment itself is still used".to_owned()),
            });
        }
        problems
    }

    pub(super) fn files(&self) -> BTreeSet<PathBuf> {
        self.files.borrow().clone()
    }

    pub(super) fn into_resolved(self) -> ResolvedReferences {
        self.resolved.into_inner()
    }

    pub(super) fn references(&self) -> BTreeMap<PathBuf, String> {
        self.references.borrow().clone()
    }

    /// The variables of `.env`.
    fn variables(&self) -> Result<&BTreeMap<String, Secret>, String> {
        self.variables.get_or_init(|| self.read_variables()).as_ref().map_err(Clone::clone)
    }

    fn read_variables(&self) -> Result<BTreeMap<String, Secret>, String> {
        let path = env_file_in(self.base);
        self.files.borrow_mut().insert(path.clone());
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error.to_string()),
        };
        self.source.check_reference(&path, &text)?;
        let variables = env_file::parse(&text).map_err(|error| error.to_string())?;
        self.references.borrow_mut().insert(path, digest(&text));
        Ok(variables)
    }

    /// The `key` of a stored credential.
    fn credential(&self, name: &str) -> Result<Option<String>, String> {
        let store = self.credentials.get_or_init(|| self.read_credentials()).clone()?;
        let key = store.as_ref().and_then(Node::as_map).and_then(|map| map.get(name)?.as_map()?.get("key"));
        Ok(key.and_then(Node::as_text).map(str::to_owned))
    }

    fn read_credentials(&self) -> Result<Option<Node>, String> {
        let path = &self.credentials_file;
        self.files.borrow_mut().insert(path.clone());
        match fs::read_to_string(path) {
            Ok(text) => {
                // The position is enough: the message must not show a line of this file.
                syntax::parse(Format::Jsonc, &text, &Arc::from(path.as_path()))
                    .map(Some)
                    .map_err(|error| format!("{}:{} is not JSON", path.display(), error.line))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    fn file(&self, name: &str) -> Result<String, String> {
        let path = self.base.join(name);
        self.files.borrow_mut().insert(path.clone());
        let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let text = text.strip_suffix('\r').unwrap_or(text).to_owned();
        self.source.check_reference(&path, &text)?;
        self.references.borrow_mut().insert(path, digest(&text));
        Ok(text)
    }
}

fn readable_for_others(path: &Path) -> Option<Problem> {
    let mode = fs::metadata(path).ok()?.permissions().mode();
    (mode & 0o077 != 0).then(|| Problem {
        severity: Severity::Warning,
        origin: Origin::Default,
        subject: None,
        message: format!("others can read {}", path.display()),
        hint: Some(format!("run `chmod 600 {}`", path.display())),
    })
}
