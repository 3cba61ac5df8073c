//! The tokens that Octroi creates itself: for the person who runs it, for the agent `default`, and for
//! `octroi stdio`.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crc::{CRC_32_ISO_HDLC, Crc};
use octroi_core::principal::hash_token;
use octroi_core::{Principal, Role};

const ADMIN_FILE: &str = "admin.token";
const DEFAULT_AGENT_FILE: &str = "default.token";
const LOCAL_FILE: &str = "stdio.token";
const SECRET_LENGTH: usize = 43;
const ID_LENGTH: usize = 8;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The checksum of zip files and Ethernet, which every language has a library for.
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// A token in the data directory, and whether it was just created.
pub(crate) struct KeptToken {
    pub(crate) token: String,
    pub(crate) file: PathBuf,
    pub(crate) is_new: bool,
}

/// Reads the admin token from the data directory, or creates one that only its owner can read.
pub(crate) fn admin(data: &Path) -> io::Result<KeptToken> {
    keep(data.join(ADMIN_FILE), "adm")
}

/// The same for the token of the agent `default`, which is the one to give to clients.
pub(crate) fn default_agent(data: &Path) -> io::Result<KeptToken> {
    keep(data.join(DEFAULT_AGENT_FILE), "agt")
}

/// The same for the token that `octroi stdio` presents to a running gateway.
pub(crate) fn local(data: &Path) -> io::Result<KeptToken> {
    keep(data.join(LOCAL_FILE), "agt")
}

/// Reads the token that the gateway created for `octroi stdio`.
pub(crate) fn read_local(data: &Path) -> io::Result<String> {
    fs::read_to_string(data.join(LOCAL_FILE)).map(|text| text.trim().to_owned())
}

/// The person who runs Octroi.
pub(crate) fn admin_principal() -> Principal {
    Principal { id: "admin".into(), role: Role::Human, agent_id: None, token: "admin".into() }
}

/// The principal of a token that is in the data directory.
pub(crate) fn holder(data: &Path, token: &str) -> Option<Principal> {
    let kept = [
        (ADMIN_FILE, admin_principal()),
        (DEFAULT_AGENT_FILE, Principal::default_agent()),
        (LOCAL_FILE, Principal::local()),
    ];
    // Hashes are compared, so the time reveals nothing about how close a guess is.
    let is_it = |file: &str| {
        fs::read_to_string(data.join(file)).is_ok_and(|text| hash_token(text.trim()) == hash_token(token))
    };
    kept.into_iter().find(|(file, _)| is_it(file)).map(|(_, principal)| principal)
}

fn keep(file: PathBuf, kind: &str) -> io::Result<KeptToken> {
    match fs::read_to_string(&file) {
        Ok(text) if !text.trim().is_empty() => {
            return Ok(KeptToken { token: text.trim().to_owned(), file, is_new: false });
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let token = create(kind)?;
    let mut out = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&file)?;
    writeln!(out, "{token}")?;
    out.sync_all()?;
    Ok(KeptToken { token, file, is_new: true })
}

/// `oct_{kind}_{id}_{secret}{crc}`: the id is not secret; the checksum lets scanners and clients find typing
/// errors.
fn create(kind: &str) -> io::Result<String> {
    let body = format!("oct_{kind}_{}_{}", random(ID_LENGTH)?, random(SECRET_LENGTH)?);
    let checksum = CHECKSUM.checksum(body.as_bytes());
    Ok(format!("{body}{checksum:08x}"))
}

fn random(length: usize) -> io::Result<String> {
    let mut text = String::with_capacity(length);
    let mut bytes = [0_u8; 64];
    while text.len() < length {
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        // Values above the largest multiple of 62 would make some letters likelier than others.
        let letters = bytes
            .iter()
            .filter(|byte| **byte < 248)
            .map(|byte| char::from(ALPHABET[usize::from(*byte % 62)]));
        text.extend(letters.take(length - text.len()));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(CHECKSUM.checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn tokens_are_made_once_and_kept_private() {
        let data = tempfile::tempdir().unwrap();
        assert!(read_local(data.path()).is_err());
        for (name, kind) in [(ADMIN_FILE, "adm"), (DEFAULT_AGENT_FILE, "agt"), (LOCAL_FILE, "agt")] {
            let first = keep(data.path().join(name), kind).unwrap();
            let second = keep(data.path().join(name), kind).unwrap();
            assert!(first.is_new && !second.is_new);
            assert_eq!(first.token, second.token);
            assert_eq!(fs::metadata(&first.file).unwrap().permissions().mode() & 0o777, 0o600);
            assert!(first.token.starts_with(&format!("oct_{kind}_")), "{}", first.token);
            assert_eq!(first.token.len(), 8 + 8 + 1 + 43 + 8, "{}", first.token);
        }
        assert_eq!(read_local(data.path()).unwrap(), local(data.path()).unwrap().token);
        for (kept, expected) in [
            (admin(data.path()), admin_principal()),
            (default_agent(data.path()), Principal::default_agent()),
            (local(data.path()), Principal::local()),
        ] {
            assert_eq!(holder(data.path(), &kept.unwrap().token), Some(expected));
        }
        for wrong in ["", "oct_adm_", "oct_agt_x"] {
            assert_eq!(holder(data.path(), wrong), None, "{wrong}");
        }
    }
}
