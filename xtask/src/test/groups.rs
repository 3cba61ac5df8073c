//! Which tests run in parallel, and which need the machine for themselves.

use std::fmt;

use super::programs::{BINARY, Program};
use crate::shell::Failure;

/// Tests of the binary that run one at a time, by the beginning of their names, and why. All others start
/// their own gateways, with their own ports and directories, and have generous timeouts.
const ALONE: &[(&str, &str)] = &[
    ("chaos::", "compares how long calls take with and without trouble"),
    ("coding_agents::", "agents have their own timeouts"),
    ("conformance::", "some of the suite's checks wait only half a second"),
    ("conformance_client::", "some of the suite's checks wait only a fifth of a second"),
    ("endpoint::closing::", "what is in flight has to begin within a third of a second"),
    ("faults::", "callers of healthy servers must not wait, by the clock"),
    ("grid::", "every era and transport at once is load enough"),
    ("hostile::", "an honest agent must not notice hostile ones"),
    ("leaks::", "counts the temporary files of the whole machine"),
    ("life::", "a call has to be under way within a fifth of a second"),
    ("once::", "kills at moments that are counted in milliseconds"),
    ("peers::", "real clients and servers, which have their own timeouts"),
    ("reload::", "fifty servers at once are load enough"),
    ("stdio::endings::", "a client that disconnects does not wait, by the clock"),
    (
        "tasks::a_task_is_made_once_whenever_the_gateway_is_killed",
        "kills at moments that are counted in milliseconds",
    ),
];

/// How many tests of one program run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// As many as the harness would choose.
    Cores(usize),
    /// Two to four: these tests start programs, each of which wants a core now and then.
    Several(usize),
    /// One at a time.
    One,
}

impl Threads {
    pub(crate) fn number(self) -> usize {
        match self {
            Self::Cores(n) | Self::Several(n) => n,
            Self::One => 1,
        }
    }
}

impl fmt::Display for Threads {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cores(n) | Self::Several(n) => write!(formatter, "{n} at a time"),
            Self::One => write!(formatter, "one at a time"),
        }
    }
}

/// The tests of a program in the groups in which they run; groups without tests are left out.
pub(crate) fn split(program: &Program) -> Result<Vec<(Vec<String>, Threads)>, Failure> {
    let n_cores = std::thread::available_parallelism().map_or(2, usize::from);
    let tests = program.tests()?;
    let groups = if program.label == BINARY {
        let (alone, together) = partition(ALONE, tests)?;
        vec![(together, Threads::Several(n_cores.clamp(2, 4))), (alone, Threads::One)]
    } else {
        vec![(tests, Threads::Cores(n_cores))]
    };
    Ok(groups.into_iter().filter(|(tests, _)| !tests.is_empty()).collect())
}

/// The tests that the list names and the others. A line of the list that names no test is an error: the test
/// was renamed, and would run with the others unnoticed.
fn partition(alone: &[(&str, &str)], tests: Vec<String>) -> Result<(Vec<String>, Vec<String>), Failure> {
    for (prefix, _) in alone {
        if !tests.iter().any(|test| test.starts_with(prefix)) {
            return Err(Failure::new(
                format!("no test of the binary begins with `{prefix}`"),
                "correct ALONE in xtask/src/test/groups.rs",
            ));
        }
    }
    Ok(tests.into_iter().partition(|test| alone.iter().any(|(prefix, _)| test.starts_with(prefix))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tests: &[&str]) -> Vec<String> {
        tests.iter().map(|test| (*test).to_owned()).collect()
    }

    #[test]
    fn every_test_is_in_exactly_one_group() {
        let tests = ["a::x", "a::y", "b::a::x", "ab::x"];
        for (alone, expected) in [
            (&[][..], (vec![], names(&tests))),
            (&[("a::", "why")], (names(&["a::x", "a::y"]), names(&["b::a::x", "ab::x"]))),
            (&[("a::x", "why"), ("b::", "why")], (names(&["a::x", "b::a::x"]), names(&["a::y", "ab::x"]))),
        ] {
            assert_eq!(partition(alone, names(&tests)).expect("all lines are used"), expected);
        }
        let stale = partition(&[("gone::", "why")], names(&tests)).expect_err("it names no test");
        assert!(stale.message.contains("gone::"), "{}", stale.message);
    }

    #[test]
    fn every_line_of_the_list_has_a_reason() {
        assert!(ALONE.iter().all(|(prefix, reason)| !prefix.is_empty() && !reason.is_empty()));
    }
}
