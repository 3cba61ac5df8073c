//! Licences of packages that become part of a program.

use std::collections::BTreeSet;

use spdx::{Expression, Licensee, ParseMode};

use super::graph::Graph;
use super::rules::Licenses;

/// One complaint for each package that cannot be used under an allowed licence, and for each allowed licence
/// that nothing needs.
pub(crate) fn check(rules: &Licenses, graph: &Graph) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut allowed = Vec::new();
    for text in &rules.allow {
        match Licensee::parse(text) {
            Ok(licensee) => allowed.push((text, licensee)),
            Err(error) => complaints.push(format!("`{text}` is not a licence: {}", error.reason)),
        }
    }
    let mut used = BTreeSet::new();
    for package in graph.shipped() {
        let name = format!("{} {}", package.name, package.version);
        let Some(text) = &package.license else {
            complaints.push(format!("{name} does not say under which licence it is"));
            continue;
        };
        let Ok(expression) = Expression::parse_mode(text, ParseMode::LAX) else {
            complaints.push(format!("{name} is licensed under `{text}`, which is not an SPDX expression"));
            continue;
        };
        let is_allowed = expression.evaluate(|requirement| {
            let matching = allowed.iter().filter(|(_, licensee)| licensee.satisfies(requirement));
            let names: Vec<&str> = matching.map(|(text, _)| text.as_str()).collect();
            used.extend(names.iter().copied());
            !names.is_empty()
        });
        if !is_allowed {
            complaints.push(format!("{name} is licensed under `{text}`, which is not allowed"));
        }
    }
    for (text, _) in &allowed {
        if !used.contains(text.as_str()) {
            complaints.push(format!("no package needs the licence `{text}`: remove it"));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::super::graph::{MadeUp, made_up};
    use super::*;

    fn complaints(allow: &[&str], license: Option<&'static str>) -> Vec<String> {
        let rules = Licenses { allow: allow.iter().map(|text| (*text).to_owned()).collect() };
        let graph = made_up(&[
            MadeUp::new("own 1.0.0", &["a 1.0.0", "t 1.0.0 dev"]),
            MadeUp { license, ..MadeUp::new("a 1.0.0", &[]) },
            MadeUp { license: Some("GPL-3.0"), ..MadeUp::new("t 1.0.0", &[]) },
        ]);
        check(&rules, &graph)
    }

    #[test]
    fn expressions_are_satisfied_by_allowed_licences() {
        let refused = |text: &str| vec![format!("a 1.0.0 is licensed under `{text}`, which is not allowed")];
        for (license, expected) in [
            ("MIT", vec![]),
            ("GPL-3.0-only", refused("GPL-3.0-only")),
            ("MIT OR GPL-3.0-only", vec![]),
            ("GPL-3.0-only/MIT", vec![]),
            ("MIT AND GPL-3.0-only", refused("MIT AND GPL-3.0-only")),
            ("(MIT OR GPL-3.0-only) AND MIT", vec![]),
            ("Apache-2.0 WITH LLVM-exception", refused("Apache-2.0 WITH LLVM-exception")),
            (
                "as you like",
                vec!["a 1.0.0 is licensed under `as you like`, which is not an SPDX expression".to_owned()],
            ),
        ] {
            assert_eq!(complaints(&["MIT"], Some(license)), expected, "{license}");
        }
        assert_eq!(complaints(&["MIT"], None), ["a 1.0.0 does not say under which licence it is"]);
    }

    #[test]
    fn the_list_of_licences_is_valid_and_needed() {
        for (allow, expected) in [
            (&["MIT", "ISC"][..], vec!["no package needs the licence `ISC`: remove it"]),
            (
                &["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"],
                vec![
                    "no package needs the licence `ISC`: remove it",
                    "no package needs the licence `Apache-2.0 WITH LLVM-exception`: remove it",
                ],
            ),
            (&["MIT"], vec![]),
        ] {
            assert_eq!(complaints(allow, Some("MIT")), expected);
        }
        let unknown = complaints(&["MIT", "my own"], Some("MIT"));
        assert!(unknown.len() == 1 && unknown[0].starts_with("`my own` is not a licence"), "{unknown:?}");
    }
}
