//! The unified diff of two texts.

use std::fmt::Write as _;
use std::ops::Range;

use similar::{Algorithm, ChangeTag, capture_diff_slices, group_diff_ops};

/// How many unchanged lines are shown around changed ones.
const CONTEXT_LINES: usize = 3;

/// The difference; empty if there is none. Line endings are ignored.
pub fn unified(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let hunks = group_diff_ops(capture_diff_slices(Algorithm::Myers, &old, &new), CONTEXT_LINES);
    if hunks.is_empty() {
        return String::new();
    }
    let mut text = format!("--- {old_name}\n+++ {new_name}\n");
    for hunk in hunks {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        let of_old = range(first.old_range().start..last.old_range().end);
        let of_new = range(first.new_range().start..last.new_range().end);
        let _ = writeln!(text, "@@ -{of_old} +{of_new} @@");
        for change in hunk.iter().flat_map(|part| part.iter_changes(&old[..], &new[..])) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let _ = writeln!(text, "{sign}{}", change.value());
        }
    }
    text
}

/// Lines of one side, as first line and count; if there are none, the line after which they would be. The
/// library omits a count of one, which is allowed but harder to read.
fn range(lines: Range<usize>) -> String {
    let first = if lines.is_empty() { lines.start } else { lines.start + 1 };
    format!("{first},{}", lines.len())
}

#[cfg(test)]
mod tests {
    use super::unified;

    fn check(old: &str, new: &str, expected: &str) {
        let found = unified(&old.replace(' ', "\n"), &new.replace(' ', "\n"), "a", "b");
        let found = found.strip_prefix("--- a\n+++ b\n").unwrap_or(&found).replace('\n', "|");
        assert_eq!(found, expected, "{old:?} {new:?}");
    }

    #[test]
    fn texts_side_by_side() {
        check("a b", "a b", "");
        check("", "", "");
        check("", "a", "@@ -0,0 +1,1 @@|+a|");
        check("a", "", "@@ -1,1 +0,0 @@|-a|");
        check("a b c", "a x c", "@@ -1,3 +1,3 @@| a|-b|+x| c|");
        check("a b c d", "b c d e", "@@ -1,4 +1,4 @@|-a| b| c| d|+e|");
        check(
            "1 2 3 4 5 6 7 8 9 10 11",
            "1 x 3 4 5 6 7 8 9 y 11",
            "@@ -1,5 +1,5 @@| 1|-2|+x| 3| 4| 5|@@ -7,5 +7,5 @@| 7| 8| 9|-10|+y| 11|",
        );
        check(
            "1 2 3 4 5 6 7 8 9 10",
            "1 x 3 4 5 6 7 8 y 10",
            "@@ -1,10 +1,10 @@| 1|-2|+x| 3| 4| 5| 6| 7| 8|-9|+y| 10|",
        );
        check("1 2 3 4 5", "1 2 3 4 5 6", "@@ -3,3 +3,4 @@| 3| 4| 5|+6|");
    }

    /// Applies a difference as `patch` does; it refuses one that does not fit.
    fn apply(old: &[&str], difference: &str) -> Vec<String> {
        let numbers = |side: &str| {
            let (first, count) = side[1..].split_once(',').unwrap();
            (first.parse::<usize>().unwrap(), count.parse::<usize>().unwrap())
        };
        let (mut at, mut out) = (0, Vec::new());
        let mut promised = (0, 0);
        for line in difference.lines().skip(2) {
            if let Some(header) = line.strip_prefix("@@ ") {
                assert_eq!(promised, (0, 0), "a hunk has as many lines as it says");
                let sides: Vec<&str> = header.split(' ').collect();
                let ((old_first, n_old), (new_first, n_new)) = (numbers(sides[0]), numbers(sides[1]));
                let start = if n_old == 0 { old_first } else { old_first - 1 };
                out.extend(old[at..start].iter().map(|&line| line.to_owned()));
                at = start;
                assert_eq!(out.len(), if n_new == 0 { new_first } else { new_first - 1 });
                promised = (n_old, n_new);
                continue;
            }
            let (sign, content) = line.split_at(1);
            if sign != "+" {
                assert_eq!(old[at], content);
                at += 1;
                promised.0 -= 1;
            }
            if sign != "-" {
                out.push(content.to_owned());
                promised.1 -= 1;
            }
        }
        assert_eq!(promised, (0, 0), "a hunk has as many lines as it says");
        out.extend(old[at..].iter().map(|&line| line.to_owned()));
        out
    }

    /// Every pair of short texts: the difference turns one into the other, with as few lines as possible.
    #[test]
    fn nothing_is_lost() {
        let mut texts: Vec<Vec<&str>> = vec![Vec::new()];
        for length in 0..5 {
            let longest: Vec<Vec<&str>> = texts.iter().filter(|text| text.len() == length).cloned().collect();
            for text in longest {
                texts.extend(["a", "b"].map(|letter| [&text[..], &[letter]].concat()));
            }
        }
        assert_eq!(texts.len(), 63);
        for old in &texts {
            for new in &texts {
                let difference = unified(&old.join("\n"), &new.join("\n"), "a", "b");
                assert_eq!(apply(old, &difference), *new, "{old:?} {new:?}");
                let n_changed =
                    difference.lines().skip(2).filter(|line| line.starts_with(['+', '-'])).count();
                assert_eq!(n_changed, old.len() + new.len() - 2 * n_common(old, new), "{difference}");
            }
        }
    }

    /// The largest possible number of unchanged lines.
    fn n_common(old: &[&str], new: &[&str]) -> usize {
        match (old, new) {
            ([], _) | (_, []) => 0,
            ([a, old_rest @ ..], [b, new_rest @ ..]) if a == b => 1 + n_common(old_rest, new_rest),
            ([_, old_rest @ ..], [_, new_rest @ ..]) => n_common(old_rest, new).max(n_common(old, new_rest)),
        }
    }

    #[test]
    fn long_texts_take_no_long_time() {
        let text = |word: &str| (0..3_000).map(|n| [word, &n.to_string(), "\n"].concat()).collect::<String>();
        let found = unified(&text("a"), &text("b"), "a", "b");
        assert_eq!(found.lines().filter(|line| line.starts_with('+')).count(), 3_001);
        let mixed = |step: usize| (0..20_000).map(|n| (n * step % 97).to_string()).collect::<Vec<_>>();
        let (old, new) = (mixed(31).join("\n"), mixed(53).join("\n"));
        let difference = unified(&old, &new, "a", "b");
        let old: Vec<&str> = old.lines().collect();
        assert!(apply(&old, &difference).iter().eq(new.lines()));
    }
}
