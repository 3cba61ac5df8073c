//! The certificate of a running gateway, and what happens when its files change.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use octroi_core::config::TlsFiles;
use octroi_gateway::Gateway;
use octroi_server::{Certificate, Tls};
use parking_lot::Mutex;

use crate::endpoint::replace;
use crate::failure::Failure;
use crate::tls::{self, announced_certificate};

/// The certificate in use. Without one the gateway speaks HTTP for as long as it runs, and with one HTTPS: clients
/// know its address with the scheme.
pub(super) struct GatewayCertificate {
    data: PathBuf,
    tls: Option<Arc<Tls>>,
    state: Mutex<CertificateState>,
}

struct CertificateState {
    files: Option<TlsFiles>,
    seen: u64,
}

impl GatewayCertificate {
    /// Reads the certificate of a start, which fails without it.
    pub(super) fn open(data: &Path, files: Option<&TlsFiles>) -> Result<Self, Failure> {
        let seen = files.map_or(0, fingerprint);
        let certificate = files.map(tls::read).transpose()?;
        let state = CertificateState { files: files.cloned(), seen };
        let own = Self {
            data: data.to_path_buf(),
            tls: certificate.as_ref().map(Tls::new),
            state: Mutex::new(state),
        };
        own.announce(certificate.as_ref());
        Ok(own)
    }

    /// What serves it.
    pub(super) fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.clone()
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Reads the files again, if they or their names have changed. What cannot be used changes nothing.
    pub(super) fn look(&self, files: Option<&TlsFiles>, gateway: &Gateway) {
        let seen = files.map_or(0, fingerprint);
        let mut state = self.state.lock();
        if state.seen == seen && state.files.as_ref() == files {
            return;
        }
        (state.seen, state.files) = (seen, files.cloned());
        let problem = match (&self.tls, files) {
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                let change = "`tls_cert` and `tls_key` were added or removed";
                Some(format!("{change}; restart Octroi to change between HTTP and HTTPS"))
            }
            (Some(tls), Some(files)) => match tls::read(files) {
                Ok(certificate) => {
                    // Before it is served: clients that find the gateway trust what is written there.
                    self.announce(Some(&certificate));
                    tls.replace(&certificate);
                    tracing::info!(cert = %files.cert.display(), "new certificate in use");
                    None
                }
                Err(Failure { message, causes, hint, .. }) => {
                    let why = std::iter::once(message).chain(causes).collect::<Vec<_>>().join(": ");
                    let next = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                    Some(format!("the new certificate is not in use, the old one stays: {why}{next}"))
                }
            },
        };
        if let Some(problem) = &problem {
            tracing::warn!("{problem}");
        }
        gateway.set_certificate_problem(problem);
    }

    /// Tells clients that find this gateway by its data directory which certificate to trust.
    fn announce(&self, certificate: Option<&Certificate>) {
        let file = announced_certificate(&self.data);
        let written = match certificate {
            Some(certificate) => replace(&file, certificate.own()),
            None => match std::fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                Ok(()) | Err(_) => Ok(()),
            },
        };
        if let Err(error) = written {
            tracing::warn!(%error, "commands may not trust this gateway without --ca-file");
        }
    }
}

/// Changes when a file, or the target of its name, changes.
fn fingerprint(files: &TlsFiles) -> u64 {
    let mut hasher = DefaultHasher::new();
    for path in [&files.cert, &files.key] {
        if let Ok(found) = std::fs::metadata(path) {
            (found.ino(), found.size(), found.mode(), found.mtime(), found.mtime_nsec()).hash(&mut hasher);
        }
    }
    hasher.finish()
}
