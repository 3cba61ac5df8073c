//! What would happen if a server were switched on: checks, planned actions and warnings, before anything is started.
//!
//! Pure: what is on this machine is passed in. No text contains a value of a variable or a header.

use crate::config::MembersSection;
use crate::name::{Scope, ServerName};
use crate::outward;
use crate::server::{Program, Remote, ServerSpec, Start, Transport};
use crate::template::Template;
use crate::trust::Trust;

/// The report about one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preflight {
    /// What was looked at, and whether it is as it must be.
    pub checks: Vec<Check>,
    /// What will be done, in order.
    pub planned_actions: Vec<String>,
    /// What a person should know before.
    pub warnings: Vec<String>,
}

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// Whether it is as it must be.
    pub is_passed: bool,
    /// What was found.
    pub detail: String,
    /// What to do if it is not as it must be.
    pub hint: Option<String>,
}

/// What is known besides the definition.
pub struct Surroundings<'a> {
    /// Whether a program is found on the path, or a file can be run.
    pub can_run: &'a dyn Fn(&str) -> bool,
    /// The text without secrets.
    pub redact: &'a dyn Fn(&str) -> String,
    /// What members may do with servers.
    pub members: &'a MembersSection,
    /// The template that it was made from.
    pub template: Option<&'a Template>,
    /// Whether the name is free; `None` for a server that exists.
    pub name_is_free: Option<bool>,
}

impl Preflight {
    /// Whether every check is passed.
    pub fn is_passed(&self) -> bool {
        self.checks.iter().all(|check| check.is_passed)
    }

    /// Adds a check.
    pub fn check(&mut self, name: &'static str, is_passed: bool, detail: impl Into<String>, hint: &str) {
        let hint = (!is_passed && !hint.is_empty()).then(|| hint.to_owned());
        self.checks.push(Check { name, is_passed, detail: detail.into(), hint });
    }
}

/// Looks at a server before it is switched on.
pub fn preflight(spec: &ServerSpec, around: &Surroundings<'_>) -> Preflight {
    let mut report = Preflight::default();
    if let Some(is_free) = around.name_is_free {
        check_name(&mut report, spec.name(), is_free);
    }
    match &spec.transport {
        Transport::Stdio(program) => of_program(&mut report, program, around),
        Transport::Http(remote) | Transport::Sse(remote) => of_remote(&mut report, spec, remote, around),
    }
    report.planned_actions.push(
        match spec.start {
            Start::Eager => "start when Octroi starts, and now",
            Start::Lazy => "start with the first list or call",
            Start::Manual => "start only with `octroi restart`",
        }
        .to_owned(),
    );
    report.planned_actions.push("list its tools; new ones are pinned as `[pins]` says".to_owned());
    warn(&mut report, spec, around);
    report
}

fn check_name(report: &mut Preflight, name: &ServerName, is_free: bool) {
    let detail = if is_free { format!("`{name}` is free") } else { format!("`{name}` is taken") };
    report.check("name", is_free, detail, "choose another name");
}

fn of_program(report: &mut Preflight, program: &Program, around: &Surroundings<'_>) {
    let command = (around.redact)(&program.command);
    let is_found = (around.can_run)(&program.command);
    let detail = if is_found { format!("`{command}` is there") } else { format!("`{command}` is not there") };
    report.check("command", is_found, detail, &how_to_install(&program.command));
    if let Some(package) = package_of(program) {
        let is_pinned = is_pinned(package);
        let package = (around.redact)(package);
        let detail = if is_pinned {
            format!("`{package}` is one version")
        } else {
            format!("`{package}` is any version")
        };
        report.check("package", is_pinned, detail, "name one version, as in `name@1.2.3` or `name==1.2.3`");
    }
    if let Some(cwd) = &program.cwd {
        report.planned_actions.push(format!("work in {}", cwd.display()));
    }
    let words = std::iter::once(&program.command).chain(&program.args);
    let line: Vec<String> = words.map(|word| quoted(&(around.redact)(word))).collect();
    report.planned_actions.push(format!("run `{}`", line.join(" ")));
    let mut names: Vec<&str> = program.env.keys().map(String::as_str).collect();
    names.extend(program.inherit_env.iter().map(String::as_str));
    if !names.is_empty() {
        names.sort_unstable();
        report.planned_actions.push(format!("give it the variables {}", names.join(", ")));
    }
    report
        .warnings
        .push("it runs with the rights of Octroi's account and can read what that can read".to_owned());
}

fn of_remote(report: &mut Preflight, spec: &ServerSpec, remote: &Remote, around: &Surroundings<'_>) {
    let host = outward::host_of(&remote.url);
    match &spec.key.scope {
        Scope::User(_) => {
            let checked = outward::check_url(&remote.url, &around.members.allowed_hosts());
            let detail = match &checked {
                Ok(()) => "the address is checked when it is connected to".to_owned(),
                Err(refused) => refused.to_string(),
            };
            report.check("url", checked.is_ok(), detail, "use the server's public address");
        }
        Scope::System => {
            let detail = if host.is_ok() { "it is an address" } else { "it is no address" };
            report.check("url", host.is_ok(), detail, "begin with https://");
        }
    }
    let scheme = remote.url.split_once("://").map(|(scheme, _)| scheme).unwrap_or_default();
    let host = host.unwrap_or_default();
    report.planned_actions.push(format!("connect to {scheme}://{host}"));
    let names: Vec<&str> = remote.headers.keys().map(String::as_str).collect();
    if !names.is_empty() {
        report.planned_actions.push(format!("send the headers {}", names.join(", ")));
    }
    let is_near =
        outward::address_of_host(&host).is_some_and(|address| address.is_loopback()) || host == "localhost";
    if scheme.eq_ignore_ascii_case("http") && !is_near {
        report.warnings.push("everything that is sent can be read on the way: it is no https".to_owned());
    }
    report.warnings.push("whoever runs it sees the arguments of every call".to_owned());
}

fn warn(report: &mut Preflight, spec: &ServerSpec, around: &Surroundings<'_>) {
    let warnings = &mut report.warnings;
    if spec.trust == Trust::Low {
        warnings.push(
            "its trust is low: it stays off until an administrator enables it, and its hints are not believed".to_owned(),
        );
    }
    if let Some(template) = around.template {
        if !template.verified {
            warnings.push(match &template.note {
                Some(note) => format!("its template was not verified: {note}"),
                None => "its template was not verified".to_owned(),
            });
        }
        if let Some(deprecated) = &template.deprecated {
            let instead =
                deprecated.instead.as_ref().map(|instead| format!("; use `{instead}`")).unwrap_or_default();
            warnings.push(format!("its template is deprecated: {}{instead}", deprecated.reason));
        }
    }
    let is_limited = !spec.access.allow_tools.is_empty() || !spec.access.deny_side_effect_tags.is_empty();
    if !is_limited {
        warnings.push(
            "it may offer tools that write: what its tools do is known once it has listed them".to_owned(),
        );
    }
}

fn how_to_install(command: &str) -> String {
    match command.rsplit('/').next().unwrap_or(command) {
        "npx" | "node" | "npm" => "install Node.js",
        "uvx" | "uv" => "install uv, for example with `pip install uv`",
        "python3" | "python" => "install Python",
        "docker" => "install Docker",
        _ => "install it, or write its whole path",
    }
    .to_owned()
}

/// The package that a runner of packages installs.
fn package_of(program: &Program) -> Option<&str> {
    let runner = program.command.rsplit('/').next()?;
    let mut args = program.args.iter().map(String::as_str);
    match runner {
        "npx" | "bunx" => {
            let named = program.args.iter().find_map(|arg| arg.strip_prefix("--package="));
            named.or_else(|| args.find(|arg| !arg.starts_with('-')))
        }
        "uvx" => {
            let from = program.args.iter().position(|arg| arg == "--from");
            match from {
                Some(at) => program.args.get(at + 1).map(String::as_str),
                None => args.find(|arg| !arg.starts_with('-')),
            }
        }
        _ => None,
    }
}

/// Whether a package is named in one version.
fn is_pinned(package: &str) -> bool {
    let name = package.strip_prefix('@').unwrap_or(package);
    let version = name.split_once("==").or_else(|| name.split_once('@')).map(|(_, version)| version);
    version.is_some_and(|version| {
        version.starts_with(|first: char| first.is_ascii_digit())
            && version.contains('.')
            && !version.contains(['x', '*', '<', '>', '|', ' '])
    })
}

/// A word as it can be pasted.
fn quoted(word: &str) -> String {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._/@:=+,%".contains(&byte) || !byte.is_ascii();
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::name::ServerKey;
    use crate::secret::Secret;

    fn around<'a>(members: &'a MembersSection, template: Option<&'a Template>) -> Surroundings<'a> {
        Surroundings {
            can_run: &|command| command != "gone",
            redact: &|text| text.replace("hunter2", "[redacted]"),
            members,
            template,
            name_is_free: Some(true),
        }
    }

    fn program(command: &str, args: &[&str]) -> ServerSpec {
        let program = Program {
            command: command.to_owned(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: BTreeMap::from([("KEY".to_owned(), Secret::new("hunter2"))]),
            inherit_env: vec!["LANG".to_owned()],
            cwd: Some("/data/servers/x".into()),
        };
        ServerSpec::new(ServerKey::parse("x").unwrap(), Transport::Stdio(program))
    }

    fn remote(key: &str, url: &str) -> ServerSpec {
        let headers = BTreeMap::from([("Authorization".to_owned(), Secret::new("hunter2"))]);
        let remote = Remote { url: url.to_owned(), headers };
        ServerSpec::new(ServerKey::parse(key).unwrap(), Transport::Http(remote))
    }

    fn failed(report: &Preflight) -> Vec<&'static str> {
        report.checks.iter().filter(|check| !check.is_passed).map(|check| check.name).collect()
    }

    #[test]
    fn a_program_is_looked_at_and_nothing_of_its_secrets_is_shown() {
        let members = MembersSection::default();
        let spec = program("npx", &["-y", "@acme/hub@1.2.3", "--key=hunter2", "a b"]);
        let report = preflight(&spec, &around(&members, None));
        assert_eq!(failed(&report), Vec::<&str>::new());
        assert_eq!(
            report.planned_actions,
            [
                "work in /data/servers/x",
                "run `npx -y @acme/hub@1.2.3 '--key=[redacted]' 'a b'`",
                "give it the variables KEY, LANG",
                "start when Octroi starts, and now",
                "list its tools; new ones are pinned as `[pins]` says",
            ]
        );
        assert!(!format!("{report:?}").contains("hunter2"));
        let report = preflight(&program("gone", &[]), &around(&members, None));
        assert_eq!(failed(&report), ["command"]);
    }

    #[test]
    fn packages_are_pinned_or_not() {
        for (command, args, is_pinned) in [
            ("npx", &["-y", "hub@1.2.3"][..], Some(true)),
            ("npx", &["-y", "@acme/hub@1.2.3"], Some(true)),
            ("npx", &["-y", "--package=@acme/hub@1.2.3", "hub"], Some(true)),
            ("/usr/bin/npx", &["hub"], Some(false)),
            ("npx", &["@acme/hub"], Some(false)),
            ("npx", &["hub@latest"], Some(false)),
            ("npx", &["hub@^1.2.3"], Some(false)),
            ("npx", &["hub@1"], Some(false)),
            ("npx", &["hub@1.x"], Some(false)),
            ("uvx", &["--from", "hub==1.2.3", "hub"], Some(true)),
            ("uvx", &["hub==1.2.3"], Some(true)),
            ("uvx", &["hub@1.2.3"], Some(true)),
            ("uvx", &["hub"], Some(false)),
            ("python3", &["hub.py"], None),
        ] {
            let spec = program(command, args);
            let members = MembersSection::default();
            let report = preflight(&spec, &around(&members, None));
            let found = report.checks.iter().find(|check| check.name == "package");
            assert_eq!(found.map(|check| check.is_passed), is_pinned, "{command} {args:?}");
        }
    }

    #[test]
    fn an_address_is_looked_at_by_who_owns_the_server() {
        let members =
            MembersSection { allow_hosts: vec!["10.0.0.0/8".to_owned()], ..MembersSection::default() };
        for (key, url, is_passed) in [
            ("x", "http://127.0.0.1:9/mcp", true),
            ("x", "nowhere", false),
            ("ana/x", "https://example.com/mcp", true),
            ("ana/x", "http://10.1.2.3/mcp", true),
            ("ana/x", "http://127.0.0.1:9/mcp", false),
            ("ana/x", "http://0x7f.1/mcp", false),
        ] {
            let report = preflight(&remote(key, url), &around(&members, None));
            assert_eq!(report.is_passed(), is_passed, "{key} {url} {report:?}");
            assert!(!format!("{report:?}").contains("hunter2"));
        }
        let report = preflight(&remote("x", "http://example.com/secret?key=x"), &around(&members, None));
        assert_eq!(
            report.planned_actions[..2],
            ["connect to http://example.com", "send the headers Authorization"]
        );
        assert!(report.warnings.iter().any(|warning| warning.contains("no https")), "{report:?}");
    }

    #[test]
    fn what_is_known_of_a_template_is_said() {
        let members = MembersSection::default();
        let template = crate::template::builtin().iter().find(|template| template.id == "puppeteer").unwrap();
        let report = preflight(&program("npx", &["puppeteer@1.0.0"]), &around(&members, Some(template)));
        let text = report.warnings.join("\n");
        assert!(text.contains("not verified") && text.contains("use `playwright`"), "{text}");
        let taken = Surroundings { name_is_free: Some(false), ..around(&members, None) };
        assert_eq!(failed(&preflight(&program("npx", &["a@1.0.0"]), &taken)), ["name"]);
    }
}
