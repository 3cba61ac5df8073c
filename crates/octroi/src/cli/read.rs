//! Parses the command line, and reports usage errors.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};
use octroi_api::Exit;

use super::Cli;
use crate::failure::Failure;
use crate::printer::{self, Format};

/// Parses the arguments, and finds the format in which failures are printed.
pub(crate) fn read(arguments: impl Iterator<Item = OsString>) -> Result<(Cli, Format), UsageError> {
    let arguments: Vec<OsString> = arguments.collect();
    let read = Cli::command().try_get_matches_from(&arguments).and_then(|matches| {
        let format = if has_json(&matches) { Format::Json } else { Format::Text };
        Ok((Cli::from_arg_matches(&matches)?, format))
    });
    read.map_err(|error| UsageError { error, format: format_of(&arguments) })
}

/// Whether `--json` was given to the command or to one of its parents.
fn has_json(matches: &ArgMatches) -> bool {
    let is_set = |matches: &ArgMatches| matches.try_get_one("json").ok().flatten().copied().unwrap_or(false);
    is_set(matches) || matches.subcommand().is_some_and(|(_, matches)| has_json(matches))
}

/// The same for arguments that could not be parsed.
fn format_of(arguments: &[OsString]) -> Format {
    let mut options = arguments.iter().take_while(|argument| *argument != "--");
    if options.any(|argument| argument == "--json") { Format::Json } else { Format::Text }
}

/// The arguments are not valid, or only ask for help.
#[derive(Debug)]
pub(crate) struct UsageError {
    error: clap::Error,
    format: Format,
}

impl UsageError {
    /// Prints the error or the help, and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        if self.error.use_stderr() && self.format == Format::Json {
            let failure = self.failure();
            printer::failure(&failure, self.format);
            return ExitCode::from(failure.exit.code());
        }
        // If standard error is closed, nobody reads the message anyway.
        let _ = self.error.print();
        ExitCode::from(u8::try_from(self.error.exit_code()).unwrap_or(Exit::Usage.code()))
    }

    /// The error in one line. After an empty line clap continues with the usage, which `--help` has too.
    fn failure(&self) -> Failure {
        let text = self.error.render().to_string();
        let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
        let message = lines.collect::<Vec<_>>().join(" ");
        Failure::usage(message.strip_prefix("error: ").unwrap_or(&message)).hint("try `--help`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(words: &str) -> Result<(Cli, Format), UsageError> {
        read(words.split(' ').map(OsString::from))
    }

    #[test]
    fn every_command_is_declared_well() {
        Cli::command().debug_assert();
    }

    #[test]
    fn failures_are_for_programs_where_json_was_asked_for() {
        for (words, expected) in [
            ("octroi status", Format::Text),
            ("octroi status --json", Format::Json),
            ("octroi policy why x --json", Format::Json),
            ("octroi approvals show ap_x --json", Format::Json),
            ("octroi config check --json", Format::Json),
            ("octroi call a.b --json-args {}", Format::Text),
            ("octroi up", Format::Text),
        ] {
            assert_eq!(typed(words).unwrap().1, expected, "{words}");
        }
        for (words, expected) in [
            ("octroi nonsense", Format::Text),
            ("octroi nonsense --json", Format::Json),
            ("octroi nonsense -- --json", Format::Text),
        ] {
            assert_eq!(typed(words).unwrap_err().format, expected, "{words}");
        }
    }

    #[test]
    fn a_usage_error_is_one_line() {
        let failure = typed("octroi tools --risk huge --json").unwrap_err().failure();
        assert_eq!((failure.kind(), failure.exit.code()), ("usage", 2));
        assert_eq!(
            failure.message,
            "invalid value 'huge' for '--risk <LEVEL>' [possible values: low, medium, high, critical]"
        );
    }
}
