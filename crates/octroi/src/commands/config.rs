//! `octroi config`: shows and checks the configuration.

use octroi_core::config::schema::schema;
use octroi_core::config::{Origins, Problem, Severity, problem_as_json};
use octroi_core::syntax::Origin;
use serde_json::json;

use super::run::sources;
use crate::cli::{CheckConfig, ConfigCommand, ShowConfig};
use crate::config::{ConfigError, env_file_in, load, refuse_exposed};
use crate::failure::Failure;
use crate::{printer, tls};

pub(super) fn run(command: ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Check(options) => check(options),
        ConfigCommand::Show(options) => show(options),
        ConfigCommand::Schema => {
            printer::data(&format!("{:#}", schema()));
            Ok(())
        }
    }
}

fn check(options: CheckConfig) -> Result<(), Failure> {
    let (file, n_servers, problems) = match load(&sources(&options.source, options.listen)) {
        Ok(config) => {
            let mut problems = config.settings.problems.clone();
            problems.extend(config.settings.listen_problem());
            // A start and a reload refuse them as well.
            problems.extend(refuse_exposed(&config).err().map(as_problem));
            let certificate = config.settings.server.tls.as_ref().map(tls::read);
            problems.extend(certificate.and_then(Result::err).map(as_problem));
            (config.file, config.settings.servers.len(), problems)
        }
        Err(ConfigError::Invalid { problems }) => (options.source.config, 0, problems),
        Err(error) => return Err(error.into()),
    };
    let n_errors = problems.iter().filter(|problem| problem.severity > Severity::Warning).count();
    if options.json {
        let problems: Vec<_> = problems.iter().map(problem_as_json).collect();
        printer::json_lines(&json!({ "ok": n_errors == 0, "problems": problems }));
    } else {
        for problem in &problems {
            printer::data(&problem_line(problem));
        }
    }
    if n_errors > 0 {
        let message = format!("{} found", printer::count(n_errors, "problem"));
        return Err(Failure::new(message).hint("`octroi config schema` has every key"));
    }
    let file = file.map_or("no file".to_owned(), |file| file.display().to_string());
    printer::say(&format!("{file}: fine, {}", printer::count(n_servers, "server")));
    Ok(())
}

fn as_problem(failure: Failure) -> Problem {
    let Failure { message, causes, hint, .. } = failure;
    let message = std::iter::once(message).chain(causes).collect::<Vec<_>>().join(": ");
    Problem { severity: Severity::Fatal, origin: Origin::Default, subject: None, message, hint }
}

fn problem_line(problem: &Problem) -> String {
    let word = if problem.severity == Severity::Warning { "warning" } else { "error" };
    format!("{word}: {problem}")
}

fn show(options: ShowConfig) -> Result<(), Failure> {
    let config = load(&sources(&options.source, options.listen))?;
    let origins = if options.origin { Origins::Included } else { Origins::Omitted };
    let settings = &config.settings;
    let variables: Vec<&str> = config.resolved.variables_of_file().filter(|_| options.origin).collect();
    let place = env_file_in(config.file.as_deref()).display().to_string();
    if options.json {
        let mut shown = settings.effective.to_json(origins, &settings.problems);
        if options.origin {
            let of_file = variables.iter().map(|name| ((*name).to_owned(), json!(place)));
            shown["variables"] = of_file.collect::<serde_json::Map<_, _>>().into();
        }
        printer::json_lines(&shown);
    } else {
        for problem in &settings.problems {
            printer::warn(&problem.to_string());
        }
        printer::data(&settings.effective.to_toml(origins));
        if !variables.is_empty() {
            printer::data(&format!("\n# from {place}: {}", variables.join(", ")));
        }
    }
    Ok(())
}
