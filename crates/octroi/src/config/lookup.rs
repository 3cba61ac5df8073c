//! What `${…}` in the configuration names: variables, stored credentials, files.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use octroi_core::config::{Problem, Severity};
use octroi_core::substitute::ReferenceKind;
use octroi_core::syntax::{self, Format, Node, Origin};

use super::files::{FileSource, digest};

/// Resolves references, and remembers which files they named.
pub(super) struct Lookups<'a> {
    credentials_file: PathBuf,
    credentials: OnceCell<Result<Option<Node>, String>>,
    base: &'a Path,
    source: FileSource<'a>,
    files: RefCell<BTreeSet<PathBuf>>,
    /// Digests of what `${file:…}` was replaced by.
    references: RefCell<BTreeMap<PathBuf, String>>,
}

impl<'a> Lookups<'a> {
    pub(super) fn new(data: &Path, base: &'a Path, source: FileSource<'a>) -> Self {
        Self {
            credentials_file: data.join("auth.json"),
            credentials: OnceCell::new(),
            base,
            source,
            files: RefCell::default(),
            references: RefCell::default(),
        }
    }

    pub(super) fn find(&self, kind: ReferenceKind, name: &str) -> Result<Option<String>, String> {
        match kind {
            ReferenceKind::Env => match std::env::var(name) {
                Ok(value) => Ok(Some(value)),
                Err(std::env::VarError::NotPresent) => Ok(None),
                Err(std::env::VarError::NotUnicode(_)) => Err("it is not UTF-8".to_owned()),
            },
            // There is no other store of secrets yet.
            ReferenceKind::Auth | ReferenceKind::Secret => self.credential(name),
            ReferenceKind::File => self.file(name).map(Some),
            ReferenceKind::Input => Ok(None),
        }
    }

    /// A warning about the files that were read, if there is one.
    pub(super) fn problems(&self) -> Option<Problem> {
        let found = self.credentials.get()?.as_ref().ok()?.is_some();
        let mode = fs::metadata(&self.credentials_file).ok()?.permissions().mode();
        (found && mode & 0o077 != 0).then(|| Problem {
            severity: Severity::Warning,
            origin: Origin::Default,
            subject: None,
            message: format!("others can read {}", self.credentials_file.display()),
            hint: Some(format!("run `chmod 600 {}`", self.credentials_file.display())),
        })
    }

    pub(super) fn files(&self) -> BTreeSet<PathBuf> {
        self.files.borrow().clone()
    }

    pub(super) fn references(&self) -> BTreeMap<PathBuf, String> {
        self.references.borrow().clone()
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
