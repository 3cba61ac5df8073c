//! The names of tools and prompts of all servers in one list.
//!
//! A wire name is `{server}_{tool}`, reduced to the characters every client accepts and cut to a limit. If
//! two would be equal, or one too long, a part of the canonical id's hash is added, and a longer part if that
//! is not unique either. A wire name is never parsed: [`crate::name::CanonicalId`] is found by table lookup.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use crate::name::{CanonicalId, ServerKey};

/// The default limit. Most clients accept 64 characters, and some put a prefix like `mcp__octroi__` before the name.
pub const WIRE_NAME_MAX: usize = 50;

/// How many characters of the hash are added, initially and after each further collision. The longest cannot
/// be brought to collide; the shortest might be, with enough effort.
const HASH_LENGTHS: [usize; 4] = [0, 8, 16, 32];

/// Wire names for the given tools, in their order. They depend on the set alone, not on its order: every
/// member of a collision gets its hash, so no server can take a name from another, nor a reserved one. No two
/// of them are equal.
pub fn assign(tools: &[(&ServerKey, &str)], is_reserved: impl Fn(&str) -> bool, max: usize) -> Vec<String> {
    let plain: Vec<String> = tools.iter().map(|(server, tool)| plain(server, tool)).collect();
    let mut names = plain.clone();
    let mut steps = vec![0; tools.len()];
    loop {
        let mut sharing: HashMap<&str, Sharing> = HashMap::new();
        for (name, step) in names.iter().zip(&steps) {
            let sharing = sharing.entry(name).or_default();
            sharing.n_names += 1;
            sharing.n_plain += usize::from(*step == 0);
        }
        let clashing: Vec<usize> = (0..names.len())
            .filter(|index| steps[*index] + 1 < HASH_LENGTHS.len())
            .filter(|index| {
                let name = names[*index].as_str();
                let is_shared =
                    sharing.get(name).is_some_and(|sharing| sharing.must_change(steps[*index] == 0));
                // A hashed name that is still too long cannot be shortened further.
                is_shared || is_reserved(name) || (steps[*index] == 0 && name.len() > max)
            })
            .collect();
        if clashing.is_empty() {
            return names;
        }
        for index in clashing {
            steps[index] += 1;
            let id = CanonicalId::mcp(tools[index].0, tools[index].1);
            names[index] = hashed(&plain[index], &id, max, HASH_LENGTHS[steps[index]]);
        }
    }
}

/// How many tools share a name.
#[derive(Default)]
struct Sharing {
    n_names: usize,
    n_plain: usize,
}

impl Sharing {
    /// A plain name yields to a hashed one: a plain name that contains that hash was chosen on purpose.
    fn must_change(&self, is_plain: bool) -> bool {
        self.n_names > 1 && (is_plain || self.n_plain == 0)
    }
}

/// Other spellings of a tool that are accepted in calls and rules.
pub fn aliases(server: &ServerKey, tool: &str) -> [String; 4] {
    [
        CanonicalId::mcp(server, tool).as_str().to_owned(),
        format!("{server}.{tool}"),
        format!("{}__{tool}", server.name),
        format!("mcp__{}__{tool}", server.name),
    ]
}

/// The name of a tool unless another one claims it too, or it is too long.
pub fn plain(server: &ServerKey, tool: &str) -> String {
    let keep = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    format!("{}_{}", server.name, tool.chars().map(keep).collect::<String>())
}

/// All names that a tool may get instead of its plain one.
pub fn instead_of_plain(server: &ServerKey, tool: &str, max: usize) -> impl Iterator<Item = String> {
    let (plain, id) = (plain(server, tool), CanonicalId::mcp(server, tool));
    HASH_LENGTHS.into_iter().skip(1).map(move |length| hashed(&plain, &id, max, length))
}

fn hashed(name: &str, id: &CanonicalId, max: usize, length: usize) -> String {
    let digest = Sha256::digest(id.as_str().as_bytes());
    let kept = max.saturating_sub(length + 1).min(name.len());
    format!("{}_{}", &name[..kept], hex::encode(&digest[..length / 2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tools: &[(&str, &str)]) -> Vec<String> {
        let parsed: Vec<_> =
            tools.iter().map(|(server, tool)| (ServerKey::parse(server).unwrap(), *tool)).collect();
        let borrowed: Vec<_> = parsed.iter().map(|(server, tool)| (server, *tool)).collect();
        assign(&borrowed, |_| false, WIRE_NAME_MAX)
    }

    #[test]
    fn a_plain_name_says_server_and_tool() {
        assert_eq!(
            names(&[("fs", "read_file"), ("github", "list-issues")]),
            ["fs_read_file", "github_list-issues"]
        );
    }

    #[test]
    fn a_collision_renames_everyone_in_it_and_nobody_else() {
        let found = names(&[("git", "hub_x"), ("git_hub", "x"), ("git", "y")]);
        assert!(found[0].starts_with("git_hub_x_") && found[1].starts_with("git_hub_x_"), "{found:?}");
        assert_ne!(found[0], found[1]);
        assert_eq!(found[2], "git_y");
        let mut swapped = names(&[("git_hub", "x"), ("git", "hub_x"), ("git", "y")]);
        swapped.swap(0, 1);
        assert_eq!(found, swapped);
    }

    #[test]
    fn a_name_with_a_hash_cannot_be_taken_either() {
        // The second server also lists the exact names that the first one's tool would get.
        let mut tools = vec![("git", "hub_x".to_owned()), ("git_hub", "x".to_owned())];
        let first = names(&[("git", "hub_x"), ("git_hub", "x")])[0].clone();
        let server = ServerKey::parse("git").unwrap();
        for length in &HASH_LENGTHS[1..] {
            let name = hashed("git_hub_x", &CanonicalId::mcp(&server, "hub_x"), WIRE_NAME_MAX, *length);
            tools.push(("git_hub", name.strip_prefix("git_hub_").unwrap().to_owned()));
            let borrowed: Vec<_> = tools.iter().map(|(server, tool)| (*server, tool.as_str())).collect();
            let found = names(&borrowed);
            assert_eq!(found[0], first, "{found:?}");
            let different: std::collections::BTreeSet<_> = found.iter().collect();
            assert_eq!(different.len(), found.len(), "{found:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_two_names_are_equal(
            tools in proptest::collection::btree_set(("a|a_b|b", "[ab_.]{0,3}|[ab]{60,70}"), 0..30),
            reserved in proptest::collection::btree_set("a_[ab_]{0,3}", 0..5),
            max in 40..70_usize,
        ) {
            let parsed: Vec<_> =
                tools.iter().map(|(server, tool)| (ServerKey::parse(server).unwrap(), tool.as_str())).collect();
            let borrowed: Vec<_> = parsed.iter().map(|(server, tool)| (server, *tool)).collect();
            let found = assign(&borrowed, |name| reserved.contains(name), max);
            let different: std::collections::BTreeSet<_> = found.iter().collect();
            proptest::prop_assert_eq!(different.len(), found.len());
            proptest::prop_assert!(found.iter().all(|name| name.len() <= max && !reserved.contains(name)));
        }
    }

    #[test]
    fn names_have_only_what_every_client_accepts() {
        let long = "t".repeat(100);
        let found = names(&[("s", "a.b/c:d"), ("s", "größe"), ("s", &long), ("s", "")]);
        for name in &found {
            assert!(name.len() <= WIRE_NAME_MAX && !name.is_empty());
            assert!(
                name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')),
                "{name}"
            );
        }
        assert_eq!(found[0], "s_a_b_c_d");
    }

    #[test]
    fn a_long_name_is_the_same_every_time() {
        let long = "t".repeat(100);
        assert_eq!(names(&[("s", &long)]), names(&[("s", &long)]));
        assert_eq!(names(&[("s", &long)])[0].len(), WIRE_NAME_MAX);
    }
}
