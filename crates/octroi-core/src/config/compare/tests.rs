use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::config::{ProgramPlaces, Sources, build};
use crate::syntax::{Format, parse};

fn read(text: &str) -> CompleteConfig {
    let path: Arc<Path> = Path::new("file").into();
    let node = parse(Format::Toml, text, &path).unwrap();
    let settings = build(Sources {
        file: Some(&node),
        base: Path::new("/cfg").into(),
        discovered: Vec::new(),
        listen: None,
        unknown: None,
        lookup: &|_, _| Ok(None),
        programs: ProgramPlaces::BESIDE_FILE,
    });
    let wrong: Vec<String> = settings.problems.iter().map(ToString::to_string).collect();
    assert_eq!(wrong, Vec::<String>::new(), "{text}");
    CompleteConfig { settings, policies: BTreeMap::new(), lock: Lock::default() }
}

fn with_policy(source: &str) -> CompleteConfig {
    let text = PolicyText { path: "p.toml".into(), source: source.to_owned() };
    CompleteConfig { policies: BTreeMap::from([("global".to_owned(), text)]), ..read("") }
}

/// Every difference as `setting` or, if it waits, as `setting!`.
fn differences(accepted: &CompleteConfig, new: &CompleteConfig) -> Vec<String> {
    let comparison = compare(accepted, new);
    // What takes effect must be a fixed point: nothing that waits is in it, and nothing else is left out.
    let again = compare(accepted, &comparison.effective);
    assert_eq!(again.waiting().count(), 0, "what is in effect needs no person: {:?}", again.changes);
    let rest = compare(&comparison.effective, new);
    assert!(
        rest.changes.iter().all(|change| change.consequence == Consequence::NeedsPerson),
        "what needs no person is in effect: {:?}",
        rest.changes
    );
    assert_eq!(rest.changes.len(), comparison.waiting().count(), "{:?}", rest.changes);
    let mark = |change: &ConfigChange| match change.consequence {
        Consequence::Immediate => change.setting.clone(),
        Consequence::NeedsPerson => format!("{}!", change.setting),
    };
    comparison.changes.iter().map(mark).collect()
}

const SERVER: &str = "[[mcp.servers]]\nname = \"a\"\ncommand = \"run\"\n";
const REMOTE: &str = "[[mcp.servers]]\nname = \"a\"\nurl = \"https://example.com/mcp\"\n";
const TOKEN: &str = "[[tokens]]\ntoken = \"one\"\nrole = \"agent\"\nagent_id = \"coder\"\n";

/// Each case: what both have, what the accepted one adds, what the new one adds, which differences there are
/// (with `!` those that wait), and which in the other direction.
type Case = (&'static str, &'static str, &'static str, &'static str, &'static str);

const CASES: &[Case] = &[
    ("", "", "[server]\ntoken_file = \"t.json\"", "server: token_file!", "server: token_file"),
    (SERVER, "", "args = [\"x\"]", "server a: args!", "server a: args!"),
    (SERVER, "", "env = { KEY = \"x\" }", "server a: env!", "server a: env!"),
    (
        SERVER,
        "env = { KEY = \"x\" }",
        "env = { KEY = \"y\" }",
        "server a: transport!",
        "server a: transport!",
    ),
    (SERVER, "", "inherit_env = [\"KEY\"]", "server a: inherit_env!", "server a: inherit_env!"),
    (SERVER, "", "cwd = \"/\"", "server a: cwd!", "server a: cwd!"),
    (REMOTE, "", "headers = { A = \"b\" }", "server a: headers!", "server a: headers!"),
    (SERVER, "", "enabled = false", "server a: enabled", "server a: enabled!"),
    (SERVER, "", "title = \"x\"", "server a: title", "server a: title"),
    (SERVER, "", "trust = \"high\"", "server a: trust!", "server a: trust"),
    (SERVER, "", "start = \"manual\"", "server a: start", "server a: start!"),
    (SERVER, "", "sharing = \"per_session\"", "server a: sharing", "server a: sharing!"),
    (SERVER, "", "max_concurrency = 1", "server a: max_concurrency", "server a: max_concurrency!"),
    (SERVER, "", "timeout = \"1s\"", "server a: timeout", "server a: timeout"),
    (SERVER, "", "allow_tools = [\"a\", \"b\"]", "server a: allow_tools", "server a: allow_tools!"),
    (
        SERVER,
        "allow_tools = [\"a\", \"b\"]",
        "allow_tools = [\"a\"]",
        "server a: allow_tools",
        "server a: allow_tools!",
    ),
    (
        SERVER,
        "allow_tools = [\"a\"]",
        "allow_tools = [\"b\"]",
        "server a: allow_tools!",
        "server a: allow_tools!",
    ),
    (SERVER, "", "deny_tools = [\"a\"]", "server a: deny_tools", "server a: deny_tools!"),
    (
        SERVER,
        "",
        "deny_side_effect_tags = [\"payments\"]",
        "server a: deny_side_effect_tags",
        "server a: deny_side_effect_tags!",
    ),
    (SERVER, "", "strict_arguments = true", "server a: strict_arguments", "server a: strict_arguments!"),
    (
        SERVER,
        "",
        "risk_overrides = { x = \"low\" }",
        "server a: risk_overrides!",
        "server a: risk_overrides!",
    ),
    (
        SERVER,
        "",
        "risk_overrides = { x = \"critical\" }",
        "server a: risk_overrides",
        "server a: risk_overrides!",
    ),
    (
        SERVER,
        "",
        "tools_override = { x = { enabled = false } }",
        "server a: tools_override",
        "server a: tools_override!",
    ),
    (
        SERVER,
        "",
        "tools_override = { x = { risk = \"low\" } }",
        "server a: tools_override!",
        "server a: tools_override!",
    ),
    ("", "", SERVER, "server a!", "server a"),
    (
        "",
        SERVER,
        REMOTE,
        "server a: transport! server a: command! server a: args! server a: inherit_env! server a: cwd! server a: url! server a: trust",
        "server a: transport! server a: command! server a: args! server a: inherit_env! server a: cwd! server a: url! server a: trust!",
    ),
    ("", "", TOKEN, "token agent:coder (7692c3ad…)!", "token agent:coder (7692c3ad…)"),
    (TOKEN, "", "label = \"x\"", "token agent:coder (7692c3ad…)!", "token x (7692c3ad…)!"),
    (TOKEN, "", "errors = \"result\"", "", ""),
    (
        "[[tokens]]\ntoken = \"one\"\nagent_id = \"coder\"\n",
        "role = \"agent\"",
        "role = \"human\"",
        "token agent:coder (7692c3ad…)!",
        "token admin (7692c3ad…)!",
    ),
    ("[server]\n", "", "listen = \"127.0.0.1:1\"", "server: listen!", "server: listen!"),
    ("[server]\n", "", "allowed_hosts = [\"x\"]", "server: allowed_hosts!", "server: allowed_hosts"),
    (
        "[server]\n",
        "",
        "allowed_origins = [\"https://x\"]",
        "server: allowed_origins!",
        "server: allowed_origins",
    ),
    ("[server]\n", "", "admin_token = \"x\"", "server: admin_token!", "server: admin_token!"),
    (
        "[server]\n",
        "admin_token = \"x\"",
        "admin_token = \"y\"",
        "server: admin_token!",
        "server: admin_token!",
    ),
    ("[mcp]\n", "", "auto_reload = true", "mcp: auto_reload!", "mcp: auto_reload"),
    ("[mcp]\n", "", "auto_reload = false", "mcp: auto_reload", "mcp: auto_reload!"),
    ("[mcp]\n", "", "enabled = false", "mcp: enabled", "mcp: enabled!"),
    (
        "[mcp]\n",
        "",
        "health_check_interval = \"5s\"",
        "mcp: health_check_interval",
        "mcp: health_check_interval",
    ),
    ("[mcp]\n", "", "health_retention = \"1d\"", "mcp: health_retention", "mcp: health_retention"),
    ("[policy]\n", "", "profile = \"open\"", "policy: profile!", "policy: profile"),
    ("[policy]\n", "", "profile = \"strict\"", "policy: profile", "policy: profile!"),
    ("[policy]\n", "", "proposals = true", "policy: proposals!", "policy: proposals"),
    ("[policy]\n", "", "errors = \"result\"", "policy: errors", "policy: errors"),
    ("[approvals]\n", "", "form = true", "approvals: form!", "approvals: form"),
    ("[approvals]\n", "", "url = \"https://evil.example\"", "approvals: url!", "approvals: url!"),
    ("[approvals]\n", "", "expires = \"2h\"", "approvals: expires!", "approvals: expires"),
    ("[approvals]\n", "", "grant_expires = \"1m\"", "approvals: grant_expires", "approvals: grant_expires!"),
    ("[pins]\n", "", "mode = \"ask\"", "pins: mode", "pins: mode!"),
    (
        "[notify]\n",
        "",
        "command = \"./tell\"",
        "notify: command! notify: args!",
        "notify: command notify: args",
    ),
    ("[notify]\ncommand = \"./tell\"\n", "", "args = [\"x\"]", "notify: args!", "notify: args!"),
    ("[notify]\n", "", "webhook = \"https://evil.example/x\"", "notify: webhook!", "notify: webhook"),
    (
        "[notify]\n",
        "webhook = \"https://a.example/x\"",
        "webhook = \"https://a.example/y\"",
        "notify: webhook!",
        "notify: webhook!",
    ),
    ("[notify]\n", "", "desktop = true", "notify: desktop", "notify: desktop"),
    ("[notify]\n", "", "about = [\"approvals\"]", "notify: about", "notify: about"),
    (
        "[notify]\n",
        "",
        "every = \"1m\"\ntimeout = \"1s\"",
        "notify: every notify: timeout",
        "notify: every notify: timeout",
    ),
    ("[audit]\n", "", "durability = \"full\"", "audit: durability", "audit: durability!"),
    ("[audit]\n", "", "retention = \"1d\"", "audit: retention!", "audit: retention"),
    ("[audit]\n", "", "max_bytes = 1000000000", "audit: max_bytes!", "audit: max_bytes"),
    ("[audit]\n", "", "max_bytes = 0", "audit: max_bytes", "audit: max_bytes!"),
    ("[audit]\n", "", "results = \"none\"", "audit: results!", "audit: results"),
    ("[audit]\n", "", "max_argument_bytes = 1", "audit: max_argument_bytes!", "audit: max_argument_bytes"),
    (
        "",
        "",
        "[[audit.handlers]]\nname = \"h\"\nkind = \"jsonl\"\npath = \"/x\"",
        "audit.handlers!",
        "audit.handlers!",
    ),
    ("", "", "[[gates]]\nname = \"g\"\ncommand = \"/x\"", "gates!", "gates!"),
    ("", "", "[[inference]]\nrisk = \"low\"", "inference!", "inference!"),
    (
        "[[quotas]]\nname = \"q\"\nagent = \"*\"\n",
        "calls_per_minute = 5",
        "calls_per_minute = 4",
        "quota q",
        "quota q!",
    ),
    ("", "", "[[quotas]]\nname = \"q\"\nagent = \"*\"\ncalls_per_minute = 5", "quota q", "quota q!"),
    ("[[agents]]\nid = \"c\"\n", "", "profile = \"strict\"", "agent c: profile", "agent c: profile!"),
    ("[[agents]]\nid = \"c\"\n", "", "profile = \"open\"", "agent c: profile!", "agent c: profile"),
    ("[[agents]]\nid = \"c\"\n", "", "mode = \"planning\"", "agent c: mode", "agent c: mode!"),
    (
        "[[agents]]\nid = \"c\"\n",
        "",
        "project_root = \"/\"",
        "agent c: project_root!",
        "agent c: project_root!",
    ),
    ("[[agents]]\nid = \"c\"\n", "", "blacklist = []", "agent c: blacklist!", "agent c: blacklist"),
    (
        "[[agents]]\nid = \"c\"\nprofile = \"strict\"\nspec_hash = \"abc\"\n",
        "",
        "spec_frozen = true",
        "agent c: spec_frozen!",
        "agent c: spec_frozen!",
    ),
    ("", "", "[[agents]]\nid = \"c\"\nprofile = \"open\"", "agent c: profile!", "agent c: profile"),
    ("# a comment\n", "", "# another", "", ""),
];

#[test]
fn what_waits_for_a_person() {
    for (both, old, new, forward, backward) in CASES {
        let (old, new) = (read(&format!("{both}{old}\n")), read(&format!("{both}{new}\n")));
        assert_eq!(differences(&old, &new).join(" "), *forward);
        assert_eq!(differences(&new, &old).join(" "), *backward, "reverse of: {forward}");
        assert_eq!(differences(&new, &new), Vec::<String>::new());
    }
}

#[test]
fn of_a_mixed_change_only_the_harmless_part_takes_effect() {
    let accepted = read(&format!("{SERVER}{TOKEN}"));
    let new = read(
        "[[mcp.servers]]\nname = \"a\"\ncommand = \"other\"\nenabled = false\ndeny_tools = [\"x\"]\n\
         [[mcp.servers]]\nname = \"b\"\ncommand = \"evil\"\n\
         [[tokens]]\ntoken = \"two\"\nrole = \"human\"\n",
    );
    let comparison = compare(&accepted, &new);
    let [server] = &comparison.effective.settings.servers[..] else {
        panic!("{:?}", comparison.effective.settings.servers);
    };
    let old = &accepted.settings.servers[0];
    assert_eq!((server.is_enabled(), &server.transport), (false, &old.transport));
    assert_eq!(server.access.deny_tools, ["x"]);
    assert!(comparison.effective.settings.tokens.is_empty(), "the old token is gone, the new one waits");
    let waiting: Vec<&str> = comparison.waiting().map(|change| change.setting.as_str()).collect();
    assert_eq!(waiting, ["server a: command", "server b", "token admin (3fc4ccfe…)"]);
}

#[test]
fn no_secret_is_in_a_difference() {
    let accepted = read(&format!("{SERVER}env = {{ KEY = \"hunter2\" }}\n"));
    let new = read(&format!(
        "{SERVER}env = {{ KEY = \"hunter3\" }}\n[server]\nadmin_token = \"hunter4\"\n\
         [[tokens]]\ntoken = \"hunter5\"\nrole = \"human\"\n"
    ));
    let printed = format!("{:?}", compare(&accepted, &new).changes);
    assert!(!printed.contains("hunter"), "{printed}");
}

/// Whoever accepts a server sees what its environment makes it run.
#[test]
fn variables_of_a_server_are_in_its_difference() {
    let env = "env = { NODE_OPTIONS = \"--require /tmp/x.js\", TOKEN = \"hunter2\" }";
    for (accepted, new) in
        [(String::new(), format!("{SERVER}{env}\n")), (SERVER.to_owned(), format!("{SERVER}{env}\n"))]
    {
        let comparison = compare(&read(&accepted), &read(&new));
        let after = comparison.waiting().find_map(|change| change.after.clone()).unwrap_or_default();
        assert!(after.contains("--require /tmp/x.js") && after.contains("TOKEN = \"***\""), "{after}");
    }
}

#[test]
fn a_policy_that_only_denies_more_takes_effect() {
    const ALLOW: &str = "[[allow]]\ntool = \"a.read\"\n";
    const DENY: &str = "[[deny]]\ntool = \"a.write\"\n";
    const TESTS: &str = "[[tests]]\nname = \"x\"\ntool = \"a.read\"\nexpect = \"allow\"\n";
    for (before, after, expected) in [
        ("", DENY, "policy global"),
        (ALLOW, &format!("{ALLOW}{DENY}"), "policy global"),
        (ALLOW, &format!("# why\n{ALLOW}{TESTS}"), "policy global"),
        ("", ALLOW, "policy global!"),
        (DENY, "", "policy global!"),
        (DENY, &DENY.replace("write", "delete"), "policy global!"),
        (ALLOW, &ALLOW.replace("read", "*"), "policy global!"),
        ("", "cedar = \"permit(principal, action, resource);\"", "policy global!"),
        (DENY, "not toml", "policy global!"),
    ] {
        let found = differences(&with_policy(before), &with_policy(after));
        assert_eq!(found, [expected], "{before:?} {after:?}");
    }
}

/// What a level has without a file is in the database: a file would replace it, whatever the file says.
#[test]
fn the_first_file_of_a_level_waits() {
    const DENY: &str = "[[deny]]\ntool = \"a.write\"\n";
    let none = read("");
    for source in ["", "# nothing\n", DENY, "[[allow]]\ntool = \"a.read\"\n"] {
        assert_eq!(differences(&none, &with_policy(source)), ["policy global!"], "{source:?}");
        let agent = CompleteConfig {
            policies: with_policy(source)
                .policies
                .into_values()
                .map(|text| ("agent c".to_owned(), text))
                .collect(),
            ..read("")
        };
        assert_eq!(differences(&none, &agent), ["policy agent c!"], "{source:?}");
    }
    assert_eq!(differences(&with_policy(DENY), &none), ["policy global!"]);
}

#[test]
fn another_lock_file_waits() {
    let accepted = read("");
    let mut new = accepted.clone();
    let key = crate::pin::PinKey {
        server: crate::ServerKey::parse("a").unwrap(),
        kind: crate::pin::PinKind::Tool,
        name: "x".to_owned(),
    };
    let pin = crate::pin::Pin {
        hash: crate::pin::DefinitionHash::from_bytes([1; 32]),
        accepted_at: "2026-01-31T12:00:00Z".to_owned(),
        accepted_by: "me".to_owned(),
    };
    new.lock.insert(key, pin);
    assert_eq!(differences(&accepted, &new), ["pins: content of the lock file!"]);
}
