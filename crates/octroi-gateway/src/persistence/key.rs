//! The file with the key that encrypts what the store keeps of calls.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use octroi_store::MasterKey;
use tracing::{error, warn};

/// In the data directory, readable for its owner only.
pub(crate) const FILE: &str = "master.key";

/// The key of a data directory; a new one if there is none. Called while the directory is locked.
///
/// Without a usable key Octroi still starts: whatever needs no approval works.
pub(crate) fn of_directory(directory: &Path) -> Option<MasterKey> {
    let file = directory.join(FILE);
    match fs::read_to_string(&file) {
        Ok(text) => {
            let is_private =
                fs::metadata(&file).is_ok_and(|file| file.permissions().mode().trailing_zeros() >= 6);
            if !is_private {
                warn!(file = %file.display(), hint = "run `chmod 600` on it", "others can read the key file");
            }
            let key = MasterKey::parse(&text);
            if key.is_none() {
                error!(
                    file = %file.display(),
                    hint = "restore it from a backup, or remove it and restart to make a new one",
                    "the key file holds no key; calls that need approval are refused, and waiting ones cannot be read"
                );
            }
            key
        }
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => made(directory, &file),
        Err(problem) => {
            error!(
                file = %file.display(), error = %problem, hint = "let this user read it",
                "the key file cannot be read; calls that need approval are refused, and waiting ones cannot be read"
            );
            None
        }
    }
}

/// Makes a key. The file gets its name when it is complete.
fn made(directory: &Path, file: &Path) -> Option<MasterKey> {
    let key = MasterKey::random()?;
    let unfinished = directory.join(format!("{FILE}.part"));
    let write = || -> io::Result<()> {
        let mut out =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        writeln!(out, "{}", key.to_text())?;
        out.sync_all()?;
        fs::rename(&unfinished, file)?;
        File::open(directory)?.sync_all()
    };
    match write() {
        Ok(()) => Some(key),
        Err(problem) => {
            error!(file = %file.display(), error = %problem, "the key file cannot be written");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_kept_private() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(FILE);
        let key = of_directory(directory.path()).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(of_directory(directory.path()), Some(key.clone()));
        fs::remove_file(&file).unwrap();
        assert_ne!(of_directory(directory.path()), Some(key), "random");
        // What is there is never overwritten.
        fs::write(&file, "no key").unwrap();
        assert_eq!(of_directory(directory.path()), None);
        assert_eq!(fs::read_to_string(&file).unwrap(), "no key");
    }
}
