//! Every error code and every kind of record is used: a word that nobody emits only misleads who reads the list.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::Item;

use super::source::Target;
use super::{Finding, Rule};

/// An enum whose variants are words for users.
struct Words {
    name: &'static str,
    /// The file that defines it.
    file: &'static str,
    /// The directory or file in which naming a variant is no use of it.
    own: &'static str,
    /// A constant with variants that are used by their numbers.
    by_number: Option<&'static str>,
}

const WORDS: [Words; 2] = [
    Words {
        name: "ErrorCode",
        file: "crates/octroi-api/src/error/table.rs",
        own: "crates/octroi-api/src/error/",
        by_number: Some("PROTOCOL_ERRORS"),
    },
    Words {
        name: "Kind",
        file: "crates/octroi-core/src/audit/words.rs",
        own: "crates/octroi-core/src/audit/words.rs",
        by_number: None,
    },
];

/// One finding for each variant that no product code names.
pub(crate) fn check(targets: &[Target]) -> Vec<Finding> {
    WORDS.iter().flat_map(|words| unused(words, targets)).collect()
}

fn unused(words: &Words, targets: &[Target]) -> Vec<Finding> {
    let mut used = BTreeSet::new();
    let mut variants = Vec::new();
    for module in targets
        .iter()
        .filter(|target| target.package.starts_with("crates/"))
        .flat_map(|target| &target.modules)
    {
        if module.file == words.file {
            variants.extend(module.items.iter().flat_map(|item| variants_of(item, words.name)));
        }
        for item in &module.items {
            let is_by_number =
                matches!(item, Item::Const(item) if words.by_number.is_some_and(|name| item.ident == name));
            if is_by_number || !module.file.starts_with(words.own) {
                find_uses(item.to_token_stream(), words.name, &mut used);
            }
        }
    }
    let unused = variants.into_iter().filter(|variant| !used.contains(variant));
    unused
        .map(|variant| {
            let place = format!("{}::{variant}", words.name);
            let message = format!("{}: nothing emits {place}; use it or remove it", words.file);
            Finding { rule: Rule::UnusedWord, place, message }
        })
        .collect()
}

fn variants_of(item: &Item, name: &str) -> Vec<String> {
    match item {
        Item::Enum(item) if item.ident == name => {
            item.variants.iter().map(|variant| variant.ident.to_string()).collect()
        }
        _ => Vec::new(),
    }
}

/// Finds `Name::Variant`.
fn find_uses(tokens: TokenStream, name: &str, used: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (position, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => find_uses(group.stream(), name, used),
            TokenTree::Ident(ident) if *ident == name => {
                if let [TokenTree::Punct(_), TokenTree::Punct(_), TokenTree::Ident(variant), ..] =
                    &tokens[position + 1..]
                {
                    used.insert(variant.to_string());
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::Files;
    use super::super::source::targets;
    use super::*;

    #[test]
    fn a_word_that_nothing_emits_is_found() {
        let table = "pub enum ErrorCode { Busy, Lost, ParseError }\n\
            const PROTOCOL_ERRORS: [ErrorCode; 1] = [ErrorCode::ParseError];\n\
            impl ErrorCode { const ALL: [Self; 3] = [ErrorCode::Busy, ErrorCode::Lost, ErrorCode::ParseError]; }";
        let user =
            "fn f() { g(h!(ErrorCode::Busy)); }\n#[cfg(test)] mod tests { fn f() { g(ErrorCode::Lost); } }";
        let files = Files::from([
            ("crates/octroi-api/src/lib.rs".to_owned(), "mod error;".to_owned()),
            ("crates/octroi-api/src/error.rs".to_owned(), "mod table;".to_owned()),
            ("crates/octroi-api/src/error/table.rs".to_owned(), table.to_owned()),
            ("crates/octroi-server/src/lib.rs".to_owned(), user.to_owned()),
        ]);
        let found = check(&targets(&files).expect("the source is Rust"));
        let places: Vec<&str> = found.iter().map(|finding| &*finding.place).collect();
        assert_eq!(places, ["ErrorCode::Lost"]);
    }
}
