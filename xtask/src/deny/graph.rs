//! Which package depends on which, from `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};

use semver::Version;
use serde::Deserialize;

/// Every package that any member of the workspace needs.
pub(crate) struct Graph {
    packages: BTreeMap<String, Package>,
    /// Each package's dependents.
    dependents: BTreeMap<String, BTreeSet<String>>,
    /// Packages that are needed for more than tests.
    shipped: BTreeSet<String>,
}

/// A package of the workspace or of a registry.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    id: String,
    pub(crate) name: String,
    pub(crate) version: Version,
    pub(crate) license: Option<String>,
    /// `None` for a package of the workspace.
    pub(crate) source: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    /// Registries that it may be published to; an empty list means that it is private.
    publish: Option<Vec<String>>,
}

impl Package {
    pub(crate) fn is_private(&self) -> bool {
        self.publish.as_ref().is_some_and(Vec::is_empty)
    }
}

/// A dependency in a package's manifest.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) req: String,
    pub(crate) kind: Option<String>,
    pub(crate) path: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

impl Edge {
    fn is_only_for_tests(&self) -> bool {
        self.dep_kinds.iter().all(|kind| kind.kind.as_deref() == Some("dev"))
    }
}

impl Graph {
    /// All packages, by name and version.
    pub(crate) fn packages(&self) -> impl Iterator<Item = &Package> {
        let mut packages: Vec<&Package> = self.packages.values().collect();
        packages.sort_by_key(|package| (&package.name, &package.version));
        packages.into_iter()
    }

    /// Those that are part of a program, not only of its tests.
    pub(crate) fn shipped(&self) -> impl Iterator<Item = &Package> {
        self.packages().filter(|package| self.shipped.contains(&package.id))
    }

    /// Names of the packages that depend on this one directly.
    pub(crate) fn dependents(&self, package: &Package) -> BTreeSet<&str> {
        let ids = self.dependents.get(&package.id).into_iter().flatten();
        ids.filter_map(|id| self.packages.get(id)).map(|package| package.name.as_str()).collect()
    }

    pub(crate) fn n_packages(&self) -> usize {
        self.packages.len()
    }
}

/// Reads what `cargo metadata` printed, less what is not in the output of `cargo tree`.
pub(crate) fn read(metadata: &str, tree: &str) -> Result<Graph, serde_json::Error> {
    let mut metadata: Metadata = serde_json::from_str(metadata)?;
    // `name v1.2.3 (and more)`.
    let used: BTreeSet<(&str, &str)> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.next()?.strip_prefix('v')?))
        })
        .collect();
    metadata.packages.retain(|package| used.contains(&(&*package.name, &*package.version.to_string())));
    let edges: BTreeMap<&str, &[Edge]> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), &node.deps[..])).collect();
    let mut dependents: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for node in &metadata.resolve.nodes {
        for edge in &node.deps {
            dependents.entry(edge.pkg.clone()).or_default().insert(node.id.clone());
        }
    }
    let mut shipped: BTreeSet<String> = metadata.workspace_members.iter().cloned().collect();
    let mut next = metadata.workspace_members.clone();
    while let Some(id) = next.pop() {
        let below = edges.get(id.as_str()).copied().unwrap_or_default();
        for edge in below.iter().filter(|edge| !edge.is_only_for_tests()) {
            if shipped.insert(edge.pkg.clone()) {
                next.push(edge.pkg.clone());
            }
        }
    }
    // Ids of packages that are not used stay in the other two, where nothing finds them.
    let packages = metadata.packages.into_iter().map(|package| (package.id.clone(), package)).collect();
    Ok(Graph { packages, dependents, shipped })
}

/// A package of a made-up graph.
#[cfg(test)]
#[derive(Clone, Copy)]
pub(crate) struct MadeUp {
    pub(crate) id: &'static str,
    pub(crate) license: Option<&'static str>,
    pub(crate) source: Option<&'static str>,
    /// Ids, each with its kind after a space if it is not a normal one.
    pub(crate) dependencies: &'static [&'static str],
    pub(crate) requirement: &'static str,
    /// Whether any enabled feature asks for it.
    pub(crate) is_used: bool,
}

#[cfg(test)]
pub(crate) const CRATES_IO: Option<&str> = Some("registry+https://github.com/rust-lang/crates.io-index");

#[cfg(test)]
impl MadeUp {
    /// A package of crates.io; ids are `name version`.
    pub(crate) const fn new(id: &'static str, dependencies: &'static [&'static str]) -> Self {
        Self { id, license: Some("MIT"), source: CRATES_IO, dependencies, requirement: "^1", is_used: true }
    }
}

/// A graph whose first package is the workspace's only one, called `own`.
#[cfg(test)]
pub(crate) fn made_up(packages: &[MadeUp]) -> Graph {
    use serde_json::{Value, json};

    let name = |id: &str| id.split(' ').next().unwrap_or_default().to_owned();
    let version = |id: &str| id.split(' ').nth(1).unwrap_or_default().to_owned();
    let parts = |dependency: &str| -> (String, Value) {
        let words: Vec<&str> = dependency.split(' ').collect();
        (words[..2].join(" "), words.get(2).map_or(Value::Null, |kind| json!(kind)))
    };
    let entries = packages.iter().enumerate().map(|(index, package)| {
        let dependencies = package.dependencies.iter().map(|dependency| {
            let (id, kind) = parts(dependency);
            let path = packages.iter().find(|other| other.id == id).is_none_or(|other| other.source.is_none());
            json!({"name": name(&id), "req": package.requirement, "kind": kind,
                   "path": if path { json!("/somewhere") } else { Value::Null }})
        });
        json!({"id": package.id, "name": name(package.id), "version": version(package.id),
               "license": package.license, "source": package.source, "publish": if index == 0 { json!([]) } else { Value::Null },
               "dependencies": dependencies.collect::<Vec<_>>()})
    });
    let nodes = packages.iter().map(|package| {
        let deps = package.dependencies.iter().map(|dependency| {
            let (id, kind) = parts(dependency);
            json!({"pkg": id, "dep_kinds": [{"kind": kind}]})
        });
        json!({"id": package.id, "deps": deps.collect::<Vec<_>>()})
    });
    let metadata = json!({
        "packages": entries.collect::<Vec<_>>(),
        "workspace_members": [packages[0].id],
        "resolve": {"nodes": nodes.collect::<Vec<_>>()},
    });
    let used = packages.iter().filter(|package| package.is_used);
    let tree: String =
        used.map(|package| format!("{} v{} (*)\n", name(package.id), version(package.id))).collect();
    read(&metadata.to_string(), &tree).expect("the metadata can be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependents_are_known_and_what_only_tests_need() {
        let graph = made_up(&[
            MadeUp::new("own 1.0.0", &["a 1.0.0", "t 1.0.0 dev", "b 1.0.0 build"]),
            MadeUp::new("a 1.0.0", &["c 1.0.0"]),
            MadeUp::new("b 1.0.0", &[]),
            MadeUp::new("c 1.0.0", &["optional 1.0.0"]),
            MadeUp { is_used: false, ..MadeUp::new("optional 1.0.0", &[]) },
            MadeUp::new("t 1.0.0", &["c 1.0.0", "d 1.0.0"]),
            MadeUp::new("d 1.0.0", &[]),
        ]);
        let shipped: Vec<&str> = graph.shipped().map(|package| package.name.as_str()).collect();
        assert_eq!(shipped, ["a", "b", "c", "own"]);
        let c = graph.packages().find(|package| package.name == "c").expect("it is there");
        assert_eq!(graph.dependents(c), BTreeSet::from(["a", "t"]));
        assert_eq!(graph.n_packages(), 6);
    }
}
