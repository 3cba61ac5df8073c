//! The tokens that Octroi creates itself: for the person who runs it, for the agent `default`, and for
//! `octroi stdio`.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use octroi_core::principal::{NewToken, TokenKind};

const ADMIN_FILE: &str = "admin.token";
const DEFAULT_AGENT_FILE: &str = "default.token";
const LOCAL_FILE: &str = "stdio.token";
/// A token in the data directory, and whether it was just created.
pub(crate) struct KeptToken {
    pub(crate) token: String,
    pub(crate) file: PathBuf,
    pub(crate) is_new: bool,
}

/// Reads the admin token from the data directory, or creates one that only its owner can read.
pub(crate) fn admin(data: &Path) -> io::Result<KeptToken> {
    keep(data.join(ADMIN_FILE), TokenKind::Human)
}

/// The same for the token of the agent `default`, which is the one to give to clients.
pub(crate) fn default_agent(data: &Path) -> io::Result<KeptToken> {
    keep(data.join(DEFAULT_AGENT_FILE), TokenKind::Agent)
}

/// The same for the token that `octroi stdio` presents to a running gateway.
pub(crate) fn local(data: &Path) -> io::Result<KeptToken> {
    keep(data.join(LOCAL_FILE), TokenKind::Agent)
}

/// Reads the token that the gateway created for `octroi stdio`.
pub(crate) fn read_local(data: &Path) -> io::Result<String> {
    fs::read_to_string(data.join(LOCAL_FILE)).map(|text| text.trim().to_owned())
}

/// Replaces the admin token in the data directory: the file has the old one or the new one, whatever happens.
pub(crate) fn replace_admin(data: &Path, token: &str) -> io::Result<PathBuf> {
    let (file, unfinished) = (data.join(ADMIN_FILE), data.join(format!("{ADMIN_FILE}.part")));
    write(&unfinished, token)?;
    fs::rename(&unfinished, &file)?;
    fs::File::open(data)?.sync_all()?;
    Ok(file)
}

fn keep(file: PathBuf, kind: TokenKind) -> io::Result<KeptToken> {
    match fs::read_to_string(&file) {
        Ok(text) if !text.trim().is_empty() => {
            return Ok(KeptToken { token: text.trim().to_owned(), file, is_new: false });
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let token = create(kind)?;
    write(&file, &token)?;
    Ok(KeptToken { token, file, is_new: true })
}

fn write(file: &Path, token: &str) -> io::Result<()> {
    let mut out = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?;
    // The mode is for a new file; one that is there keeps its own.
    out.set_permissions(fs::Permissions::from_mode(0o600))?;
    writeln!(out, "{token}")?;
    out.sync_all()
}

/// A new token.
pub(crate) fn create(kind: TokenKind) -> io::Result<String> {
    let token = NewToken::create(kind, |bytes| getrandom::fill(bytes).map_err(io::Error::other))?;
    Ok(token.secret)
}

#[cfg(test)]
mod tests {
    use octroi_core::principal::token_id;

    use super::*;

    #[test]
    fn tokens_are_made_once_and_kept_private() {
        let data = tempfile::tempdir().unwrap();
        assert!(read_local(data.path()).is_err());
        for (name, kind) in [
            (ADMIN_FILE, TokenKind::Human),
            (DEFAULT_AGENT_FILE, TokenKind::Agent),
            (LOCAL_FILE, TokenKind::Agent),
        ] {
            let first = keep(data.path().join(name), kind).unwrap();
            let second = keep(data.path().join(name), kind).unwrap();
            assert!(first.is_new && !second.is_new);
            assert_eq!(first.token, second.token);
            assert_eq!(fs::metadata(&first.file).unwrap().permissions().mode() & 0o777, 0o600);
            assert!(token_id(&first.token).is_some(), "{}", first.token);
        }
        assert_eq!(read_local(data.path()).unwrap(), local(data.path()).unwrap().token);
    }
}
