//! The rules, as `deny.toml` writes them.
//!
//! Only what we use is supported: every rule denies, and a key that is not listed here is an error.

use std::fmt;

use semver::{Version, VersionReq};
use serde::Deserialize;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rules {
    pub(crate) graph: Platforms,
    pub(crate) licenses: Licenses,
    pub(crate) bans: Bans,
    pub(crate) sources: Sources,
}

/// The platforms that the program is built for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Platforms {
    pub(crate) targets: Vec<String>,
}

/// Licences that may be used, as SPDX names them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Licenses {
    pub(crate) allow: Vec<String>,
}

/// Rules about packages that may not be used.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Bans {
    #[serde(rename = "multiple-versions")]
    _multiple_versions: Level,
    #[serde(rename = "wildcards")]
    _wildcards: Level,
    pub(crate) allow_wildcard_paths: bool,
    #[serde(default)]
    pub(crate) deny: Vec<Ban>,
    #[serde(default)]
    pub(crate) skip: Vec<Skip>,
}

/// A package that only the named wrappers may use.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ban {
    #[serde(rename = "crate")]
    pub(crate) package: Spec,
    #[serde(default)]
    pub(crate) wrappers: Vec<String>,
    #[serde(default)]
    pub(crate) reason: String,
}

/// A version that is allowed beside another one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Skip {
    #[serde(rename = "crate")]
    pub(crate) package: Spec,
    pub(crate) reason: String,
}

/// Where packages may come from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Sources {
    #[serde(rename = "unknown-registry")]
    _unknown_registry: Level,
    #[serde(rename = "unknown-git")]
    _unknown_git: Level,
    #[serde(default = "crates_io")]
    pub(crate) allow_registry: Vec<String>,
    #[serde(default)]
    pub(crate) allow_git: Vec<String>,
}

fn crates_io() -> Vec<String> {
    vec!["https://github.com/rust-lang/crates.io-index".to_owned()]
}

/// How severe a finding is. There are no warnings: nobody reads them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Deny,
}

/// Some versions of a package: `name`, `name@1.2.3` or `name:REQUIREMENT`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub(crate) struct Spec {
    text: String,
    name: String,
    versions: VersionReq,
}

impl Spec {
    pub(crate) fn matches(&self, name: &str, version: &Version) -> bool {
        self.name == name && self.versions.matches(version)
    }
}

impl TryFrom<String> for Spec {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (name, versions) = match text.split_once(['@', ':']) {
            Some((name, version)) if text[name.len()..].starts_with('@') => (name, format!("={version}")),
            Some((name, requirement)) => (name, requirement.to_owned()),
            None => (text.as_str(), "*".to_owned()),
        };
        let name = name.to_owned();
        let versions = VersionReq::parse(&versions).map_err(|error| format!("`{text}`: {error}"))?;
        Ok(Self { text, name, versions })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// Reads the text of `deny.toml`. An error says where it cannot be read.
pub(crate) fn read(text: &str) -> Result<Rules, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_project_is_understood() {
        let text = std::fs::read_to_string(crate::shell::root().join("deny.toml")).expect("the file");
        let rules = read(&text).expect("it is understood");
        assert!(rules.graph.targets.contains(&"x86_64-unknown-linux-gnu".to_owned()));
        assert!(rules.bans.skip.iter().all(|skip| !skip.reason.is_empty()));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let file = |licenses: &str, bans: &str| {
            format!(
                "[graph]\ntargets = []\n[licenses]\nallow = []\n{licenses}\n[bans]\nwildcards = \"deny\"\n\
                 allow-wildcard-paths = true\n{bans}\n[sources]\nunknown-registry = \"deny\"\nunknown-git = \"deny\"\n"
            )
        };
        let deny = "multiple-versions = \"deny\"\n";
        assert!(read(&file("", deny)).is_ok());
        for (licenses, bans, expected) in [
            ("", "multiple-versions = \"warn\"", "unknown variant `warn`"),
            ("confidence-threshold = 0.8", deny, "unknown field `confidence-threshold`"),
            (
                "",
                &format!("{deny}deny = [{{ crate = \"a\", use-instead = \"b\" }}]"),
                "unknown field `use-instead`",
            ),
            ("", &format!("{deny}skip = [{{ crate = \"a\" }}]"), "missing field `reason`"),
            ("", &format!("{deny}skip = [{{ crate = \"a@x\", reason = \"r\" }}]"), "`a@x`"),
        ] {
            let problem = read(&file(licenses, bans)).expect_err("it is not understood");
            assert!(problem.contains(expected), "{problem}");
        }
    }

    #[test]
    fn a_spec_names_all_versions_one_or_some() {
        for (spec, version, expected) in [
            ("a", "1.2.3", true),
            ("b", "1.2.3", false),
            ("a@1.2.3", "1.2.3", true),
            ("a@1.2.3", "1.2.4", false),
            ("a:^1.2", "1.9.0", true),
            ("a:<1.2", "1.9.0", false),
        ] {
            let spec = Spec::try_from(spec.to_owned()).expect("a spec");
            assert_eq!(spec.matches("a", &version.parse().expect("a version")), expected, "{spec}");
        }
    }
}
