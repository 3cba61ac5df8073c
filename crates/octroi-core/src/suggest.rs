//! Suggestions for misspelt names.

/// The minimum similarity of close names, where 1 is equality.
const SIMILARITY_MIN: f64 = 0.8;
/// In a short word one typo changes so much that it no longer counts as similar. In a still shorter one it
/// makes another word.
const SLIP_LENGTH_MIN: usize = 3;
/// The maximum edit distance of a name in a list of suggestions.
const DISTANCE_MAX: usize = 3;

/// For longer names nothing is suggested: comparing two names takes as many steps as their lengths multiplied.
const LENGTH_MAX: usize = 128;

/// The hint of an error message, if there is a suggestion.
pub fn did_you_mean<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    closest(written, known).map(|name| format!("did you mean `{name}`?"))
}

/// The most similar name, if any is close.
pub fn closest<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let known = known.filter(|name| !is_long(name) && !is_long(written));
    known
        .filter(|name| are_close(written, name))
        .max_by(|left, right| similarity(written, left).total_cmp(&similarity(written, right)))
}

/// Up to `n_max` names within the edit distance, closest first.
pub fn nearest<'a>(written: &str, known: impl Iterator<Item = &'a str>, n_max: usize) -> Vec<&'a str> {
    let mut ranked: Vec<(usize, &str)> = known
        .filter(|name| !is_long(name) && !is_long(written))
        // The difference of their lengths is cheap, and rules most names out.
        .filter(|name| name.chars().count().abs_diff(written.chars().count()) <= DISTANCE_MAX)
        .map(|name| (strsim::levenshtein(written, name), name))
        .filter(|(distance, _)| *distance <= DISTANCE_MAX)
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().take(n_max).map(|(_, name)| name).collect()
}

/// Whether one name may be a misspelling of the other.
pub fn are_close(written: &str, name: &str) -> bool {
    if is_long(written) || is_long(name) {
        return written == name;
    }
    let is_slip = written.chars().count() >= SLIP_LENGTH_MIN && strsim::osa_distance(written, name) <= 1;
    is_slip || similarity(written, name) >= SIMILARITY_MIN
}

fn is_long(name: &str) -> bool {
    name.len() > LENGTH_MAX
}

fn similarity(left: &str, right: &str) -> f64 {
    strsim::jaro_winkler(&left.to_lowercase(), &right.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_suggested() {
        for (written, known, expected) in [
            ("comand", &["args", "command", "commands"][..], Some("command")),
            ("COMMAND", &["args", "command"], Some("command")),
            ("laazy", &["eager", "lazy", "manual"], Some("lazy")),
            // Two swapped letters in a short word.
            ("aks", &["deny", "ask"], Some("ask")),
            ("fail", &["deny", "ask"], None),
            // In two letters one typo makes another word.
            ("ab", &["cb"], None),
            ("a", &["b"], None),
            ("x", &[], None),
        ] {
            assert_eq!(closest(written, known.iter().copied()), expected, "{written}");
        }
        assert_eq!(did_you_mean("aks", ["ask"].into_iter()).as_deref(), Some("did you mean `ask`?"));
        assert_eq!(did_you_mean("", ["ask"].into_iter()), None);
        let long = "a".repeat(1_000_000);
        let (other, names) = (format!("{long}b"), vec![long.as_str(); 100]);
        assert_eq!(
            closest(&other, names.iter().copied()),
            None,
            "nobody reads it, and it would take for ever"
        );
        assert!(nearest(&other, names.iter().copied(), 3).is_empty() && !are_close(&other, &long));
    }

    #[test]
    fn several_names_are_suggested_in_the_order_of_their_distance() {
        let known = ["fs_read_file", "fs_read_files", "fs_write_file", "fs_read", "fs_reap_file"];
        let near = |written: &str, n_max| nearest(written, known.into_iter(), n_max);
        assert_eq!(near("fs_read_fil", 3), ["fs_read_file", "fs_read_files", "fs_reap_file"]);
        assert_eq!(near("fs_read_fil", 1), ["fs_read_file"]);
        assert_eq!(near("fs_write_file", 3), ["fs_write_file"]);
        assert!(near("something else", 3).is_empty());
    }
}
