//! The last column of `docs/glossary.md` names code that exists.

use std::collections::BTreeSet;

use syn::{ImplItem, Item, TraitItem};

use super::files::Files;
use super::source::{Module, Target};
use super::{Finding, Rule};

const GLOSSARY: &str = "docs/glossary.md";

/// What a crate declares: modules, items, variants and functions.
struct Declared {
    /// As code spells it: `octroi_core`.
    package: String,
    names: BTreeSet<String>,
}

/// Finds names of the glossary that no crate declares, and files that are not there.
pub(crate) fn check(files: &Files, targets: &[Target]) -> Vec<Finding> {
    let declared: Vec<Declared> = targets.iter().map(declared_by).collect();
    let mut findings = Vec::new();
    let text = files.get(GLOSSARY).map_or("", String::as_str);
    for (number, line) in text.lines().enumerate() {
        for name in code_names(line) {
            let is_known = if name.contains('/') { has_file(files, name) } else { has_code(&declared, name) };
            if !is_known {
                let message = format!("{GLOSSARY}:{} names `{name}`, which does not exist", number + 1);
                findings.push(Finding { rule: Rule::Glossary, place: name.to_owned(), message });
            }
        }
    }
    findings
}

/// The names in the last cell of a row.
fn code_names(line: &str) -> impl Iterator<Item = &str> {
    let row = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |"));
    let cell = row.and_then(|row| row.rsplit_once(" | ")).map_or("", |(_, cell)| cell);
    // Every second piece is between backquotes.
    cell.split('`').skip(1).step_by(2)
}

/// Whether a file of a crate, or a directory with files, has this name.
fn has_file(files: &Files, name: &str) -> bool {
    let name = format!("crates/{name}");
    match name.strip_suffix('/') {
        Some(_) => files.range(name.clone()..).next().is_some_and(|(file, _)| file.starts_with(&name)),
        None => files.contains_key(&name),
    }
}

/// Whether one crate declares every part of a path. A path may begin with the name of its crate.
fn has_code(declared: &[Declared], path: &str) -> bool {
    let (package, path) = match path.split_once("::") {
        Some((package, rest)) if package.starts_with("octroi_") => (Some(package), rest),
        _ => (None, path),
    };
    declared
        .iter()
        .filter(|declared| package.is_none_or(|package| declared.package == package))
        .any(|declared| path.split("::").all(|name| declared.names.contains(name)))
}

fn declared_by(target: &Target) -> Declared {
    let mut names = BTreeSet::new();
    for module in &target.modules {
        names.extend(module.path.iter().cloned());
        names.extend(module_names(module));
    }
    Declared { package: target.name.replace('-', "_"), names }
}

fn module_names(module: &Module) -> Vec<String> {
    let mut names = Vec::new();
    for item in &module.items {
        match item {
            Item::Struct(item) => names.push(item.ident.to_string()),
            Item::Type(item) => names.push(item.ident.to_string()),
            Item::Fn(item) => names.push(item.sig.ident.to_string()),
            Item::Const(item) => names.push(item.ident.to_string()),
            Item::Static(item) => names.push(item.ident.to_string()),
            Item::Enum(item) => {
                names.push(item.ident.to_string());
                names.extend(item.variants.iter().map(|variant| variant.ident.to_string()));
            }
            Item::Trait(item) => {
                names.push(item.ident.to_string());
                names.extend(item.items.iter().filter_map(|item| match item {
                    TraitItem::Fn(item) => Some(item.sig.ident.to_string()),
                    _ => None,
                }));
            }
            Item::Impl(item) => names.extend(item.items.iter().filter_map(|item| match item {
                ImplItem::Fn(item) => Some(item.sig.ident.to_string()),
                _ => None,
            })),
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::source::targets;
    use super::*;

    #[test]
    fn names_of_the_glossary_exist() {
        let source = "//! X.\nmod inner;\npub enum Kind { Person }\nimpl Kind { fn local() {} }\n";
        for (cell, unknown) in [
            ("`Kind`, `Kind::Person`, `Kind::local`", &[][..]),
            ("`octroi_core::Kind`, `octroi_core::inner`, `inner::Held`", &[]),
            ("`octroi_mcp::Kind`", &["octroi_mcp::Kind"]),
            ("`Kind::Service`", &["Kind::Service"]),
            ("`octroi_core::outer`", &["octroi_core::outer"]),
            ("`octroi-core/src/inner.rs`: `Held`", &[]),
            ("`octroi-core/src/`", &[]),
            (
                "`octroi-core/src/none.rs`, `octroi-core/none/`",
                &["octroi-core/src/none.rs", "octroi-core/none/"],
            ),
            ("in words", &[]),
        ] {
            let glossary = format!("| Term | Meaning | In code |\n|---|---|---|\n| `x` | `y` | {cell} |\n");
            let files = Files::from([
                ("crates/octroi-core/src/lib.rs".to_owned(), source.to_owned()),
                ("crates/octroi-core/src/inner.rs".to_owned(), "//! I.\npub struct Held;\n".to_owned()),
                (GLOSSARY.to_owned(), glossary),
            ]);
            let targets = targets(&files).unwrap();
            let places: Vec<_> = check(&files, &targets).into_iter().map(|finding| finding.place).collect();
            assert_eq!(places, unknown, "{cell}");
        }
    }
}
