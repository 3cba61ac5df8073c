//! The names under which tools and prompts of all servers appear in one list.
//!
//! A wire name is `{server}_{tool}`, reduced to the characters every client accepts and cut to a
//! limit. Where two would be equal, or one too long, the hash of the canonical id tells them apart.
//! A wire name is never taken apart again: [`crate::name::CanonicalId`] is found by table lookup.

use std::collections::HashMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::name::{CanonicalId, ServerName};

/// What most clients accept; some add a prefix of their own, so the limit is a setting.
pub const WIRE_NAME_MAX: usize = 64;

const HASH_LENGTH: usize = 8;

/// Wire names for the given tools, in their order. They depend on the set alone, not on its order:
/// every member of a collision gets its hash, so no server can take a name from another, nor one of
/// those that are taken.
pub fn assign(tools: &[(&ServerName, &str)], is_taken: impl Fn(&str) -> bool, max: usize) -> Vec<String> {
    let plain: Vec<String> = tools.iter().map(|(server, tool)| reduced(server, tool)).collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for name in &plain {
        *uses.entry(name).or_default() += 1;
    }
    let names = tools.iter().zip(&plain).map(|((server, tool), name)| {
        if name.len() <= max && uses.get(name.as_str()) == Some(&1) && !is_taken(name) {
            name.clone()
        } else {
            hashed(name, &CanonicalId::mcp(server, tool), max)
        }
    });
    names.collect()
}

/// Other spellings of a tool that are understood in calls and rules.
pub fn aliases(server: &ServerName, tool: &str) -> [String; 4] {
    [
        CanonicalId::mcp(server, tool).as_str().to_owned(),
        format!("{server}.{tool}"),
        format!("{server}__{tool}"),
        format!("mcp__{server}__{tool}"),
    ]
}

fn reduced(server: &ServerName, tool: &str) -> String {
    let keep = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    format!("{server}_{}", tool.chars().map(keep).collect::<String>())
}

fn hashed(name: &str, id: &CanonicalId, max: usize) -> String {
    let digest = Sha256::digest(id.as_str().as_bytes());
    let kept = max.saturating_sub(HASH_LENGTH + 1).min(name.len());
    let mut out = name[..kept].to_owned();
    out.push('_');
    for byte in &digest[..HASH_LENGTH / 2] {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tools: &[(&str, &str)]) -> Vec<String> {
        let parsed: Vec<_> =
            tools.iter().map(|(server, tool)| (ServerName::parse(server).unwrap(), *tool)).collect();
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
