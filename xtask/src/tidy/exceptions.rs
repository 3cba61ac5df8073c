//! Accepted exceptions to the rules, and why. The list is meant to become shorter.

use super::{Finding, Rule};

/// A finding that is known and accepted.
pub(crate) struct Exception {
    pub(crate) rule: Rule,
    /// As the finding names it; see [`Finding::place`].
    pub(crate) place: &'static str,
    pub(crate) reason: &'static str,
}

/// Every accepted finding.
pub(crate) const EXCEPTIONS: &[Exception] = &[
    Exception {
        rule: Rule::Stray,
        place: "crates/octroi-core/src/policy/spelling.rs",
        reason: "it knows where systems keep the home directories of users",
    },
    Exception {
        rule: Rule::Stray,
        place: "crates/octroi-core/src/policy/tests/spellings.rs",
        reason: "paths below home directories in every spelling",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-api::operations::approvals::Approval",
        reason: "the JSON of an approval, one field for each member",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-api::operations::audit::AuditRecord",
        reason: "the JSON of a record, one field for each member",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-api::operations::servers::ServerStatus",
        reason: "the JSON of a server's status, one field for each member",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-api::operations::templates::Template",
        reason: "the JSON of a template, one field for each member",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-core::approval::Approval",
        reason: "one row of a table, flat as it is stored and shown",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-core::config::Config",
        reason: "every section of the file, one field for each",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-core::config::root::Root",
        reason: "every section of the file before it is read, one field for each",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-core::config::show::EffectiveConfig",
        reason: "every section of the file as it is shown, one field for each",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-gateway::gateway::Gateway",
        reason: "every part of the data plane, one field for each; it only wires them",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-core::server::ServerSpec",
        reason: "every setting of a server's entry, one field for each key",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-gateway::audit::export::ocsf::Activity",
        reason: "the members that the OCSF schema wants, in its order",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-gateway::audit::writer::Writer",
        reason: "everything the one thread that writes the log holds; it is never passed on in parts",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-store::audit::AuditRow",
        reason: "one row of a table, flat as it is stored and shown",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-mcp::params::Params",
        reason: "the members of `params` that a gateway reads, one field for each",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-testkit::peer::options::PeerOptions",
        reason: "the command line of a test peer, one field for each flag",
    },
    Exception {
        rule: Rule::FunctionLines,
        place: "octroi-core::config::compare::compare",
        reason: "it names each section of the configuration once, so that a new one does not compile until it is compared",
    },
    Exception {
        rule: Rule::FunctionLines,
        place: "octroi-gateway::gateway::Gateway::start",
        reason: "it makes each part of the gateway once, in the order in which they know each other",
    },
    Exception {
        rule: Rule::StructFields,
        place: "octroi-gateway::governance::GovernanceSettings",
        reason: "one field for each setting of governance, swapped as a whole",
    },
    Exception {
        rule: Rule::FunctionLines,
        place: "octroi-gateway::operator_error::OperatorError::hint",
        reason: "one arm for each error",
    },
];

/// The remaining findings as messages, and a complaint for each exception that excuses nothing.
pub(crate) fn apply(exceptions: &[Exception], findings: Vec<Finding>) -> Vec<String> {
    let excuses = |exception: &Exception, finding: &Finding| {
        exception.rule == finding.rule && exception.place == finding.place
    };
    let mut complaints = Vec::new();
    for exception in exceptions {
        let Exception { rule, place, reason } = exception;
        if reason.is_empty() {
            complaints.push(format!("the exception {rule:?} `{place}` needs a reason"));
        }
        if !findings.iter().any(|finding| excuses(exception, finding)) {
            complaints.push(format!("the exception {rule:?} `{place}` is not needed any more: remove it"));
        }
    }
    let rest = findings
        .into_iter()
        .filter(|finding| !exceptions.iter().any(|exception| excuses(exception, finding)))
        .map(|Finding { rule, place, message }| format!("{message}  [{rule:?} `{place}`]"));
    complaints.extend(rest);
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_excuses_what_it_names_and_must_be_needed() {
        let finding = |rule: Rule| Finding { rule, place: "a::f".to_owned(), message: "too long".to_owned() };
        let exception =
            |reason: &'static str| [Exception { rule: Rule::FunctionLines, place: "a::f", reason }];
        for (exceptions, findings, expected) in [
            (&exception("why")[..], vec![finding(Rule::FunctionLines)], vec![]),
            (
                &exception("why")[..],
                vec![finding(Rule::StructFields), finding(Rule::FunctionLines)],
                vec!["too long  [StructFields `a::f`]"],
            ),
            (
                &exception("why")[..],
                vec![],
                vec!["the exception FunctionLines `a::f` is not needed any more: remove it"],
            ),
            (
                &exception("")[..],
                vec![finding(Rule::FunctionLines)],
                vec!["the exception FunctionLines `a::f` needs a reason"],
            ),
            (&[], vec![finding(Rule::Stray)], vec!["too long  [Stray `a::f`]"]),
        ] {
            assert_eq!(apply(exceptions, findings), expected);
        }
    }
}
