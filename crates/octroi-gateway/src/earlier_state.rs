//! Whether a data directory has been in use, before anything is opened or created there.

use std::path::Path;

use octroi_store::Store;

use crate::persistence::AUDIT;

/// Whether there is a database or a part of an audit log.
pub fn has_earlier_state(directory: &Path) -> bool {
    let has_log = std::fs::read_dir(directory.join(AUDIT)).is_ok_and(|mut found| found.next().is_some());
    has_log || Store::exists(directory)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_database_or_a_log_is_state() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path();
        assert!(!has_earlier_state(&data.join("missing")) && !has_earlier_state(data));
        fs::write(data.join("auth.json"), "{}").unwrap();
        fs::write(data.join("octroi.db"), "").unwrap();
        fs::create_dir(data.join(AUDIT)).unwrap();
        assert!(!has_earlier_state(data), "files that nobody has written to");
        fs::write(data.join(AUDIT).join("000001.log"), "").unwrap();
        assert!(has_earlier_state(data));
        fs::remove_dir_all(data.join(AUDIT)).unwrap();
        fs::write(data.join("octroi.db"), "x").unwrap();
        assert!(has_earlier_state(data));
    }
}
