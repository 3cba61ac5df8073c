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
    assert_eq!(examples.len(), 12);
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
    let of_clients = SERVER.iter().filter(is_limit);
    let all = of_clients.chain(ENTRY.iter().filter(is_count)).chain(APPROVALS.iter().filter(is_count));
    let missing: Vec<String> = all
        .map(|key| format!("| `{}` | {} |", key.name, key.default))
        .filter(|row| !page.contains(row))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}
