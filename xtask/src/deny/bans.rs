//! Packages that may not be used, two versions of one package, and dependencies on any version at all.

use std::collections::BTreeMap;

use super::graph::{Dependency, Graph, Package};
use super::rules::{Ban, Bans, Skip};

/// One complaint for each package that breaks a rule, and for each line of the rules that is not needed.
pub(crate) fn check(rules: &Bans, graph: &Graph) -> Vec<String> {
    [
        rules.deny.iter().flat_map(|ban| banned(ban, graph)).collect(),
        duplicates(&rules.skip, graph),
        wildcards(rules, graph),
    ]
    .concat()
}

fn banned(ban: &Ban, graph: &Graph) -> Vec<String> {
    let found: Vec<&Package> =
        graph.packages().filter(|package| ban.package.matches(&package.name, &package.version)).collect();
    let mut complaints = Vec::new();
    for package in &found {
        let dependents = graph.dependents(package);
        let others: Vec<&str> = dependents
            .into_iter()
            .filter(|name| !ban.wrappers.iter().any(|wrapper| wrapper == name))
            .collect();
        if ban.wrappers.is_empty() || !others.is_empty() {
            let because = if ban.reason.is_empty() { "" } else { ": " };
            complaints.push(format!(
                "{} {} is banned, and used by {}{because}{}",
                package.name,
                package.version,
                others.join(", "),
                ban.reason
            ));
        }
    }
    // An unused wrapper would permit the package unnoticed later.
    for wrapper in &ban.wrappers {
        if !found.iter().any(|package| graph.dependents(package).contains(wrapper.as_str())) {
            complaints.push(format!("{wrapper} may use {}, and does not: remove it", ban.package));
        }
    }
    complaints
}

fn duplicates(skips: &[Skip], graph: &Graph) -> Vec<String> {
    let mut by_name: BTreeMap<&str, Vec<&Package>> = BTreeMap::new();
    for package in graph.shipped() {
        by_name.entry(&package.name).or_default().push(package);
    }
    let several: Vec<&Vec<&Package>> = by_name.values().filter(|versions| versions.len() > 1).collect();
    let mut complaints = Vec::new();
    for versions in &several {
        let is_skipped = |package: &Package| {
            skips.iter().any(|skip| skip.package.matches(&package.name, &package.version))
        };
        let rest: Vec<&&Package> = versions.iter().filter(|package| !is_skipped(package)).collect();
        if rest.len() > 1 {
            let descriptions: Vec<String> = rest.iter().map(|package| describe(package, graph)).collect();
            complaints.push(format!(
                "{} versions of {}: {}",
                rest.len(),
                rest[0].name,
                descriptions.join("; ")
            ));
        }
    }
    for skip in skips {
        if skip.reason.is_empty() {
            complaints.push(format!("{} is skipped without a reason", skip.package));
        }
        let is_needed = several.iter().any(|versions| {
            versions.iter().any(|package| skip.package.matches(&package.name, &package.version))
        });
        if !is_needed {
            complaints.push(format!(
                "{} is skipped, and is no second version of anything: remove it",
                skip.package
            ));
        }
    }
    complaints
}

/// `0.22.1 of a, b`.
fn describe(package: &Package, graph: &Graph) -> String {
    let dependents: Vec<&str> = graph.dependents(package).into_iter().collect();
    format!("{} of {}", package.version, dependents.join(", "))
}

fn wildcards(rules: &Bans, graph: &Graph) -> Vec<String> {
    let mut complaints = Vec::new();
    for package in graph.packages() {
        let is_excused = |dependency: &Dependency| {
            let is_dev = dependency.kind.as_deref() == Some("dev");
            rules.allow_wildcard_paths && dependency.path.is_some() && (package.is_private() || is_dev)
        };
        let any = package.dependencies.iter().filter(|dependency| dependency.req == "*");
        for dependency in any.filter(|dependency| !is_excused(dependency)) {
            complaints.push(format!("{} depends on any version of {}", package.name, dependency.name));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::super::graph::{MadeUp, made_up};
    use super::*;

    fn complaints(rules: &str, packages: &[MadeUp]) -> Vec<String> {
        let text = format!(
            "multiple-versions = \"deny\"\nwildcards = \"deny\"\nallow-wildcard-paths = true\n{rules}\n"
        );
        check(&toml::from_str(&text).expect("rules"), &made_up(packages))
    }

    #[test]
    fn a_banned_package_is_used_by_its_wrappers_only() {
        let graph = [
            MadeUp::new("own 1.0.0", &["a 1.0.0"]),
            MadeUp::new("a 1.0.0", &["bad 1.2.0"]),
            MadeUp::new("b 1.0.0", &["bad 1.2.0"]),
            MadeUp::new("bad 1.2.0", &[]),
        ];
        for (ban, expected) in [
            ("{ crate = \"absent\" }", vec![]),
            ("{ crate = \"bad\" }", vec!["bad 1.2.0 is banned, and used by a, b"]),
            ("{ crate = \"bad\", reason = \"why\" }", vec!["bad 1.2.0 is banned, and used by a, b: why"]),
            ("{ crate = \"bad:^2\" }", vec![]),
            ("{ crate = \"bad\", wrappers = [\"a\"] }", vec!["bad 1.2.0 is banned, and used by b"]),
            ("{ crate = \"bad\", wrappers = [\"a\", \"b\"] }", vec![]),
            (
                "{ crate = \"bad\", wrappers = [\"a\", \"b\", \"own\"] }",
                vec!["own may use bad, and does not: remove it"],
            ),
        ] {
            assert_eq!(complaints(&format!("deny = [{ban}]"), &graph), expected, "{ban}");
        }
    }

    #[test]
    fn one_version_of_everything_but_for_those_that_are_skipped() {
        let graph = [
            MadeUp::new("own 1.0.0", &["a 1.0.0", "x 2.0.0", "t 1.0.0 dev"]),
            MadeUp::new("a 1.0.0", &["x 1.0.0"]),
            MadeUp::new("t 1.0.0", &["x 3.0.0"]),
            MadeUp::new("x 1.0.0", &[]),
            MadeUp::new("x 2.0.0", &[]),
            MadeUp::new("x 3.0.0", &[]),
        ];
        let stale =
            |spec: &str| format!("{spec} is skipped, and is no second version of anything: remove it");
        for (skip, expected) in [
            ("", vec!["2 versions of x: 1.0.0 of a; 2.0.0 of own".to_owned()]),
            ("{ crate = \"x@1.0.0\", reason = \"why\" }", vec![]),
            ("{ crate = \"x:^1\", reason = \"why\" }", vec![]),
            ("{ crate = \"x\", reason = \"why\" }", vec![]),
            (
                "{ crate = \"x@1.0.0\", reason = \"\" }",
                vec!["x@1.0.0 is skipped without a reason".to_owned()],
            ),
            (
                "{ crate = \"x@1.0.0\", reason = \"why\" }, { crate = \"a\", reason = \"why\" }",
                vec![stale("a")],
            ),
            (
                "{ crate = \"x@1.0.0\", reason = \"why\" }, { crate = \"x@3.0.0\", reason = \"why\" }",
                vec![stale("x@3.0.0")],
            ),
        ] {
            assert_eq!(complaints(&format!("skip = [{skip}]"), &graph), expected, "{skip}");
        }
    }

    #[test]
    fn any_version_is_asked_for_only_by_path() {
        let any = |package: MadeUp| MadeUp { requirement: "*", ..package };
        let local = |package: MadeUp| MadeUp { source: None, ..package };
        for (graph, expected) in [
            (
                vec![any(MadeUp::new("own 1.0.0", &["a 1.0.0"])), MadeUp::new("a 1.0.0", &[])],
                vec!["own depends on any version of a"],
            ),
            (vec![any(MadeUp::new("own 1.0.0", &["a 1.0.0"])), local(MadeUp::new("a 1.0.0", &[]))], vec![]),
            // Somebody else's package that is published cannot name a path.
            (
                vec![
                    MadeUp::new("own 1.0.0", &["a 1.0.0"]),
                    any(MadeUp::new("a 1.0.0", &["b 1.0.0"])),
                    local(MadeUp::new("b 1.0.0", &[])),
                ],
                vec!["a depends on any version of b"],
            ),
        ] {
            assert_eq!(complaints("", &graph), expected);
        }
    }
}
