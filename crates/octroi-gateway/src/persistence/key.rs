//! The master key: where it comes from, and how another one takes its place.
//!
//! The database knows the key that it was last used with. While a change of the key is under way, the new one lies
//! beside the old one, and the database says which of the two it is encrypted with. So a change that is cut off at
//! any moment is completed or taken back at the next start.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use octroi_store::{KnownKey, MasterKey, StoreError};
use tracing::{error, info, warn};

use crate::lost_state::OnLoss;

/// In the data directory, readable for its owner only.
pub(crate) const FILE: &str = "master.key";
/// What the name of a key file ends in while it is not the one in use yet.
const NEXT: &str = ".next";
/// The variable that holds a key.
const VARIABLE: &str = "OCTROI_MASTER_KEY";

/// Where the master key comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeyOrigin {
    /// The file in the data directory.
    #[default]
    Directory,
    /// A file that the configuration names.
    File(PathBuf),
    /// The variable `OCTROI_MASTER_KEY`.
    Environment(MasterKey),
    /// The file in the data directory, if there is one that fits. For commands that encrypt nothing.
    IfThere,
}

impl KeyOrigin {
    /// The file of a key, and of the one that will take its place.
    pub(crate) fn files(&self, directory: &Path) -> Option<(PathBuf, PathBuf)> {
        let file = match self {
            Self::Directory | Self::IfThere => directory.join(FILE),
            Self::File(file) => file.clone(),
            Self::Environment(_) => return None,
        };
        let mut next = file.clone().into_os_string();
        next.push(NEXT);
        Some((file, next.into()))
    }

    fn place(&self, directory: &Path) -> String {
        self.files(directory).map_or_else(|| VARIABLE.to_owned(), |(file, _)| file.display().to_string())
    }

    /// The key of a data directory; a new one if there never was one. Called while the directory is locked.
    ///
    /// Without a usable key Octroi still starts, as long as no secret is encrypted with one.
    pub(crate) fn find(
        &self,
        directory: &Path,
        known: Option<&KnownKey>,
        on_loss: OnLoss,
    ) -> Result<Option<MasterKey>, StoreError> {
        let place = || self.place(directory);
        let fits = |key: &MasterKey| known.is_none_or(|known| known.key_id == key.id());
        let Some((file, next)) = self.files(directory) else {
            let Self::Environment(key) = self else { return Ok(None) };
            return if fits(key) || on_loss == OnLoss::Accept {
                Ok(Some(key.clone()))
            } else {
                Err(StoreError::OtherKey { place: place() })
            };
        };
        if *self == Self::IfThere {
            let keys = [&file, &next].map(|file| fs::read_to_string(file).ok());
            return Ok(keys.into_iter().flatten().find_map(|text| MasterKey::parse(&text).filter(fits)));
        }
        if let Some(key) = settle(&file, &next, known) {
            return Ok(Some(key));
        }
        let must_fit = on_loss == OnLoss::Refuse
            && known.is_some_and(|known| known.n_secrets > 0 || matches!(self, Self::File(_)));
        match fs::read_to_string(&file) {
            Ok(text) => match MasterKey::parse(&text) {
                Some(key) if fits(&key) || !must_fit => Ok(Some(key)),
                Some(_) => Err(StoreError::OtherKey { place: place() }),
                None if must_fit || matches!(self, Self::File(_)) => {
                    Err(StoreError::LostKey { place: place() })
                }
                None => {
                    error!(
                        file = %file.display(),
                        hint = "restore it from a backup, or remove it and restart to make a new one",
                        "the key file holds no key; calls that need approval are refused, and waiting ones \
                         cannot be read"
                    );
                    Ok(None)
                }
            },
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => {
                if must_fit {
                    return Err(StoreError::LostKey { place: place() });
                }
                Ok(made(&file))
            }
            Err(problem) if must_fit || matches!(self, Self::File(_)) => {
                Err(StoreError::PermissionDenied { path: file, source: problem.into() })
            }
            Err(problem) => {
                error!(
                    file = %file.display(), error = %problem, hint = "let this user read it",
                    "the key file cannot be read; calls that need approval are refused, and waiting ones cannot \
                     be read"
                );
                Ok(None)
            }
        }
    }
}

/// The key in use, if one of the two files has it. A change of the key that was cut off is completed or taken back.
fn settle(file: &Path, next: &Path, known: Option<&KnownKey>) -> Option<MasterKey> {
    let key_in = |file: &Path| fs::read_to_string(file).ok().and_then(|text| MasterKey::parse(&text));
    let known = known?;
    let found = |file: &Path| key_in(file).filter(|key| key.id() == known.key_id);
    if let Some(key) = found(file) {
        warn_if_readable(file);
        // The database was not encrypted with it in the end.
        if next.exists() && fs::remove_file(next).is_ok() {
            info!(file = %next.display(), "a change of the master key was not completed; the old one is in use");
        }
        return Some(key);
    }
    let key = found(next)?;
    match replace(next, file) {
        Ok(()) => info!(file = %file.display(), "a change of the master key was completed"),
        // It is found there the next time as well.
        Err(problem) => {
            warn!(file = %next.display(), error = %problem, "the new master key could not get its name");
        }
    }
    Some(key)
}

fn warn_if_readable(file: &Path) {
    let is_private = fs::metadata(file).is_ok_and(|file| file.permissions().mode().trailing_zeros() >= 6);
    if !is_private {
        warn!(file = %file.display(), hint = "run `chmod 600` on it", "others can read the key file");
    }
}

/// Makes a key. The file gets its name when it is complete.
fn made(file: &Path) -> Option<MasterKey> {
    let key = MasterKey::random()?;
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(".part");
    let unfinished = PathBuf::from(unfinished);
    match write(&unfinished, &key).and_then(|()| replace(&unfinished, file)) {
        Ok(()) => Some(key),
        Err(problem) => {
            error!(file = %file.display(), error = %problem, "the key file cannot be written");
            None
        }
    }
}

/// Writes a key to the disk.
pub(crate) fn write(file: &Path, key: &MasterKey) -> io::Result<()> {
    let mut out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?;
    writeln!(out, "{}", key.to_text())?;
    out.sync_all()?;
    sync_parent(file)
}

/// Gives a file its final name.
pub(crate) fn replace(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_parent(to)
}

fn sync_parent(file: &Path) -> io::Result<()> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests;
