//! Why a command failed, for people and for programs.

use octroi_api::{ApiError, ErrorCode, Exit};
use octroi_core::config::Problem;
use serde_json::{Map, Value, json};

/// Why a command failed, in three parts: what, why, and what to do next.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) causes: Vec<String>,
    pub(crate) hint: Option<String>,
    /// The exit code of the program.
    pub(crate) exit: Exit,
    /// The error code, for programs; without one, `exit` decides the kind.
    pub(crate) code: Option<ErrorCode>,
    /// The reason that a gate or rule gave.
    pub(crate) reason: Option<String>,
    /// More for programs, such as the server, the approval or the call.
    pub(crate) details: Box<Map<String, Value>>,
    /// Whether it was already printed for people, as the output of the command.
    pub(crate) is_answered: bool,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            causes: Vec::new(),
            hint: None,
            exit: Exit::Failed,
            code: None,
            reason: None,
            details: Box::default(),
            is_answered: false,
        }
    }

    /// A failure with an error code of the table, which also gives the exit code.
    pub(crate) fn of(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { exit: code.spec().exit, code: Some(code), ..Self::new(message) }
    }

    /// The command line is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, ..Self::new(message) }
    }

    /// An answer other than success. It was printed for people; scripts see the exit code.
    pub(crate) fn answered(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { is_answered: true, ..Self::of(code, message) }
    }

    pub(crate) fn from_error(error: &dyn std::error::Error) -> Self {
        let mut failure = Self::new(error.to_string());
        let mut source = error.source();
        while let Some(cause) = source {
            failure.causes.push(cause.to_string().trim_end().to_owned());
            source = cause.source();
        }
        failure
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn cause(mut self, cause: impl ToString) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    /// The kind of failure, for programs to compare.
    pub(crate) fn kind(&self) -> &'static str {
        match (self.code, self.exit) {
            (Some(code), _) => code.as_str(),
            (None, Exit::Usage) => "usage",
            (None, _) => "failed",
        }
    }

    /// The failure as one JSON object, for programs.
    pub(crate) fn to_json(&self) -> Value {
        let message = std::iter::once(&self.message).chain(&self.causes);
        let message = message.map(String::as_str).collect::<Vec<_>>().join(": ");
        let mut error =
            Map::from_iter([("kind".to_owned(), json!(self.kind())), ("message".to_owned(), json!(message))]);
        error.extend(self.hint.as_ref().map(|hint| ("hint".to_owned(), json!(hint))));
        error.extend(self.reason.as_ref().map(|reason| ("reason".to_owned(), json!(reason))));
        for (name, value) in self.details.iter() {
            error.entry(name.clone()).or_insert_with(|| value.clone());
        }
        json!({ "error": error })
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        let hint = Some(error.hint_for_person().to_owned()).filter(|hint| !hint.is_empty());
        // Not of the command line: nobody sees the schema of an operation there.
        let is_of_schema = matches!(error.code, ErrorCode::InvalidArguments | ErrorCode::InvalidParams);
        let hint = hint.filter(|hint| !(is_of_schema && hint == error.code.spec().hint));
        let ApiError { code, message, reason, details, .. } = error;
        // The message of a denial contains the reason already.
        let causes = reason.iter().filter(|reason| !message.contains(*reason)).cloned().collect();
        Self { causes, hint, reason, details, ..Self::of(code, message) }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let failure = Self::new(format!("{}: {}", problem.origin, problem.message));
        Self { hint: problem.hint, ..failure }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_read_a_failure_in_one_line() {
        let denied = ApiError::new(ErrorCode::PolicyDenied, "policy_denied: no deletes")
            .with_reason("no deletes")
            .with_hint("ask somebody")
            .with_detail("gate", "policy")
            .with_detail("kind", "never replaces the kind");
        let reload = ApiError::new(ErrorCode::InvalidConfig, "not usable").with_reason("line 3");
        for (failure, exit, expected) in [
            (
                denied.into(),
                6,
                r#"{"kind":"policy_denied","message":"policy_denied: no deletes","hint":"ask somebody","reason":"no deletes","gate":"policy"}"#,
            ),
            (
                Failure::from(reload).hint("look there"),
                1,
                r#"{"kind":"invalid_config","message":"not usable: line 3","hint":"look there","reason":"line 3"}"#,
            ),
            (
                Failure::new("cannot read a").cause("no such file"),
                1,
                r#"{"kind":"failed","message":"cannot read a: no such file"}"#,
            ),
            (Failure::usage("x").hint("y"), 2, r#"{"kind":"usage","message":"x","hint":"y"}"#),
            (
                Failure::of(ErrorCode::Unauthenticated, "no token"),
                3,
                r#"{"kind":"unauthenticated","message":"no token"}"#,
            ),
        ] {
            assert_eq!(failure.to_json().to_string(), format!("{{\"error\":{expected}}}"));
            assert_eq!(failure.exit.code(), exit, "{expected}");
        }
    }
}
