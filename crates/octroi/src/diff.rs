//! Two texts side by side, as a unified diff.

use std::fmt::Write as _;

/// So many lines that stay are shown around those that do not.
const AROUND: usize = 3;
/// Beyond so many pairs of lines the middle is shown as replaced.
const PAIRS_MAX: usize = 4_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The difference; empty if there is none.
pub(crate) fn unified(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let lines = compare(&old, &new);
    if lines.iter().all(|line| matches!(line, Line::Same(_))) {
        return String::new();
    }
    let mut text = format!("--- {old_name}\n+++ {new_name}\n");
    let is_near = |index: usize| {
        let near = &lines[index.saturating_sub(AROUND)..lines.len().min(index + AROUND + 1)];
        near.iter().any(|line| !matches!(line, Line::Same(_)))
    };
    let (mut index, mut n_old, mut n_new) = (0, 0, 0);
    while index < lines.len() {
        let end = (index..lines.len()).find(|at| !is_near(*at)).unwrap_or(lines.len());
        let hunk = &lines[index..end];
        let of_old = hunk.iter().filter(|line| !matches!(line, Line::New(_))).count();
        let of_new = hunk.iter().filter(|line| !matches!(line, Line::Gone(_))).count();
        if !hunk.is_empty() {
            let start = |before: usize, count: usize| if count == 0 { before } else { before + 1 };
            let (old_start, new_start) = (start(n_old, of_old), start(n_new, of_new));
            let _ = writeln!(text, "@@ -{old_start},{of_old} +{new_start},{of_new} @@");
        }
        for line in hunk {
            let _ = match line {
                Line::Same(line) => writeln!(text, " {line}"),
                Line::Gone(line) => writeln!(text, "-{line}"),
                Line::New(line) => writeln!(text, "+{line}"),
            };
        }
        n_old += of_old;
        n_new += of_new;
        let next = (end..lines.len()).find(|at| is_near(*at)).unwrap_or(lines.len());
        n_old += next - end;
        n_new += next - end;
        index = next;
    }
    text
}

/// All lines of both in their order, by the longest common sequence.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let n_before = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[n_before..], &new[n_before..]);
    let n_after =
        old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let old_middle = &old_rest[..old_rest.len() - n_after];
    let new_middle = &new_rest[..new_rest.len() - n_after];
    let mut lines: Vec<Line<'a>> = old[..n_before].iter().map(|line| Line::Same(line)).collect();
    lines.extend(middle(old_middle, new_middle));
    lines.extend(old[old.len() - n_after..].iter().map(|line| Line::Same(line)));
    lines
}

fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let gone_and_new = || {
        let gone = old.iter().map(|line| Line::Gone(line));
        gone.chain(new.iter().map(|line| Line::New(line))).collect()
    };
    let width = new.len() + 1;
    if old.len().saturating_mul(width) > PAIRS_MAX {
        return gone_and_new();
    }
    // How many lines the rests from here on have in common.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            lines.push(Line::Gone(old[i]));
            i += 1;
        } else {
            lines.push(Line::New(new[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{Line, compare, unified};

    fn check(old: &str, new: &str, expected: &str) {
        let told = unified(&old.replace(' ', "\n"), &new.replace(' ', "\n"), "a", "b");
        let told = told.strip_prefix("--- a\n+++ b\n").unwrap_or(&told).replace('\n', "|");
        assert_eq!(told, expected, "{old:?} {new:?}");
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
    }

    /// Every pair of short texts: what stays and goes is the old one, what stays and comes is the new one.
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
                let lines = compare(old, new);
                let of_old = lines.iter().filter_map(|line| match line {
                    Line::Same(text) | Line::Gone(text) => Some(*text),
                    Line::New(_) => None,
                });
                let of_new = lines.iter().filter_map(|line| match line {
                    Line::Same(text) | Line::New(text) => Some(*text),
                    Line::Gone(_) => None,
                });
                assert_eq!(
                    (of_old.collect::<Vec<_>>(), of_new.collect::<Vec<_>>()),
                    (old.clone(), new.clone())
                );
            }
        }
    }

    #[test]
    fn long_texts_are_replaced_as_a_whole() {
        let text = |word: &str| (0..3_000).map(|n| [word, &n.to_string(), "\n"].concat()).collect::<String>();
        let told = unified(&text("a"), &text("b"), "a", "b");
        assert_eq!(told.lines().filter(|line| line.starts_with('+')).count(), 3_001);
    }
}
