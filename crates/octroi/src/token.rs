//! The tokens that Octroi makes itself: of the person who runs it, and of clients that start `octroi stdio`.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

const ADMIN_FILE: &str = "admin.token";
const LOCAL_FILE: &str = "stdio.token";
const SECRET_LENGTH: usize = 43;
const ID_LENGTH: usize = 8;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A token in the data directory, and whether it was made just now.
pub(crate) struct KeptToken {
    pub(crate) token: String,
    pub(crate) file: PathBuf,
    pub(crate) is_new: bool,
}

/// Reads the admin token from the data directory, or makes one that only its owner can read.
pub(crate) fn admin(data: &Path) -> io::Result<KeptToken> {
    keep(data.join(ADMIN_FILE), "adm")
}

/// The same for the token with which `octroi stdio` comes to a gateway that runs already.
pub(crate) fn local(data: &Path) -> io::Result<KeptToken> {
    keep(data.join(LOCAL_FILE), "agt")
}

/// The token that the gateway made for `octroi stdio`.
pub(crate) fn read_local(data: &Path) -> io::Result<String> {
    fs::read_to_string(data.join(LOCAL_FILE)).map(|text| text.trim().to_owned())
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

/// `oct_{kind}_{id}_{secret}{crc}`: the id may be shown, the checksum lets scanners and clients find
/// typing errors.
fn create(kind: &str) -> io::Result<String> {
    let body = format!("oct_{kind}_{}_{}", random(ID_LENGTH)?, random(SECRET_LENGTH)?);
    let checksum = crc32(body.as_bytes());
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

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn tokens_are_made_once_and_kept_private() {
        let data = tempfile::tempdir().unwrap();
        assert!(read_local(data.path()).is_err());
        for (name, kind) in [(ADMIN_FILE, "adm"), (LOCAL_FILE, "agt")] {
            let first = keep(data.path().join(name), kind).unwrap();
            let second = keep(data.path().join(name), kind).unwrap();
            assert!(first.is_new && !second.is_new);
            assert_eq!(first.token, second.token);
            assert_eq!(fs::metadata(&first.file).unwrap().permissions().mode() & 0o777, 0o600);
            assert!(first.token.starts_with(&format!("oct_{kind}_")), "{}", first.token);
            assert_eq!(first.token.len(), 8 + 8 + 1 + 43 + 8, "{}", first.token);
        }
        assert_eq!(read_local(data.path()).unwrap(), local(data.path()).unwrap().token);
    }
}
