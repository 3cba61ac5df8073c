//! Where packages come from.

use super::graph::Graph;
use super::rules::Sources;

/// One complaint for each package of a registry or repository that is not listed.
pub(crate) fn check(rules: &Sources, graph: &Graph) -> Vec<String> {
    let mut complaints = Vec::new();
    for package in graph.packages() {
        let Some(source) = &package.source else {
            continue;
        };
        let is_allowed = match source.split_once('+') {
            Some(("registry" | "sparse", url)) => rules.allow_registry.iter().any(|allowed| allowed == url),
            // `git+https://host/owner/name?branch=x#commit`.
            Some(("git", url)) => {
                let url = url.split(['?', '#']).next().unwrap_or_default();
                rules.allow_git.iter().any(|allowed| allowed == url)
            }
            _ => false,
        };
        if !is_allowed {
            complaints.push(format!(
                "{} {} comes from {source}, which is not allowed",
                package.name, package.version
            ));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::super::graph::{CRATES_IO, MadeUp, made_up};
    use super::*;

    #[test]
    fn packages_come_from_listed_places() {
        let own = MadeUp { source: None, ..MadeUp::new("own 1.0.0", &["a 1.0.0"]) };
        let git = "git+https://example.com/a/b?branch=x#0123";
        for (rules, source, is_allowed) in [
            ("", CRATES_IO, true),
            ("", None, true),
            ("", Some("registry+https://example.com/index"), false),
            ("", Some("sparse+https://example.com/index"), false),
            (
                "allow-registry = [\"https://example.com/index\"]",
                Some("registry+https://example.com/index"),
                true,
            ),
            ("allow-registry = []", CRATES_IO, false),
            ("", Some(git), false),
            ("allow-git = [\"https://example.com/a/b\"]", Some(git), true),
            ("allow-git = [\"https://example.com/a\"]", Some(git), false),
            ("", Some("elsewhere"), false),
        ] {
            let text = format!("unknown-registry = \"deny\"\nunknown-git = \"deny\"\n{rules}\n");
            let graph = made_up(&[own, MadeUp { source, ..MadeUp::new("a 1.0.0", &[]) }]);
            let complaints = check(&toml::from_str(&text).expect("rules"), &graph);
            assert_eq!(complaints.is_empty(), is_allowed, "{rules} {source:?}: {complaints:?}");
        }
    }
}
