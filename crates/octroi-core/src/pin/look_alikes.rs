//! Names that a person or a model may confuse.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::characters::{hidden, looks_like};

/// Shorter names often differ by one letter.
const EDIT_LENGTH_MIN: usize = 6;
/// Longer names are only compared as a whole: the cost of comparing is quadratic in the length.
const EDIT_LENGTH_MAX: usize = 96;
/// The limit of names with the same neighbour that are compared with each other.
const NEIGHBOURS_MAX: usize = 32;
/// The limit of reported pairs.
const PAIRS_MAX: usize = 1_000;

/// Two tools of different servers with easily confused names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LookAlike<'a> {
    /// Server and tool.
    pub first: (&'a str, &'a str),
    /// Server and tool of the other.
    pub second: (&'a str, &'a str),
    /// How they resemble each other.
    pub resemblance: Resemblance,
}

/// How two names resemble each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resemblance {
    /// They look the same but differ.
    Appearance,
    /// They differ by one letter.
    OneLetter,
    /// They are equal. Common and mostly harmless, as the server's name is part of a tool's name.
    Same,
}

/// A name reduced to what the eye distinguishes: two names with the same skeleton look alike. Case, `-`, `_`,
/// `.` and spaces are ignored, and so are hidden characters and accents of Latin letters; `1`, `I` and `l`
/// are one letter, as are `0` and `O`, `rn` and `m`, `vv` and `w`.
pub fn skeleton(name: &str) -> String {
    let mut skeleton = String::with_capacity(name.len());
    for character in name.chars().filter(|character| hidden(*character).is_none()) {
        let character = looks_like(character).unwrap_or(character);
        for lower in character.to_lowercase() {
            push(&mut skeleton, without_accent(lower));
        }
    }
    skeleton
}

fn push(skeleton: &mut String, letter: char) {
    let letter = match letter {
        '-' | '_' | '.' | '/' | ' ' | '\u{300}'..='\u{36f}' => return,
        '1' | 'i' | '|' => 'l',
        '0' => 'o',
        'n' if skeleton.ends_with('r') => {
            skeleton.pop();
            'm'
        }
        'v' if skeleton.ends_with('v') => {
            skeleton.pop();
            'w'
        }
        letter => letter,
    };
    skeleton.push(letter);
}

/// Lower-case letters of Western languages without their accents.
fn without_accent(letter: char) -> char {
    match letter {
        'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'č' => 'c',
        'è'..='ë' | 'ē' | 'ę' | 'ě' => 'e',
        'ì'..='ï' | 'ī' | 'į' => 'i',
        'ñ' | 'ń' | 'ň' => 'n',
        'ò'..='ö' | 'ø' | 'ō' | 'ő' => 'o',
        'ś' | 'š' | 'ş' => 's',
        'ù'..='ü' | 'ū' | 'ů' | 'ű' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        letter => letter,
    }
}

/// All names, given as server and tool, that may be confused across servers; sorted, at most a thousand
/// pairs.
///
/// Of many names with one skeleton each is paired with only one of another server. Names are compared by
/// leaving out one letter at a time, so the cost is linear in their number.
pub fn look_alikes<'a>(names: &[(&'a str, &'a str)]) -> Vec<LookAlike<'a>> {
    let mut by_skeleton: BTreeMap<String, BTreeSet<(&str, &str)>> = BTreeMap::new();
    for (server, tool) in names {
        by_skeleton.entry(skeleton(tool)).or_default().insert((*tool, *server));
    }
    let mut found = BTreeSet::new();
    for group in by_skeleton.values() {
        same_skeleton(group, &mut found);
    }
    one_letter(&by_skeleton, &mut found);
    let mut found: Vec<_> = found.into_iter().collect();
    // The most telling pairs first, in case there are too many.
    found.sort_by_key(|pair| pair.resemblance);
    found.truncate(PAIRS_MAX);
    found
}

fn same_skeleton<'a>(group: &BTreeSet<(&'a str, &'a str)>, found: &mut BTreeSet<LookAlike<'a>>) {
    let Some(first) = group.first() else { return };
    let Some(foreign) = group.iter().find(|(_, server)| *server != first.1) else { return };
    for name in group.iter().skip(1) {
        // Names of the first one's own server are paired with the first of another server.
        let ((tool, server), (other_tool, other_server)) =
            if name.1 == first.1 { (name, foreign) } else { (first, name) };
        let resemblance = if tool == other_tool { Resemblance::Same } else { Resemblance::Appearance };
        let (first, second) = ((*server, *tool), (*other_server, *other_tool));
        found.insert(LookAlike { first, second, resemblance });
    }
}

fn one_letter<'a>(
    by_skeleton: &BTreeMap<String, BTreeSet<(&'a str, &'a str)>>,
    found: &mut BTreeSet<LookAlike<'a>>,
) {
    let mut neighbours: HashMap<String, Vec<&String>> = HashMap::new();
    for skeleton in by_skeleton.keys() {
        let length = skeleton.chars().count();
        if !(EDIT_LENGTH_MIN..=EDIT_LENGTH_MAX).contains(&length) {
            continue;
        }
        let shortened = skeleton
            .char_indices()
            .map(|(at, letter)| format!("{}{}", &skeleton[..at], &skeleton[at + letter.len_utf8()..]));
        // A name that is one letter shorter than another has the same key here.
        for key in shortened.chain([skeleton.clone()]).collect::<BTreeSet<_>>() {
            let near = neighbours.entry(key).or_default();
            if near.len() >= NEIGHBOURS_MAX {
                continue;
            }
            for other in near.iter().filter(|other| strsim::levenshtein(skeleton, other) == 1) {
                if let (Some(one), Some(two)) = (by_skeleton.get(*other), by_skeleton.get(skeleton)) {
                    found.extend(across_servers(one, two));
                }
            }
            near.push(skeleton);
        }
    }
}

/// One pair of different servers, if there is one.
fn across_servers<'a>(
    one: &BTreeSet<(&'a str, &'a str)>,
    two: &BTreeSet<(&'a str, &'a str)>,
) -> Option<LookAlike<'a>> {
    // If both first entries are of one server, some other entry of either must be of another.
    let pairs = one.iter().filter_map(|first| two.first().map(|second| (first, second)));
    let turned = two.iter().filter_map(|second| one.first().map(|first| (first, second)));
    let ((tool, server), (other_tool, other_server)) =
        pairs.chain(turned).find(|((_, server), (_, other_server))| server != other_server)?;
    let (first, second) = ((*server, *tool), (*other_server, *other_tool));
    Some(LookAlike { first, second, resemblance: Resemblance::OneLetter })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn skeletons() {
        for (one, other) in [
            ("read_file", "readFile"),
            ("read_file", "Read-File"),
            ("read_file", "reаd_file"),
            ("list", "1ist"),
            ("list", "Iist"),
            ("go", "g0"),
            ("modern", "modem"),
            ("warn", "wam"),
            ("vvrite", "write"),
            ("send", "se\u{200b}nd"),
            ("ｓｅｎｄ", "send"),
            ("résumé", "resume"),
            ("re\u{301}sume", "resume"),
            ("\u{1d5cc}end", "send"),
        ] {
            assert_eq!(skeleton(one), skeleton(other), "{one} {other}");
        }
        for (one, other) in [("read", "write"), ("get_user", "get_users"), ("a", "b"), ("漢", "字")] {
            assert_ne!(skeleton(one), skeleton(other), "{one} {other}");
        }
    }

    #[test]
    fn pairs() {
        use Resemblance::{Appearance, OneLetter, Same};
        type Case<'a> = (&'a [(&'a str, &'a str)], &'a [(Resemblance, &'a str, &'a str)]);
        let cases: &[Case<'_>] = &[
            (&[("a", "read_file"), ("b", "readFile")], &[(Appearance, "readFile", "read_file")]),
            (&[("a", "read_file"), ("a", "readFile")], &[]),
            (&[("a", "search"), ("b", "search")], &[(Same, "search", "search")]),
            (&[("a", "get_user"), ("b", "get_users")], &[(OneLetter, "get_user", "get_users")]),
            (&[("a", "get_user"), ("b", "set_user")], &[(OneLetter, "get_user", "set_user")]),
            (&[("a", "get_user"), ("a", "get_users")], &[]),
            (&[("a", "cat"), ("b", "bat")], &[]),
            (&[("a", "create"), ("b", "delete")], &[]),
            // Of the first server both, and one that another server imitates.
            (
                &[("a", "get_user"), ("a", "get_users"), ("b", "get_user")],
                &[(OneLetter, "get_user", "get_users"), (Same, "get_user", "get_user")],
            ),
            (
                &[("a", "Read"), ("a", "read"), ("b", "read")],
                &[(Appearance, "Read", "read"), (Same, "read", "read")],
            ),
        ];
        for (names, expected) in cases {
            let found = look_alikes(names);
            let found: Vec<_> =
                found.iter().map(|pair| (pair.resemblance, pair.first.1, pair.second.1)).collect();
            assert_eq!(found, *expected, "{names:?}");
        }
    }

    #[test]
    fn a_thousand_names_are_cheap_and_the_answer_is_bounded() {
        let tools: Vec<_> = (0..2_000)
            .map(|index| (format!("server{}", index % 7), format!("tool_name_{index:04}")))
            .collect();
        let names: Vec<_> = tools.iter().map(|(server, tool)| (server.as_str(), tool.as_str())).collect();
        assert_eq!(look_alikes(&names).len(), PAIRS_MAX);
        let equal: Vec<_> = tools.iter().map(|(server, _)| (server.as_str(), "same")).collect();
        assert_eq!(look_alikes(&equal).len(), 6);
        let long = "a".repeat(1 << 20);
        assert_eq!(look_alikes(&[("a", &long), ("b", &long[1..])]), []);
    }

    proptest! {
        #[test]
        fn no_name_is_too_strange(names in prop::collection::vec((any::<String>(), any::<String>()), 0..20)) {
            let names: Vec<_> = names.iter().map(|(server, tool)| (server.as_str(), tool.as_str())).collect();
            for pair in look_alikes(&names) {
                prop_assert_ne!(pair.first.0, pair.second.0);
            }
        }
    }
}
