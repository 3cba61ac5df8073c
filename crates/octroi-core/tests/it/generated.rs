//! Generated files match the table of keys. `UPDATE_EXPECT=1` accepts a change.

use std::collections::BTreeSet;
use std::path::Path;

use expect_test::{expect, expect_file};
use octroi_core::audit;
use octroi_core::config::keys::governance::{
    AGENT, APPROVALS, AUDIT, GATE, HANDLER, INFERENCE, NOTIFY, PINS, POLICY, QUOTA,
};
use octroi_core::config::keys::{ENTRY, Key, Kind, MCP, ROOT, SERVER, TOKEN};
use octroi_core::config::reference;
use octroi_core::config::schema::schema;
use octroi_core::syntax::Format::Toml;

use crate::governance::EVERYTHING;
use crate::harness::load;

const BEGIN: &str = "<!-- Generated from the table of keys; a test keeps it current. -->\n\n";
const END: &str = "\n<!-- To here. -->\n";

#[test]
fn the_schema_is_fresh() {
    expect_file!["../../../../docs/octroi.schema.json"].assert_eq(&format!("{:#}\n", schema()));
}

fn page() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    std::fs::read_to_string(file).expect("the page is there")
}

#[test]
fn the_examples_of_the_page_can_be_read() {
    let page = page();
    let examples: Vec<&str> =
        page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 14);
    for example in examples {
        assert_eq!(load(Toml, example).problems, Vec::new(), "{example}");
    }
}

#[test]
fn the_reference_is_fresh() {
    let page = page();
    let (before, rest) = page.split_once(BEGIN).expect("the page should have a place for the tables");
    let (_, after) = rest.split_once(END).expect("the place should have an end");
    let fresh = format!("{before}{BEGIN}{}{END}{after}", reference::tables());
    expect_file!["../../../../docs/configuration.md"].assert_eq(&fresh);
}

/// Every kind of record is explained on the page, and no other.
#[test]
fn the_page_on_the_audit_log_has_every_kind_of_record() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit.md");
    let page = std::fs::read_to_string(file).expect("the page is there");
    let (_, section) = page.split_once("### Kinds\n").expect("the kinds have a section");
    let (table, _) = section.split_once("\n\n**").expect("the section has a table");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('|'));
    let explained: BTreeSet<&str> =
        rows.flat_map(|(words, _)| words.split(',').map(|word| word.trim().trim_matches('`'))).collect();
    let known: BTreeSet<&str> = audit::Kind::WORDS.iter().map(|(word, _)| *word).collect();
    assert_eq!(explained, known);
}

#[test]
fn no_key_has_two_meanings() {
    let governance = [POLICY, AGENT, APPROVALS, PINS, NOTIFY, AUDIT, HANDLER, QUOTA, GATE, INFERENCE];
    for keys in [ROOT, SERVER, MCP, ENTRY, TOKEN].into_iter().chain(governance) {
        let spellings = |key: &'static Key| std::iter::once(key.name).chain(key.synonyms.iter().copied());
        let all: Vec<&str> = keys.iter().flat_map(spellings).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{all:?}");
    }
}

/// A key in the table that nothing reads would be accepted and ignored.
#[test]
fn every_key_of_a_server_is_read() {
    let value = |key: &Key| match (key.name, key.kind) {
        ("name", _) => "\"a\"".to_owned(),
        ("cwd" | "command", _) | (_, Kind::Text | Kind::Identifier) => "\"x\"".to_owned(),
        (_, Kind::Flag | Kind::FlagOr(_)) => "true".to_owned(),
        (_, Kind::Texts | Kind::Command | Kind::Tables(_)) => "[]".to_owned(),
        (_, Kind::TextMap | Kind::WordMap(_) | Kind::TableMap(_) | Kind::Table(_) | Kind::TableOrOff(_)) => {
            "{}".to_owned()
        }
        (_, Kind::Duration | Kind::DurationOrOff | Kind::Count(_)) => "1".to_owned(),
        (_, Kind::Words(words)) => format!("\"{}\"", words()[0]),
    };
    let with = |left_out: &[&str], more: &str| {
        let keys = ENTRY.iter().filter(|key| !left_out.contains(&key.name));
        let lines: Vec<String> = keys.map(|key| format!("{} = {}\n", key.name, value(key))).collect();
        let config = load(Toml, &format!("[[mcp.servers]]\n{}{more}", lines.concat()));
        let settings = config.effective.servers.first().unwrap_or_else(|| panic!("{:#?}", config.problems));
        settings.iter().map(|setting| setting.name).collect::<Vec<_>>()
    };
    let program = with(&["url", "headers", "oauth"], "");
    let remote = with(
        &["transport", "url", "api_key_env", "command", "args", "env", "inherit_env", "cwd", "env_type"],
        "url = \"https://x\"\n",
    );
    let read: BTreeSet<&str> = program.iter().chain(&remote).copied().collect();
    let all: BTreeSet<&str> = ENTRY.iter().map(|key| key.name).collect();
    assert_eq!(read, all);
    expect!["name title description enabled transport url headers oauth era start sharing reconnect timeout max_call_timeout connect_timeout list_timeout shutdown_grace max_message_bytes max_list_bytes max_list_items max_concurrency queue max_connections health_interval idle_stop trust allow_tools deny_tools deny_side_effect_tags strict_arguments risk_overrides tools_override template_id scope"].assert_eq(&remote.join(" "));
}

/// The same for the governance sections: every written value is displayed again.
#[test]
fn every_key_of_what_is_decided_and_kept_is_read() {
    let config = load(Toml, EVERYTHING);
    assert_eq!(config.problems, Vec::new());
    let effective = &config.effective;
    for (head, keys, tables) in [
        ("server", SERVER, vec![&effective.server]),
        ("tokens", TOKEN, effective.tokens.iter().collect()),
        ("policy", POLICY, vec![&effective.policy]),
        ("agents", AGENT, effective.agents.iter().collect()),
        ("approvals", APPROVALS, vec![&effective.approvals]),
        ("pins", PINS, vec![&effective.pins]),
        ("notify", NOTIFY, vec![&effective.notify]),
        ("audit", AUDIT, vec![&effective.audit]),
        ("audit.handlers", HANDLER, effective.handlers.iter().collect()),
        ("quotas", QUOTA, effective.quotas.iter().collect()),
        ("gates", GATE, effective.gates.iter().collect()),
        ("inference", INFERENCE, effective.inference.iter().collect()),
    ] {
        let read: BTreeSet<&str> = tables.into_iter().flatten().map(|setting| setting.name).collect();
        let has_tables_inside = |key: &&Key| !matches!(key.kind, Kind::Tables(_));
        let all = keys.iter().filter(has_tables_inside).map(|key| key.name);
        // The hash replaces the token.
        let all: BTreeSet<&str> = all.filter(|name| *name != "admin_token_sha256").collect();
        assert_eq!(read, all, "{head}");
        assert!(keys.iter().all(|key| key.about.ends_with('.')), "{head}");
    }
}

/// The page about limits has every limit with its default.
#[test]
fn the_page_of_limits_is_complete() {
    let page = include_str!("../../../../docs/limits.md");
    let is_count = |key: &&Key| matches!(key.kind, Kind::Count(_));
    let is_limit = |key: &&Key| is_count(key) || matches!(key.kind, Kind::Duration);
    // When a server is looked at and stopped are no limits.
    let is_limit_or_wait = |key: &&Key| is_limit(key) || key.name == "wait";
    let of_clients = SERVER.iter().filter(is_limit);
    let all =
        of_clients.chain(ENTRY.iter().filter(is_limit)).chain(APPROVALS.iter().filter(is_limit_or_wait));
    let all = all.chain(MCP.iter().filter(|key| matches!(key.name, "pool_idle" | "max_pools")));
    let missing: Vec<String> = all
        .map(|key| format!("| `{}` | {} |", key.name, key.default))
        .filter(|row| !page.contains(row))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

/// Limits that are no settings: where they are in the code, and what the page says.
const FIXED_LIMITS: &[(&str, &[&str], &str)] = &[
    ("mcp/src/envelope.rs", &["DEPTH_MAX: usize = 64;"], "| nesting of a client's message | 64 |"),
    ("mcp/src/envelope.rs", &["VALUES_MAX: usize = 200_000;"], "| values in a client's message | 200,000;"),
    ("mcp/src/envelope.rs", &["RESPONSE_DEPTH_MAX: usize = 128;"], "| nesting of a server's answer | 128 |"),
    (
        "core/src/arguments/limits.rs",
        &[
            "VALUES_MAX: usize = 20_000;",
            "TEXT_BYTES_MAX: usize = 1024 * 1024;",
            "DEPTH_MAX: usize = 64;",
            "PATTERNS_MAX: usize = 200;",
            "PATTERN_LENGTH_MAX: usize = 1_000;",
            "PATTERN_SIZE_MAX: u64 = 20_000;",
        ],
        "| a tool's schema | 20,000 values, 1 MiB of texts, nested 64 deep; 200 patterns of 1,000 characters, with \
         20,000 states when their repetitions are written out |",
    ),
    (
        "core/src/arguments/cost.rs",
        &["STEPS_MAX: u64 = 100_000;", "DEPTH_MAX: usize = 384;"],
        "| checking arguments against a schema | 100,000 steps and 8 for each byte, 384 levels of schema |",
    ),
    (
        "gateway/src/governance/proposals.rs",
        &["SOURCE_BYTES_MAX: usize = 64 << 10;"],
        "| a policy that an agent checks or proposes | 64 KiB |",
    ),
    (
        "core/src/call/evaluation.rs",
        &["STEPS_MAX: u64 = 200_000;"],
        "| testing arguments by rules | 200,000 steps and 8 for each byte |",
    ),
    (
        "core/src/policy/pattern.rs",
        &["TEXT_BYTES_MAX: usize = 65_536;", "ITEMS_MAX: usize = 256;"],
        "| a text that a rule takes for a path or an address | 64 KiB, 24 ways to decode it |",
    ),
    ("core/src/policy/spelling.rs", &["LAYERS_MAX: usize = 24;"], "24 ways to decode it |"),
    (
        "core/src/facts.rs",
        &["ENTRIES_MAX: usize = 64;", "ENTRY_LENGTH_MAX: usize = 4_096;"],
        "| hosts, paths and other facts of a call | 64 of each kind, 4,096 bytes each |",
    ),
    (
        "core/src/policy/document.rs",
        &["SOURCE_BYTES_MAX: usize = 1024 * 1024;", "ENTRIES_MAX: usize = 3_000;"],
        "| a policy of rules | 1 MiB; 3,000 rules of each kind and 3,000 tests |",
    ),
    (
        "cedar/src/limits.rs",
        &[
            "BYTES_MAX: usize = 256 * 1024;",
            "POLICIES_MAX: usize = 5_000;",
            "COMMAS_MAX: usize = 15_000;",
            "DEPTH_MAX: usize = 32;",
            "OPERATORS_MAX: usize = 400;",
        ],
        "| a Cedar text | 256 KiB, 5,000 policies, 15,000 commas; for each policy 32 levels and 400 operators;",
    ),
    (
        "core/src/uri.rs",
        &["URI_BYTES_MAX: usize = 8 * 1024;"],
        "| the URI of a resource that a client names | 8 KiB |",
    ),
    (
        "gateway/src/catalogue/fetch.rs",
        &["TEMPLATES_MAX: usize = 1_000;"],
        "| templates of one server | 1,000 |",
    ),
    (
        "core/src/uri/template.rs",
        &["STEPS_MAX: usize = 1_000_000;"],
        "| comparing a URI with templates | 1,000,000 steps,",
    ),
    (
        "gateway/src/pipeline/completion.rs",
        &["PART_BYTES_MAX: usize = 1024;", "ALL_BYTES_MAX: usize = 4 * PART_BYTES_MAX;"],
        "| a completion | 1 KiB each for the name and the value of the argument,",
    ),
    (
        "core/src/pin/findings.rs",
        &["FINDINGS_MAX: usize = 256;"],
        "| suspicious details of one definition | 256 |",
    ),
    (
        "core/src/redact/mask.rs",
        &["PATHS_MAX: usize = 1024 * 1024;"],
        "| paths of masked values in one view | 1 MiB altogether |",
    ),
    (
        "store/src/sqlite/retention.rs",
        &["APPROVALS_OF_AGENT_MAX: i64 = 10_000;"],
        "how long finished approvals are listed; 10,000 of one agent |",
    ),
];

#[test]
fn fixed_limits_of_the_page_are_those_of_the_code() {
    let page = include_str!("../../../../docs/limits.md");
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (file, constants, row) in FIXED_LIMITS {
        let code = std::fs::read_to_string(crates.join(format!("octroi-{file}"))).expect("a source file");
        for constant in *constants {
            assert!(code.contains(&format!("const {constant}")), "{file}: {constant}");
        }
        assert!(page.contains(row), "{row}");
    }
    // Each line of the table has its constants above, but those that have none.
    let (_, table) = page.split_once("These limits are fixed.").expect("the section");
    let (table, _) = table.split_once("\nAll steps").expect("its end");
    let without = ["references in a schema", "entries of a list in one text", "JSON inside of texts"];
    for line in table.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let is_known = FIXED_LIMITS.iter().any(|(_, _, row)| line.starts_with(row));
        assert!(is_known || without.iter().any(|start| line[2..].starts_with(start)), "{line}");
    }
}
