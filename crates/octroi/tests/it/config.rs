//! `octroi config`, and how other commands read a configuration, with the real binary.

use std::path::Path;
use std::process::Command;

use expect_test::{Expect, expect};

use crate::harness::octroi;

mod schema;

/// Runs `octroi` in a directory with these files; returns its exit code and all its output.
fn run(files: &[(&str, &str)], arguments: &[&str]) -> String {
    run_with(files, arguments, &[])
}

fn run_with(files: &[(&str, &str)], arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }
    let output = Command::new(octroi())
        .args(arguments)
        .current_dir(directory.path())
        .env_clear()
        .env("HOME", directory.path().join("user"))
        .env("NO_COLOR", "1")
        .envs(variables.iter().copied())
        .output()
        .expect("octroi should run");
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let real = std::fs::canonicalize(directory.path()).expect("the directory is there");
    let text = format!(
        "exit: {}\n----- out\n{}----- err\n{}",
        output.status.code().unwrap_or(-1),
        lossy(&output.stdout),
        lossy(&output.stderr)
    )
    .replace(&real.display().to_string(), "[DIR]")
    .replace(&directory.path().display().to_string(), "[DIR]");
    text.lines().fold(String::new(), |text, line| text + &unaligned(line) + "\n")
}

/// Columns depend on how long the directory's name is.
fn unaligned(line: &str) -> String {
    match line.split_once("  # ") {
        Some((before, after)) => format!("{}  # {after}", before.trim_end()),
        None => line.to_owned(),
    }
}

fn check(files: &[(&str, &str)], arguments: &[&str], expect: Expect) {
    expect.assert_eq(&run(files, arguments));
}

const GOOD: &str = r#"
[server]
listen = "127.0.0.1:0"

[[mcp.servers]]
name = "files"
command = "./run"
env = { KEY = "hunter2" }

[[tokens]]
token = "hunter2"
role = "human"
"#;

const BAD: &str = r#"
[[mcp.servers]]
name = "files"
comand = "run"

[[mcp.servers]]
name = "tracker"
url = "https://example.com/${TRACKER_KEY}"
timeout = "soon"
headers = { Authorization = "hunter2" }
"#;

#[test]
fn check_says_what_is_wrong_and_where() {
    check(
        &[("octroi.toml", GOOD)],
        &["config", "check"],
        expect![[r#"
            exit: 0
            ----- out
            ----- err
            octroi.toml: fine, 1 server
        "#]],
    );
    check(
        &[("octroi.toml", BAD)],
        &["config", "check"],
        expect![[r#"
        exit: 1
        ----- out
        error: octroi.toml:4: server `files` is left out: unknown key `comand`; did you mean `command`?
        error: octroi.toml:8: server `tracker` is left out: `${TRACKER_KEY}` is not set and has no default (write `${TRACKER_KEY:-default}` to give one)
        error: octroi.toml:9: server `tracker` is left out: `timeout` is not a duration; write 30s, 2m, 500ms or a number of milliseconds
        ----- err
        error: 3 problems found
        hint: `octroi config schema` has every key
    "#]],
    );
    check(
        &[("octroi.toml", BAD)],
        &["config", "check", "--lenient", "--json"],
        expect![[r#"
            exit: 1
            ----- out
            {
              "ok": false,
              "problems": [
                {
                  "severity": "left_out",
                  "origin": "octroi.toml:2",
                  "subject": "server `files`",
                  "message": "it has neither `command` nor `url`, and there is no such server to switch",
                  "hint": null
                },
                {
                  "severity": "warning",
                  "origin": "octroi.toml:4",
                  "subject": "server `files`",
                  "message": "unknown key `comand`",
                  "hint": "did you mean `command`?"
                },
                {
                  "severity": "left_out",
                  "origin": "octroi.toml:8",
                  "subject": "server `tracker`",
                  "message": "`${TRACKER_KEY}` is not set and has no default (write `${TRACKER_KEY:-default}` to give one)",
                  "hint": null
                },
                {
                  "severity": "left_out",
                  "origin": "octroi.toml:9",
                  "subject": "server `tracker`",
                  "message": "`timeout` is not a duration",
                  "hint": "write 30s, 2m, 500ms or a number of milliseconds"
                }
              ]
            }
            ----- err
            {"error":{"kind":"failed","message":"3 problems found","hint":"`octroi config schema` has every key"}}
        "#]],
    );
    check(
        &[("octroi.toml", "[server]\nlisten = \"0.0.0.0:1\"\n")],
        &["config", "check"],
        expect![[r#"
        exit: 1
        ----- out
        error: octroi.toml:2: listening at 0.0.0.0:1 allows other machines to connect, and no token is configured; add one to [[tokens]], or listen at 127.0.0.1
        ----- err
        error: 1 problem found
        hint: `octroi config schema` has every key
    "#]],
    );
    check(
        &[("octroi.toml", "[servers]\n[mcp]\nenabled = 1\n")],
        &["config", "check"],
        expect![[r#"
        exit: 1
        ----- out
        error: octroi.toml:3: `enabled` must be true or false, not 1
        ----- err
        error: 1 problem found
        hint: `octroi config schema` has every key
    "#]],
    );
}

#[test]
fn a_file_that_cannot_be_read() {
    check(
        &[("x.toml", "[mcp]\nenabled true\n")],
        &["config", "check", "--config", "x.toml"],
        expect![[r#"
            exit: 1
            ----- out
            ----- err
            error: x.toml:2:9: this is not TOML
              caused by: key with no value, expected `=`
                2 | enabled true
                  |         ^
        "#]],
    );
    check(
        &[],
        &["config", "check", "--config", "gone.toml"],
        expect![[r#"
        exit: 1
        ----- out
        ----- err
        error: cannot read gone.toml
          caused by: No such file or directory (os error 2)
        hint: name a file that can be read with --config FILE
    "#]],
    );
    check(
        &[],
        &["config", "chek"],
        expect![[r#"
        exit: 2
        ----- out
        ----- err
        error: unrecognized subcommand 'chek'

          tip: some similar subcommands exist: 'schema', 'check'

        Usage: octroi config [OPTIONS] <COMMAND>

        For more information, try '--help'.
    "#]],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "one snapshot")]
fn show_hides_secrets() {
    check(
        &[("octroi.toml", GOOD)],
        &["config", "show"],
        expect![[r#"
            exit: 0
            ----- out
            [server]
            listen = "127.0.0.1:0"
            allowed_hosts = []
            trusted_proxies = []
            allowed_origins = []
            max_body_bytes = 4194304
            session_idle = "30m"
            session_restore = "7d"
            max_connections = 1024
            reserved_connections = 32
            max_connections_per_token = 256
            max_connections_per_address = 256
            max_new_connections = 128
            max_wrong_tokens_per_address = 20
            max_wrong_tokens_per_token = 20
            wrong_token_window = "1m"
            header_timeout = "10s"
            body_timeout = "30s"
            write_timeout = "30s"
            connection_idle = "5m"
            max_sessions = 256
            max_held_bytes = 8388608
            max_client_info_bytes = 65536
            max_subscriptions = 1000
            max_subscriptions_per_minute = 300

            [rest]
            enabled = true

            [mcp]
            enabled = true
            auto_reload = "ask"
            health_check_interval = "1m"
            health_retention = "7d"
            wire_name_max = 50
            list_wait = "1500ms"
            pool_idle = "10m"
            max_pools = 1000
            strict = true

            [[mcp.servers]]
            name = "files"
            enabled = true
            transport = "stdio"
            command = "[DIR]/run"
            args = []
            env = { KEY = "***" }
            inherit_env = []
            cwd = "[DIR]/user/.local/share/octroi/servers/files"
            era = "auto"
            start = "eager"
            sharing = "auto"
            reconnect = true
            timeout = "1m"
            max_call_timeout = "5m"
            connect_timeout = "1m"
            list_timeout = "15s"
            shutdown_grace = "5s"
            max_message_bytes = 16777216
            max_list_bytes = 4194304
            max_list_items = 20000
            max_concurrency = 10
            queue = 100
            max_connections = 100
            health_interval = "1m"
            idle_stop = false
            trust = "medium"
            allow_tools = []
            deny_tools = []
            deny_side_effect_tags = []
            strict_arguments = false
            scope = "system"
            env_type = "host"

            [[tokens]]
            token = "***"
            role = "human"
            admin = false
            label = "admin"
            errors = "rpc"

            [policy]
            profile = "guarded"
            errors = "rpc"
            proposals = false

            [approvals]
            wait = "50s"
            expires = "1h"
            grant_expires = "10m"
            form = false
            keep_arguments = "1h"
            retention = "90d"
            max_argument_bytes = 1048576
            max_pending = 100
            max_pending_bytes = 8388608

            [pins]
            mode = "trust_first"
            new_tools = "by_profile"
            lock = "[DIR]/octroi.lock"

            [notify]
            about = ["approvals", "quarantine"]
            desktop = false
            every = "10s"
            timeout = "10s"

            [secrets]

            [members]
            allow_hosts = []
            allow_host_commands = false

            [templates]

            [presets]

            [audit]
            durability = "normal"
            retention = "90d"
            max_bytes = 10000000000
            max_argument_bytes = 4096
            results = "summary"
            ----- err
        "#]],
    );
    let json = run_with(
        &[(
            "octroi.json",
            r#"{ "mcp": { "a": { "type": "remote", "url": "https://u:hunter2@x/${K}?k=1" } } }"#,
        )],
        &["config", "show", "--json", "--origin"],
        &[("K", "hunter2"), ("OCTROI_LISTEN", "127.0.0.1:8")],
    );
    assert!(!json.contains("hunter2"), "{json}");
    assert!(
        json.contains("https://***@x/***?k=1") && json.contains("environment variable OCTROI_LISTEN"),
        "{json}"
    );
}

#[test]
fn show_tells_origins() {
    let yaml = "mcp_servers:\n  - id: files\n    command: [run, it]\n    timeout_ms: 5000\n";
    let text = run(
        &[
            ("a/mcp_servers.yaml", yaml),
            ("a/mcpservers/extra/server.py", ""),
            ("a/mcpservers/extra/config.jsonc", "{\n  \"timeout\": 1 }"),
        ],
        &["config", "show", "--origin", "--config", "a/mcp_servers.yaml", "--listen", "127.0.0.1:9"],
    );
    let (defaults, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.ends_with("# default"));
    assert!(defaults.contains(&"reconnect = true  # default"), "{text}");
    expect![[r#"
        exit: 0
        ----- out
        [server]
        listen = "127.0.0.1:9"  # option --listen

        [rest]

        [mcp]

        [[mcp.servers]]
        name = "files"  # a/mcp_servers.yaml:2
        transport = "stdio"  # a/mcp_servers.yaml:3
        command = "run"  # a/mcp_servers.yaml:3
        args = ["it"]  # a/mcp_servers.yaml:3
        timeout = "5s"  # a/mcp_servers.yaml:4

        [[mcp.servers]]
        name = "extra"  # a/mcpservers/extra
        transport = "stdio"  # a/mcpservers/extra
        command = "python3"  # a/mcpservers/extra
        args = ["[DIR]/a/mcpservers/extra/server.py"]  # a/mcpservers/extra
        cwd = "[DIR]/a/mcpservers/extra"  # a/mcpservers/extra
        timeout = "1ms"  # a/mcpservers/extra/config.jsonc:2

        [policy]

        [approvals]

        [pins]

        [notify]

        [secrets]

        [members]

        [templates]

        [presets]

        [audit]
        ----- err"#]]
    .assert_eq(&rest.join("\n"));
}

#[test]
fn files_are_found_by_flag_variable_place_and_user() {
    let server = |name: &str| format!("[mcp.{name}]\ncommand = \"x\"\n");
    let (flag, variable, user) = (server("flag"), server("variable"), server("user"));
    let files = [
        ("flag.toml", flag.as_str()),
        ("variable.toml", variable.as_str()),
        ("octroi.yml", "mcp_servers: [{ id: place, command: [x] }]"),
        ("user/.config/octroi/octroi.toml", user.as_str()),
    ];
    let named = [("OCTROI_CONFIG", "variable.toml")];
    let which = |files: &[(&str, &str)], arguments: &[&str], variables: &[(&str, &str)]| {
        let output = run_with(files, &[&["config", "show"], arguments].concat(), variables);
        output.lines().find_map(|line| line.strip_prefix("name = ").map(str::to_owned)).unwrap_or(output)
    };
    assert_eq!(which(&files, &["--config", "flag.toml"], &named), "\"flag\"");
    assert_eq!(which(&files, &[], &named), "\"variable\"");
    assert_eq!(which(&files, &[], &[]), "\"place\"");
    assert_eq!(which(&files[3..], &[], &[]), "\"user\"");
}

#[test]
fn what_is_not_understood_does_not_run() {
    let text = "{ \"mcp\": {}, \"plugins\": [] }";
    check(
        &[("config.jsonc", text)],
        &["stdio", "--config", "config.jsonc"],
        expect![[r#"
            exit: 1
            ----- out
            ----- err
            error: the configuration cannot be used
              caused by: config.jsonc:1: unknown key `plugins`
            hint: `octroi config check` lists everything; `--lenient` only warns of unknown keys
        "#]],
    );
    check(
        &[("config.jsonc", text)],
        &["stdio", "--lenient", "--config", "config.jsonc"],
        expect![[r#"
            exit: 0
            ----- out
            ----- err
            warning: config.jsonc:1: unknown key `plugins`
        "#]],
    );
}

#[test]
fn other_machines_get_in_only_with_a_token() {
    check(
        &[],
        &["up", "--listen", "0.0.0.0:0", "--data", "data"],
        expect![[r#"
            exit: 1
            ----- out
            ----- err
            error: option --listen: listening at 0.0.0.0:0 allows other machines to connect, and no token is configured
            hint: add one to [[tokens]], or listen at 127.0.0.1
        "#]],
    );
}
