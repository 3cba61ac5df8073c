//! The tables of the configuration reference, generated from the table of keys.

use super::keys::governance::{
    AGENT, APPROVALS, AUDIT, GATE, HANDLER, INFERENCE, NOTIFY, PINS, POLICY, QUOTA,
};
use super::keys::{
    ENTRY, Key, Kind, MCP, MEMBERS, NESTED, OAUTH, OVERRIDE, PRESETS, REST, SECRETS, SERVER, TEMPLATES, TOKEN,
};

/// The tables, as Markdown.
pub fn tables() -> String {
    let sections = [
        ("`[server]`", SERVER),
        ("`[mcp]`", MCP),
        ("`[[mcp.servers]]`", ENTRY),
        ("`[mcp.servers.tools_override.NAME]`", OVERRIDE),
        ("`oauth` of a server", OAUTH),
        ("`[[tokens]]`", TOKEN),
        ("`[policy]`", POLICY),
        ("`[[agents]]`", AGENT),
        ("`[approvals]`", APPROVALS),
        ("`[pins]`", PINS),
        ("`[notify]`", NOTIFY),
        ("`[rest]`", REST),
        ("`[secrets]`", SECRETS),
        ("`[members]`", MEMBERS),
        ("`[templates]`", TEMPLATES),
        ("`[presets]`", PRESETS),
        ("`[audit]`", AUDIT),
        ("`[[audit.handlers]]`", HANDLER),
        ("`[[quotas]]`", QUOTA),
        ("`[[gates]]`", GATE),
        ("`[[inference]]`", INFERENCE),
    ];
    let tables: Vec<String> = sections.iter().map(|(head, keys)| table(head, keys)).collect();
    let (outer, inner) = NESTED;
    let inner: Vec<String> = inner.iter().map(|name| format!("`{name}`")).collect();
    format!("{}{} of a server can also be in its table `{outer}`.\n", tables.concat(), inner.join(", "))
}

fn table(head: &str, keys: &[Key]) -> String {
    let rows: String = keys.iter().map(row).collect();
    format!("### {head}\n\n| Key | Takes | Default | Meaning |\n|---|---|---|---|\n{rows}\n")
}

fn row(key: &Key) -> String {
    let spellings: Vec<String> =
        std::iter::once(&key.name).chain(key.synonyms).map(|name| format!("`{name}`")).collect();
    format!("| {} | {} | {} | {} |\n", spellings.join(", "), takes(key.kind), key.default, key.about)
}

fn takes(kind: Kind) -> String {
    let listed = |words: fn() -> Vec<&'static str>| {
        words().iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
    };
    match kind {
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::FlagOr(word) => format!("`true`, `false` or `\"{word}\"`"),
        Kind::Text => "string".to_owned(),
        Kind::Identifier => "name".to_owned(),
        Kind::Texts => "list of strings".to_owned(),
        Kind::TextMap => "table of strings".to_owned(),
        Kind::Command => "string, or list of strings".to_owned(),
        Kind::Duration => "duration".to_owned(),
        Kind::DurationOrOff => "duration or `false`".to_owned(),
        Kind::Count(least) => format!("number from {least}"),
        Kind::Words(words) => listed(words),
        Kind::WordMap(words) => format!("table of {}", listed(words)),
        Kind::Table(_) => "table".to_owned(),
        Kind::Tables(_) => "list of tables".to_owned(),
        Kind::TableMap(_) => "table of tables".to_owned(),
        Kind::TableOrOff(_) => "table or `false`".to_owned(),
    }
}
