//! What is redacted: the secrets of the configuration, and those of servers that were added at run time.

use std::collections::BTreeSet;
use std::sync::Arc;

use octroi_core::Secret;
use octroi_core::config::AuditSection;
use octroi_core::redact::Redactor;
use octroi_upstream::Context;
use parking_lot::Mutex;

use crate::audit_recorder::AuditRecorder;

/// Gives everything that writes something the redactor in use.
pub(crate) struct Redaction {
    context: Arc<Context>,
    recorder: Arc<AuditRecorder>,
    known: Mutex<KnownSecrets>,
}

#[derive(Default)]
struct KnownSecrets {
    audit: AuditSection,
    configured: Vec<String>,
    /// Every one since the start: what a server wrote with an old one is redacted as well.
    of_servers: BTreeSet<Secret>,
}

impl Redaction {
    pub(crate) fn new(context: &Arc<Context>, recorder: &Arc<AuditRecorder>) -> Self {
        Self { context: Arc::clone(context), recorder: Arc::clone(recorder), known: Mutex::default() }
    }

    /// Sets what the configuration says.
    pub(crate) fn configure(&self, audit: AuditSection, secrets: &[String]) {
        let mut known = self.known.lock();
        known.audit = audit;
        known.configured = secrets.to_vec();
        self.renew(&known);
    }

    /// Adds secrets of servers, before anything can use them.
    pub(crate) fn add(&self, secrets: impl Iterator<Item = Secret>) {
        let mut known = self.known.lock();
        let before = known.of_servers.len();
        known.of_servers.extend(secrets);
        if known.of_servers.len() > before {
            self.renew(&known);
        }
    }

    fn renew(&self, known: &KnownSecrets) {
        let of_servers = known.of_servers.iter().map(|secret| secret.expose().trim());
        let all = known.configured.iter().map(String::as_str).chain(of_servers);
        let redactor = Arc::new(Redactor::new(all));
        self.context.redactor.set(Arc::clone(&redactor));
        self.recorder.set(known.audit.clone(), redactor);
    }
}
