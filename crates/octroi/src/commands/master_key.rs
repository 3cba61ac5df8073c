//! Where the master key comes from: a variable, a file that the configuration names, or the data directory.

use std::path::PathBuf;

use octroi_gateway::{KeyOrigin, MasterKey};

use crate::failure::Failure;

/// The variable that holds the key.
pub(super) const VARIABLE: &str = "OCTROI_MASTER_KEY";
/// The variable that holds the key of the future, for `octroi secret rekey`.
pub(super) const NEW_VARIABLE: &str = "OCTROI_NEW_MASTER_KEY";

/// The origin of the key. A variable that holds none is an error: another key would be made otherwise.
pub(super) fn origin(key_file: Option<PathBuf>) -> Result<KeyOrigin, Failure> {
    Ok(match (from_variable(VARIABLE)?, key_file) {
        (Some(key), _) => KeyOrigin::Environment(key),
        (None, Some(file)) => KeyOrigin::File(file),
        (None, None) => KeyOrigin::Directory,
    })
}

/// The key in a variable, if it is set.
pub(super) fn from_variable(name: &str) -> Result<Option<MasterKey>, Failure> {
    let Some(text) = std::env::var_os(name).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    // What it holds instead is not repeated: it may be nearly a key.
    let key = text.to_str().and_then(MasterKey::parse).ok_or_else(|| {
        Failure::new(format!("{name} is not a key"))
            .hint("a key is 64 hexadecimal digits, as from `openssl rand -hex 32`")
    })?;
    Ok(Some(key))
}

/// The keys that variables hold, for the redactor.
pub(super) fn master_keys() -> impl Iterator<Item = String> {
    [VARIABLE, NEW_VARIABLE].into_iter().filter_map(|name| std::env::var(name).ok())
}
