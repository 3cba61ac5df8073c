//! Peers for tests.

pub mod agent;
pub mod auth_proxy;
pub mod client;
pub mod conformance;
pub mod conformance_client;
pub mod gateway;
pub mod peer;
pub mod tls;

use std::env;
use std::path::{Path, PathBuf};

/// The built `octroi-peer`, for tests that start it as a process.
///
/// # Panics
///
/// If it has not been built.
pub fn peer_binary() -> PathBuf {
    built("octroi-peer")
}

/// The built `octroi-conformance-fixture`.
///
/// # Panics
///
/// If it has not been built.
pub fn fixture_binary() -> PathBuf {
    built("octroi-conformance-fixture")
}

/// The built `octroi-conformance-client`.
///
/// # Panics
///
/// If it has not been built.
pub fn conformance_client_binary() -> PathBuf {
    built("octroi-conformance-client")
}

/// The built `octroi-agent`.
///
/// # Panics
///
/// If it has not been built.
pub fn agent_binary() -> PathBuf {
    built("octroi-agent")
}

/// The built `octroi-liar`.
///
/// # Panics
///
/// If it has not been built.
pub fn liar_binary() -> PathBuf {
    built("octroi-liar")
}

/// A program of this crate. Cargo builds it automatically only for the tests of this crate.
fn built(name: &str) -> PathBuf {
    let file_name = format!("{name}{}", env::consts::EXE_SUFFIX);
    // A test runs from `<target>/<profile>/deps`, a program from `<target>/<profile>`.
    let beside = env::current_exe().ok();
    let beside = beside.iter().flat_map(|executable| executable.ancestors().skip(1).take(2));
    let target = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    let in_target = ["debug", "release"].map(|profile| target.join(profile));
    let candidates =
        beside.map(Path::to_path_buf).chain(in_target).map(|directory| directory.join(&file_name));
    match candidates.into_iter().find(|candidate| candidate.is_file()) {
        Some(found) => found,
        None => panic!("{file_name} is not built; run `cargo build -p octroi-testkit --bins` first"),
    }
}
