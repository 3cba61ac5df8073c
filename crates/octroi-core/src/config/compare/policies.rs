//! Policy files, compared by what they say.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::{ConfigChange, Consequence, PolicyText};

/// Merges the policies of all levels.
pub(super) fn policies(
    kept: &mut BTreeMap<String, PolicyText>,
    new: &BTreeMap<String, PolicyText>,
    changes: &mut Vec<ConfigChange>,
) {
    let levels: Vec<String> = kept.keys().chain(new.keys()).cloned().collect();
    for level in levels {
        let (before, after) = (kept.get(&level), new.get(&level));
        if before == after || changes.iter().any(|change| change.setting == title(&level)) {
            continue;
        }
        let is_harmless = match (before, after) {
            (Some(before), Some(after)) => only_tightens(&before.source, &after.source),
            // A new file replaces the policy that people gave this level, which is not known here. Without
            // its file, a level keeps its policy but can be changed in other ways.
            (None, _) | (_, None) => false,
        };
        let consequence = Consequence::immediate_if(is_harmless);
        changes.push(ConfigChange {
            setting: title(&level),
            before: before.map(describe),
            after: after.map(describe),
            consequence,
        });
        if let (Consequence::Immediate, Some(after)) = (consequence, after) {
            kept.insert(level, after.clone());
        }
    }
}

fn title(level: &str) -> String {
    format!("policy {level}")
}

fn describe(text: &PolicyText) -> String {
    format!("{}\n{}", text.path.display(), text.source.trim_end())
}

/// Whether a policy allows nothing that the other did not: all it has besides are denials and tests. A rule
/// is compared as it is written; whether another one covers it is for people to judge.
fn only_tightens(before: &str, after: &str) -> bool {
    let (Ok(mut before), Ok(mut after)) = (before.parse::<Table>(), after.parse::<Table>()) else {
        return false;
    };
    let (old, new) = (denials(&mut before), denials(&mut after));
    before == after && old.iter().all(|rule| new.contains(rule))
}

/// Takes the denials out, and the tests, which decide nothing.
fn denials(policy: &mut Table) -> Vec<Value> {
    policy.remove("tests");
    match policy.remove("deny") {
        None => Vec::new(),
        Some(Value::Array(rules)) => rules,
        Some(other) => vec![other],
    }
}
