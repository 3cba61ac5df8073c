//! Checking a policy without a gateway.

use octroi_api::operations::policies::{Complaint, PolicyCheck, TestOutcome, TestedPolicy};
use octroi_core::facts::Facts;
use octroi_core::policy::{CheckContext, Complaint as FoundComplaint, Document, Level, Policy, Tested};
use serde_json::Value;

/// What was not checked because no gateway is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotChecked {
    /// Whether tools exist.
    Tools,
    /// Whether tools exist, and the Cedar program with the tests.
    ToolsAndProgram,
}

impl NotChecked {
    pub(super) const fn describe(self) -> &'static str {
        match self {
            Self::ToolsAndProgram => {
                "syntax and examples are checked, but neither the Cedar program nor the tests, nor whether tools exist"
            }
            Self::Tools => {
                "syntax, examples and tests are checked with what names of tools tell, but not whether tools exist"
            }
        }
    }
}

/// Checks a policy against no tools at all.
pub(super) fn check(level: Level, source: &str) -> (TestedPolicy, NotChecked) {
    let document = match Document::parse(source) {
        Ok(document) => document,
        Err(complaints) => return (found(complaints, &[]), NotChecked::Tools),
    };
    let servers: Vec<String> = document.servers().into_iter().map(str::to_owned).collect();
    let has_program = document.cedar.is_some();
    let mut policy = Policy { document, program: None, version: 0 };
    if has_program {
        // A test may expect a decision of the program.
        policy.document.tests.clear();
    }
    let facts = |arguments: &Value| Facts::of(arguments, arguments.to_string().len() as u64, None);
    let known = CheckContext {
        tools: &[],
        // Without a gateway, every server that is named is assumed to exist.
        servers: &servers,
        facts: &facts,
        imagine: &octroi_gateway::imagine,
        now_ms: 0,
    };
    let tested = found(policy.check(level, &known), &policy.run_tests(&known));
    (tested, if has_program { NotChecked::ToolsAndProgram } else { NotChecked::Tools })
}

fn found(complaints: Vec<FoundComplaint>, tests: &[Tested]) -> TestedPolicy {
    let complaint = |found: FoundComplaint| Complaint { line: found.line as u64, message: found.message };
    let complaints: Vec<Complaint> = complaints.into_iter().map(complaint).collect();
    let outcome = |test: &Tested| TestOutcome {
        name: test.name.clone(),
        line: test.line as u64,
        expected: test.expected.as_str().to_owned(),
        got: test.got(),
        passed: test.passed(),
    };
    let check = PolicyCheck { ok: complaints.is_empty(), complaints };
    TestedPolicy { check, tests: tests.iter().map(outcome).collect() }
}

/// How many rules and tests a policy has.
pub(super) fn count(source: &str) -> (usize, usize) {
    let document = Document::parse(source).unwrap_or_default();
    (document.rules.len(), document.tests.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_gateway_syntax_and_tests_are_checked() {
        let test = "[[deny]]\ntool = \"a.b\"\n[[tests]]\nname = \"n\"\ntool = \"a.b\"\nexpect = \"ask\"\n";
        for (source, n_complaints, n_tests, not_checked) in [
            ("", 0, 0, NotChecked::Tools),
            ("[[deny]]\ntool = \"a.b\"\n", 0, 0, NotChecked::Tools),
            ("[[deny]]\ntoool = \"a.b\"\n", 2, 0, NotChecked::Tools),
            (test, 1, 1, NotChecked::Tools),
        ] {
            let (tested, found) = check(Level::Global, source);
            assert_eq!(
                (tested.check.complaints.len(), tested.tests.len(), found),
                (n_complaints, n_tests, not_checked)
            );
            assert_eq!(tested.check.ok, n_complaints == 0, "{source}");
        }
        assert_eq!(count(test), (1, 1));
    }
}
