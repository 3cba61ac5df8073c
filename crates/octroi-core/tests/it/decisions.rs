//! Invariants of decisions that hold for every policy.

use std::collections::BTreeSet;
use std::time::Duration;

use octroi_core::agent::{AgentContext, Mode, Profile};
use octroi_core::call::Call;
use octroi_core::decision::{Circumstances, CustomVerdict, Decision, Fault, Outcome, decide};
use octroi_core::facts::Facts;
use octroi_core::policy::{Document, Policies, Policy};
use octroi_core::server::ToolAccess;
use octroi_core::tool::{Risk, Source, ToolDescriptor};
use octroi_core::trust::Trust;
use octroi_core::{CanonicalId, ServerKey};
use proptest::prelude::*;
use serde_json::json;

/// One rule as text.
fn rule() -> impl Strategy<Value = (&'static str, String)> {
    let word = prop_oneof![Just("deny"), Just("ask"), Just("allow")];
    let tool = prop_oneof![Just("*"), Just("fs.*"), Just("fs.touch"), Just("git.*"), Just("f*.t*")];
    let condition = prop_oneof![
        Just(""),
        Just("agent = \"coder\""),
        Just("agent = \"other\""),
        Just("min_risk = \"high\""),
        Just("max_risk = \"medium\""),
        Just("side_effects = \"fs.*\""),
        Just("args = { path = \"/tmp/*\" }"),
        Just("args = { path = { not = \"/tmp/*\" } }"),
        Just("until = 2000-01-01"),
    ];
    (word, tool, condition)
        .prop_map(|(word, tool, condition)| (word, format!("[[{word}]]\ntool = \"{tool}\"\n{condition}\n")))
}

fn rules() -> impl Strategy<Value = String> {
    prop::collection::vec(rule(), 0..5).prop_map(|rules| rules.into_iter().map(|(_, text)| text).collect())
}

/// One rule of a floor policy.
fn floor() -> impl Strategy<Value = String> {
    prop::collection::vec(rule().prop_filter("a floor does not allow", |(word, _)| *word != "allow"), 0..4)
        .prop_map(|rules| rules.into_iter().map(|(_, text)| text).collect())
}

#[derive(Clone, Debug)]
struct Scene {
    context: AgentContext,
    tool: ToolDescriptor,
    path: &'static str,
    has_admin_token: bool,
    held: Option<&'static str>,
    custom: Vec<CustomVerdict>,
    levels: [String; 3],
}

fn scene() -> impl Strategy<Value = Scene> {
    let context = (
        prop::sample::select(&Profile::ALL[..]),
        prop::bool::ANY,
        prop::bool::ANY,
        prop::bool::ANY,
        prop::bool::ANY,
    );
    let tool = (
        prop::sample::select(&Risk::ALL[..]),
        prop::sample::subsequence(vec!["fs.write", "fs.delete", "payments"], 0..3),
        prop::bool::ANY,
        prop::bool::weighted(0.9),
        prop::sample::select(&[Trust::Low, Trust::Medium, Trust::High][..]),
    );
    let held = prop_oneof![5 => Just(None), 1 => Just(Some("changed"))];
    let outcome = prop_oneof![Just(Outcome::Pass), Just(Outcome::Ask), Just(Outcome::Deny)];
    let custom = prop::collection::vec(outcome, 0..2).prop_map(|outcomes| {
        let verdict =
            |outcome| CustomVerdict { name: "own".to_owned(), outcome, reason: None, fault: Fault::Policy };
        outcomes.into_iter().map(verdict).collect::<Vec<_>>()
    });
    let path = prop::sample::select(&["/tmp/x", "/tmp/../etc", "/etc"][..]);
    (context, tool, held, custom, path, prop::bool::ANY, floor(), rules(), rules()).prop_map(
        |(context, tool, held, custom, path, has_admin_token, floor, global, agent)| {
            let (profile, is_planning, is_spec_frozen, has_project, is_listed) = context;
            let (risk, tags, requires_admin, enabled, trust) = tool;
            let mut blacklist = BTreeSet::new();
            if is_listed {
                blacklist.insert("payments".into());
            }
            Scene {
                context: AgentContext {
                    profile,
                    mode: if is_planning { Mode::Planning } else { Mode::Execution },
                    is_spec_frozen,
                    spec_hash: is_spec_frozen.then(|| "abc".into()),
                    project: has_project.then(|| "acme".into()),
                    project_root: None,
                    blacklist,
                },
                tool: ToolDescriptor {
                    id: CanonicalId::mcp(&fs(), "touch"),
                    source: Source::Mcp,
                    source_id: "fs".into(),
                    name: "touch".into(),
                    risk,
                    side_effects: tags.into_iter().collect(),
                    requires_admin,
                    enabled,
                    off_because: None,
                    trust,
                    timeout: Duration::from_secs(1),
                    version: None,
                    definition_hash: [0; 32],
                },
                path,
                has_admin_token,
                held,
                custom,
                levels: [floor, global, agent],
            }
        },
    )
}

fn fs() -> ServerKey {
    ServerKey::parse("fs").expect("a name")
}

/// The result of a call as a number: 0 denied, 1 asked, 2 allowed.
fn decided(scene: &Scene) -> u8 {
    let policy =
        |text: &str| Policy { document: Document::parse(text).expect("a policy"), program: None, version: 0 };
    let [floor, global, agent] = &scene.levels;
    let policies = Policies {
        floor: policy(floor),
        global: policy(global),
        agents: [("coder".into(), policy(agent))].into(),
    };
    let server = fs();
    let arguments = json!({"path": scene.path});
    let mut call =
        Call::imagined(Some("coder"), &scene.context, &scene.tool, &arguments, &Facts::default, 1 << 40);
    call.has_admin_token = scene.has_admin_token;
    let circumstances = Circumstances {
        server: &server,
        paused: None,
        switched_off: None,
        invalid_arguments: None,
        access: &ToolAccess::default(),
        held: scene.held,
        custom: &scene.custom,
        exceeded: None,
        policies: &policies,
    };
    match decide(&call, &circumstances) {
        Decision::Deny(_) => 0,
        Decision::Ask(_) => 1,
        Decision::Allow(_) => 2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn one_more_denial_never_allows_more(scene in scene(), added in rule(), level in 0..3_usize) {
        let (_, text) = added;
        let text = text.replacen("[[allow]]", "[[deny]]", 1).replacen("[[ask]]", "[[deny]]", 1);
        let mut stricter = scene.clone();
        stricter.levels[level].push_str(&text);
        prop_assert!(decided(&stricter) <= decided(&scene));
    }

    #[test]
    fn nothing_loosens_the_floor(scene in scene(), global in rules(), agent in rules()) {
        // The floor alone, for an agent that may do anything else.
        let mut alone = scene.clone();
        alone.context.profile = Profile::Open;
        alone.levels[1] = String::new();
        alone.levels[2] = String::new();
        let mut loosened = scene;
        loosened.levels[1] = global;
        loosened.levels[2] = agent;
        prop_assert!(decided(&loosened) <= decided(&alone));
    }

    #[test]
    fn no_policy_overrules_a_gate(scene in scene()) {
        let mut allowed = scene.clone();
        for level in 1..3 {
            allowed.levels[level] = "[[allow]]\ntool = \"*\"\n".to_owned();
        }
        let is_denied = !scene.tool.enabled
            || scene.held.is_some()
            || scene.custom.iter().any(|verdict| verdict.outcome == Outcome::Deny)
            || (scene.tool.side_effects.contains("payments") && scene.context.blacklist.contains("payments"));
        if is_denied {
            prop_assert_eq!(decided(&allowed), 0);
        }
        let is_asked = scene.custom.iter().any(|verdict| verdict.outcome == Outcome::Ask)
            || (scene.tool.trust == Trust::Low && !scene.tool.side_effects.is_empty());
        if is_asked {
            prop_assert!(decided(&allowed) <= 1);
        }
    }

    #[test]
    fn no_text_makes_the_reader_fail(text in "\\PC{0,200}") {
        let _ = Document::parse(&text);
    }
}
