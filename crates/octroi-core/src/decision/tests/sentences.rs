//! The sentence of every objection, under every profile and for tools that do different things.

use super::*;

/// What makes a gate object, and the scene of it.
fn objections(profile: Profile, risk: Risk, tags: &[&str]) -> Vec<Scene> {
    let scene = || Scene::new(profile, risk, tags);
    let custom = |outcome, reason: Option<&str>| CustomVerdict {
        name: "office-hours".into(),
        outcome,
        reason: reason.map(str::to_owned),
        fault: Fault::Policy,
    };
    vec![
        scene().with(|scene| scene.switched_off = Some("server `fs` is switched off")),
        scene().with(|scene| scene.invalid = Some("`path` is missing")),
        scene().with(|scene| scene.access.deny_tools = vec!["t*".into()]),
        scene().with(|scene| scene.access.deny_side_effect_tags = vec!["*".into()]),
        scene().with(|scene| scene.tool.enabled = false),
        scene().with(|scene| {
            scene.tool.enabled = false;
            scene.tool.off_because = Some("it is broken".into());
        }),
        scene().with(|scene| scene.context.mode = Mode::Planning),
        scene().with(|scene| scene.context.is_spec_frozen = true),
        scene().with(|scene| scene.context.spec_hash = Some("abc".into())).settled().with(|scene| {
            scene.context.project = None;
        }),
        scene().settled().with(|scene| {
            scene.context.blacklist = tags.iter().map(|tag| (*tag).into()).collect();
        }),
        scene().settled().with(|scene| scene.tool.requires_admin = true),
        scene().settled().with(|scene| scene.held = Some("its definition differs from the accepted one")),
        scene().settled().with(|scene| scene.custom = vec![custom(Outcome::Ask, None)]),
        scene().settled().with(|scene| scene.custom = vec![custom(Outcome::Ask, Some("it is late"))]),
        scene().settled().with(|scene| scene.custom = vec![custom(Outcome::Deny, Some("it is late"))]),
        scene().settled().with(|scene| {
            scene.exceeded = Some("quota `q` allows 5 calls per minute, which are used up");
        }),
        scene().settled().with(|scene| scene.tool.trust = Trust::Low),
        scene().settled().policy("floor", "[[ask]]\nid = \"look\"\ntool = \"*\"\nreason = \"look twice\""),
        scene().settled().policy("global", "[[ask]]\ntool = \"*\""),
        scene().settled().policy("agent", "[[deny]]\ntool = \"*\"\nreason = \"not you\""),
        scene().settled().policy("global", "[[deny]]\nid = \"stop\"\ntool = \"*\"\nabort = true"),
        scene().settled(),
    ]
}

/// The sentence of every objection, under every profile and for tools that do different things.
#[test]
fn every_objection_is_one_sentence() {
    let mut table = String::new();
    for profile in Profile::ALL {
        for (risk, tags) in [
            (Risk::Low, &[][..]),
            (Risk::Medium, &["unknown"][..]),
            (Risk::Medium, &["fs.read"]),
            (Risk::High, &["crm.write"]),
            (Risk::Critical, &["fs.delete"]),
        ] {
            let _ = writeln!(table, "{} {risk} {}", profile.as_str(), tags.join(" "));
            for scene in objections(profile, risk, tags) {
                let _ = writeln!(table, "    {}", scene.describe());
            }
        }
    }
    expect_test::expect_file!["sentences.txt"].assert_eq(&table);
}
