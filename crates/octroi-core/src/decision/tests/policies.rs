//! Policies of three levels, what their rules can override, and what follows when one cannot be asked.

use super::*;

/// Combinations of the three policy levels and their results.
#[test]
fn levels() {
    let rule = |word: &str| match word {
        "silent" => String::new(),
        "abort" => "[[deny]]\ntool = \"fs.touch\"\nabort = true".to_owned(),
        word => format!("[[{word}]]\ntool = \"fs.touch\""),
    };
    let mut table = String::new();
    for (floor, global, agent) in [
        ("silent", "silent", "silent"),
        ("silent", "allow", "silent"),
        ("silent", "silent", "allow"),
        ("silent", "ask", "silent"),
        ("silent", "ask", "allow"),
        ("silent", "allow", "ask"),
        ("silent", "deny", "allow"),
        ("silent", "allow", "deny"),
        ("silent", "abort", "allow"),
        ("silent", "deny", "abort"),
        ("ask", "allow", "allow"),
        ("deny", "allow", "allow"),
        ("ask", "silent", "deny"),
        ("abort", "ask", "ask"),
    ] {
        let scene = Scene::new(Profile::Guarded, Risk::High, &["fs.write"])
            .settled()
            .policy("floor", &rule(floor))
            .policy("global", &rule(global))
            .policy("agent", &rule(agent));
        let _ = writeln!(table, "{floor:<7} {global:<7} {agent:<7} {}", scene.describe());
    }
    expect_test::expect![[r"
        silent  silent  silent  ask: `fs.touch` writes files; profile `guarded` asks before writes
        silent  allow   silent  allow
        silent  silent  allow   allow
        silent  ask     silent  ask: `fs.touch` writes files; rule `ask[1]` of the global policy asks before it
        silent  ask     allow   allow
        silent  allow   ask     ask: `fs.touch` writes files; rule `ask[1]` of the policy of agent `coder` asks before it
        silent  deny    allow   deny_continue at global: `fs.touch` writes files; rule `deny[1]` of the global policy denies it
        silent  allow   deny    deny_continue at agent: `fs.touch` writes files; rule `deny[1]` of the policy of agent `coder` denies it
        silent  abort   allow   deny_abort at global: `fs.touch` writes files; rule `deny[1]` of the global policy denies it and stops the agent
        silent  deny    abort   deny_continue at global: `fs.touch` writes files; rule `deny[1]` of the global policy denies it
        ask     allow   allow   ask: `fs.touch` writes files; rule `ask[1]` of the floor policy asks before it
        deny    allow   allow   deny_continue at floor: `fs.touch` writes files; rule `deny[1]` of the floor policy denies it
        ask     silent  deny    deny_continue at agent: `fs.touch` writes files; rule `deny[1]` of the policy of agent `coder` denies it
        abort   ask     ask     deny_abort at floor: `fs.touch` writes files; rule `deny[1]` of the floor policy denies it and stops the agent
    "]]
    .assert_eq(&table);
}

/// What an allow rule can override, and what only a person can.
#[test]
fn what_an_allow_rule_answers() {
    let allowed = |scene: Scene| scene.policy("global", "[[allow]]\ntool = \"*\"").describe();
    let guarded = || Scene::new(Profile::Guarded, Risk::Medium, &["fs.write"]);
    assert_eq!(allowed(Scene::new(Profile::Guarded, Risk::Critical, &["fs.delete"])), "allow");
    assert_eq!(
        guarded().with(|scene| scene.tool.requires_admin = true).describe(),
        "ask: `fs.touch` writes files and needs the admin token; without it, profile `guarded` asks a person",
        "a profile does not stand for the admin token"
    );
    assert_eq!(allowed(guarded().with(|scene| scene.tool.requires_admin = true)), "allow");
    assert_eq!(
        allowed(guarded().with(|scene| scene.tool.trust = Trust::Low)),
        "ask: `fs.touch` writes files; server `fs` has low trust, so a person is asked before side effects"
    );
    let custom =
        |outcome| CustomVerdict { name: "office-hours".into(), outcome, reason: None, fault: Fault::Policy };
    assert_eq!(
        allowed(guarded().with(|scene| scene.custom = vec![custom(Outcome::Ask)])),
        "ask: `fs.touch` writes files; gate `office-hours` asks before it"
    );
    assert_eq!(
        allowed(guarded().with(|scene| scene.custom = vec![custom(Outcome::Pass), custom(Outcome::Deny)])),
        "deny_continue at custom: `fs.touch` writes files; gate `office-hours` denies it"
    );
    for fault in [Fault::Policy, Fault::Evaluator] {
        let verdict = CustomVerdict { fault, ..custom(Outcome::Deny) };
        let scene = guarded().with(|scene| scene.custom = vec![verdict]);
        assert!(matches!(scene.decide(), Decision::Deny(denial) if denial.fault == fault));
    }
}

/// A gate that asks before a call that is allowed names what answered it.
#[test]
fn what_answers_a_gate_is_named() {
    let asks = |scene: &Scene| {
        let decision = scene.decide();
        let asking = decision.trace().verdicts().iter().filter(|verdict| verdict.outcome == Outcome::Ask);
        let answered: Vec<_> =
            asking.map(|verdict| (verdict.gate.as_str(), verdict.answered_by.clone())).collect();
        (decision.as_str(), answered)
    };
    let by = |text: &str| Some(text.to_owned());
    let allowed = |scene: Scene| scene.policy("global", "[[allow]]\ntool = \"*\"");
    let admin = || {
        Scene::new(Profile::Guarded, Risk::Medium, &["fs.write"])
            .with(|scene| scene.tool.requires_admin = true)
    };
    assert_eq!(asks(&admin()), ("ask", vec![("admin_token", None), ("profile", None)]));
    assert_eq!(
        asks(&allowed(admin())),
        ("allow", vec![("admin_token", by("allow[1] of the global policy"))])
    );
    assert_eq!(asks(&Scene::new(Profile::Guarded, Risk::Medium, &[])), ("allow", vec![]));
    let unfrozen = Scene::new(Profile::Guarded, Risk::High, &[])
        .with(|scene| scene.context.spec_hash = Some("abc".into()));
    assert_eq!(asks(&unfrozen), ("ask", vec![("spec_frozen", None), ("profile", None)]));
    assert_eq!(
        asks(&allowed(unfrozen)),
        ("allow", vec![("spec_frozen", by("allow[1] of the global policy"))])
    );
    let denied = allowed(admin()).policy("floor", "[[ask]]\ntool = \"*\"");
    assert_eq!(
        asks(&denied),
        ("ask", vec![("admin_token", by("allow[1] of the global policy")), ("floor", None)])
    );
    let mut json = String::new();
    allowed(admin()).decide().trace().write_json(&mut json);
    assert!(json.contains("\"answered_by\":\"allow[1] of the global policy\""), "{json}");
}

#[derive(Debug)]
struct Broken;

impl crate::policy::Program for Broken {
    fn judge(&self, _call: &Call<'_>) -> Result<Option<PolicyVerdict>, String> {
        Err("it does not answer".to_owned())
    }
}

#[test]
fn a_policy_that_cannot_be_asked_denies() {
    for level in ["floor", "global", "agent"] {
        let scene = Scene::new(Profile::Open, Risk::Low, &[]).policy("agent", "").with(|scene| {
            let broken = Policy {
                document: Document::default(),
                program: Some(std::sync::Arc::new(Broken)),
                version: 0,
            };
            match level {
                "floor" => scene.policies.floor = broken,
                "global" => scene.policies.global = broken,
                _ => drop(scene.policies.agents.insert("coder".into(), broken)),
            }
        });
        let Decision::Deny(denial) = scene.decide() else { panic!("{level} let it through") };
        assert_eq!(denial.fault, Fault::Evaluator);
    }
}
