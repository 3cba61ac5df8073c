//! Every example of the guide for policy authors loads and judges as documented.

use octroi_core::tool::Annotations;
use octroi_core::tool::infer::{ToolFacts, infer};
use octroi_core::trust::Trust;

use super::support::{judge, load, samples, schema, summary};

const GUIDE: &str = include_str!("../../../../docs/cedar.md");

/// Fenced blocks with their language.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let mut blocks = Vec::new();
    let mut rest = GUIDE;
    while let Some((_, after)) = rest.split_once("\n```") {
        let (language, after) = after.split_once('\n').unwrap();
        let (block, after) = after.split_once("\n```\n").unwrap();
        blocks.push((language, block));
        rest = after;
    }
    blocks
}

#[test]
fn every_example_does_what_the_guide_says() {
    let blocks = blocks();
    let examples = || blocks.chunks(2);
    assert_eq!(examples().count(), 5, "five examples");
    for example in examples() {
        let [("cedar", policies), ("text", calls)] = example else {
            panic!("policies and then their calls: {example:?}");
        };
        let policies = load(policies);
        for line in calls.lines() {
            let (call, expected) = line.split_once(" => ").expect("`call => verdict`");
            assert_eq!(summary(&judge(&policies, call)), expected, "{call}");
        }
    }
}

#[test]
fn every_policy_of_an_example_counts_once() {
    for example in blocks().chunks(2) {
        let [(_, policies), (_, calls)] = example else {
            panic!("policies and then their calls: {example:?}");
        };
        for policy in load(policies).describe() {
            assert!(calls.contains(policy.id), "no call shows `{}`", policy.id);
        }
    }
}

#[test]
fn every_attribute_is_explained() {
    let schema = schema();
    let (preamble, _) = schema.to_text().split_once("// Every tool.").unwrap();
    for line in preamble.lines().filter_map(|line| line.strip_prefix("  ")) {
        let (name, _) = line.split_once(':').unwrap();
        let name = name.trim_end_matches('?');
        let spellings = [format!("`{name}`"), format!("`resource.{name}`"), format!("`principal.{name}`")];
        assert!(
            spellings.iter().any(|spelling| GUIDE.contains(spelling.as_str())),
            "`{name}` is not in the guide"
        );
    }
}

/// The guide's tags must be those that a gateway gives to such tools.
#[test]
fn the_samples_have_the_side_effects_that_octroi_infers() {
    for sample in samples() {
        let known = ToolFacts {
            server: sample.server,
            name: sample.tool,
            description: "",
            arguments: &[],
            annotations: Annotations::default(),
            trust: Trust::Medium,
        };
        let (_, inferred) = infer(known, &[]);
        let inferred: Vec<&str> = inferred.iter().collect();
        assert_eq!(sample.side_effects, inferred, "{}.{}", sample.server, sample.tool);
    }
}

#[test]
fn the_profiles_of_the_guide_are_profiles() {
    for (_, after) in GUIDE.match_indices("profile == \"").map(|(at, found)| (at, &GUIDE[at + found.len()..]))
    {
        let name = after.split('"').next().unwrap();
        assert!(["strict", "guarded", "open"].contains(&name), "{name}");
    }
}
