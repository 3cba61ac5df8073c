//! Real disks that are full or read-only. Each test starts itself again in a mount namespace of its own,
//! which is removed with the process.

use std::env;
use std::path::Path;
use std::process::Command;

use octroi_store::{Saved, Store, StoreError};

use crate::support::{catalogue, fill, key, test_key};

const DIRECTORY: &str = "OCTROI_STORE_TEST_MOUNT";

/// Runs an ignored test below on a file system that the script mounts.
fn run_mounted(test: &str, mount: &str) {
    let directory = tempfile::tempdir().unwrap();
    let is_permitted = Command::new("unshare")
        .args(["--map-root-user", "--mount", "mount", "-t", "tmpfs", "none"])
        .arg(directory.path())
        .output()
        .is_ok_and(|output| output.status.success());
    assert!(
        is_permitted,
        "{test} needs a disk of its own, and none may be mounted here: allow user namespaces \
         (sysctl kernel.unprivileged_userns_clone=1), or run the tests as root"
    );
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-ec"])
        .arg(format!("{mount}; exec \"$TEST\" mounts::{test} --exact --ignored"))
        .env("TEST", env::current_exe().unwrap())
        .env(DIRECTORY, directory.path())
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && report.contains("1 passed"), "{report}");
}

/// Where the file system is mounted.
fn directory() -> String {
    env::var(DIRECTORY).unwrap()
}

fn remount(options: &str) {
    // With type and source, or `mount` would repeat options that are invalid in the namespace.
    let status = Command::new("mount")
        .args(["-t", "tmpfs", "-o", &format!("remount,{options}"), "none", &directory()])
        .status()
        .unwrap();
    assert!(status.success());
}

/// A file system of this many kilobytes, regardless of its content.
fn mount_with_room(kilobytes: usize) -> String {
    format!("mount -t tmpfs -o size={kilobytes}k,mode=700 none \"${DIRECTORY}\"")
}

#[test]
fn a_disk_that_fills_up() {
    run_mounted("child_on_a_disk_that_fills_up", &mount_with_room(1_200));
}

#[tokio::test]
#[ignore = "started by another test, on a small disk"]
async fn child_on_a_disk_that_fills_up() {
    let directory = directory();
    let directory = Path::new(&directory);
    fill(directory).await;
    let store = Store::open(directory, &test_key).await.unwrap();
    let mut large = catalogue(2);
    large.tools = (0..10_000).map(|number| format!(r#"{{"name":"tool{number}"}}"#)).collect();
    let error = store.save_catalogue(&key("files"), &large, 2).await.unwrap_err();
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
    assert_eq!(store.catalogues().await.unwrap()[0].catalogue, catalogue(1));

    // There is space again: the same store continues.
    remount("size=20m");
    assert_eq!(store.save_catalogue(&key("files"), &large, 3).await.unwrap(), Saved::Written);
    store.close().await;
    let store = Store::open(directory, &test_key).await.unwrap();
    assert_eq!(store.catalogues().await.unwrap()[0].catalogue, large);
}

#[test]
fn a_disk_without_room_to_begin() {
    for kilobytes in (4..=76).step_by(4) {
        run_mounted("child_on_a_disk_without_room_to_begin", &mount_with_room(kilobytes));
    }
}

#[tokio::test]
#[ignore = "started by another test, on a tiny disk"]
async fn child_on_a_disk_without_room_to_begin() {
    let directory = directory();
    let error = Store::open(Path::new(&directory), &test_key).await.unwrap_err();
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
    // Once there is space, the failed attempt does no harm.
    remount("size=20m");
    fill(Path::new(&directory)).await;
}

#[test]
fn a_read_only_disk() {
    run_mounted("child_on_a_read_only_disk", &mount_with_room(20_000));
}

#[tokio::test]
#[ignore = "started by another test, on a disk of its own"]
async fn child_on_a_read_only_disk() {
    let directory = directory();
    fill(Path::new(&directory)).await;
    remount("ro");
    for path in [directory.clone(), format!("{directory}/below")] {
        let error = Store::open(Path::new(&path), &test_key).await.unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    }
    remount("rw");
    Store::open(Path::new(&directory), &test_key).await.unwrap();
}
