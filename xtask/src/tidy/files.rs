//! Rules about files: length, header, and contents that are not allowed.

use std::collections::BTreeMap;
use std::process::Command;

use super::{Finding, Rule};
use crate::shell::{Failure, output, root};

/// A longer file holds more than one idea, of tests as well.
const LINES_MAX: usize = 500;

/// Every text file of the project by its name from the root.
pub(crate) type Files = BTreeMap<String, String>;

/// Reads the files that git tracks or would add.
pub(crate) fn tracked() -> Result<Files, Failure> {
    let names = output(
        Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard"])
            .current_dir(root()),
    )?;
    // A file that cannot be read as text is binary, or was deleted and not yet committed.
    let read = |name: &str| Some((name.to_owned(), std::fs::read_to_string(root().join(name)).ok()?));
    Ok(names.lines().filter_map(read).collect())
}

/// Finds files that are too long, do not say what they are for, or name somebody's machine.
pub(crate) fn check(files: &Files) -> Vec<Finding> {
    let strays = strays();
    let mut findings = Vec::new();
    for (name, text) in files {
        let mut add =
            |rule: Rule, message: String| findings.push(Finding { rule, place: name.clone(), message });
        if name.ends_with(".rs") {
            let n_lines = text.lines().count();
            if n_lines > LINES_MAX {
                add(Rule::FileLines, format!("{name} has {n_lines} lines, more than {LINES_MAX}: split it"));
            }
            if !text.starts_with("//!") && !name.ends_with("/tests.rs") {
                add(Rule::FileHeader, format!("{name} does not begin with `//!` and what it is for"));
            }
        }
        // Every example would be compiled and linked as a program of its own. Examples are tests, or are in
        // `docs/`, where tests run them.
        if name.ends_with(".rs")
            && let Some(number) = text.lines().position(is_doc_example)
        {
            add(Rule::DocExample, format!("{name}:{} has code in a doc comment: make it a test", number + 1));
        }
        // Lock files are written by their tools, which name their registry.
        if name.ends_with(".lock") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            if let Some(stray) = strays.iter().find(|stray| line.contains(stray.as_str())) {
                add(Rule::Stray, format!("{name}:{} names `{stray}`", number + 1));
            }
        }
    }
    findings
}

/// One line about the sizes of Rust files.
pub(crate) fn summary(files: &Files) -> String {
    let sources = files.iter().filter(|(name, _)| name.ends_with(".rs"));
    let mut lengths: Vec<(usize, &str)> =
        sources.map(|(name, text)| (text.lines().count(), name.as_str())).collect();
    lengths.sort_unstable();
    let median = lengths.get(lengths.len() / 2).map_or(0, |(n_lines, _)| *n_lines);
    let (longest, name) = lengths.last().copied().unwrap_or_default();
    format!("{} Rust files, median {median} lines, longest {longest} lines ({name})", lengths.len())
}

fn is_doc_example(line: &str) -> bool {
    let line = line.trim_start();
    let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
    comment.is_some_and(|comment| comment.trim_start().starts_with("```"))
}

/// Paths of a developer's machine and hosts of registries. Put together here so that this file does
/// not name them.
fn strays() -> Vec<String> {
    let mut strays: Vec<String> =
        ["root", "work", "home"].iter().map(|directory| format!("{0}{directory}{0}", '/')).collect();
    strays.extend(
        [
            ["registry", "npmjs", "org"],
            ["files", "pythonhosted", "org"],
            ["static", "crates", "io"],
            ["index", "crates", "io"],
            ["deb", "debian", "org"],
        ]
        .iter()
        .map(|words| words.join(".")),
    );
    strays.push(["pypi", "org"].join("."));
    strays
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(name: &str, text: &str) -> Vec<String> {
        let files = Files::from([(name.to_owned(), text.to_owned())]);
        check(&files).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn files_are_short_begin_with_their_purpose_and_name_no_machine() {
        let long = |n_lines: usize| format!("//! Long.\n{}", "\n".repeat(n_lines - 1));
        let home = format!("//! See {}somebody.\n", ["", "home", ""].join("/"));
        let table = [
            ("a/src/x.rs", "//! What it is for.\n".to_owned(), vec![]),
            ("a/src/x.rs", long(500), vec![]),
            ("a/src/x.rs", long(501), vec!["a/src/x.rs has 501 lines, more than 500: split it".to_owned()]),
            ("a/tests/it/x.rs", long(500), vec![]),
            (
                "a/src/x/tests.rs",
                long(501),
                vec!["a/src/x/tests.rs has 501 lines, more than 500: split it".to_owned()],
            ),
            (
                "a/src/x.rs",
                "fn x() {}\n".to_owned(),
                vec!["a/src/x.rs does not begin with `//!` and what it is for".to_owned()],
            ),
            ("a/src/x/tests.rs", "use super::*;\n".to_owned(), vec![]),
            (
                "a/src/x.rs",
                "//! X.\n    /// ```\n".to_owned(),
                vec!["a/src/x.rs:2 has code in a doc comment: make it a test".to_owned()],
            ),
            ("docs/x.md", home.clone(), vec![format!("docs/x.md:1 names `{}`", ["", "home", ""].join("/"))]),
            ("Cargo.lock", home, vec![]),
        ];
        for (name, text, expected) in table {
            assert_eq!(messages(name, &text), expected, "{name}");
        }
    }

    #[test]
    fn the_summary_names_the_median_and_the_longest() {
        let files = [("a.rs", 1), ("b.rs", 5), ("c.rs", 9), ("d.md", 100)]
            .map(|(name, n_lines)| (name.to_owned(), "x\n".repeat(n_lines)));
        assert_eq!(summary(&Files::from(files)), "3 Rust files, median 5 lines, longest 9 lines (c.rs)");
    }
}
