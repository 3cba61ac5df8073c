//! Which files of a log are there, without opening or creating any.

use std::fs;
use std::path::Path;

use super::checkpoints;
use super::format::segments;
use super::recover::KEY_FILE;

/// The files of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MissingParts {
    /// Whether it has records.
    pub(crate) has_segments: bool,
    /// Whether the key that signs is there.
    pub(crate) has_key: bool,
    /// The size of the file of checkpoints, if it is there.
    pub(crate) checkpoint_bytes: Option<u64>,
}

/// Looks which files of the log in a directory are there. A log is created with all of them.
pub(crate) fn missing_parts(directory: &Path) -> MissingParts {
    MissingParts {
        has_segments: segments(directory).is_ok_and(|found| !found.is_empty()),
        has_key: directory.join(KEY_FILE).exists(),
        checkpoint_bytes: fs::metadata(directory.join(checkpoints::FILE_NAME)).ok().map(|file| file.len()),
    }
}
