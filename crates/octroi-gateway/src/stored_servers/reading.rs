//! From a stored entry to the definition of a server.

use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use octroi_core::config::SecretUse;
use octroi_core::config::stored_entry::{
    EntryWriter, StoredContext, StoredServer, masked, read_stored, referred_secrets, secrets_of,
};
use octroi_core::server::{ServerSpec, Transport};
use octroi_core::substitute::ReferenceKind;
use octroi_core::{Scope, Secret, ServerKey, UserRole};
use octroi_store::ServerEntry;
use serde_json::{Map, Value};
use tracing::warn;

use super::{EntrySettings, StoredServers};
use crate::operator_error::OperatorError;
use crate::secrets::SecretValues;

/// What a reference in an entry stands for; `None` if it is not set.
type Lookup<'a> = dyn Fn(ReferenceKind, &str) -> Result<Option<String>, String> + 'a;

/// Stands for a secret that is not set yet. It may be an address, or a part of one.
const NOT_SET: &str = "https://not-set.invalid/";

/// A stored server, and what became of its entry.
#[derive(Debug)]
pub struct StoredEntry {
    /// What is stored of it.
    pub record: ServerEntry,
    /// The entry; empty if it cannot be decrypted.
    pub entry: Map<String, Value>,
    /// Why it cannot be used.
    pub error: Option<String>,
    /// What is noteworthy about its entry.
    pub warnings: Vec<String>,
    pub(super) spec: Option<ServerSpec>,
    pub(super) secrets: Vec<Secret>,
    pub(super) is_read: bool,
    referred: BTreeSet<String>,
}

impl StoredEntry {
    /// One that was not read yet.
    pub(super) fn unread(record: ServerEntry) -> Self {
        let json = record.entry.as_ref().and_then(|entry| serde_json::from_str(entry.as_str()).ok());
        let entry = match json {
            Some(Value::Object(entry)) => entry,
            _ => Map::new(),
        };
        Self {
            referred: referred_secrets(&entry),
            entry,
            record,
            error: None,
            warnings: Vec::new(),
            spec: None,
            secrets: Vec::new(),
            is_read: false,
        }
    }

    /// The entry as people see it.
    pub fn masked(&self) -> Map<String, Value> {
        masked(&self.entry)
    }

    /// The definition that it runs with, if it can be used.
    pub fn spec(&self) -> Option<&ServerSpec> {
        self.spec.as_ref()
    }

    pub(super) fn secret_uses(&self) -> impl Iterator<Item = (Scope, SecretUse)> + '_ {
        let server = Some(self.record.key.name.to_string());
        let scope = &self.record.key.scope;
        let one = move |secret: &String| SecretUse { secret: secret.clone(), server: server.clone() };
        self.referred.iter().map(move |secret| (scope.clone(), one(secret)))
    }
}

impl StoredServers {
    /// Reads an entry with the secrets as they are.
    pub(super) fn read(
        &self,
        record: ServerEntry,
        settings: &EntrySettings,
        secrets: &SecretValues,
    ) -> StoredEntry {
        let unread = StoredEntry::unread(record);
        if unread.record.entry.is_none() {
            let error = "its entry is encrypted with another master key; delete the server and add it again";
            return StoredEntry { error: Some(error.to_owned()), is_read: true, ..unread };
        }
        let key = &unread.record.key;
        let lookup = |kind: ReferenceKind, name: &str| match kind {
            ReferenceKind::Secret => match secrets.get(&key.scope).and_then(|own| own.get(name)) {
                None => Ok(None),
                Some(Some(value)) => Ok(Some(value.expose().trim_end_matches(['\r', '\n']).to_owned())),
                Some(None) => Err("it is encrypted with another master key; set it again".to_owned()),
            },
            _ => variable(kind, name),
        };
        let StoredServer { mut spec, problems } = self.read_with(key, &unread.entry, settings, &lookup);
        if let Some(spec) = &mut spec {
            prepare(spec, settings);
        }
        let says = |problem: &octroi_core::config::Problem| match &problem.hint {
            Some(hint) => format!("{}; {hint}", problem.message),
            None => problem.message.clone(),
        };
        let (warnings, errors): (Vec<_>, Vec<_>) =
            problems.iter().partition(|problem| problem.severity == octroi_core::config::Severity::Warning);
        StoredEntry {
            error: errors.first().filter(|_| spec.is_none()).map(|problem| says(problem)),
            warnings: warnings.into_iter().map(says).collect(),
            secrets: spec.as_ref().map(secrets_of).unwrap_or_default(),
            spec,
            is_read: true,
            ..unread
        }
    }

    /// Whether an entry can be stored. Secrets that are not set yet are no reason to refuse it.
    pub(super) fn check(&self, key: &ServerKey, entry: &Map<String, Value>) -> Result<(), OperatorError> {
        self.imagined(key, entry).map(drop)
    }

    /// The definition that an entry would have, with the secrets as they are.
    pub fn imagine(&self, key: &ServerKey, entry: &Map<String, Value>) -> Result<ServerSpec, OperatorError> {
        self.imagined(key, entry)?;
        let settings = self.settings.lock().clone().unwrap_or_default();
        let secrets = self.secrets.values();
        let own = secrets.get(&key.scope);
        let lookup = |kind: ReferenceKind, name: &str| match kind {
            ReferenceKind::Secret => {
                let value = own.and_then(|own| own.get(name)?.as_ref());
                Ok(value.map(|value| value.expose().trim_end_matches(['\r', '\n']).to_owned()))
            }
            _ => variable(kind, name),
        };
        let mut spec = usable(self.read_with(key, entry, &settings, &lookup))?;
        prepare(&mut spec, &settings);
        self.redaction.add(secrets_of(&spec).into_iter());
        Ok(spec)
    }

    fn imagined(&self, key: &ServerKey, entry: &Map<String, Value>) -> Result<ServerSpec, OperatorError> {
        let settings = self.settings.lock().clone().unwrap_or_default();
        let lookup = |kind: ReferenceKind, name: &str| match kind {
            ReferenceKind::Secret => Ok(Some(NOT_SET.to_owned())),
            _ => variable(kind, name),
        };
        usable(self.read_with(key, entry, &settings, &lookup))
    }

    fn read_with(
        &self,
        key: &ServerKey,
        entry: &Map<String, Value>,
        settings: &EntrySettings,
        lookup: &Lookup<'_>,
    ) -> StoredServer {
        let directory = settings.directory.as_ref().map(|all| all.join(directory_name(key)));
        let writer = match &key.scope {
            Scope::System => EntryWriter::Administrator,
            Scope::User(owner)
                if self.identity.user(owner).is_some_and(|user| user.role == UserRole::Admin) =>
            {
                EntryWriter::Administrator
            }
            Scope::User(_) => EntryWriter::Member { may_run_commands: settings.may_members_run_commands },
        };
        let health_interval = settings.health_interval;
        let context = StoredContext { writer, lookup, health_interval, directory: directory.as_deref() };
        read_stored(key, &Value::Object(entry.clone()), context)
    }
}

/// No name of a server has a dot, so these are the names of no others.
fn directory_name(key: &ServerKey) -> PathBuf {
    match &key.scope {
        Scope::System => key.name.as_str().into(),
        Scope::User(owner) => format!("{owner}.{}", key.name).into(),
    }
}

fn usable(read: StoredServer) -> Result<ServerSpec, OperatorError> {
    if let Some(spec) = read.spec {
        return Ok(spec);
    }
    let error = read.problems.into_iter().find(|one| one.severity > octroi_core::config::Severity::Warning);
    let (message, hint) = error.map_or_else(
        || ("it has neither `command` nor `url`".to_owned(), None),
        |problem| (problem.message, problem.hint),
    );
    Err(OperatorError::ServerEntry { message, hint })
}

/// A variable of the gateway.
fn variable(kind: ReferenceKind, name: &str) -> Result<Option<String>, String> {
    if kind != ReferenceKind::Env {
        return Ok(None);
    }
    if name.starts_with("OCTROI_") {
        return Err("it is a variable of Octroi itself".to_owned());
    }
    match std::env::var(name) {
        Ok(value) => Ok(Some(value)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err("it is not UTF-8".to_owned()),
    }
}

/// Makes the directory that a program runs in.
fn prepare(spec: &mut ServerSpec, settings: &EntrySettings) {
    if let Some(grace) = settings.grace {
        spec.timeouts.shutdown = spec.timeouts.shutdown.min(grace);
    }
    let Transport::Stdio(program) = &spec.transport else {
        return;
    };
    if let (Some(cwd), Some(all)) = (&program.cwd, &settings.directory)
        && cwd.starts_with(all)
        && let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(cwd)
    {
        warn!(server.name = %spec.key, %error, "the directory of the server could not be created");
    }
}
