//! Files that others can write: whoever can change the configuration decides what runs.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{Config, discovered_at};
use crate::failure::Failure;

const WRITABLE_FOR_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Fails if somebody else can change a file that the configuration consists of, or replace it.
pub(crate) fn refuse_exposed(config: &Config) -> Result<(), Failure> {
    let mut paths: Vec<PathBuf> = Vec::new();
    if let Some(file) = &config.file {
        let (_, discovered) = discovered_at(file);
        paths.extend(discovered.parent().map(Path::to_path_buf));
        paths.push(file.clone());
        for found in &config.files.directories {
            let home = discovered.join(&found.name);
            paths.extend([home.join("config.jsonc"), home]);
        }
        paths.push(discovered);
    }
    let settings = &config.settings;
    let policies = settings.agents.iter().filter_map(|agent| agent.policy.clone());
    paths.extend(policies.chain(settings.policy.floor.clone()).chain(settings.policy.global.clone()));
    paths.push(settings.pins.lock.clone());
    paths.extend(settings.token_file().cloned());
    paths.extend(config.files.references.keys().cloned());
    match paths.iter().find_map(|path| exposure(path)) {
        None => Ok(()),
        Some(failure) => Err(failure),
    }
}

/// Why a path is not safe; `None` if it is, or does not exist.
pub(super) fn exposure(path: &Path) -> Option<Failure> {
    let found = std::fs::metadata(path).ok()?;
    let shown = path.display();
    // The owner of this entry is the effective user of this process.
    let own = std::fs::metadata("/proc/self").ok().map(|process| process.uid());
    if found.uid() != 0 && own.is_some_and(|own| own != found.uid()) {
        let failure = Failure::new(format!("{shown} belongs to another user, who can change it"));
        return Some(failure.hint(format!("run `chown $(id -u) {shown}`, or use a file of your own")));
    }
    // In a sticky directory only the owner of a file can replace it.
    let is_sticky = found.is_dir() && found.mode() & STICKY != 0;
    if found.mode() & WRITABLE_FOR_OTHERS != 0 && !is_sticky {
        let failure = Failure::new(format!("others can write {shown}, and so decide what Octroi runs"));
        return Some(failure.hint(format!("run `chmod go-w {shown}`")));
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_what_nobody_else_can_write_is_safe() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        for (path, mode, is_safe) in [
            (&file, 0o600, true),
            (&file, 0o644, true),
            (&file, 0o664, false),
            (&file, 0o646, false),
            (&directory.path().to_path_buf(), 0o755, true),
            (&directory.path().to_path_buf(), 0o775, false),
            (&directory.path().to_path_buf(), 0o777, false),
            (&directory.path().to_path_buf(), 0o1777, true),
        ] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            let found = exposure(path);
            assert_eq!(found.is_none(), is_safe, "{mode:o}");
            if let Some(failure) = found {
                assert!(failure.hint.unwrap().contains("chmod go-w"), "the hint has the command");
            }
        }
        assert!(exposure(Path::new("/no/such/file")).is_none());
    }
}
