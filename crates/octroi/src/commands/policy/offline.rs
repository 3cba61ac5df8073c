//! What can be said of a policy, by a gateway or without one.

use octroi_core::facts::Facts;
use octroi_core::policy::{Document, Known, Level, Policy};
use serde_json::{Value, json};

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// Line and what is wrong there.
    pub(super) complaints: Vec<(u64, String)>,
    /// The tests that were run.
    pub(super) tests: Vec<Test>,
    /// Whether nobody looked at its program.
    has_unread_program: bool,
}

/// A test that was run.
#[derive(Debug)]
pub(super) struct Test {
    pub(super) name: String,
    pub(super) expected: String,
    pub(super) got: String,
    pub(super) passed: bool,
}

impl Checked {
    /// What a gateway found.
    pub(super) fn told(told: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let complaints = told["complaints"].as_array().into_iter().flatten();
        let tests = told["tests"].as_array().into_iter().flatten();
        Self {
            complaints: complaints
                .map(|one| (one["line"].as_u64().unwrap_or_default(), text(&one["message"])))
                .collect(),
            tests: tests
                .map(|test| Test {
                    name: text(&test["name"]),
                    expected: text(&test["expected"]),
                    got: text(&test["got"]),
                    passed: test["passed"] == true,
                })
                .collect(),
            has_unread_program: false,
        }
    }

    /// What was left out without a gateway.
    pub(super) fn limits(&self) -> &'static str {
        if self.has_unread_program {
            "syntax and examples are checked, but neither the Cedar program nor the tests, nor whether tools exist"
        } else {
            "syntax, examples and tests are checked with what names of tools tell, but not whether tools exist"
        }
    }

    /// Said when nothing failed.
    pub(super) fn passed(&self) -> String {
        match self.tests.len() {
            0 => "there are no tests".to_owned(),
            1 => "1 test passed".to_owned(),
            n => format!("{n} tests passed"),
        }
    }

    pub(super) fn as_json(&self) -> Value {
        let complaints =
            self.complaints.iter().map(|(line, message)| json!({"line": line, "message": message}));
        let tests = self.tests.iter().map(|test| {
            json!({"name": test.name, "expected": test.expected, "got": test.got, "passed": test.passed})
        });
        json!({
            "ok": self.complaints.is_empty(),
            "complaints": complaints.collect::<Vec<_>>(),
            "tests": tests.collect::<Vec<_>>(),
        })
    }
}

/// Checks a policy against no tools at all.
pub(super) fn check(level: Level, source: &str) -> Checked {
    let document = match Document::parse(source) {
        Ok(document) => document,
        Err(complaints) => {
            let complaints = complaints.into_iter().map(|one| (one.line as u64, one.message)).collect();
            return Checked { complaints, ..Checked::default() };
        }
    };
    let servers: Vec<String> = document.servers().into_iter().map(str::to_owned).collect();
    let has_program = document.cedar.is_some();
    let mut policy = Policy { document, program: None, version: 0 };
    if has_program {
        // What a test expects may be the program's word.
        policy.document.tests.clear();
    }
    let facts = |arguments: &Value| Facts::of(arguments, arguments.to_string().len() as u64, None);
    let known = Known {
        tools: &[],
        // All of them exist, as far as anybody knows.
        servers: &servers,
        facts: &facts,
        imagine: &octroi_gateway::imagine,
        now_ms: 0,
    };
    let complaints = policy.check(level, &known);
    let tests = policy.run_tests(&known);
    Checked {
        complaints: complaints.into_iter().map(|one| (one.line as u64, one.message)).collect(),
        tests: tests
            .iter()
            .map(|test| Test {
                name: test.name.clone(),
                expected: test.expected.as_str().to_owned(),
                got: test.got(),
                passed: test.passed(),
            })
            .collect(),
        has_unread_program: has_program,
    }
}

/// How many rules and tests a policy has.
pub(super) fn count(source: &str) -> (usize, usize) {
    let document = Document::parse(source).unwrap_or_default();
    (document.rules.len(), document.tests.len())
}
