use super::*;

fn inferred(name: &str, description: &str, annotations: Annotations, trust: Trust) -> String {
    let (risk, effects) = infer(ToolFacts { server: "s", name, description, annotations, trust }, &[]);
    let tags: Vec<&str> = effects.iter().collect();
    format!("{risk} {}", tags.join(" ")).trim_end().to_owned()
}

#[test]
fn names_and_descriptions_tell() {
    for (name, description, expected) in [
        // All words of the required minimum.
        ("delete", "", "critical fs.delete"),
        ("drop", "", "critical database.delete"),
        ("destroy", "", "critical data.write"),
        ("payment", "", "critical payments"),
        ("write", "", "high fs.write"),
        ("update", "", "high data.write"),
        ("modify", "", "high data.write"),
        ("create", "", "high data.write"),
        ("network", "", "medium network.http"),
        ("fetch", "", "medium network.http"),
        ("http", "", "medium network.http"),
        ("api", "", "medium"),
        ("read", "", "low"),
        ("get", "", "low"),
        ("list", "", "low"),
        ("search", "", "low"),
        ("echo", "", "low"),
        ("execute", "", "high system.exec"),
        // The highest risk wins, in any spelling.
        ("read_and_delete", "", "critical fs.delete"),
        ("deleteFile", "", "critical fs.delete"),
        ("LIST-DELETE", "", "critical fs.delete"),
        // Parts of words do not count.
        ("thread", "", "medium"),
        ("capital", "", "medium"),
        ("budget", "", "medium"),
        ("listener", "", "medium"),
        ("created_at", "", "medium"),
        ("spread_sheet", "", "medium"),
        // The description is used only where the name says nothing.
        ("read_file", "Reads a file. Cannot write or delete.", "low"),
        ("frobnicate", "Deletes everything.", "critical fs.delete"),
        ("frobnicate", "Lists things sorted by created_at.", "low"),
        ("frobnicate", "", "medium"),
        // Short-lived data is less critical.
        ("write_log", "", "medium fs.write"),
        ("update_session", "", "medium"),
        ("delete_cache", "", "critical fs.delete"),
    ] {
        assert_eq!(inferred(name, description, Annotations::default(), Trust::Medium), expected, "{name}");
    }
}

#[test]
fn annotations_raise_always_and_lower_only_with_high_trust() {
    let read_only = Annotations { read_only: Some(true), ..Annotations::default() };
    let destructive = Annotations { destructive: Some(true), ..Annotations::default() };
    let mild = Annotations { read_only: Some(false), destructive: Some(false), open_world: None };
    for (name, annotations, trust, expected) in [
        ("delete_file", read_only, Trust::Medium, "critical fs.delete"),
        ("delete_file", read_only, Trust::Low, "critical fs.delete"),
        ("delete_file", read_only, Trust::High, "low"),
        ("read_file", destructive, Trust::High, "high data.write"),
        ("read_file", destructive, Trust::Low, "high data.write"),
        ("read_file", mild, Trust::Medium, "medium"),
        ("delete_file", mild, Trust::Medium, "critical fs.delete"),
        ("delete_file", mild, Trust::High, "high fs.delete"),
    ] {
        assert_eq!(inferred(name, "", annotations, trust), expected, "{name} {annotations:?} {trust:?}");
    }
}

#[test]
fn a_persons_rule_comes_first_and_falls_back() {
    let rules = [
        InferenceRule {
            tools: Glob::new("*"),
            words: vec!["critical".into()],
            risk: Some(Risk::Critical),
            side_effects: None,
        },
        InferenceRule {
            tools: Glob::new("notes.*"),
            words: vec![],
            risk: Some(Risk::Low),
            side_effects: Some(vec![]),
        },
    ];
    let risk = |server, name, description| {
        let known = ToolFacts {
            server,
            name,
            description,
            annotations: Annotations::default(),
            trust: Trust::Medium,
        };
        infer(known, &rules).0
    };
    assert_eq!(risk("s", "read", "A critical operation"), Risk::Critical);
    assert_eq!(risk("notes", "delete_note", ""), Risk::Low);
    assert_eq!(risk("other", "delete_note", ""), Risk::Critical);
}
