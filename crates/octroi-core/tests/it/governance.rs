//! The governance sections: policies, agents, approvals, pins, the audit log, quotas, gates and inference.

use std::path::Path;
use std::time::Duration;

use expect_test::{expect, expect_file};
use octroi_core::agent::{AgentContext, Mode, Profile};
use octroi_core::config::{
    ApprovalsSection, AuditSection, DenialStyle, Destination, Durability, Origins, ProgramPlaces, Sources,
    SyslogAddress, build,
};
use octroi_core::substitute::ReferenceKind;
use octroi_core::syntax::Format::{Jsonc, Toml};
use octroi_core::syntax::parse;
use octroi_core::tool::Risk;

use crate::harness::{describe, load};

/// Every key at least once.
pub(crate) const EVERYTHING: &str = include_str!("everything.toml");

#[test]
fn everything_is_read_shown_and_hidden() {
    let config = load(Toml, EVERYTHING);
    let toml = format!("{}\n", config.effective.to_toml(Origins::Included));
    expect_file!["everything.shown.toml"].assert_eq(&toml);
    assert_eq!(describe(&config), "");
    for text in [
        format!("{config:?}"),
        config.effective.to_toml(Origins::Omitted),
        config.effective.to_json(Origins::Included, &config.problems).to_string(),
    ] {
        assert!(!text.contains("hunter2") && !text.contains("<API_KEY>"), "{text}");
    }
}

#[test]
fn every_secret_is_known_wherever_it_is_written() {
    let text = r#"
        [server]
        admin_token = "written-admin-token"
        [[tokens]]
        token = " written-agent-token "
        role = "agent"
        agent_id = "coder"
        [[tokens]]
        token = "${env:HUMAN}"
        role = "human"
        [[mcp.servers]]
        name = "program"
        command = ["${env:HOME}/run", "--key", "${env:ARGUMENT}", "--mode", "${env:UNSET:-a-default}"]
        env = { KEY = "written-env-value", BOTH = "Bearer ${secret:stored}" }
        [[mcp.servers]]
        name = "remote"
        url = "https://example.com/${env:PATH_SECRET}/mcp?key=${file:/run/key}"
        headers = { Authorization = "written-header-value" }
        oauth = { client_id = "me", client_secret = "written-client-secret" }
        [[gates]]
        name = "gate"
        command = ["gate", "${env:GATE_ARGUMENT}"]
        env = { KEY = "written-gate-value" }
        [[audit.handlers]]
        name = "hook"
        kind = "webhook"
        url = "https://example.com/${env:HOOK}"
        headers = { "X-Key" = "written-handler-value" }
    "#;
    let lookup = |kind: ReferenceKind, name: &str| match (kind, name) {
        (ReferenceKind::Env, "UNSET") => Ok(None),
        (ReferenceKind::File, _) => Ok(Some("value-of-file\n".to_owned())),
        (_, name) => Ok(Some(format!("value-of-{name}"))),
    };
    let file = parse(Toml, text, &Path::new("octroi.toml").into()).expect("it is TOML");
    let config = build(Sources {
        file: Some(&file),
        base: Path::new("/base").into(),
        discovered: Vec::new(),
        listen: None,
        unknown: None,
        lookup: &lookup,
        programs: ProgramPlaces::BESIDE_FILE,
    });
    assert_eq!(config.problems, []);
    expect![[r"
        Bearer value-of-stored
        value-of-ARGUMENT
        value-of-GATE_ARGUMENT
        value-of-HOOK
        value-of-HUMAN
        value-of-PATH_SECRET
        value-of-file
        value-of-stored
        written-admin-token
        written-agent-token
        written-client-secret
        written-env-value
        written-gate-value
        written-handler-value
        written-header-value"]]
    .assert_eq(&config.secrets().join("\n"));
}

#[test]
fn what_is_shown_can_be_read_again() {
    let toml = load(Toml, EVERYTHING).effective.to_toml(Origins::Omitted);
    // Hidden values cannot be restored.
    let written = toml
        .replace("admin_token = \"***\"", "admin_token = \"another\"")
        .replace("sha256 = \"***\"", "token = \"a third\"");
    let again = load(Toml, &written);
    assert_eq!(describe(&again), "");
    assert_eq!(
        again.effective.to_toml(Origins::Omitted),
        toml.replace("sha256 = \"***\"", "token = \"***\"")
    );
}

#[test]
fn what_was_written_is_what_counts() {
    let config = load(Toml, EVERYTHING);
    assert!(config.server.admin_token.is_some_and(|token| token.is("<API_KEY>") && !token.is("${API_KEY}")));
    let laptop = config.token_settings("hunter2").expect("it opens the door");
    assert_eq!((&*laptop.label, laptop.errors), ("laptop", DenialStyle::Result));
    let human = config.token_settings("secret").expect("it opens the door");
    assert_eq!((&*human.label, human.errors), ("ana", DenialStyle::Rpc));
    assert!(config.token_settings("other").is_none());
    assert_eq!(config.policy.floor.as_deref(), Some(Path::new("/cfg/policies/floor.toml")));
    assert_eq!(config.policy.global.as_deref(), Some(Path::new("/etc/octroi/global.toml")));

    let coder = config.agent_context("coder");
    assert_eq!((coder.profile, coder.mode, coder.is_spec_frozen), (Profile::Open, Mode::Planning, true));
    assert_eq!(coder.project_root.as_deref(), Some("/projects/site"));
    assert_eq!(coder.blacklist.iter().map(|tag| &**tag).collect::<Vec<_>>(), ["fs.delete", "payments"]);
    let expected = AgentContext { profile: Profile::Strict, ..AgentContext::default() };
    assert_eq!(config.agent_context("reader"), expected);
    assert_eq!(config.agent_context("nobody wrote it down"), expected);

    assert_eq!(config.approvals.url.as_deref(), Some("https://octroi.example.com/door"));
    assert_eq!(config.pins.mode, octroi_core::pin::PinPolicy::Strict);
    assert_eq!(config.audit.durability, Durability::Full);
    assert_eq!(config.audit.retention, Some(Duration::from_hours(90 * 24)));
    let [hook, file, system, far, telemetry] = &config.audit.handlers[..] else {
        panic!("{:?}", config.audit.handlers);
    };
    assert!(
        matches!(&hook.destination, Destination::Webhook(remote) if remote.url.ends_with("/hunter2?k=hunter2"))
    );
    assert!(hook.wants("server_started") && !hook.wants("token_created") && file.wants("token_created"));
    assert_eq!(file.destination, Destination::Jsonl("/cfg/audit.jsonl".into()));
    assert_eq!(system.destination, Destination::Syslog(SyslogAddress::Unix("/dev/log".into())));
    assert_eq!(far.destination, Destination::Syslog(SyslogAddress::Tcp("[::1]:601".to_owned())));
    assert!(matches!(telemetry.destination, Destination::Otlp(_)));

    let names: Vec<&str> = config.quotas.iter().map(|quota| quota.name.as_str()).collect();
    assert_eq!(names, ["laptop", "quota 2"]);
    let gate = &config.gates[0];
    assert_eq!(gate.program.command, "/cfg/gates/office");
    assert_eq!(gate.program.args, ["--strict", "<API_KEY>"]);
    assert_eq!(gate.program.cwd.as_deref(), Some(Path::new("/cfg")));
    assert!(
        gate.concerns("github", "x") && gate.concerns("files", "write") && !gate.concerns("files", "read")
    );
    assert_eq!(config.inference[0].words, ["nuke"]);
    assert_eq!((config.inference[0].risk, config.inference[1].risk), (Some(Risk::Critical), None));
    assert_eq!(config.inference[1].side_effects.as_deref(), Some(&[][..]));
}

#[test]
fn what_holds_if_nothing_is_written() {
    let config = load(Toml, "");
    assert_eq!(config.policy.profile, Profile::Guarded);
    assert_eq!(config.approvals, ApprovalsSection::default());
    assert_eq!(config.audit, AuditSection::default());
    assert_eq!(config.pins.lock, Path::new("/cfg/octroi.lock"));
    let toml = config.effective.to_toml(Origins::Omitted);
    let (_, toml) = toml.split_once("[policy]").expect("it is displayed");
    expect![[r#"

        profile = "guarded"
        errors = "rpc"
        proposals = false

        [approvals]
        wait = "50s"
        expires = "1h"
        grant_expires = "10m"
        form = false
        keep_arguments = "1h"
        retention = "90d"
        max_argument_bytes = 1048576
        max_pending = 100
        max_pending_bytes = 8388608

        [pins]
        mode = "trust_first"
        new_tools = "by_profile"
        lock = "/cfg/octroi.lock"

        [notify]
        about = ["approvals", "quarantine"]
        desktop = false
        every = "10s"
        timeout = "10s"

        [secrets]

        [members]
        allow_hosts = []
        allow_host_commands = false

        [templates]

        [presets]

        [audit]
        durability = "normal"
        retention = "90d"
        max_bytes = 10000000000
        max_argument_bytes = 4096
        results = "summary""#]]
    .assert_eq(toml);
}

#[test]
fn an_address_that_is_a_reference_is_hidden_as_a_whole() {
    let lookup = |kind, name: &str| match (kind, name) {
        (ReferenceKind::Env, "HOOK") => Ok(Some("https://a/hunter2".to_owned())),
        (_, _) => Ok(None),
    };
    let text = "[[audit.handlers]]\nname = \"a\"\nkind = \"webhook\"\nurl = \"${HOOK}\"";
    let node = parse(Toml, text, &Path::new("file").into()).expect("it is TOML");
    let config = build(Sources {
        file: Some(&node),
        base: Path::new("/cfg").into(),
        discovered: Vec::new(),
        listen: None,
        unknown: None,
        lookup: &lookup,
        programs: ProgramPlaces::BESIDE_FILE,
    });
    assert_eq!(describe(&config), "");
    let url = config.effective.handlers[0]
        .iter()
        .find(|setting| setting.name == "url")
        .map(|setting| &setting.value);
    assert_eq!(url, Some(&"***".into()));
}

#[test]
fn other_formats_say_the_same() {
    let text = r#"{ "audit": { "retention": false, "handlers": [{ "name": "a", "kind": "jsonl", "path": "x", "url": null }] },
        "approvals": { "wait": false }, "agents": [{ "id": "a", "project_root": "." }], "quotas": null }"#;
    let config = load(Jsonc, text);
    assert_eq!(describe(&config), "");
    assert_eq!((config.audit.retention, config.approvals.wait), (None, None));
    assert_eq!(config.agents[0].project_root.as_deref(), Some(Path::new("/cfg")));
}
