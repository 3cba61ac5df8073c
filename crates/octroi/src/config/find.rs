//! The paths where files are looked for.

use std::path::PathBuf;

const NAMES: [&str; 5] = ["octroi.toml", "octroi.yaml", "octroi.yml", "octroi.json", "octroi.jsonc"];

/// Where the file may be if none is named: here, or in the user's configuration directory. The first is used.
pub(super) fn candidates() -> Vec<PathBuf> {
    let user = directory("XDG_CONFIG_HOME", ".config");
    let directories = [Some(PathBuf::new()), user];
    directories.iter().flatten().flat_map(|directory| NAMES.map(|name| directory.join(name))).collect()
}

/// The default data directory.
pub(crate) fn data_directory() -> PathBuf {
    directory("XDG_DATA_HOME", ".local/share").unwrap_or_else(|| PathBuf::from(".octroi"))
}

/// Whether a program can be started by its name.
pub(super) fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

fn directory(variable: &str, below_home: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = std::env::var_os("HOME")
        .filter(|value| !value.is_empty())
        .map(|home| PathBuf::from(home).join(below_home));
    named.or(home).map(|directory| directory.join("octroi"))
}
