//! `octroi token reset-admin`, and tokens of the data directory.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use octroi_testkit::gateway::TestGateway;

use super::{is_known, json_of, stdout};
use crate::approvals::recorded;
use crate::harness::octroi;
use crate::manage::{exit_and_output, run};

fn changes(directory: &std::path::Path, change: &str) -> usize {
    recorded(directory).matches(&format!("\"change\":\"{change}\"")).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_admin_token_is_replaced_while_no_gateway_runs() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    let lost = gateway.kept_token("admin.token");
    let second = stdout(&gateway, &["token", "create", "--user", "admin"]).await;
    let agent = gateway.kept_token("default.token");
    let data = gateway.directory().join("data");
    let (code, text) = exit_and_output(&run(&data, &["token", "reset-admin"]).await);
    assert!(code != Some(0) && text.contains("stop the gateway first"), "{text}");
    assert!(is_known(&gateway, &lost).await, "nothing was changed");

    let (directory, _) = gateway.stop_and_keep().await;
    let data = directory.path().join("data");
    // Somebody may have made it readable for others.
    fs::set_permissions(data.join("admin.token"), fs::Permissions::from_mode(0o644)).expect("it is there");
    let output = run(&data, &["token", "reset-admin"]).await;
    assert!(output.status.success(), "{:?}", exit_and_output(&output));
    let file = data.join("admin.token");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), file.display().to_string());
    assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
    assert_eq!(changes(directory.path(), "admin_token_reset"), 1);

    let gateway = TestGateway::launch_in(directory, &octroi(), "", &[]).await;
    let new = gateway.kept_token("admin.token");
    assert!(new != lost && is_known(&gateway, &new).await);
    assert!(!is_known(&gateway, &lost).await && !is_known(&gateway, &second).await, "revoked");
    assert!(is_known(&gateway, &agent).await, "agents go on");
    assert_eq!(changes(gateway.directory(), "admin_token_reset"), 1);
    assert!(!recorded(gateway.directory()).contains(&new));
    stdout(&gateway, &["audit", "verify"]).await;
    gateway.stop().await;

    let empty = tempfile::tempdir().expect("a directory");
    let (code, text) = exit_and_output(&run(empty.path(), &["token", "reset-admin"]).await);
    assert!(code != Some(0) && text.contains("has no database of a gateway"), "{text}");
    assert!(fs::read_dir(empty.path()).expect("it is there").next().is_none(), "nothing was made");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_made_in_the_data_directory_is_recorded() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    let first = gateway.kept_token("admin.token");
    assert_eq!(changes(gateway.directory(), "token_adopted"), 3, "admin, default and stdio");
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), "", &[]).await;
    assert_eq!(changes(gateway.directory(), "token_adopted"), 3, "only what is new");
    let (directory, _) = gateway.stop_and_keep().await;
    fs::remove_file(directory.path().join("data/admin.token")).expect("it is there");
    let gateway = TestGateway::launch_in(directory, &octroi(), "", &[]).await;
    assert_eq!(changes(gateway.directory(), "token_adopted"), 4);
    let records = recorded(gateway.directory());
    assert!(records.contains("\"file\":\"admin.token\"") && records.contains("\"is_new\":true"), "{records}");
    assert!(is_known(&gateway, &first).await && is_known(&gateway, &gateway.kept_token("admin.token")).await);
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_token_of_the_data_directory_stays_out_after_a_rebuild() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    let revoked = gateway.kept_token("admin.token");
    let admin = stdout(&gateway, &["token", "create", "--user", "admin"]).await;
    let listed = json_of(&gateway, &["token", "list", "--user", "admin", "--token", &admin]).await;
    let first = listed
        .as_array()
        .expect("tokens")
        .iter()
        .find(|token| token["label"] == "admin" && token["kind"] == "human");
    let id = first.and_then(|token| token["id"].as_str()).expect("an id").to_owned();
    stdout(&gateway, &["token", "revoke", &id, "--token", &admin]).await;
    assert!(!is_known(&gateway, &revoked).await);

    let (directory, _) = gateway.stop_and_keep().await;
    let data = directory.path().join("data");
    for file in ["octroi.db", "octroi.db-wal", "octroi.db-shm"] {
        let _ = fs::remove_file(data.join(file));
    }
    let rebuilt = run(&data, &["db", "rebuild"]).await;
    assert!(rebuilt.status.success(), "{:?}", exit_and_output(&rebuilt));
    let gateway = TestGateway::launch_in(directory, &octroi(), "", &[]).await;
    assert_eq!(gateway.kept_token("admin.token"), revoked, "the file is still there");
    assert!(!is_known(&gateway, &revoked).await && is_known(&gateway, &admin).await);
    gateway.stop().await;
}
