//! Only `octroi-mcp` writes JSON-RPC: no other crate's text holds the member that every message has.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;

use super::source::Target;
use super::{Finding, Rule};

/// The crate that implements the protocol, and the one that plays its peers in tests.
const ALLOWED: [&str; 2] = ["crates/octroi-mcp", "crates/octroi-testkit"];

/// One finding for each file, naming its first line.
pub(crate) fn check(target: &Target) -> Vec<Finding> {
    if ALLOWED.contains(&target.package.as_str()) || !target.package.starts_with("crates/") {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = Vec::new();
    for module in &target.modules {
        let line = module.items.iter().find_map(|item| first_line(item.to_token_stream()));
        let Some(line) = line else {
            continue;
        };
        if findings.iter().all(|finding| finding.place != module.file) {
            let message = format!("{}:{line} writes JSON-RPC; only octroi-mcp does that", module.file);
            findings.push(Finding { rule: Rule::JsonRpc, place: module.file.clone(), message });
        }
    }
    findings
}

/// The line of the first text with the member's name in it, in quotes.
fn first_line(tokens: TokenStream) -> Option<usize> {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            // Attributes hold documentation, which may show a message.
            TokenTree::Punct(hash) if hash.as_char() == '#' => {
                tokens.next_if(|next| matches!(next, TokenTree::Group(_)));
            }
            TokenTree::Group(group) => {
                if let Some(line) = first_line(group.stream()) {
                    return Some(line);
                }
            }
            TokenTree::Literal(literal) => {
                if literal.to_string().replace('\\', "").contains("\"jsonrpc\"") {
                    return Some(literal.span().start().line);
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::files::Files;
    use super::super::source::targets;
    use super::*;

    fn n_findings(package: &str, source: &str) -> usize {
        let files = Files::from([(format!("{package}/src/lib.rs"), source.to_owned())]);
        check(&targets(&files).expect("the source is Rust")[0]).len()
    }

    #[test]
    fn a_message_is_known_by_its_member_in_any_kind_of_text() {
        for (source, expected) in [
            ("fn f() { json!({\"jsonrpc\": \"2.0\"}); }", 1),
            ("const A: &str = r#\"{\"jsonrpc\":\"2.0\"}\"#;", 1),
            ("const A: &str = \"{\\\"jsonrpc\\\":1}\";", 1),
            ("const A: &[u8] = br#\"{\"jsonrpc\":\"2.0\"}\"#;", 1),
            ("fn f() { format!(r#\"{{\"jsonrpc\":\"2.0\"}}\"#); }", 1),
            ("const A: &str = \"jsonrpc is a protocol\";", 0),
            ("/// Answers `{\"jsonrpc\": \"2.0\"}`.\nfn f() {}", 0),
            ("// {\"jsonrpc\": \"2.0\"}\nfn f() {}", 0),
            ("#[cfg(test)] mod tests { const A: &str = \"jsonrpc\"; }", 0),
            ("fn f() { let a = \"jsonrpc\"; } fn g() { let b = \"jsonrpc\"; }", 1),
        ] {
            assert_eq!(n_findings("crates/octroi", source), expected, "{source}");
        }
    }

    #[test]
    fn the_protocol_crate_and_the_test_peers_write_it() {
        let source = "const A: &str = \"jsonrpc\";";
        for (package, expected) in [
            ("crates/octroi-mcp", 0),
            ("crates/octroi-testkit", 0),
            ("bench", 0),
            ("crates/octroi-server", 1),
        ] {
            assert_eq!(n_findings(package, source), expected, "{package}");
        }
    }
}
