//! No two top-level modules of a crate depend on each other, directly or through others.
//!
//! A module depends on what its paths name: `use crate::x`, `crate::x::y` and `super::…`, also inside macros
//! and in the texts of attributes (`with = "crate::x"`). A name that the crate's root re-exports counts as
//! the module that it comes from. The root itself only wires modules together, so it may depend on all of
//! them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::visit::{self, Visit};
use syn::{Item, UseTree};

use super::source::{Module, Target};
use super::{Finding, Rule};

/// For each pair of modules the first place where the one names the other.
type Edges<'a> = BTreeMap<(&'a str, &'a str), String>;

/// One finding for each set of modules that all reach each other.
pub(crate) fn check(target: &Target) -> Vec<Finding> {
    let edges = edges(target);
    let modules: BTreeSet<&str> = edges.keys().flat_map(|(from, to)| [*from, *to]).collect();
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for start in modules {
        let circle: Vec<&str> = reached(&edges, start)
            .into_iter()
            .filter(|other| reached(&edges, other).contains(start))
            .collect();
        if circle.is_empty() || !seen.insert(circle.clone()) {
            continue;
        }
        let place = format!("{}: {}", target.name, circle.join(", "));
        let shortest = circle.iter().map(|module| way_back(&edges, module)).min_by_key(Vec::len);
        let chain = describe(&edges, &shortest.unwrap_or_default());
        let message = match circle.len() {
            2 => format!("{}: modules import each other: {chain}", target.name),
            n => format!(
                "{}: {n} modules import each other in circles ({}), the shortest: {chain}",
                target.name,
                circle.join(", ")
            ),
        };
        findings.push(Finding { rule: Rule::ModuleCycle, place, message });
    }
    findings
}

/// What can be reached from a module in one step or more.
fn reached<'a>(edges: &Edges<'a>, start: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&str> = vec![start];
    while let Some(module) = next.pop() {
        for (_, to) in edges.keys().filter(|(from, _)| *from == module) {
            if found.insert(*to) {
                next.push(to);
            }
        }
    }
    found
}

/// The shortest way from a module to itself, beginning with the module; empty if there is none.
fn way_back<'a>(edges: &Edges<'a>, start: &'a str) -> Vec<&'a str> {
    let mut ways = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for (_, to) in edges.keys().filter(|(from, _)| way.last() == Some(from)) {
            if *to == start {
                return way;
            }
            if seen.insert(*to) {
                ways.push_back(way.iter().copied().chain([*to]).collect());
            }
        }
    }
    Vec::new()
}

/// `a → b (file:line) → a (file:line)`.
fn describe(edges: &Edges<'_>, way: &[&str]) -> String {
    let mut chain = way.first().copied().unwrap_or_default().to_owned();
    for (index, from) in way.iter().enumerate() {
        let to = way[(index + 1) % way.len()];
        let example = edges.get(&(*from, to)).map_or("", String::as_str);
        chain.push_str(&format!(" → {to} ({example})"));
    }
    chain
}

fn edges(target: &Target) -> Edges<'_> {
    let names: BTreeSet<&str> = target.modules.iter().filter_map(|module| name(&module.path)).collect();
    let exported = exported(target);
    let mut edges = Edges::new();
    for module in &target.modules {
        let Some(from) = name(&module.path) else {
            continue;
        };
        for mention in mentions(module) {
            let Some(first) = mention.path.first() else {
                continue;
            };
            let known = exported.get(first.as_str()).map_or(first.as_str(), String::as_str);
            if let Some(to) = names.get(known).filter(|to| **to != from) {
                edges.entry((from, *to)).or_insert_with(|| format!("{}:{}", module.file, mention.line));
            }
        }
    }
    edges
}

/// The top-level module that a path lies in.
fn name(path: &[String]) -> Option<&str> {
    path.first().map(String::as_str)
}

/// Names that the root of a crate takes from its modules, and which module that is.
fn exported(target: &Target) -> BTreeMap<String, String> {
    let root = target.modules.iter().find(|module| module.path.is_empty());
    let uses = root.into_iter().flat_map(|root| &root.items).filter_map(|item| match item {
        Item::Use(import) => Some(&import.tree),
        _ => None,
    });
    let mut exported = BTreeMap::new();
    for tree in uses {
        for (path, known_as) in leaves(tree) {
            let path: Vec<String> =
                path.into_iter().filter(|name| name != "crate" && name != "self").collect();
            if let [module, _, ..] = &path[..] {
                exported.insert(known_as, module.clone());
            }
        }
    }
    exported
}

/// Every path of an import, and the name that it brings in.
fn leaves(tree: &UseTree) -> Vec<(Vec<String>, String)> {
    match tree {
        UseTree::Path(path) => {
            let first = path.ident.to_string();
            let below = leaves(&path.tree).into_iter();
            below.map(|(rest, name)| ([first.clone()].into_iter().chain(rest).collect(), name)).collect()
        }
        UseTree::Name(name) => vec![(vec![name.ident.to_string()], name.ident.to_string())],
        UseTree::Rename(rename) => vec![(vec![rename.ident.to_string()], rename.rename.to_string())],
        UseTree::Glob(_) => vec![(vec!["*".to_owned()], "*".to_owned())],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}

/// A path from the root of the crate, and where it is written.
struct Mention {
    path: Vec<String>,
    line: usize,
}

fn mentions(module: &Module) -> Vec<Mention> {
    let mut reader = PathReader { module, found: Vec::new() };
    for item in &module.items {
        reader.visit_item(item);
    }
    reader.found
}

struct PathReader<'a> {
    module: &'a Module,
    found: Vec<Mention>,
}

impl PathReader<'_> {
    /// Keeps a path if it belongs to this crate.
    fn keep(&mut self, segments: &[String], line: usize) {
        let own = &self.module.path;
        let n_up = segments.iter().take_while(|segment| *segment == "super").count();
        let path = match segments.first().map(String::as_str) {
            Some("crate") => segments[1..].to_vec(),
            Some("self") => return,
            Some("super") if n_up <= own.len() => [&own[..own.len() - n_up], &segments[n_up..]].concat(),
            _ => return,
        };
        self.found.push(Mention { path, line });
    }

    /// Paths in tokens that have not been parsed, and in texts among them.
    fn scan(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut line = 0;
        for token in tokens {
            match token {
                TokenTree::Punct(colon) if colon.as_char() == ':' => continue,
                TokenTree::Ident(ident) => {
                    let word = ident.to_string();
                    let begins = word == "crate"
                        || (word == "super" && path.last().is_none_or(|last| last != "super"));
                    if begins {
                        self.keep(&std::mem::take(&mut path), line);
                        line = ident.span().start().line;
                    }
                    if begins || !path.is_empty() {
                        path.push(word);
                    }
                    continue;
                }
                TokenTree::Group(group) => self.scan(group.stream()),
                TokenTree::Literal(literal) => {
                    let text = literal.to_string();
                    let text = text.trim_matches('"');
                    if text.starts_with("crate::") || text.starts_with("super::") {
                        let segments: Vec<String> = text.split("::").map(str::to_owned).collect();
                        self.keep(&segments, literal.span().start().line);
                    }
                }
                TokenTree::Punct(_) => {}
            }
            self.keep(&std::mem::take(&mut path), line);
        }
        self.keep(&path, line);
    }
}

impl<'a> Visit<'a> for PathReader<'_> {
    fn visit_item_use(&mut self, import: &'a syn::ItemUse) {
        let line = import.use_token.span.start().line;
        for (path, _) in leaves(&import.tree) {
            self.keep(&path, line);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
        self.keep(&segments, line);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.visit_path(&call.path);
        self.scan(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'a syn::Attribute) {
        if !attribute.path().is_ident("doc") {
            self.scan(attribute.meta.to_token_stream());
        }
    }

    // `pub(in crate::x)` says who may use the item, not what the item uses.
    fn visit_visibility(&mut self, _: &'a syn::Visibility) {}
}

#[cfg(test)]
mod tests {
    use super::super::source::made_up;
    use super::*;

    fn messages(sources: &[(&str, &str)]) -> Vec<String> {
        check(&made_up(sources)).into_iter().map(|finding| finding.message).collect()
    }

    /// Two modules of which `b` depends on `a`, and the text of `a`.
    fn check_pair(a: &str, is_circle: bool) {
        let root = "mod a; mod b; pub use b::Exported; pub use b::{Other as Renamed}; pub(crate) struct Own;";
        let sources = [("lib.rs", root), ("a.rs", a), ("a/deep.rs", a), ("b.rs", "use crate::a::A;")];
        assert_eq!(messages(&sources).len(), usize::from(is_circle), "{a}");
    }

    #[test]
    fn every_way_to_name_a_module_counts() {
        for (a, is_circle) in [
            ("", false),
            ("use crate::b;", true),
            ("use crate::b::B;", true),
            ("use crate::{a::C, b::B};", true),
            ("use crate::{a::{C, D}, Own};", false),
            ("use crate::Own;", false),
            ("use crate::Exported;", true),
            ("use crate::Renamed;", true),
            ("use crate::Other;", false),
            ("use super::b::B;", true),
            ("mod deep { use super::super::b; }", true),
            ("mod deep { use super::b; }", false),
            ("fn f() { crate::b::f(); }", true),
            ("fn f() { b::f(); }", false),
            ("fn f(x: &crate::b::B) {}", true),
            ("fn f() { println!(\"{}\", crate::b::f()); }", true),
            ("fn f() { println!(\"{}\", a::f(super::b::f())); }", true),
            ("fn f() { println!(\"{}\", crate::a::f()); }", false),
            ("macro_rules! m { () => { $crate::b::f() }; }", true),
            ("struct S { #[serde(with = \"crate::b\")] x: u8 }", true),
            ("struct S { /** See [`crate::b`]. */ x: u8 }", false),
            ("pub(in crate::b) struct S;", false),
            ("impl crate::b::T for S {}", true),
            ("#[cfg(test)] use crate::b;", false),
            ("#[cfg(test)] mod tests { use crate::b; }", false),
            ("#[test] fn t() { crate::b::f(); }", false),
            ("use other::b;", false),
        ] {
            check_pair(a, is_circle);
        }
    }

    #[test]
    fn a_circle_is_reported_as_a_chain_with_an_example_for_each_step() {
        let sources = [
            ("lib.rs", "mod a; mod b; mod c; mod d; mod e;"),
            ("a.rs", "\nuse crate::b::B;"),
            ("b.rs", "mod deep;"),
            ("b/deep.rs", "\n\nuse crate::c::C;"),
            ("c.rs", "use crate::{a, d};"),
            ("d.rs", "use crate::e;"),
            ("e.rs", ""),
        ];
        let chain = "a → b (crates/made-up/src/a.rs:2) → c (crates/made-up/src/b/deep.rs:3) \
                     → a (crates/made-up/src/c.rs:1)";
        assert_eq!(
            messages(&sources),
            [format!("made-up: 3 modules import each other in circles (a, b, c), the shortest: {chain}")]
        );
    }

    #[test]
    fn separate_circles_are_reported_separately() {
        let sources = [
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use crate::{b, c};"),
            ("b.rs", "use crate::a;"),
            ("c.rs", "use crate::d;"),
            ("d.rs", "use crate::c;"),
        ];
        let places: Vec<String> =
            check(&made_up(&sources)).into_iter().map(|finding| finding.place).collect();
        assert_eq!(places, ["made-up: a, b", "made-up: c, d"]);
    }
}
