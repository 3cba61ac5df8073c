//! TLS from both sides: the certificate files of a gateway, and whom its clients trust.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use octroi_core::config::TlsFiles;
use octroi_server::Certificate;

use crate::failure::Failure;

mod trust;

pub(crate) use trust::{HttpsConnector, Trust, connector};

/// The certificate that the gateway of a data directory serves, for clients that find it there. They trust exactly
/// this one, so that it may be self-signed and for another name.
pub(crate) fn announced_certificate(data: &Path) -> PathBuf {
    data.join("endpoint.der")
}

/// Reads a certificate and its key.
pub(crate) fn read(files: &TlsFiles) -> Result<Certificate, Failure> {
    let TlsFiles { cert, key } = files;
    let chain = std::fs::read(cert).map_err(|error| unreadable(cert, "`tls_cert`", &error))?;
    refuse_exposed(key)?;
    let secret = std::fs::read(key).map_err(|error| unreadable(key, "`tls_key`", &error))?;
    Certificate::read(&chain, &secret).map_err(|error| {
        Failure::new(format!("cannot use the certificate {} with the key {}", cert.display(), key.display()))
            .cause(&error)
            .hint("write the certificate and then its chain into `tls_cert`, and its unencrypted key into `tls_key`")
    })
}

fn unreadable(path: &Path, key: &str, error: &io::Error) -> Failure {
    Failure::new(format!("cannot read {}", path.display()))
        .cause(error)
        .hint(format!("{key} under [server] names it; relative paths start at the configuration file"))
}

/// Fails if other users can read or replace a private key. Its group may read it, as many systems set that up.
fn refuse_exposed(key: &Path) -> Result<(), Failure> {
    let found = std::fs::metadata(key).map_err(|error| unreadable(key, "`tls_key`", &error))?;
    let shown = key.display();
    if found.mode() & 0o004 != 0 {
        let failure = Failure::new(format!("every user of this machine can read the private key {shown}"));
        return Err(
            failure.hint(format!("run `chmod o-rwx {shown}`; if it was readable for long, get a new one"))
        );
    }
    if found.mode() & 0o022 != 0 {
        let failure = Failure::new(format!("others can write the private key {shown}"));
        return Err(failure.hint(format!("run `chmod go-w {shown}`")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let key = directory.path().join("key.pem");
        fs::write(&key, "").unwrap();
        for (mode, is_safe) in [(0o600, true), (0o400, true), (0o640, true), (0o644, false), (0o660, false)] {
            fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
            let refused = refuse_exposed(&key);
            assert_eq!(refused.is_ok(), is_safe, "{mode:o}");
            if let Err(failure) = refused {
                assert!(failure.hint.unwrap().contains("chmod"), "the hint has the command");
            }
        }
        assert!(refuse_exposed(Path::new("/no/such/key")).is_err());
    }
}
