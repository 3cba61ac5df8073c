//! Operator-set context of agents, and their use of tools.

use octroi_store::{
    AgentPreset, AgentRecord, FormerAgent, PolicyDraft, PolicyLevel, PolicyStatus, ToolUse, ToolUses,
};

use super::on_every_database;

fn agent(id: &str) -> AgentRecord {
    AgentRecord {
        id: id.to_owned(),
        updated_at_ms: 1,
        updated_by: "bob".to_owned(),
        ..AgentRecord::default()
    }
}

fn used(agent: &str, tool: &str, at_ms: i64) -> ToolUse {
    ToolUse { agent: agent.to_owned(), tool: tool.to_owned(), at_ms }
}

fn uses(agent: &str, tool: &str, first_at_ms: i64, last_at_ms: i64, n_uses: u64) -> ToolUses {
    ToolUses { agent: agent.to_owned(), tool: tool.to_owned(), first_at_ms, last_at_ms, n_uses }
}

#[tokio::test]
async fn the_context_of_an_agent_is_replaced_as_a_whole() {
    on_every_database(async |store| {
        assert_eq!(store.agents().await.unwrap(), []);
        let full = AgentRecord {
            profile: Some("strict".to_owned()),
            mode: Some("planning".to_owned()),
            project: Some("octroi".to_owned()),
            project_root: Some("/users/ada/o \"c\"".to_owned()),
            spec_hash: Some("abc".to_owned()),
            spec_frozen_at_ms: Some(7),
            blacklist: Some(vec!["network".to_owned(), "a,b".to_owned()]),
            preset: Some(AgentPreset {
                name: "reviewer".to_owned(),
                system_prompt: Some("Be kind.".to_owned()),
            }),
            ..agent("coder")
        };
        let preset = Some(AgentPreset { name: "default".to_owned(), system_prompt: None });
        let nothing_denied = AgentRecord { blacklist: Some(Vec::new()), preset, ..agent("a") };
        for record in [&full, &nothing_denied] {
            store.save_agent(record).await.unwrap();
            assert_eq!(store.agent(&record.id).await.unwrap().as_ref(), Some(record));
        }
        assert_eq!(store.agents().await.unwrap(), [nothing_denied.clone(), full]);
        store.save_agent(&agent("coder")).await.unwrap();
        assert_eq!(store.agents().await.unwrap(), [nothing_denied, agent("coder")]);
        assert_eq!(store.agent("nobody").await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn uses_are_counted() {
    on_every_database(async |store| {
        assert_eq!(store.tool_uses().await.unwrap(), []);
        store.record_uses(&[]).await.unwrap();
        // Out of order, like reports of several tasks.
        store.record_uses(&[used("b", "x", 5), used("a", "y", 3), used("b", "x", 4)]).await.unwrap();
        store.record_uses(&[used("b", "x", 2), used("a", "x", 9), used("b", "x", 6)]).await.unwrap();
        let expected = [uses("a", "x", 9, 9, 1), uses("a", "y", 3, 3, 1), uses("b", "x", 2, 6, 4)];
        assert_eq!(store.tool_uses().await.unwrap(), expected);
    })
    .await;
}

#[tokio::test]
async fn an_agent_that_was_removed_begins_anew() {
    on_every_database(async |store| {
        let policy = |agent: &str| PolicyDraft {
            level: PolicyLevel::Agent(agent.to_owned()),
            language: "rules".to_owned(),
            source: "[[deny]]".to_owned(),
            author: "bob".to_owned(),
            rationale: None,
            check_result: None,
        };
        for id in ["kept", "gone"] {
            store.save_agent(&agent(id)).await.unwrap();
            store.record_uses(&[used(id, "x", 1)]).await.unwrap();
            store.activate_policy(&policy(id), None, 1).await.unwrap().unwrap();
        }
        let proposed = store.propose_policy(&policy("gone"), 1).await.unwrap();
        let before = store.policy_revision().await.unwrap();
        let former = FormerAgent {
            id: "gone".to_owned(),
            owner: Some("ana".to_owned()),
            removed_at_ms: 5,
            removed_by: "bob".to_owned(),
        };
        store.remove_agent(&former).await.unwrap();
        assert_eq!(store.agents().await.unwrap(), [agent("kept")]);
        assert_eq!(store.tool_uses().await.unwrap(), [uses("kept", "x", 1, 1, 1)]);
        assert_eq!(store.former_agents().await.unwrap(), [former]);
        let active = store.active_policies().await.unwrap();
        let agents: Vec<_> = active.policies.iter().map(|one| one.draft.level.agent()).collect();
        assert_eq!((agents, active.revision), (vec![Some("kept")], before + 1));
        let withdrawn = store.policy(proposed.id).await.unwrap().unwrap();
        assert_eq!((withdrawn.status, withdrawn.decided_at_ms), (PolicyStatus::Withdrawn, Some(5)));
        // Its id is free again once somebody has created it again.
        store.save_agent(&agent("gone")).await.unwrap();
        assert_eq!(store.former_agents().await.unwrap(), []);
    })
    .await;
}
