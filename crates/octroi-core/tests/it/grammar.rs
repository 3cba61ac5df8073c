//! Errors and warnings, and their messages.

use std::fmt::Write as _;
use std::time::Duration;

use expect_test::expect;
use octroi_core::config::{Origins, Severity, Unknown};
use octroi_core::principal::{TokenHolder, TokenKind, hash_token};
use octroi_core::server::{Sharing, Start};
use octroi_core::syntax::Format::{Jsonc, Toml, Yaml};
use octroi_core::tool::Risk;
use octroi_core::trust::Trust;

use crate::harness::{check, describe, load, load_with};

#[test]
fn mistakes_in_an_entry_leave_the_others_alone() {
    check(
        Toml,
        r#"
[[mcp.servers]]
name = "good"
command = ["run", "me"]
[[mcp.servers]]
name = "misspelt"
comand = "x"
[[mcp.servers]]
name = "twice"
command = "x"
timeout = 5
timeout_ms = 5
[[mcp.servers]]
id = "both"
name = "both"
command = "x"
[[mcp.servers]]
name = "unset"
url = "https://example.com/${NOT_SET}"
[[mcp.servers]]
name = "slow"
command = "x"
timeout = "30"
connect_timeout = 0
list_timeout = true
max_call_timeout = "1s"
[[mcp.servers]]
name = "numbers"
command = "x"
max_concurrency = 0
queue = -1
max_message_bytes = "many"
[[mcp.servers]]
name = "words"
command = "x"
start = "laazy"
trust = "total"
risk_overrides = { "*" = "enormous" }
[[mcp.servers]]
name = "nothing"
[[mcp.servers]]
name = "unclear"
command = "x"
url = "https://example.com"
[[mcp.servers]]
name = "hollow"
command = []
[[mcp.servers]]
name = "good"
command = "again"
[[mcp.servers]]
name = "${HOME}"
command = "x"
[[mcp.servers]]
name = "ineffective"
url = "https://example.com"
cwd = "/tmp"
[[mcp.servers]]
name = "blanks"
command = "npx -y server"
[[mcp.servers]]
name = "theirs"
command = "x"
scope = "user"
[[mcp.servers]]
command = "x"
"#,
        expect![[r#"
            good: stdio run ["me"] in /cfg
            ineffective: http https://example.com
            left_out: file:7: server `misspelt` is left out: unknown key `comand`; did you mean `command`?
            left_out: file:12: server `twice` is left out: `timeout` and `timeout_ms` mean the same; write one of them
            left_out: file:15: server `both` is left out: `id` and `name` mean the same; write one of them
            left_out: file:19: server `unset` is left out: `${NOT_SET}` is not set and has no default (write `${NOT_SET:-default}` to give one)
            left_out: file:23: server `slow` is left out: `timeout` is not a duration; write 30s, 2m, 500ms or a number of milliseconds
            left_out: file:24: server `slow` is left out: `connect_timeout` must be a duration above zero, not 0
            left_out: file:25: server `slow` is left out: `list_timeout` is not a duration; write 30s, 2m, 500ms or a number of milliseconds
            left_out: file:26: server `slow` is left out: `max_call_timeout` is shorter than `timeout`
            left_out: file:30: server `numbers` is left out: `max_concurrency` must be a whole number, at least 1, not 0
            left_out: file:31: server `numbers` is left out: `queue` must be a whole number, at least 0, not -1
            left_out: file:32: server `numbers` is left out: `max_message_bytes` must be a whole number, at least 1, not a text
            left_out: file:36: server `words` is left out: `start` cannot be `laazy`, only one of: eager, lazy, manual; did you mean `lazy`?
            left_out: file:37: server `words` is left out: `trust` cannot be `total`, only one of: low, medium, high
            left_out: file:38: server `words` is left out: `risk_overrides` cannot be `enormous`, only one of: low, medium, high, critical
            left_out: file:39: server `nothing` is left out: it has neither `command` nor `url`, and there is no such server to switch
            left_out: file:41: server `unclear` is left out: it has both `command` and `url`; say which by `transport`
            left_out: file:45: server `hollow` is left out: its `command` is empty
            left_out: file:48: server `good` is left out: an earlier entry has the same name
            left_out: file:51: server `${HOME}` is left out: `${HOME}` is not a server name: only a-z, 0-9, `_` and `-` are allowed; references in names are not resolved
            warning: file:57: server `ineffective`: `cwd` has no effect: only a program has it
            left_out: file:60: server `blanks` is left out: `command` is the name of one program, and this has blanks in it; write the program in `command` and the rest in `args`, word by word: `command = "npx"`
            left_out: file:64: server `theirs` is left out: `scope` cannot be `user`, only one of: system
            left_out: file:65: a server is left out: it has no name; write `name`
        "#]],
    );
}

#[test]
fn mistakes_outside_of_entries_are_fatal() {
    check(
        Toml,
        r#"
tokns = []
[server]
listen = "everywhere"
alowed_hosts = []
[mcp]
enabld = false
"#,
        expect![[r#"
            fatal: file:2: unknown key `tokns`; did you mean `tokens`?
            fatal: file:4: `everywhere` is not an address with a port; write 127.0.0.1:7878 or [::1]:7878
            fatal: file:5: unknown key `alowed_hosts`; did you mean `allowed_hosts`?
            fatal: file:7: unknown key `enabld`; did you mean `enabled`?
        "#]],
    );
    check(
        Jsonc,
        "[1, 2]",
        expect![[r#"
        fatal: file:1: the file must be a table, not a list
    "#]],
    );
    check(
        Jsonc,
        r#"{ "mcp": 5, "mcpServers": "x", "tokens": {}, "servers": [7], "mcp_servers": { "a": 1 } }"#,
        expect![[r#"
            fatal: file:1: `mcp` must be a table, not a number
            fatal: file:1: `mcpServers` must be a list or a table of servers, not a text
            fatal: file:1: `tokens` must be a list of tables, not a table
            fatal: file:1: `servers` must be a list of tables, not a number
            fatal: file:1: `a` must be a table, not a number
        "#]],
    );
}

#[test]
fn lenient_reading_only_warns_of_unknown_keys() {
    let text =
        "[mcp]\nstrict = false\n[[mcp.servers]]\nname = \"a\"\ncommand = \"x\"\nautoApprove = []\n[other]\n";
    let expected = expect![[r#"
        a: stdio x [] in /cfg
        warning: file:6: server `a`: unknown key `autoApprove`; did you mean `auto_start`?
        warning: file:7: unknown key `other`
    "#]];
    expected.assert_eq(&describe(&load(Toml, text)));
    let strict = text.replace("strict = false", "");
    let lenient = load_with(Toml, &strict, Vec::new(), Some(Unknown::IsIgnored));
    assert_eq!(lenient.servers.len(), 1);
    assert!(lenient.problems.iter().all(|problem| problem.severity == Severity::Warning));
    assert_eq!(load(Toml, &strict).servers.len(), 0);
}

#[test]
fn what_is_switched_off_stays_visible_and_may_be_incomplete() {
    let config = load(
        Yaml,
        r"
mcp_servers:
  - { id: off, enabled: false, command: [run] }
  - { id: unset, enabled: false, url: 'https://example.com/${NOT_SET}' }
  - { id: risky, trust: LOW, command: [run] }
  - { id: approved, trust: low, enabled: true, command: [run] }
  - { id: remote, url: 'https://example.com' }
  - { id: switch, enabled: false }
  - { id: wish, enabled: true }
",
    );
    let states: String = config.servers.iter().fold(String::new(), |mut text, server| {
        let _ = write!(text, "{} {} {:?}, ", server.name(), server.is_enabled(), server.trust);
        text
    });
    assert_eq!(
        states, "off false Medium, risky false Low, approved true Low, remote true Low, ",
        "a remote server is on unless somebody says that it is not trusted"
    );
    let on = config.servers.iter().filter(|server| server.is_enabled());
    let on: Vec<&str> = on.map(|server| server.name().as_str()).collect();
    assert!(config.mcp.enabled);
    assert_eq!(on, ["approved", "remote"]);
    expect![[r#"
        off: stdio run [] in /cfg
            enabled = false
        risky: stdio run [] in /cfg
            trust = "low"
        approved: stdio run [] in /cfg
            enabled = true, trust = "low"
        remote: http https://example.com
        warning: file:4: server `unset`: `${NOT_SET}` is not set and has no default (write `${NOT_SET:-default}` to give one)
        warning: file:8: server `switch`: it has neither `command` nor `url`, and there is no such server to switch
        left_out: file:9: server `wish` is left out: it has neither `command` nor `url`, and there is no such server to switch
    "#]].assert_eq(&describe(&config));
}

#[test]
fn one_switch_for_all() {
    let config = load(Toml, "[mcp]\nenabled = false\n[[mcp.servers]]\nname = \"a\"\ncommand = \"x\"\n");
    assert_eq!((config.servers.len(), config.mcp.enabled), (1, false));
}

#[test]
#[expect(clippy::too_many_lines, reason = "one snapshot")]
fn every_setting_of_a_server() {
    let config = load(
        Toml,
        r#"
[mcp]
health_check_interval = false
[[mcp.servers]]
name = "all"
title = "All"
description = "everything"
command = "./bin/run"
args = ["--key", "${API_KEY}"]
inherit_env = ["LANG"]
cwd = "inner"
era = "legacy"
start = "manual"
sharing = "per_session"
reconnect = false
timeout = "10m"
max_call_timeout = "20m"
connect_timeout = "1 h"
list_timeout = 1500
shutdown_grace = "1s"
max_message_bytes = 1000
max_concurrency = 3
queue = 0
idle_stop = "5m"
trust = "high"
allow_tools = ["read_*"]
deny_tools = ["*_all"]
deny_side_effect_tags = ["fs.write"]
risk_overrides = { "read_*" = "MED", delete = "critical" }
template_id = "t"
env_type = "preinstalled"
image = "img:1"
"#,
    );
    let [all] = &config.servers[..] else {
        panic!("{}", describe(&config));
    };
    assert_eq!(all.timeouts.call_cap, Duration::from_mins(20));
    assert_eq!((all.start, all.sharing, all.trust), (Start::Manual, Sharing::PerSession, Trust::High));
    assert_eq!((all.limits.queue, all.reconnect, all.health_interval), (0, false, None));
    assert_eq!(all.risk_overrides["read_*"], Risk::Medium);
    assert_eq!(all.runtime.image.as_deref(), Some("img:1"));
    let toml = config.effective.to_toml(Origins::Included);
    let (servers, _) = toml.split_once("\n\n[policy]").expect("policies follow");
    expect![[r#"
        [server]
        listen = "127.0.0.1:7878"                 # default
        allowed_hosts = []                        # default
        trusted_proxies = []                      # default
        allowed_origins = []                      # default
        max_body_bytes = 4194304                  # default
        session_idle = "30m"                      # default
        session_restore = "7d"                    # default
        max_connections = 1024                    # default
        reserved_connections = 32                 # default
        max_connections_per_token = 256           # default
        max_connections_per_address = 256         # default
        max_new_connections = 128                 # default
        max_wrong_tokens_per_address = 20         # default
        max_wrong_tokens_per_token = 20           # default
        wrong_token_window = "1m"                 # default
        header_timeout = "10s"                    # default
        body_timeout = "30s"                      # default
        write_timeout = "30s"                     # default
        connection_idle = "5m"                    # default
        max_sessions = 256                        # default
        max_held_bytes = 8388608                  # default
        max_client_info_bytes = 65536             # default
        max_subscriptions = 1000                  # default
        max_subscriptions_per_minute = 300        # default

        [rest]
        enabled = true                            # default

        [mcp]
        enabled = true                            # default
        auto_reload = "ask"                       # default
        health_check_interval = false             # file:3
        health_retention = "7d"                   # default
        wire_name_max = 50                        # default
        list_wait = "1500ms"                      # default
        pool_idle = "10m"                         # default
        max_pools = 1000                          # default
        strict = true                             # default

        [[mcp.servers]]
        name = "all"                              # file:5
        title = "All"                             # file:6
        description = "everything"                # file:7
        enabled = true                            # default
        transport = "stdio"                       # file:8
        command = "/cfg/bin/run"                  # file:8
        args = ["--key", "***"]                   # file:9
        inherit_env = ["LANG"]                    # file:10
        cwd = "/cfg/inner"                        # file:11
        era = "legacy"                            # file:12
        start = "manual"                          # file:13
        sharing = "per_session"                   # file:14
        reconnect = false                         # file:15
        timeout = "10m"                           # file:16
        max_call_timeout = "20m"                  # file:17
        connect_timeout = "1h"                    # file:18
        list_timeout = "1500ms"                   # file:19
        shutdown_grace = "1s"                     # file:20
        max_message_bytes = 1000                  # file:21
        max_list_bytes = 4194304                  # default
        max_list_items = 20000                    # default
        max_concurrency = 3                       # file:22
        queue = 0                                 # file:23
        max_connections = 100                     # default
        health_interval = false                   # file:3
        idle_stop = "5m"                          # file:24
        trust = "high"                            # file:25
        allow_tools = ["read_*"]                  # file:26
        deny_tools = ["*_all"]                    # file:27
        deny_side_effect_tags = ["fs.write"]      # file:28
        strict_arguments = false                  # default
        risk_overrides = { delete = "critical", "read_*" = "medium" }  # file:29
        template_id = "t"                         # file:30
        scope = "system"                          # default
        env_type = "preinstalled"                 # file:31
        image = "img:1"                           # file:32"#]]
    .assert_eq(servers);
    expect![[r#"
        all: stdio /cfg/bin/run ["--key", "<API_KEY>"] +LANG in /cfg/inner
            title = "All", description = "everything", inherit_env = ["LANG"], era = "legacy", start = "manual", sharing = "per_session", reconnect = false, timeout = "10m", max_call_timeout = "20m", connect_timeout = "1h", list_timeout = "1500ms", shutdown_grace = "1s", max_message_bytes = 1000, max_concurrency = 3, queue = 0, health_interval = false, idle_stop = "5m", trust = "high", allow_tools = ["read_*"], deny_tools = ["*_all"], deny_side_effect_tags = ["fs.write"], risk_overrides = {"delete":"critical","read_*":"medium"}, template_id = "t", env_type = "preinstalled", image = "img:1"
        warning: file:31: server `all`: environments are not built yet, so `env_type` is only kept: the command runs on this machine
    "#]].assert_eq(&describe(&config));
    assert!(!format!("{config:?}").contains("<API_KEY>"), "a secret shows");
}

#[test]
fn a_server_that_wants_an_environment_of_its_own_is_refused() {
    check(
        Toml,
        r#"
[[mcp.servers]]
name = "isolated"
command = "run"
env_type = "custom_image"
image = "img:1"
[[mcp.servers]]
name = "off"
enabled = false
command = "run"
env_type = "custom_image"
[[mcp.servers]]
name = "injected"
command = "run"
env_type = "dynamic_injected"
[[mcp.servers]]
name = "here"
command = "run"
env_type = "host"
"#,
        expect![[r#"
            injected: stdio run [] in /cfg
                env_type = "dynamic_injected"
            here: stdio run [] in /cfg
                env_type = "host"
            left_out: file:5: server `isolated` is left out: `env_type = "custom_image"` is not possible: environments are not built yet; remove `env_type` to run the command on this machine
            warning: file:11: server `off`: `env_type = "custom_image"` is not possible: environments are not built yet; remove `env_type` to run the command on this machine
            warning: file:15: server `injected`: environments are not built yet, so `env_type` is only kept: the command runs on this machine
        "#]],
    );
}

#[test]
fn tokens_are_kept_as_hashes() {
    let config = load(
        Toml,
        r#"
[[tokens]]
token = "pla$$in"
role = "agent"
agent_id = "coder"
[[tokens]]
sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
role = "human"
[[tokens]]
role = "agent"
token = "nameless"
[[tokens]]
role = "human"
token = "${API_KEY}"
[[tokens]]
role = "human"
token = "${NOT_SET}"
[[tokens]]
role = "human"
token = "a"
sha256 = "b"
[[tokens]]
role = "human"
sha256 = "b"
[[tokens]]
token = "x"
[[tokens]]
role = "human"
token = "pla$$in"
[[tokens]]
role = "human"
token = "  "
"#,
    );
    let find = |token: &str| config.tokens.find(&hash_token(token)).map(|entry| entry.holder.clone());
    assert_eq!(find("pla$$in").unwrap().kind(), TokenKind::Agent, "the first one counts");
    assert_eq!(find("secret"), Some(TokenHolder::admin()));
    assert_eq!(find("<API_KEY>"), Some(TokenHolder::admin()));
    assert!(find("${NOT_SET}").is_none() && find("${API_KEY}").is_none());
    expect![[r#"
        left_out: file:9: token 3 is left out: an agent's token needs `agent_id`
        left_out: file:17: token 5 is left out: `${NOT_SET}` is not set and has no default (write `${NOT_SET:-default}` to give one)
        left_out: file:18: token 6 is left out: give `token` or `sha256`, not both
        left_out: file:22: token 7 is left out: `sha256` must be 64 hexadecimal digits
        left_out: file:25: token 8 is left out: it needs a `role`: human, agent or service
        left_out: file:27: token 9 is left out: it is the same as another one
        left_out: file:30: token 10 is left out: it needs `token` or `sha256`
    "#]].assert_eq(&describe(&config));
    assert!(!format!("{config:?}{}", config.effective.to_toml(Origins::Included)).contains("pla$$in"));
}

#[test]
fn only_loopback_needs_no_token() {
    for (listen, tokens, is_fine) in [
        ("127.0.0.1:1", "", true),
        ("[::1]:1", "", true),
        ("0.0.0.0:1", "", false),
        ("[::]:1", "", false),
        ("192.0.2.1:1", "", false),
        ("0.0.0.0:1", "[[tokens]]\ntoken = \"t\"\nrole = \"human\"", true),
        ("0.0.0.0:1", "[[tokens]]\ntoken = \"\"\nrole = \"human\"", false),
    ] {
        let config = load(Toml, &format!("[server]\nlisten = \"{listen}\"\n{tokens}"));
        assert_eq!(config.listen_problem().is_none(), is_fine, "{listen} {tokens}");
    }
}

#[test]
fn tls_needs_both_files_and_proxies_are_networks() {
    for (text, problem) in [
        ("tls_cert = \"c\"\ntls_key = \"k\"", None),
        ("tls_cert = \"c\"", Some("`tls_cert` needs `tls_key` beside it")),
        ("tls_key = \"k\"", Some("`tls_key` needs `tls_cert` beside it")),
        ("tls_cert = \"\"\ntls_key = \"k\"", Some("`tls_cert` is empty")),
        ("tls_cert = false\ntls_key = \"k\"", Some("`tls_cert` must be")),
        ("trusted_proxies = [\"10.0.0.0/8\", \"::1\"]", None),
        ("trusted_proxies = [\"proxy.example\"]", Some("is no network: it is not an IP address")),
        ("trusted_proxies = [\"10.0.0.1/8\"]", Some("write 10.0.0.0/8")),
        ("max_wrong_tokens_per_address = 0", Some("max_wrong_tokens_per_address")),
    ] {
        let config = load(Toml, &format!("[server]\n{text}"));
        let problems: Vec<String> = config.problems.iter().map(ToString::to_string).collect();
        let is_fatal = config.problems.iter().any(|problem| problem.severity == Severity::Fatal);
        match problem {
            None => assert_eq!(problems, Vec::<String>::new(), "{text}"),
            Some(problem) => {
                assert!(is_fatal && problems.join("\n").contains(problem), "{text}: {problems:?}")
            }
        }
    }
}
