//! `octroi policy check` and `octroi policy test`: the problems of a policy file.

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
    check_no_complaints(&tested)?;
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
        return check_no_complaints(&tested);
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
        let message = format!("{n_failed} of {} failed", printer::count(tested.tests.len(), "test"));
        return Err(Failure::new(message).hint(format!("`octroi policy check {file}` lists the lines")));
    }
    print_complaints(&file, &tested);
    check_no_complaints(&tested)?;
    printer::say(&format!("{file}: {}", passed(&tested)));
    Ok(())
}

/// Checks a policy at the gateway, or without one as far as possible.
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
            let (tested, not_checked) = offline::check(level, source);
            printer::warn(&format!("no gateway is running: {}", not_checked.describe()));
            Ok(tested)
        }
        answer => answer,
    }
}

/// Prints the problems, line by line.
pub(super) fn print_complaints(file: &str, tested: &TestedPolicy) {
    let mut complaints: Vec<&Complaint> = tested.check.complaints.iter().collect();
    complaints.sort_by_key(|complaint| complaint.line);
    for Complaint { line, message } in complaints {
        let place = if *line == 0 { file.to_owned() } else { format!("{file}:{line}") };
        print(&format!("{place}: {message}"));
    }
}

/// Fails if there are problems.
pub(super) fn check_no_complaints(tested: &TestedPolicy) -> Result<(), Failure> {
    let message = match tested.check.complaints.len() {
        0 => return Ok(()),
        n => format!("{} found", printer::count(n, "problem")),
    };
    Err(Failure::new(message).hint("rules are explained in docs/policies.md"))
}

/// The summary when no test failed.
pub(super) fn passed(tested: &TestedPolicy) -> String {
    match tested.tests.len() {
        0 => "there are no tests".to_owned(),
        n => format!("{} passed", printer::count(n, "test")),
    }
}
