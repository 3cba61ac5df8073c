use super::*;

fn describe(name: &str, description: &str, annotations: Annotations, trust: Trust) -> String {
    let (risk, effects) =
        infer(ToolFacts { server: "s", name, description, arguments: &[], annotations, trust }, &[]);
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
        ("network", "", "medium network.http unknown"),
        ("fetch", "", "medium network.http"),
        ("http", "", "medium network.http unknown"),
        ("api", "", "medium unknown"),
        ("read", "", "low"),
        ("get", "", "low"),
        ("list", "", "low"),
        ("search", "", "low"),
        ("echo", "", "low"),
        ("execute", "", "high system.exec unknown"),
        // The highest risk wins, in any spelling and form.
        ("read_and_delete", "", "critical fs.delete"),
        ("deleteFile", "", "critical fs.delete"),
        ("LIST-DELETE", "", "critical fs.delete"),
        ("list_payments", "", "critical payments"),
        ("deleting_files", "", "critical fs.delete"),
        ("wrote_file", "", "high fs.write"),
        // Parts of words are no words, and participles say what a thing is.
        ("thread", "", "medium unknown"),
        ("capital", "", "medium unknown"),
        ("budget", "", "medium unknown"),
        ("listener", "", "medium unknown"),
        ("created_at", "", "medium unknown"),
        ("spread_sheet", "", "medium unknown"),
        ("list_deleted_items", "", "low"),
        // After a reading verb, names of things are what is read; joined verbs are not.
        ("get_commit", "", "low"),
        ("list_pull_requests", "", "low"),
        ("commits_list", "", "low"),
        ("search_and_replace", "", "high data.write"),
        ("get_or_create", "", "high data.write"),
        ("docker_list_containers", "", "low"),
        ("API-get-user", "", "medium"),
        ("commit_changes", "", "high data.write"),
        ("read_write_file", "", "high fs.write"),
        // The first verb of the description counts like a word of the name, the rest not at all.
        ("read_file", "Reads a file. Cannot write or delete.", "low"),
        ("read_file", "Deletes a file after reading it.", "critical fs.delete"),
        ("frobnicate", "Deletes everything.", "critical fs.delete"),
        ("frobnicate", "Lists things sorted by created_at.", "low"),
        ("frobnicate", "Things that read.", "medium unknown"),
        ("frobnicate", "", "medium unknown"),
        // What nobody can tell.
        ("terraform", "", "medium unknown"),
        ("kubectl", "", "medium unknown"),
        ("sql", "", "medium unknown"),
        ("query", "", "medium unknown"),
        ("python", "", "medium unknown"),
        ("call_tool", "", "medium unknown"),
        ("wire_money", "", "critical payments"),
        // Short-lived data lowers the risk of writing, not of running or destroying.
        ("write_log", "", "medium fs.write"),
        ("update_session", "", "medium data.write"),
        ("delete_cache", "", "critical fs.delete"),
        ("execute_session", "", "high system.exec unknown"),
        ("temp_shell", "", "high system.exec unknown"),
        ("log_event", "", "medium data.write"),
        ("git_log", "", "low"),
        // Downloads read, from the network.
        ("download_file", "", "medium network.http"),
    ] {
        assert_eq!(describe(name, description, Annotations::default(), Trust::Medium), expected, "{name}");
    }
}

#[test]
fn annotations_raise_always_and_lower_only_with_high_trust() {
    let read_only = Annotations { read_only: Some(true), ..Annotations::default() };
    let destructive = Annotations { destructive: Some(true), ..Annotations::default() };
    let writing = Annotations { read_only: Some(false), ..Annotations::default() };
    let mild = Annotations { read_only: Some(false), destructive: Some(false), open_world: None };
    let open_world = Annotations { open_world: Some(true), ..Annotations::default() };
    let contradicting = Annotations { read_only: Some(true), destructive: Some(true), open_world: None };
    for (name, annotations, trust, expected) in [
        ("delete_file", read_only, Trust::Medium, "critical fs.delete"),
        ("delete_file", read_only, Trust::Low, "critical fs.delete"),
        ("delete_file", read_only, Trust::High, "low"),
        ("frobnicate", read_only, Trust::Medium, "medium unknown"),
        ("frobnicate", read_only, Trust::High, "low"),
        ("read_file", destructive, Trust::High, "high data.write"),
        ("read_file", destructive, Trust::Low, "high data.write"),
        ("read_file", contradicting, Trust::High, "high data.write"),
        ("read_file", writing, Trust::Medium, "high data.write"),
        ("fetch", writing, Trust::High, "high data.write network.http"),
        ("frobnicate", writing, Trust::Medium, "high data.write"),
        ("delete_file", mild, Trust::Medium, "critical fs.delete"),
        ("delete_file", mild, Trust::High, "high fs.delete"),
        ("read_file", open_world, Trust::Medium, "low"),
        ("frobnicate", open_world, Trust::Medium, "medium unknown"),
    ] {
        assert_eq!(describe(name, "", annotations, trust), expected, "{name} {annotations:?} {trust:?}");
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
            arguments: &[],
            annotations: Annotations::default(),
            trust: Trust::Medium,
        };
        infer(known, &rules).0
    };
    assert_eq!(risk("s", "read", "A critical operation"), Risk::Critical);
    assert_eq!(risk("notes", "delete_note", ""), Risk::Low);
    assert_eq!(risk("other", "delete_note", ""), Risk::Critical);
}
