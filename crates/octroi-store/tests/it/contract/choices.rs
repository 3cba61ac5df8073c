//! What people chose about servers: preferences, sessions, and the servers of agents.

use octroi_core::principal::TokenKind;
use octroi_store::{
    AgentServers, AttachedServer, FormerAgent, PreferenceRecord, SessionRecord, Store, TokenRecord,
};
use serde_json::json;

use super::entries::draft;
use super::on_every_database;

fn session(id: &str, user: &str, servers: Option<&[&str]>) -> SessionRecord {
    SessionRecord {
        id: id.to_owned(),
        user: user.to_owned(),
        agent: Some("coder".to_owned()),
        title: None,
        servers: servers.map(|servers| servers.iter().map(ToString::to_string).collect()),
        created_at_ms: 1,
        created_by: user.to_owned(),
        updated_at_ms: 1,
        closed: None,
    }
}

fn preference(user: &str, server: &str, is_enabled: bool) -> PreferenceRecord {
    PreferenceRecord { user: user.to_owned(), server: server.to_owned(), is_enabled }
}

fn attached(server: &str, is_pinned: bool) -> AttachedServer {
    AttachedServer { server: server.to_owned(), is_pinned, at_ms: 1, by: "ana".to_owned() }
}

async fn save(store: &Store, session: &SessionRecord) {
    store.save_session(session, 2).await.unwrap();
}

#[tokio::test]
async fn each_person_has_preferences() {
    on_every_database(async |store| {
        assert_eq!(store.preferences().await.unwrap(), []);
        let first = [preference("ana", "1", false), preference("bob", "1", true)];
        store.save_preferences(&first, 1).await.unwrap();
        store
            .save_preferences(&[preference("ana", "1", true), preference("ana", "2", false)], 2)
            .await
            .unwrap();
        let expected =
            [preference("ana", "1", true), preference("ana", "2", false), preference("bob", "1", true)];
        assert_eq!(store.preferences().await.unwrap(), expected);
        store.remove_user("ana", "admin", 3).await.unwrap();
        assert_eq!(store.preferences().await.unwrap(), [preference("bob", "1", true)]);
    })
    .await;
}

#[tokio::test]
async fn a_session_has_all_servers_or_a_list() {
    on_every_database(async |store| {
        let all = session("a", "ana", None);
        let none = SessionRecord { created_at_ms: 2, ..session("b", "ana", Some(&[])) };
        let some = SessionRecord {
            created_at_ms: 3,
            title: Some("x".to_owned()),
            ..session("c", "bob", Some(&["1", "2"]))
        };
        for one in [&some, &all, &none] {
            save(&store, one).await;
        }
        assert_eq!(store.sessions().await.unwrap(), [all.clone(), none.clone(), some.clone()]);
        let changed = SessionRecord { servers: Some(vec!["2".to_owned()]), updated_at_ms: 9, ..all };
        save(&store, &changed).await;
        let opened = SessionRecord { servers: None, ..some };
        save(&store, &opened).await;
        assert_eq!(store.sessions().await.unwrap(), [changed, none.clone(), opened]);
        store.remove_user("bob", "admin", 3).await.unwrap();
        let former = FormerAgent {
            id: "coder".to_owned(),
            owner: None,
            removed_at_ms: 4,
            removed_by: "admin".to_owned(),
        };
        assert_eq!(store.sessions().await.unwrap().len(), 2);
        store.remove_agent(&former).await.unwrap();
        assert_eq!(store.sessions().await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn closing_a_session_ends_its_tokens_and_old_ones_are_forgotten() {
    on_every_database(async |store| {
        let token = |id: u8, session: &str| TokenRecord {
            id: id.to_string(),
            hash: [id; 32],
            kind: TokenKind::Session,
            user: "ana".to_owned(),
            agent: Some("coder".to_owned()),
            session: Some(session.to_owned()),
            label: "x".to_owned(),
            created_at_ms: 1,
            created_by: "ana".to_owned(),
            expires_at_ms: None,
            last_used_at_ms: None,
            revoked: None,
            replaced_by: None,
            browser: None,
        };
        store.save_tokens(&[token(1, "s1"), token(2, "s2")]).await.unwrap();
        for number in 1..=4 {
            save(&store, &session(&format!("s{number}"), "ana", None)).await;
        }
        for number in [1, 3, 4] {
            let closed = Some((10 + number, "ana".to_owned()));
            save(&store, &SessionRecord { closed, ..session(&format!("s{number}"), "ana", None) }).await;
        }
        let revoked: Vec<Option<(i64, String)>> =
            store.tokens().await.unwrap().into_iter().map(|token| token.revoked).collect();
        assert_eq!(revoked, [Some((11, "ana".to_owned())), None]);
        let left: Vec<String> = store.sessions().await.unwrap().into_iter().map(|one| one.id).collect();
        assert_eq!(left, ["s2", "s3", "s4"]);
    })
    .await;
}

#[tokio::test]
async fn an_agent_has_all_servers_or_a_list() {
    on_every_database(async |store| {
        assert_eq!(store.agent_servers().await.unwrap(), []);
        let list = |agent: &str, servers: &[AttachedServer]| AgentServers {
            agent: agent.to_owned(),
            servers: servers.to_vec(),
        };
        store.save_agent_servers("coder", Some(&[attached("1", true), attached("2", false)])).await.unwrap();
        store.save_agent_servers("writer", Some(&[])).await.unwrap();
        let coder = list("coder", &[attached("1", true), attached("2", false)]);
        assert_eq!(store.agent_servers().await.unwrap(), [coder, list("writer", &[])]);
        store.save_agent_servers("coder", Some(&[attached("2", true)])).await.unwrap();
        store.save_agent_servers("writer", None).await.unwrap();
        assert_eq!(store.agent_servers().await.unwrap(), [list("coder", &[attached("2", true)])]);
    })
    .await;
}

#[tokio::test]
async fn a_deleted_server_is_chosen_by_nobody() {
    on_every_database(async |store| {
        store.save_server_entry(&draft("1", "notes", json!({}), None), "ana", 1).await.unwrap().unwrap();
        store
            .save_preferences(&[preference("ana", "1", false), preference("ana", "2", false)], 1)
            .await
            .unwrap();
        save(&store, &session("a", "ana", Some(&["1", "2"]))).await;
        store.save_agent_servers("coder", Some(&[attached("1", true), attached("2", false)])).await.unwrap();
        store.delete_server_entry("1", "ana", 2).await.unwrap();
        assert_eq!(store.preferences().await.unwrap(), [preference("ana", "2", false)]);
        assert_eq!(store.sessions().await.unwrap(), [session("a", "ana", Some(&["2"]))]);
        assert_eq!(store.agent_servers().await.unwrap()[0].servers, [attached("2", false)]);
    })
    .await;
}
