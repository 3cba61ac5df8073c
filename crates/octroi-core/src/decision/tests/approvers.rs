//! Rules that say who may decide.

use super::*;

fn scene() -> Scene {
    Scene::new(Profile::Open, Risk::Low, &["fs.write"])
}

const ALLOW: &str = "[[allow]]\ntool = \"*\"";

#[test]
fn neither_policy_nor_profile_of_the_agent_skips_them() {
    let ask = |approvers: &str| format!("[[ask]]\ntool = \"fs.touch\"\n{approvers}");
    let named = ask("approvers = [\"admin\"]");
    let asks = |level: &str| {
        format!(
            "ask: `fs.touch` writes files; rule `ask[1]` of the {level} policy asks before it; \
             only an administrator may decide"
        )
    };
    for (floor, global, agent, expected) in [
        ("", &*named, "", asks("global")),
        ("", &named, ALLOW, asks("global")),
        (&named, "", ALLOW, asks("floor")),
        (&named, ALLOW, ALLOW, asks("floor")),
        ("", &ask(""), ALLOW, "allow".to_owned()),
    ] {
        let scene = scene().policy("floor", floor).policy("global", global).policy("agent", agent);
        assert_eq!(scene.describe(), expected, "{floor} {global} {agent}");
    }
}

/// A rule before it in the document is found first, and does not hide it.
#[test]
fn every_rule_that_asks_counts() {
    let rules = "[[ask]]\ntool = \"*\"\n[[ask]]\ntool = \"fs.*\"\napprovers = [\"ana\"]\n\
         [[ask]]\ntool = \"db.*\"\napprovers = [\"eve\"]\n[[ask]]\ntool = \"fs.touch\"\napprovers = \"not_owner\"\n\
         [[ask]]\ntool = \"fs.touch\"\nuntil = \"1970-01-01\"\napprovers = [\"past\"]\n";
    let described = scene().policy("global", rules).policy("agent", ALLOW).describe();
    let expected = "rule `ask[1]` of the global policy asks before it; only an administrator who does not own the \
         agent, if they are also `ana` may decide";
    assert!(described.ends_with(expected), "{described}");
    // Each level adds its own.
    let both = scene()
        .policy("floor", "[[ask]]\ntool = \"*\"\napprovers = [\"ana\", \"bob\"]")
        .policy("agent", "[[ask]]\ntool = \"*\"\napprovers = [\"admin\"]");
    let described = both.describe();
    assert!(
        described.ends_with("only `ana` or `bob`, if they are also an administrator may decide"),
        "{described}"
    );
}

#[test]
fn what_is_written_wrong_is_refused() {
    for (rule, expected) in [
        ("[[allow]]\ntool = \"*\"\napprovers = [\"ana\"]", "unknown key `approvers`"),
        ("[[deny]]\ntool = \"*\"\napprovers = [\"ana\"]", "unknown key `approvers`"),
        ("[[ask]]\ntool = \"*\"\napprovers = [\"Ana\"]", "`approvers`: `Ana` is not a name"),
        ("[[ask]]\ntool = \"*\"\napprovers = []", "`approvers`"),
        ("[[ask]]\ntool = \"*\"\napprovers = 1", "`approvers` must be a text"),
    ] {
        let complaints = Document::parse(rule).unwrap_err();
        assert!(
            complaints.iter().any(|complaint| complaint.message.starts_with(expected)),
            "{rule}: {complaints:?}"
        );
    }
}
