use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::agent::{AgentContext, Mode, Profile};
use crate::call::Call;
use crate::facts::Facts;
use crate::name::CanonicalId;
use crate::policy::{Document, Policy};
use crate::tool::{Risk, SideEffects, Source};

mod approvers;
mod policies;
mod sentences;

/// A call with all its circumstances, to be modified by each test.
struct Scene {
    tool: ToolDescriptor,
    context: AgentContext,
    arguments: Value,
    has_admin_token: bool,
    access: ToolAccess,
    held: Option<&'static str>,
    custom: Vec<CustomVerdict>,
    paused: Option<&'static str>,
    switched_off: Option<&'static str>,
    invalid: Option<&'static str>,
    exceeded: Option<&'static str>,
    policies: Policies,
}

impl Scene {
    fn new(profile: Profile, risk: Risk, tags: &[&str]) -> Self {
        let server = ServerKey::parse("fs").unwrap();
        Self {
            tool: ToolDescriptor {
                id: CanonicalId::mcp(&server, "touch"),
                source: Source::Mcp,
                source_id: "fs".into(),
                name: "touch".into(),
                risk,
                side_effects: tags.iter().copied().collect::<SideEffects>(),
                requires_admin: false,
                enabled: true,
                off_because: None,
                trust: Trust::Medium,
                timeout: Duration::from_secs(30),
                version: None,
                definition_hash: [0; 32],
            },
            context: AgentContext { profile, ..AgentContext::default() },
            arguments: json!({}),
            has_admin_token: false,
            access: ToolAccess::default(),
            held: None,
            custom: Vec::new(),
            paused: None,
            switched_off: None,
            invalid: None,
            exceeded: None,
            policies: Policies::default(),
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn policy(self, level: &str, text: &str) -> Self {
        let policy = Policy { document: Document::parse(text).unwrap(), program: None, version: 0 };
        self.with(|scene| match level {
            "floor" => scene.policies.floor = policy,
            "global" => scene.policies.global = policy,
            _ => drop(scene.policies.agents.insert("coder".into(), policy)),
        })
    }

    fn settled(self) -> Self {
        self.with(|scene| {
            scene.context.is_spec_frozen = true;
            scene.context.spec_hash = Some("abc".into());
            scene.context.project = Some("acme".into());
        })
    }

    fn decide(&self) -> Decision {
        let server = ServerKey::parse("fs").unwrap();
        let find_facts = Facts::default;
        let mut call =
            Call::imagined(Some("coder"), &self.context, &self.tool, &self.arguments, &find_facts, 0);
        call.has_admin_token = self.has_admin_token;
        let circumstances = Circumstances {
            server: &server,
            paused: self.paused,
            switched_off: self.switched_off,
            invalid_arguments: self.invalid,
            access: &self.access,
            held: self.held,
            custom: &self.custom,
            exceeded: self.exceeded,
            policies: &self.policies,
        };
        decide(&call, &circumstances)
    }

    /// The decision in the words of the gate that denied the call.
    fn verdict(&self) -> String {
        match self.decide() {
            Decision::Deny(denial) => {
                let last = denial.trace().verdicts().last().unwrap();
                let reason = last.reason.as_deref().unwrap_or_default();
                format!("{} at {}: {reason}", denial.as_str(), denial.gate.as_str())
            }
            Decision::Allow(_) | Decision::Ask(_) => self.describe(),
        }
    }

    /// The decision and why, in one line.
    fn describe(&self) -> String {
        match self.decide() {
            Decision::Allow(_) => "allow".to_owned(),
            Decision::Ask(question) => format!("ask: {}", question.trace().asks().join("; ")),
            Decision::Deny(denial) => {
                format!("{} at {}: {}", denial.as_str(), denial.gate.as_str(), denial.reason)
            }
        }
    }
}

/// The flow chart: each gate with a call it denies and a call it allows, in their order.
#[test]
fn the_six_gates_in_their_order() {
    use Profile::Strict;
    let stops = [
        (
            Scene::new(Strict, Risk::Low, &[]).with(|scene| scene.tool.enabled = false),
            "deny_continue at disabled: Tool is disabled",
        ),
        (
            Scene::new(Strict, Risk::Low, &["fs.write"]).with(|scene| scene.context.mode = Mode::Planning),
            "deny_continue at mode: Planning mode cannot use tools with side effects",
        ),
        (
            Scene::new(Strict, Risk::High, &[]),
            "deny_continue at spec_frozen: Execution mode requires spec_frozen=True",
        ),
        (
            Scene::new(Strict, Risk::High, &[]).with(|scene| scene.context.is_spec_frozen = true),
            "deny_continue at spec_frozen: Execution mode requires spec_frozen=True",
        ),
        (
            Scene::new(Strict, Risk::High, &[]).with(|scene| scene.context.spec_hash = Some("abc".into())),
            "deny_continue at spec_frozen: Execution mode requires spec_frozen=True",
        ),
        (Scene::new(Strict, Risk::Medium, &[]), "deny_continue at project_binding: Tool requires project_id"),
        (
            Scene::new(Strict, Risk::Low, &["payments"]),
            "deny_continue at blacklist: Side effect payments is blacklisted",
        ),
        (
            Scene::new(Strict, Risk::Low, &[]).with(|scene| scene.tool.requires_admin = true),
            "deny_continue at admin_token: Tool requires admin_token",
        ),
    ];
    for (scene, expected) in stops {
        assert_eq!(scene.verdict(), expected);
    }
    let allow_all = "[[allow]]\ntool = \"*\"";
    let passes = [
        Scene::new(Strict, Risk::Low, &[]),
        Scene::new(Strict, Risk::Low, &[]).with(|scene| scene.context.mode = Mode::Planning),
        // Planning mode does not need a frozen specification.
        Scene::new(Strict, Risk::High, &[]).with(|scene| {
            scene.context.mode = Mode::Planning;
            scene.context.project = Some("acme".into());
        }),
        Scene::new(Strict, Risk::High, &["fs.write"]).settled(),
        Scene::new(Strict, Risk::Medium, &[]).settled(),
        Scene::new(Strict, Risk::Low, &["payments"]).with(|scene| scene.context.blacklist.clear()),
        Scene::new(Strict, Risk::Low, &[]).with(|scene| {
            scene.tool.requires_admin = true;
            scene.has_admin_token = true;
        }),
    ];
    for scene in passes {
        assert_eq!(scene.policy("global", allow_all).describe(), "allow");
    }
}

/// Of several objections, the first gate's is reported.
#[test]
fn the_first_denial_ends_the_way() {
    let mut scene = Scene::new(Profile::Strict, Risk::Critical, &["payments"]);
    scene.tool.requires_admin = true;
    scene.paused = Some("agent `coder` was paused by ana: it loops");
    scene.switched_off = Some("server `fs` is switched off");
    scene.invalid = Some("`path` is missing");
    scene.access.deny_tools = vec!["t*".into()];
    scene.tool.enabled = false;
    scene.held = Some("its definition differs from the accepted one");
    scene.exceeded = Some("100 calls per minute");
    let mut gates = Vec::new();
    while let Decision::Deny(denial) = scene.decide() {
        let last = denial.trace().verdicts().last().unwrap();
        assert_eq!(
            (last.gate, last.outcome),
            (denial.gate, Outcome::Deny),
            "nothing is looked at after a denial"
        );
        gates.push(denial.gate.as_str());
        match denial.gate {
            Gate::Paused => scene.paused = None,
            Gate::Scope => scene.switched_off = None,
            Gate::Arguments => scene.invalid = None,
            Gate::Access => scene.access.deny_tools.clear(),
            Gate::Disabled => scene.tool.enabled = true,
            Gate::SpecFrozen => scene = scene.settled(),
            Gate::Blacklist => scene.context.blacklist.clear(),
            Gate::AdminToken => scene.has_admin_token = true,
            Gate::Pinning => scene.held = None,
            Gate::Quota => scene.exceeded = None,
            other => panic!("{other:?}"),
        }
    }
    let expected = [
        "paused",
        "scope",
        "arguments",
        "access",
        "disabled",
        "spec_frozen",
        "blacklist",
        "admin_token",
        "pinning",
        "quota",
    ];
    assert_eq!(gates, expected);
}

#[test]
fn what_a_servers_entry_says() {
    let access = |allow: &[&str], deny: &[&str], tags: &[&str]| {
        let texts = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        ToolAccess { allow_tools: texts(allow), deny_tools: texts(deny), deny_side_effect_tags: texts(tags) }
    };
    for (entry, expected) in [
        (access(&[], &[], &[]), "allow"),
        (access(&["to*"], &[], &[]), "allow"),
        (
            access(&["read"], &[], &[]),
            "deny_continue at access: `allow_tools` of server `fs` does not name it",
        ),
        (access(&["touch"], &["t*"], &[]), "deny_continue at access: `deny_tools` of server `fs` names it"),
        (
            access(&[], &[], &["fs.*"]),
            "deny_continue at access: side effect fs.write is denied for server `fs`",
        ),
        (access(&[], &[], &["payments"]), "allow"),
    ] {
        let scene = Scene::new(Profile::Open, Risk::Low, &["fs.write"]).with(|scene| scene.access = entry);
        assert_eq!(scene.verdict(), expected);
    }
}

/// Every profile with tools that read, write, and do what nobody can tell, for an agent without settings.
#[test]
fn profiles() {
    let mut table = String::new();
    for profile in Profile::ALL {
        for (risk, tags) in [
            (Risk::Low, &[][..]),
            (Risk::Medium, &["network.http"][..]),
            (Risk::Medium, &["unknown"]),
            (Risk::Medium, &["fs.write"]),
            (Risk::Medium, &["crm.write"]),
            (Risk::High, &["system.exec", "unknown"]),
            (Risk::High, &[]),
            (Risk::Critical, &["fs.delete"]),
        ] {
            let outcome = Scene::new(profile, risk, tags).describe();
            let _ = writeln!(
                table,
                "{:<8} {:<9}{:<20} {outcome}",
                profile.as_str(),
                risk.as_str(),
                tags.join(" ")
            );
        }
    }
    expect_test::expect![[r"
        strict   low                           ask: `fs.touch` has no side effects; profile `strict` asks before every call that no rule allows
        strict   medium   network.http         deny_continue at project_binding: `fs.touch` uses the network and is of medium risk; profile `strict` denies such calls until agent `coder` has a project
        strict   medium   unknown              deny_continue at project_binding: `fs.touch` has an unknown effect and is of medium risk; profile `strict` denies such calls until agent `coder` has a project
        strict   medium   fs.write             deny_continue at project_binding: `fs.touch` writes files and is of medium risk; profile `strict` denies such calls until agent `coder` has a project
        strict   medium   crm.write            deny_continue at project_binding: `fs.touch` has the side effect `crm.write` and is of medium risk; profile `strict` denies such calls until agent `coder` has a project
        strict   high     system.exec unknown  deny_continue at spec_frozen: `fs.touch` runs programs and is of high risk; profile `strict` denies such calls until agent `coder` has a frozen specification
        strict   high                          deny_continue at spec_frozen: `fs.touch` is of high risk; profile `strict` denies such calls until agent `coder` has a frozen specification
        strict   critical fs.delete            deny_continue at spec_frozen: `fs.touch` deletes files and is of critical risk; profile `strict` denies such calls until agent `coder` has a frozen specification
        guarded  low                           allow
        guarded  medium   network.http         allow
        guarded  medium   unknown              ask: `fs.touch` has an unknown effect; profile `guarded` asks before such calls
        guarded  medium   fs.write             ask: `fs.touch` writes files; profile `guarded` asks before writes
        guarded  medium   crm.write            ask: `fs.touch` has the side effect `crm.write`; profile `guarded` asks before writes
        guarded  high     system.exec unknown  ask: `fs.touch` runs programs; profile `guarded` asks before writes
        guarded  high                          ask: `fs.touch` is of high risk; profile `guarded` asks before such calls
        guarded  critical fs.delete            ask: `fs.touch` deletes files; profile `guarded` asks before writes
        open     low                           allow
        open     medium   network.http         allow
        open     medium   unknown              allow
        open     medium   fs.write             allow
        open     medium   crm.write            allow
        open     high     system.exec unknown  allow
        open     high                          allow
        open     critical fs.delete            allow
    "]].assert_eq(&table);
}

/// Octroi's own tools ask nobody, whatever the profile; rules and gates apply to them as to any tool.
#[test]
fn own_tools_need_no_approval() {
    let own = |profile, risk, tags: &[&str]| {
        Scene::new(profile, risk, tags).with(|scene| scene.tool.source = Source::Builtin)
    };
    for profile in Profile::ALL {
        assert_eq!(own(profile, Risk::Low, &[]).describe(), "allow", "{profile:?}");
        let denied = own(profile, Risk::Low, &[]).policy("floor", "[[deny]]\ntool = \"fs.touch\"\n");
        assert!(denied.describe().starts_with("deny_continue at floor"), "{profile:?}");
        let asked = own(profile, Risk::Low, &[]).policy("global", "[[ask]]\ntool = \"fs.touch\"\n");
        assert!(asked.describe().starts_with("ask: "), "{profile:?}");
        for (risk, tags) in [(Risk::Low, &["fs.write"][..]), (Risk::High, &[])] {
            let is_allowed = own(profile, risk, tags).settled().describe() == "allow";
            assert_eq!(is_allowed, profile == Profile::Open, "{profile:?} {risk:?} {tags:?}");
        }
    }
}

/// Under `guarded`, the specification binds only an agent that was given one, and no project is asked for.
#[test]
fn a_specification_binds_who_has_one() {
    let guarded = |change: fn(&mut AgentContext)| {
        let scene =
            Scene::new(Profile::Guarded, Risk::High, &["fs.write"]).with(|scene| change(&mut scene.context));
        scene.describe()
    };
    let writes = "ask: `fs.touch` writes files; profile `guarded` asks before writes";
    let unfrozen = "ask: `fs.touch` writes files and is of high risk; profile `guarded` asks before such calls \
        until agent `coder` has a frozen specification; `fs.touch` writes files; profile `guarded` asks before writes";
    assert_eq!(guarded(|_| {}), writes);
    assert_eq!(guarded(|context| context.spec_hash = Some("abc".into())), unfrozen);
    assert_eq!(guarded(|context| context.is_spec_frozen = true), unfrozen);
    assert_eq!(guarded(|context| context.project = Some("acme".into())), writes);
}

/// In planning mode nothing is made that may change something, under any profile.
#[test]
fn planning_refuses_what_is_unknown() {
    for profile in Profile::ALL {
        let planning = Scene::new(profile, Risk::Medium, &["unknown"]).with(|scene| {
            scene.context.mode = Mode::Planning;
        });
        assert_eq!(
            planning.verdict(),
            "deny_continue at mode: Planning mode cannot use tools with side effects"
        );
    }
}

#[test]
fn a_trace_names_every_gate() {
    let scene = Scene::new(Profile::Guarded, Risk::High, &["fs.write"]).settled().policy(
        "global",
        "[[ask]]\nid = \"writes\"\ntool = \"fs.*\"\nreason = \"a \\\"person\\\" should look\"",
    );
    let decision = scene.decide();
    expect_test::expect![[r#"
        scope           pass
        arguments       pass
        access          pass
        disabled        pass
        mode            pass
        spec_frozen     pass
        project_binding pass
        blacklist       pass
        admin_token     pass
        pinning         pass
        quota           pass
        global          ask by writes: a "person" should look
    "#]]
    .assert_eq(&decision.trace().to_string());
    let mut json = String::new();
    decision.trace().write_json(&mut json);
    let read: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(read[0], "scope");
    assert_eq!(
        read[11],
        json!({"gate": "global", "outcome": "ask", "by": "writes", "reason": "a \"person\" should look"})
    );
}

#[test]
fn what_is_no_tool_call_needs_the_server_on_and_the_definition_approved() {
    let server = ServerKey::parse("fs").unwrap();
    let describe = |paused, off, held| match decide_other(&server, paused, off, held, 1) {
        Decision::Allow(_) => "allow".to_owned(),
        Decision::Ask(_) => "ask".to_owned(),
        Decision::Deny(denial) => denial.reason,
    };
    assert_eq!(describe(None, None, None), "allow");
    assert_eq!(describe(None, Some("off"), None), "off");
    assert_eq!(describe(None, None, Some("changed")), "changed");
    assert_eq!(describe(Some("paused by ana"), Some("off"), None), "paused by ana");
}

/// A permit is for one tool of one server, or for requests of one server that call no tool.
#[test]
fn what_a_permit_covers() {
    let permit_of = |decision| match decision {
        Decision::Allow(permit) => permit,
        Decision::Ask(_) | Decision::Deny(_) => panic!("it is allowed"),
    };
    let for_tool = permit_of(Scene::new(Profile::Open, Risk::Low, &[]).decide());
    let for_others = permit_of(decide_other(&ServerKey::parse("fs").unwrap(), None, None, None, 1));
    for (server, tool, by_tool, by_others) in [
        ("fs", Some("touch"), true, false),
        ("fs", Some("Touch"), false, false),
        ("fs", Some("fs_touch"), false, false),
        ("fs", Some("delete"), false, false),
        ("fs", Some(""), false, false),
        ("fs", None, false, true),
        ("fs2", Some("touch"), false, false),
        ("fs2", None, false, false),
    ] {
        let key = ServerKey::parse(server).unwrap();
        assert_eq!(for_tool.covers(&key, tool), by_tool, "{server} {tool:?}");
        assert_eq!(for_others.covers(&key, tool), by_others, "{server} {tool:?}");
    }
}
