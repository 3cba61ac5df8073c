//! Which files of a log are there, without opening or creating any.

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
    /// Whether the file of checkpoints is there.
    pub(crate) has_checkpoints: bool,
}

/// Looks which files of the log in a directory are there. A log is created with all of them.
pub(crate) fn missing_parts(directory: &Path) -> MissingParts {
    MissingParts {
        has_segments: segments(directory).is_ok_and(|found| !found.is_empty()),
        has_key: directory.join(KEY_FILE).exists(),
        has_checkpoints: directory.join(checkpoints::FILE_NAME).exists(),
    }
}
