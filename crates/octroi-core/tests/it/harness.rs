//! Parses a text and summarizes the result in a few lines.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use expect_test::Expect;
use octroi_core::config::{Config, Discovered, ProgramPlaces, Setting, Sources, Unknown, build};
use octroi_core::server::{Program, Remote, Transport};
use octroi_core::substitute::ReferenceKind;
use octroi_core::syntax::{Format, Origin, parse};

/// The environment variables of the tests.
pub(crate) fn lookup(kind: ReferenceKind, name: &str) -> Result<Option<String>, String> {
    let value = match (kind, name) {
        (
            ReferenceKind::Env,
            "GITHUB_TOKEN"
            | "GITHUB_CLIENT_ID"
            | "GITHUB_CLIENT_SECRET"
            | "API_KEY"
            | "CHAT_KEY"
            | "OCTROI_ADMIN_TOKEN",
        ) => format!("<{name}>"),
        (ReferenceKind::Auth, "context7" | "custom-api") => format!("<auth {name}>"),
        (ReferenceKind::File, "key.txt") => "<file>".to_owned(),
        (ReferenceKind::File, _) => return Err("No such file or directory".to_owned()),
        (_, _) => return Ok(None),
    };
    Ok(Some(value))
}

pub(crate) fn load(format: Format, text: &str) -> Config {
    load_with(format, text, Vec::new(), None)
}

pub(crate) fn load_with(
    format: Format,
    text: &str,
    discovered: Vec<Discovered>,
    unknown: Option<Unknown>,
) -> Config {
    let path: Arc<Path> = Path::new("file").into();
    let node = parse(format, text, &path).unwrap_or_else(|error| panic!("{error}\n{}", error.excerpt));
    build(Sources {
        file: Some(&node),
        base: Path::new("/cfg").into(),
        discovered,
        listen: None,
        unknown,
        lookup: &lookup,
        programs: ProgramPlaces::BESIDE_FILE,
    })
}

pub(crate) fn check(format: Format, text: &str, expect: Expect) {
    expect.assert_eq(&describe(&load(format, text)));
}

/// Servers with all non-default settings, then problems.
pub(crate) fn describe(config: &Config) -> String {
    let mut text = String::new();
    for (spec, settings) in config.servers.iter().zip(&config.effective.servers) {
        let _ = writeln!(text, "{}: {}", spec.name(), place(&spec.transport));
        let rest: Vec<String> = settings.iter().filter(|setting| is_news(setting)).map(line).collect();
        if !rest.is_empty() {
            let _ = writeln!(text, "    {}", rest.join(", "));
        }
    }
    for problem in &config.problems {
        let _ = writeln!(text, "{}: {problem}", problem.severity.as_str());
    }
    text
}

fn is_news(setting: &Setting) -> bool {
    const SUMMARIZED: [&str; 8] = ["name", "transport", "command", "args", "env", "url", "headers", "cwd"];
    setting.origin != Origin::Default && !SUMMARIZED.contains(&setting.name)
}

fn line(setting: &Setting) -> String {
    format!("{} = {}", setting.name, setting.value)
}

fn place(transport: &Transport) -> String {
    match transport {
        Transport::Stdio(Program { command, args, env, inherit_env, cwd }) => {
            let env: Vec<String> =
                env.iter().map(|(name, value)| format!(" {name}={}", value.expose())).collect();
            let inherit: Vec<String> = inherit_env.iter().map(|name| format!(" +{name}")).collect();
            let cwd = cwd.as_deref().unwrap_or(Path::new("?"));
            format!("stdio {command} {args:?}{}{} in {}", env.concat(), inherit.concat(), cwd.display())
        }
        Transport::Http(remote) => format!("http {}", address(remote)),
        Transport::Sse(remote) => format!("sse {}", address(remote)),
    }
}

fn address(remote: &Remote) -> String {
    let headers: Vec<String> =
        remote.headers.iter().map(|(name, value)| format!(" {name}: {}", value.expose())).collect();
    format!("{}{}", remote.url, headers.concat())
}
