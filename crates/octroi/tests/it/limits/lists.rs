//! What servers may make Octroi hold, open files, and arguments that no schema names.

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::json;

use crate::harness::{connect, octroi, stdio_entry};
use crate::processes::descendants;

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_is_read_up_to_its_bytes() {
    let long = stdio_entry("long", &["--tools", "400"]);
    let config = format!("{long}max_list_bytes = 40000\n{}", stdio_entry("good", &[]));
    let gateway = TestGateway::start(&octroi(), &config).await;
    for era in ERAS {
        let client = connect(&gateway, era, ClientOptions::default()).await;
        let tools = client.list_tools().await.expect("a list");
        let n_of = |prefix: &str| {
            tools
                .iter()
                .filter(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with(prefix)))
                .count()
        };
        // Whole pages of a hundred, and not all of them.
        assert!((100..400).contains(&n_of("long_")), "{era:?}: {}", n_of("long_"));
        assert!((10..100).contains(&n_of("good_")), "{era:?}: {}", n_of("good_"));
        assert_eq!(client.call_text("long_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
    }
    let output = gateway.stop().await;
    assert!(output.contains("list is too long") && output.contains("40000"), "{output}");
}

fn open_files(process: u32) -> u64 {
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).expect("it runs");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("a limit");
    line.split_whitespace().nth(3).and_then(|soft| soft.parse().ok()).expect("a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_files_are_raised_for_octroi_and_not_for_its_servers() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = tempfile::tempdir().expect("a directory");
    let limited = directory.path().join("octroi");
    let script = format!("#!/bin/sh\nulimit -Sn 300\nexec '{}' \"$@\"\n", octroi().display());
    std::fs::write(&limited, script).expect("a file");
    std::fs::set_permissions(&limited, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    let gateway = TestGateway::start(&limited, &stdio_entry("good", &[])).await;
    let process = gateway.child.id().expect("it runs");
    assert!(open_files(process) > 300, "{}", open_files(process));
    let limits: Vec<u64> =
        descendants(process).into_iter().filter(|id| *id != process).map(open_files).collect();
    assert!(limits.contains(&300), "{limits:?}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strict_arguments_refuse_what_the_schema_does_not_name() {
    let strict = format!("{}strict_arguments = true\n", stdio_entry("strict", &[]));
    let gateway = TestGateway::start(&octroi(), &format!("{strict}{}", stdio_entry("good", &[]))).await;
    for era in ERAS {
        let client = connect(&gateway, era, ClientOptions::default()).await;
        let more = json!({"text": "x", "more": 1});
        assert_eq!(client.call_text("good_echo", more.clone()).await.as_deref(), Ok("x"), "{era:?}");
        let refused = format!("{:?}", client.call("strict_echo", more).await);
        assert!(
            refused.contains("does not name `more`") && refused.contains("strict_arguments"),
            "{refused}"
        );
        assert_eq!(client.call_text("strict_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
    }
    gateway.stop().await;
}
