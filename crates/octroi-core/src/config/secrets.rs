//! The secrets of a configuration, for the redactor.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::keys::{Key, SERVER, TOKEN};
use super::problem::ProblemLog;
use super::root::Root;
use super::settings::Context;
use super::stored_secrets::SecretUse;
use super::{Config, Destination, EffectiveConfig};
use crate::secret::Secret;
use crate::server::{OauthChoice, Program, Remote, Transport};
use crate::substitute::{Lookup, ReferenceKind};
use crate::syntax::{Map, Node};

/// Variables that every program of this user has. Redacting them would hide ordinary paths and names.
const PUBLIC: &[&str] = &[
    "HOME",
    "HOSTNAME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "OLDPWD",
    "PATH",
    "PWD",
    "SHELL",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];

/// Remembers what references are resolved to.
pub(super) struct ResolvedValues<'a> {
    lookup: Lookup<'a>,
    found: RefCell<BTreeSet<Secret>>,
    /// References to stored secrets.
    uses: RefCell<BTreeSet<SecretUse>>,
    /// The server that is being read, if it is one.
    server: RefCell<Option<String>>,
    /// Stored secrets that are not set.
    unset: RefCell<Vec<String>>,
}

impl<'a> ResolvedValues<'a> {
    pub(super) fn new(lookup: Lookup<'a>) -> Self {
        Self {
            lookup,
            found: RefCell::default(),
            uses: RefCell::default(),
            server: RefCell::default(),
            unset: RefCell::default(),
        }
    }

    /// Resolves a reference.
    pub(super) fn find(&self, kind: ReferenceKind, name: &str) -> Result<Option<String>, String> {
        let found = (self.lookup)(kind, name);
        if kind == ReferenceKind::Secret {
            let server = self.server.borrow().clone();
            self.uses.borrow_mut().insert(SecretUse { secret: name.to_owned(), server });
            if !matches!(found, Ok(Some(_))) {
                self.unset.borrow_mut().push(name.to_owned());
            }
        }
        let is_public = match kind {
            ReferenceKind::Env => PUBLIC.contains(&name),
            // Written in the file itself, for everybody to see.
            ReferenceKind::Input => true,
            ReferenceKind::Auth | ReferenceKind::Secret | ReferenceKind::File => false,
        };
        if let Ok(Some(value)) = &found
            && !is_public
        {
            // A file ends in a line break that its secret does not have.
            self.found.borrow_mut().insert(Secret::new(value.trim()));
        }
        found
    }

    /// References belong to this server from now on.
    pub(super) fn enter(&self, server: Option<String>) {
        self.server.replace(server);
    }

    /// The stored secrets that were not set since this was called last.
    pub(super) fn forget_unset(&self) -> Vec<String> {
        self.unset.take()
    }

    /// All references to stored secrets.
    pub(super) fn uses(&self) -> Vec<SecretUse> {
        self.uses.borrow().iter().cloned().collect()
    }

    /// Everything that was resolved.
    pub(super) fn into_secrets(self) -> BTreeSet<Secret> {
        self.found.into_inner()
    }
}

impl Context<'_> {
    /// The tokens that are written as they are.
    pub(super) fn written_tokens(&self, root: &Root) -> Vec<Secret> {
        let tokens =
            root.tokens.iter().filter_map(Node::as_map).filter_map(|map| self.written(map, TOKEN, "token"));
        tokens.chain(self.written(&root.server, SERVER, "admin_token")).collect()
    }

    fn written(&self, map: &Map, keys: &'static [Key], name: &str) -> Option<Secret> {
        // Problems are reported where the table is read.
        let reader = self.reader(map, keys, ProblemLog::of_section(self.unknown));
        reader.text_of(name).filter(|text| !text.contains("${")).map(|text| Secret::new(text.trim()))
    }
}

impl EffectiveConfig {
    /// Adds what is never displayed.
    pub(super) fn hide(&mut self, secrets: impl IntoIterator<Item = Secret>) {
        self.hidden.extend(secrets);
        self.hidden.sort();
        self.hidden.dedup();
    }
}

impl Config {
    /// Every value of the configuration that must be redacted in records, logs and errors.
    pub fn secrets(&self) -> Vec<String> {
        let servers = self.servers.iter().flat_map(|server| {
            let oauth = match &server.oauth {
                OauthChoice::On(client) => client.client_secret.as_ref(),
                OauthChoice::Unset | OauthChoice::Off => None,
            };
            of_transport(&server.transport).chain(oauth)
        });
        let gates = self.gates.iter().flat_map(|gate| of_program(&gate.program));
        let handlers = self.audit.handlers.iter().filter_map(|handler| match &handler.destination {
            Destination::Webhook(remote) | Destination::Otlp(remote) => Some(of_remote(remote)),
            Destination::Jsonl(_) | Destination::Syslog(_) => None,
        });
        let all = servers.chain(gates).chain(handlers.flatten()).chain(&self.effective.hidden);
        let all: BTreeSet<&Secret> = all.filter(|secret| !secret.expose().trim().is_empty()).collect();
        all.into_iter().map(|secret| secret.expose().to_owned()).collect()
    }
}

fn of_transport(transport: &Transport) -> impl Iterator<Item = &Secret> {
    let (program, remote) = match transport {
        Transport::Stdio(program) => (Some(program), None),
        Transport::Http(remote) | Transport::Sse(remote) => (None, Some(remote)),
    };
    program.into_iter().flat_map(of_program).chain(remote.into_iter().flat_map(of_remote))
}

fn of_program(program: &Program) -> impl Iterator<Item = &Secret> {
    program.env.values()
}

fn of_remote(remote: &Remote) -> impl Iterator<Item = &Secret> {
    remote.headers.values()
}
