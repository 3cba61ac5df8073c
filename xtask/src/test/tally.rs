//! Counts passed and failed tests in the output of test programs.

use crate::shell::Failure;

/// The results of some tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) n_passed: usize,
    pub(crate) n_ignored: usize,
    /// `program: test`.
    pub(crate) failed: Vec<String>,
    /// The same, of tests that failed and then passed.
    pub(crate) unsteady: Vec<String>,
}

impl Tally {
    /// How many tests have a result.
    pub(crate) fn n_run(&self) -> usize {
        self.n_passed + self.n_ignored + self.failed.len()
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.n_passed += other.n_passed;
        self.n_ignored += other.n_ignored;
        self.failed.extend(other.failed);
        self.unsteady.extend(other.unsteady);
    }

    /// Removes the tests of a program that failed, to run them again; returns their names.
    pub(crate) fn take_failed(&mut self, program: &str) -> Vec<String> {
        let (of_program, others) = std::mem::take(&mut self.failed)
            .into_iter()
            .partition::<Vec<_>, _>(|failed| test_of(failed, program).is_some());
        self.failed = others;
        of_program.iter().filter_map(|failed| test_of(failed, program)).map(str::to_owned).collect()
    }

    /// Adds the second results of tests that failed.
    pub(crate) fn add_second(&mut self, second: Self, program: &str, tests: &[String]) {
        let passed = tests.iter().map(|test| format!("{program}: {test}"));
        self.unsteady.extend(passed.filter(|test| !second.failed.contains(test)));
        self.add(second);
    }

    /// Fails if any test failed, with the names of all that did.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.failed.is_empty() {
            return Ok(());
        }
        Err(Failure::new(
            format!("{} of {} tests failed: {}", self.failed.len(), self.n_run(), self.failed.join(", ")),
            "their output is above; run one alone with `cargo test --package PACKAGE NAME`",
        ))
    }
}

fn test_of<'a>(failed: &'a str, program: &str) -> Option<&'a str> {
    failed.strip_prefix(program)?.strip_prefix(": ")
}

/// Reads the lines that the standard test harness prints.
pub(crate) fn read(output: &str, program: &str) -> Tally {
    let mut tally = Tally::default();
    for line in output.lines() {
        // test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.01s
        if let Some(result) = line.strip_prefix("test result: ") {
            let count = |what: &str| {
                let words: Vec<&str> = result.split([' ', ';']).filter(|word| !word.is_empty()).collect();
                let counts = words.windows(2).find(|pair| pair[1] == what);
                counts.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
            };
            tally.n_passed += count("passed");
            tally.n_ignored += count("ignored");
        }
    }
    tally.failed = failed(output).map(|test| format!("{program}: {test}")).collect();
    tally
}

/// The names in the list at the end of each failed run. A test's own output may hold anything, also
/// between its name and its result, but the list is the harness's.
fn failed(output: &str) -> impl Iterator<Item = &str> {
    output.split("test result: FAILED").flat_map(|run| {
        let list = run.rsplit_once("\nfailures:\n").map_or("", |(_, list)| list);
        // The run after the last failed one has no such list at its end.
        let is_list =
            !list.is_empty() && list.lines().all(|line| line.is_empty() || line.starts_with("    "));
        let names = if is_list { list } else { "" };
        names.lines().map(str::trim).filter(|name| !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_added_up_and_failures_named() {
        let good = "running 2 tests\ntest a ... ok\ntest b ... ignored\n\n\
                    test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n";
        let bad = "running 2 tests\ntest c::d ... it says\nFAILED\ntest e ... ok\n\nfailures:\n\n\
                   ---- c::d stdout ----\nfailures:\n    not a test\nleft: 1\n\n\nfailures:\n    c::d\n\n\
                   test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.1s\n";
        let tally = |n_passed, n_ignored, failed: &[&str]| Tally {
            n_passed,
            n_ignored,
            failed: failed.iter().map(|test| format!("p: {test}")).collect(),
            unsteady: Vec::new(),
        };
        for (output, expected) in [
            (String::new(), tally(0, 0, &[])),
            (good.to_owned(), tally(1, 1, &[])),
            (bad.to_owned(), tally(1, 0, &["c::d"])),
            (format!("{good}{bad}{good}"), tally(3, 2, &["c::d"])),
            (format!("{bad}{bad}"), tally(2, 0, &["c::d", "c::d"])),
        ] {
            assert_eq!(read(&output, "p"), expected, "{output}");
            assert_eq!(expected.check().is_ok(), expected.failed.is_empty());
        }
    }
    #[test]
    fn what_fails_twice_failed_and_what_fails_once_is_named() {
        let owned = |tests: &[&str]| tests.iter().map(|test| (*test).to_owned()).collect::<Vec<_>>();
        let mut tally =
            Tally { n_passed: 5, failed: owned(&["p: a", "p (it): b", "p: c"]), ..Tally::default() };
        let failed = tally.take_failed("p");
        assert_eq!((&failed, &tally.failed), (&owned(&["a", "c"]), &owned(&["p (it): b"])));
        tally.add_second(Tally { n_passed: 1, failed: owned(&["p: c"]), ..Tally::default() }, "p", &failed);
        let expected = Tally {
            n_passed: 6,
            n_ignored: 0,
            failed: owned(&["p (it): b", "p: c"]),
            unsteady: owned(&["p: a"]),
        };
        assert_eq!(tally, expected);
        assert!(tally.check().is_err());
    }
}
