//! `octroi policy check` and `octroi policy test`: what is wrong with a policy file.

use octroi_api::Exit;
use octroi_api::operations::policies::{Complaint, PolicyTest, TestPolicyRequest, TestedPolicy};

use super::{offline, print, read};
use crate::cli::policy::CandidatePolicy;
use crate::client::Client;
use crate::commands::Failure;
use crate::printer;

pub(super) async fn check(options: &CandidatePolicy) -> Result<(), Failure> {
    let source = read(&options.file)?;
    let tested = examine(options, &source).await?;
    let file = options.file.display().to_string();
    if options.target.json {
        printer::json(&tested);
    } else {
        print_complaints(&file, &tested);
    }
    must_be_fine(&tested)?;
    let (n_rules, n_tests) = offline::count(&source);
    let (rules, tests) = (printer::count(n_rules, "rule"), printer::count(n_tests, "test"));
    printer::say(&format!("{file}: fine, {rules}, {tests}"));
    Ok(())
}

pub(super) async fn test(options: &CandidatePolicy) -> Result<(), Failure> {
    let tested = examine(options, &read(&options.file)?).await?;
    let file = options.file.display().to_string();
    if options.target.json {
        printer::json(&tested);
        return must_be_fine(&tested);
    }
    for test in &tested.tests {
        if test.passed {
            print(&format!("ok    {}", test.name));
        } else {
            print(&format!("FAIL  {}: expects {}, got {}", test.name, test.expected, test.got));
        }
    }
    let n_failed = tested.tests.iter().filter(|test| !test.passed).count();
    if n_failed > 0 {
        let message = format!("{n_failed} of {} tests failed", tested.tests.len());
        return Err(Failure::new(message).hint(format!("`octroi policy check {file}` tells the lines")));
    }
    print_complaints(&file, &tested);
    must_be_fine(&tested)?;
    printer::say(&format!("{file}: {}", passed(&tested)));
    Ok(())
}

/// What the gateway says of a policy, or what can be said without one.
async fn examine(options: &CandidatePolicy, source: &str) -> Result<TestedPolicy, Failure> {
    let level = options.scope.level();
    let request = TestPolicyRequest {
        source: Some(source.to_owned()),
        level: Some(level.into()),
        ..TestPolicyRequest::default()
    };
    let answer = match Client::find(&options.target) {
        Ok(client) => client.call::<PolicyTest>(&request).await,
        Err(failure) => Err(failure),
    };
    match answer {
        Err(failure) if failure.exit == Exit::Unreachable => {
            let (tested, limits) = offline::check(level, source);
            printer::warn(&format!("no gateway is running: {}", limits.describe()));
            Ok(tested)
        }
        answer => answer,
    }
}

/// Prints what is wrong, line by line.
pub(super) fn print_complaints(file: &str, tested: &TestedPolicy) {
    let mut complaints: Vec<&Complaint> = tested.check.complaints.iter().collect();
    complaints.sort_by_key(|complaint| complaint.line);
    for Complaint { line, message } in complaints {
        let place = if *line == 0 { file.to_owned() } else { format!("{file}:{line}") };
        print(&format!("{place}: {message}"));
    }
}

/// Fails if anything is wrong.
pub(super) fn must_be_fine(tested: &TestedPolicy) -> Result<(), Failure> {
    let message = match tested.check.complaints.len() {
        0 => return Ok(()),
        1 => "1 thing is wrong".to_owned(),
        n => format!("{n} things are wrong"),
    };
    Err(Failure::new(message).hint("rules are explained in docs/policies.md"))
}

/// For when no test failed.
pub(super) fn passed(tested: &TestedPolicy) -> String {
    match tested.tests.len() {
        0 => "there are no tests".to_owned(),
        n => format!("{} passed", printer::count(n, "test")),
    }
}
