//! The source of each library and program as a tree of modules, without its tests.
//!
//! Files are found as the compiler finds them, by following `mod x;` from the root of each target. Test-only
//! code is left out: rules about sizes and imports are about the product.

use syn::{Attribute, ImplItem, Item, TraitItem};

use super::files::Files;

/// A library or a program.
pub(crate) struct Target {
    /// `octroi-gateway`, or `octroi-testkit/peer` for a program beside a library.
    pub(crate) name: String,
    /// The directory of its package.
    pub(crate) package: String,
    pub(crate) modules: Vec<Module>,
}

/// A file, or a `mod x { … }` inside one.
pub(crate) struct Module {
    /// From the root of the target, which itself has an empty path.
    pub(crate) path: Vec<String>,
    pub(crate) file: String,
    pub(crate) items: Vec<Item>,
}

impl Module {
    /// `crate::a::b` as an exception names it.
    pub(crate) fn place(&self, target: &Target) -> String {
        let mut place = target.name.clone();
        for segment in &self.path {
            place.push_str("::");
            place.push_str(segment);
        }
        place
    }
}

/// Every target below `crates/*`, `bench` and `xtask`. An error is the name of a file that is not Rust.
pub(crate) fn targets(files: &Files) -> Result<Vec<Target>, String> {
    files.keys().filter_map(|file| root_of(file)).map(|root| target(files, root)).collect()
}

/// The root file of a target, with the parts of its path.
struct Root<'a> {
    file: &'a str,
    package: &'a str,
    /// The name of a program in `src/bin`.
    program: Option<&'a str>,
}

fn root_of(file: &str) -> Option<Root<'_>> {
    let (package, inside) = file.split_once("/src/")?;
    if !(package.starts_with("crates/") || package == "bench" || package == "xtask") {
        return None;
    }
    let program = match inside {
        "lib.rs" | "main.rs" => None,
        _ => {
            let program = inside.strip_prefix("bin/")?;
            let program = program.strip_suffix("/main.rs").or_else(|| program.strip_suffix(".rs"))?;
            Some(program).filter(|program| !program.contains('/')).map(Some)?
        }
    };
    Some(Root { file, package, program })
}

fn target(files: &Files, root: Root<'_>) -> Result<Target, String> {
    let package = root.package.rsplit('/').next().unwrap_or(root.package);
    let name = match root.program {
        Some(program) => format!("{package}/{program}"),
        None => package.to_owned(),
    };
    let mut modules = Vec::new();
    let directory = root.file.rsplit_once('/').map_or("", |(directory, _)| directory);
    read(files, root.file, directory, &[], &mut modules)?;
    Ok(Target { name, package: root.package.to_owned(), modules })
}

/// Reads a file whose child modules are in `directory`.
fn read(
    files: &Files,
    file: &str,
    directory: &str,
    path: &[String],
    modules: &mut Vec<Module>,
) -> Result<(), String> {
    let text = files.get(file).map(String::as_str).unwrap_or_default();
    let parsed = syn::parse_file(text).map_err(|error| format!("{file}: {error}"))?;
    enter(files, file, directory, path, parsed.items, modules)
}

/// Keeps the items of a module and descends into its child modules.
fn enter(
    files: &Files,
    file: &str,
    directory: &str,
    path: &[String],
    items: Vec<Item>,
    modules: &mut Vec<Module>,
) -> Result<(), String> {
    let mut kept = Vec::new();
    let mut children = Vec::new();
    for item in items.into_iter().filter_map(without_tests) {
        match item {
            Item::Mod(child) => children.push(child),
            item => kept.push(item),
        }
    }
    modules.push(Module { path: path.to_vec(), file: file.to_owned(), items: kept });
    for child in children {
        let name = child.ident.to_string();
        let path: Vec<String> = path.iter().cloned().chain([name.clone()]).collect();
        let below = format!("{directory}/{name}");
        match child.content {
            Some((_, items)) => enter(files, file, &below, &path, items, modules)?,
            None => {
                let beside = format!("{below}.rs");
                let child = if files.contains_key(&beside) { beside } else { format!("{below}/mod.rs") };
                read(files, &child, &below, &path, modules)?;
            }
        }
    }
    Ok(())
}

/// The item as it is compiled outside of tests.
fn without_tests(mut item: Item) -> Option<Item> {
    match &mut item {
        Item::Impl(block) => block.items.retain(|item| !is_for_tests(impl_item_attributes(item))),
        Item::Trait(block) => block.items.retain(|item| match item {
            TraitItem::Fn(function) => !is_for_tests(&function.attrs),
            _ => true,
        }),
        _ => {}
    }
    (!is_for_tests(item_attributes(&item))).then_some(item)
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let is_test = path.segments.last().is_some_and(|segment| segment.ident == "test");
        let is_conditional = path.is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| {
                let condition = list.tokens.to_string();
                let mut words = condition.split(|char: char| !char.is_alphanumeric() && char != '_');
                words.clone().any(|word| word == "test") && words.all(|word| word != "not")
            });
        is_test || is_conditional
    })
}

fn impl_item_attributes(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Const(item) => &item.attrs,
        ImplItem::Fn(item) => &item.attrs,
        ImplItem::Type(item) => &item.attrs,
        ImplItem::Macro(item) => &item.attrs,
        _ => &[],
    }
}

fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// One target made of these files of `crates/made-up/src`, for the tests of the rules.
#[cfg(test)]
pub(crate) fn made_up(sources: &[(&str, &str)]) -> Target {
    let files = sources
        .iter()
        .map(|(name, text)| (format!("crates/made-up/src/{name}"), (*text).to_owned()))
        .collect();
    targets(&files).expect("the sources are Rust").swap_remove(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_as_the_compiler_finds_them() {
        let target = made_up(&[
            ("lib.rs", "mod a; pub mod b; mod inline { mod deep; fn x() {} } #[cfg(test)] mod tests;"),
            ("a.rs", "mod child; #[cfg(test)] mod tests {} #[cfg(not(test))] fn kept() {}"),
            ("a/child.rs", ""),
            ("b/mod.rs", "mod child;"),
            ("b/child.rs", ""),
            ("inline/deep.rs", ""),
            ("never_mentioned.rs", "fn not Rust at all"),
        ]);
        let found: Vec<(String, usize)> =
            target.modules.iter().map(|module| (module.path.join("::"), module.items.len())).collect();
        let expected = [("", 0), ("a", 1), ("a::child", 0), ("b", 0), ("b::child", 0)];
        let expected = expected.into_iter().chain([("inline", 1), ("inline::deep", 0)]);
        assert_eq!(found, expected.map(|(path, n)| (path.to_owned(), n)).collect::<Vec<_>>());
    }

    #[test]
    fn libraries_and_programs_are_targets_and_other_files_are_not() {
        let files = [
            "crates/x/src/lib.rs",
            "crates/x/src/other.rs",
            "crates/x/src/bin/one.rs",
            "crates/x/src/bin/two/main.rs",
            "crates/x/src/bin/two/part.rs",
            "crates/x/tests/it/main.rs",
            "xtask/src/main.rs",
            "fuzz/src/lib.rs",
        ];
        let files = files.map(|name| (name.to_owned(), String::new()));
        let targets = targets(&Files::from(files)).expect("empty files are Rust");
        let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, ["x/one", "x/two", "x", "xtask"]);
    }

    #[test]
    fn what_is_compiled_for_tests_only_is_left_out() {
        let target = made_up(&[(
            "lib.rs",
            "#[test] fn a() {}
             #[tokio::test(flavor = \"x\")] async fn b() {}
             #[cfg(test)] use c::d;
             #[cfg(all(test, unix))] fn e() {}
             impl F { #[cfg(test)] fn g() {} }
             #[cfg(unix)] fn kept() {}",
        )]);
        let kept = &target.modules[0].items;
        assert_eq!(kept.len(), 2);
        assert!(matches!(&kept[0], Item::Impl(block) if block.items.is_empty()));
        assert!(matches!(&kept[1], Item::Fn(function) if function.sig.ident == "kept"));
    }
}
