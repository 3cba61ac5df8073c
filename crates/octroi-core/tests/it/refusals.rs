//! An error in an entry that restricts or records makes the configuration unusable.

use expect_test::{Expect, expect};
use octroi_core::config::{Config, Severity, Unknown};
use octroi_core::syntax::Format::Toml;

use crate::harness::{describe, load, load_with};

/// Parses an invalid text: it must be refused, not accepted without the invalid part.
pub(crate) fn refused(text: &str) -> Config {
    let config = load(Toml, text);
    assert!(config.problems.iter().any(|problem| problem.severity == Severity::Fatal), "{text}");
    config
}

fn check_refused(text: &str, expect: Expect) {
    expect.assert_eq(&describe(&refused(text)));
}

#[test]
fn wrong_sections() {
    check_refused(
        r#"
[server]
admin_token = " "
[policy]
profile = "stict"
floor = ""
global = 5
errors = "json"
flor = "x"
[approvals]
wait = "2h"
expires = "forever"
grant_expires = false
form = "no"
url = "octroi.example.com"
[pins]
mode = "trust"
lock = ["a"]
[audit]
durability = "none"
retention = 90
max_argument_bytes = -1
results = "full"
handlers = "x"
"#,
        expect![[r#"
            fatal: file:3: `admin_token` must be a text, and not an empty one
            fatal: file:5: `profile` cannot be `stict`, only one of: strict, guarded, open; did you mean `strict`?
            fatal: file:6: `floor` is empty
            fatal: file:7: `global` must be a text, not 5
            fatal: file:8: `errors` cannot be `json`, only one of: rpc, result
            fatal: file:9: unknown key `flor`; did you mean `floor`?
            fatal: file:11: `wait` is longer than `expires`
            fatal: file:12: `expires` is not a duration; write 30s, 2m, 500ms or a number of milliseconds
            fatal: file:13: `grant_expires` must be a duration above zero, not true or false
            fatal: file:14: `form` must be true or false, not a text
            fatal: file:15: the `url` is not an http:// or https:// address; write it like `https://example.com/path`
            fatal: file:17: `mode` cannot be `trust`, only one of: trust_first, ask, strict; did you mean `trust_first`?
            fatal: file:18: `lock` must be a text, not a list
            fatal: file:20: `durability` cannot be `none`, only one of: normal, full
            fatal: file:21: `retention` must be at least a day; write a number of days, as in "90d"
            fatal: file:22: `max_argument_bytes` must be a whole number, at least 0, not -1
            fatal: file:23: `results` cannot be `full`, only one of: none, summary
            fatal: file:24: `audit.handlers` must be a list of tables, not a text
        "#]],
    );
    check_refused(
        "[approvals]\nwait = \"1m\"\nexpires = \"30s\"",
        expect![[r#"
        fatal: file:2: `wait` is longer than `expires`
    "#]],
    );
    check_refused(
        "[approvals]\nurl = \"https://me@example.com/?a\"",
        expect![[r#"
        fatal: file:2: the `url` must not hold a name, a query or a fragment; write it like `https://octroi.example.com`
    "#]],
    );
    check_refused(
        "policy = 1\nagents = {}\nquotas = \"many\"\naudit = []",
        expect![[r#"
        fatal: file:1: `policy` must be a table, not a number
        fatal: file:2: `agents` must be a list of tables, not a table
        fatal: file:3: `quotas` must be a list of tables, not a text
        fatal: file:4: `audit` must be a table, not a list
    "#]],
    );
}

#[test]
fn wrong_admin_tokens() {
    let both = "admin_token = \"a\"\nadmin_token_sha256 = \"b\"";
    for wrong in ["admin_token = 5", "admin_token = \"${NOT_SET}\"", "admin_token_sha256 = \"b\"", both] {
        let config = refused(&format!("[server]\n{wrong}"));
        assert!(config.server.admin_token.is_none(), "{wrong}");
    }
    check_refused(
        "[server]\nadmin_token_sha256 = \"+1\"",
        expect![[r#"
        fatal: file:2: `admin_token_sha256` must be 64 hexadecimal digits
    "#]],
    );
    check_refused(
        "[server]\nadmin_token = \"a\"\n[[tokens]]\ntoken = \"a\"\nrole = \"human\"",
        expect![[r#"
            fatal: file:2: the admin token is also one of [[tokens]]; use a different value
        "#]],
    );
}

#[test]
fn wrong_agents() {
    check_refused(
        r#"
[[agents]]
profile = "open"
[[agents]]
id = "with blank"
[[agents]]
id = "${API_KEY}"
[[agents]]
id = "twice"
[[agents]]
id = "twice"
[[agents]]
id = 5
[[agents]]
id = "words"
profile = "lax"
mode = "plan"
spec_frozen = 1
spec_hash = ""
project = 3
[[agents]]
id = "tags"
blacklist = [
  "payments",
  "payment",
  "fs write",
]
[[agents]]
id = "misspelt"
blacklst = ["payments"]
[[agents]]
id = "text"
blacklist = "payments"
"#,
        expect![[r#"
            fatal: file:2: agent 1: it needs `id`
            fatal: file:5: agent `with blank`: `id` cannot be `with blank`; write 1 to 64 of A-Z, a-z, 0-9, `.`, `_` and `-`
            fatal: file:7: agent `${API_KEY}`: `id` cannot be `${API_KEY}`; write 1 to 64 of A-Z, a-z, 0-9, `.`, `_` and `-`
            fatal: file:10: agent `twice`: an earlier entry has the same name
            fatal: file:13: agent 6: `id` must be a text, not 5
            fatal: file:16: agent `words`: `profile` cannot be `lax`, only one of: strict, guarded, open
            fatal: file:17: agent `words`: `mode` cannot be `plan`, only one of: planning, execution; did you mean `planning`?
            fatal: file:18: agent `words`: `spec_frozen` must be true or false, not 1
            fatal: file:19: agent `words`: `spec_hash` is empty
            fatal: file:20: agent `words`: `project` must be a text, not 3
            warning: file:25: agent `tags`: Octroi itself assigns no tool the side effect `payment`; did you mean `payments`?
            fatal: file:26: agent `tags`: `fs write` is not a side effect; write it like `fs.write` or `payments`
            fatal: file:30: agent `misspelt`: unknown key `blacklst`; did you mean `blacklist`?
            fatal: file:33: agent `text`: `blacklist` must be a list of texts, not a text
        "#]],
    );
    check_refused(
        &format!("[[agents]]\nid = \"{}\"", "a".repeat(65)),
        expect![[r#"
        fatal: file:2: agent `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`: `id` cannot be `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`; write 1 to 64 of A-Z, a-z, 0-9, `.`, `_` and `-`
    "#]],
    );
    assert!(load(Toml, &format!("[[agents]]\nid = \"{}\"", "a".repeat(64))).problems.is_empty());
    check_refused(
        "agents = [\"coder\"]",
        expect![[r#"
        fatal: file:1: agent 1: it must be a table, not a text
    "#]],
    );
}

#[test]
fn wrong_handlers() {
    check_refused(
        r#"
[[audit.handlers]]
name = "a"
[[audit.handlers]]
kind = "jsonl"
path = "x"
[[audit.handlers]]
name = "b"
kind = "webhook"
path = "x"
[[audit.handlers]]
name = "c"
kind = "jsonl"
url = "https://example.com"
headers = {}
[[audit.handlers]]
name = "d"
kind = "otlp"
url = "grpc://example.com:4317"
[[audit.handlers]]
name = "e"
kind = "syslog"
url = "https://example.com"
[[audit.handlers]]
name = "f"
kind = "kafka"
[[audit.handlers]]
name = "g"
kind = "jsonl"
path = "x"
events = ["Policy Decision", "", "aproval_requested", "server_changes", "server_*", "*_made", "tool_invocation_end"]
max_lag = 0
timeout = false
[[audit.handlers]]
name = "g"
kind = "jsonl"
path = "y"
"#,
        expect![[r#"
            fatal: file:2: audit handler `a`: it needs `kind`
            fatal: file:4: audit handler 2: it needs `name`
            fatal: file:7: audit handler `b`: a handler of the kind `webhook` needs `url`
            fatal: file:10: audit handler `b`: a handler of the kind `webhook` has no `path`
            fatal: file:11: audit handler `c`: a handler of the kind `jsonl` needs `path`
            fatal: file:14: audit handler `c`: a handler of the kind `jsonl` has no `url`
            fatal: file:15: audit handler `c`: a handler of the kind `jsonl` has no `headers`
            fatal: file:19: audit handler `d`: the `url` is not an http:// or https:// address; write it like `https://example.com/path`
            fatal: file:23: audit handler `e`: `https://example.com` is not an address of a system's log; write `udp://host:514`, `tcp://host:601` or `unix:///dev/log`
            fatal: file:26: audit handler `f`: `kind` cannot be `kafka`, only one of: webhook, jsonl, syslog, otlp
            fatal: file:31: audit handler `g`: `Policy Decision` matches no kind of event; did you mean `policy_decision`?
            fatal: file:31: audit handler `g`: `` matches no kind of event; write it like `policy_decision` or `approval_*`
            fatal: file:31: audit handler `g`: `aproval_requested` matches no kind of event; did you mean `approval_requested`?
            fatal: file:31: audit handler `g`: `server_changes` matches no kind of event; did you mean `server_changed`?
            fatal: file:31: audit handler `g`: `*_made` matches no kind of event; write it like `policy_decision` or `approval_*`
            fatal: file:32: audit handler `g`: `max_lag` must be a whole number, at least 1, not 0
            fatal: file:33: audit handler `g`: `timeout` must be a duration above zero, not true or false
            fatal: file:34: audit handler `g`: an earlier entry has the same name
        "#]],
    );
    for wrong in [
        "udp://host",
        "udp://:514",
        "tcp://host:0",
        "tcp://host:70000",
        "tcp://::1:514",
        "unix://x",
        "unix:///",
        "tls://h:1",
        "udp://h/x:1",
        "udp://[::g]:1",
        "host:514",
    ] {
        refused(&format!("[[audit.handlers]]\nname = \"a\"\nkind = \"syslog\"\nurl = \"{wrong}\""));
    }
    for wrong in ["https://", "https:///x", "ftp://x", "x", "https://a b", "https://me@/x"] {
        refused(&format!("[[audit.handlers]]\nname = \"a\"\nkind = \"webhook\"\nurl = \"{wrong}\""));
    }
}

#[test]
fn wrong_quotas() {
    check_refused(
        r#"
[[quotas]]
[[quotas]]
calls_per_minute = 5
[[quotas]]
agent = "*"
[[quotas]]
agent = ""
calls_per_minute = 0
max_in_flight = "many"
max_runtime = 0
each = "yes"
[[quotas]]
tool = "delete"
max_in_flight = 1
[[quotas]]
name = "two words"
agent = "*"
max_in_flight = 1
[[quotas]]
agnt = "*"
max_in_flight = 1
"#,
        expect![[r#"
            fatal: file:2: quota 1: it needs one of `token`, `agent`, `server`, `tool`
            fatal: file:2: quota 1: it needs one of `calls_per_minute`, `max_in_flight`, `max_runtime`
            fatal: file:3: quota 2: it needs one of `token`, `agent`, `server`, `tool`
            fatal: file:5: quota 3: it needs one of `calls_per_minute`, `max_in_flight`, `max_runtime`
            fatal: file:8: quota 4: `agent` is empty
            fatal: file:9: quota 4: `calls_per_minute` must be a whole number, at least 1, not 0
            fatal: file:10: quota 4: `max_in_flight` must be a whole number, at least 1, not a text
            fatal: file:11: quota 4: `max_runtime` must be a duration above zero, not 0
            fatal: file:12: quota 4: `each` must be true or false, not a text
            fatal: file:14: quota 5: `tool` cannot be `delete`; write `server.tool`, as in `github.delete_*`, or `*`
            fatal: file:17: quota `two words`: `name` cannot be `two words`; write 1 to 64 of A-Z, a-z, 0-9, `.`, `_` and `-`
            fatal: file:20: quota 7: it needs one of `token`, `agent`, `server`, `tool`
            fatal: file:21: quota 7: unknown key `agnt`; did you mean `agent`?
        "#]],
    );
}

#[test]
fn wrong_gates_and_knowledge() {
    check_refused(
        r#"
[[gates]]
[[gates]]
name = "a"
args = ["run"]
[[gates]]
name = "b"
command = ""
[[gates]]
name = "c"
command = "x"
tools = ["delete"]
timeout = "soon"
memory = 0
cwd = "/"
[[gates]]
name = "d"
command = "x"
env = { A = "${NOT_SET}" }
[[inference]]
[[inference]]
tools = "github"
risk = "huge"
[[inference]]
words = ["delete all", ""]
side_effects = ["fs.wirte", "a b"]
"#,
        expect![[r#"
            fatal: file:2: gate 1: it needs `name`
            fatal: file:2: gate 1: it needs `command`
            fatal: file:3: gate `a`: it needs `command`
            fatal: file:6: gate `b`: its `command` is empty
            fatal: file:12: gate `c`: `tools` cannot be `delete`; write `server.tool`, as in `github.delete_*`, or `*`
            fatal: file:13: gate `c`: `timeout` is not a duration; write 30s, 2m, 500ms or a number of milliseconds
            fatal: file:14: gate `c`: `memory` must be a whole number, at least 1, not 0
            fatal: file:15: gate `c`: unknown key `cwd`
            fatal: file:19: gate `d`: `${NOT_SET}` is not set and has no default (write `${NOT_SET:-default}` to give one)
            fatal: file:20: inference 1: it needs one of `risk`, `side_effects`
            fatal: file:22: inference 2: `tools` is a pattern over `server.tool`; write `github.*` for a server, `*.github` for a tool
            fatal: file:23: inference 2: `risk` cannot be `huge`, only one of: low, medium, high, critical
            fatal: file:25: inference 3: `delete all` is not a single word; write letters and digits only, as in `delete`
            fatal: file:25: inference 3: `` is not a single word; write letters and digits only, as in `delete`
            warning: file:26: inference 3: Octroi itself assigns no tool the side effect `fs.wirte`; did you mean `fs.write`?
            fatal: file:26: inference 3: `a b` is not a side effect; write it like `fs.write` or `payments`
        "#]],
    );
}

#[test]
fn what_restricts_is_read_strictly_even_where_the_rest_is_not() {
    let text = "[server]\nlisen = 1\n[[quotas]]\nagent = \"*\"\nmax_in_flight = 1\nmax_runtme = 1\n[policy]\nflor = \"x\"\n[other]";
    let config = load_with(Toml, text, Vec::new(), Some(Unknown::IsIgnored));
    expect![[r#"
        warning: file:2: unknown key `lisen`; did you mean `listen`?
        fatal: file:6: quota 1: unknown key `max_runtme`; did you mean `max_runtime`?
        fatal: file:8: unknown key `flor`; did you mean `floor`?
        warning: file:9: unknown key `other`
    "#]]
    .assert_eq(&describe(&config));
}
