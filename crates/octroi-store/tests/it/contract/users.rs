//! Users, their tokens, and invitations.

use octroi_core::UserRole;
use octroi_core::principal::TokenKind;
use octroi_store::{AgentRecord, BrowserRecord, InviteRecord, Store, TokenRecord, UserRecord};

use super::{on_every_database, race};

fn user(name: &str) -> UserRecord {
    UserRecord {
        name: name.to_owned(),
        role: UserRole::Member,
        is_disabled: false,
        created_at_ms: 1,
        created_by: "admin".to_owned(),
    }
}

fn token(number: u8, kind: TokenKind, user: &str) -> TokenRecord {
    TokenRecord {
        id: format!("t{number}"),
        hash: [number; 32],
        kind,
        user: user.to_owned(),
        agent: None,
        session: None,
        label: user.to_owned(),
        created_at_ms: i64::from(number),
        created_by: "admin".to_owned(),
        expires_at_ms: None,
        last_used_at_ms: None,
        revoked: None,
        replaced_by: None,
        browser: None,
    }
}

fn of_agent(number: u8, agent: &str) -> TokenRecord {
    TokenRecord { agent: Some(agent.to_owned()), ..token(number, TokenKind::Agent, "admin") }
}

fn invite(number: u8, user: &str) -> InviteRecord {
    InviteRecord {
        id: format!("i{number}"),
        hash: [number; 32],
        user: user.to_owned(),
        created_at_ms: 1,
        created_by: "admin".to_owned(),
        expires_at_ms: 100,
        used_at_ms: None,
    }
}

async fn token_ids(store: &Store) -> Vec<String> {
    store.tokens().await.unwrap().into_iter().map(|token| token.id).collect()
}

#[tokio::test]
async fn users_are_kept_by_name() {
    on_every_database(async |store| {
        assert_eq!(store.users().await.unwrap(), []);
        store.save_user(&user("bob")).await.unwrap();
        store.save_user(&user("ana")).await.unwrap();
        let changed = UserRecord { role: UserRole::Admin, is_disabled: true, ..user("bob") };
        store.save_user(&changed).await.unwrap();
        assert_eq!(store.users().await.unwrap(), [user("ana"), changed]);
    })
    .await;
}

#[tokio::test]
async fn tokens_are_kept_as_they_are() {
    on_every_database(async |store| {
        let session = TokenRecord {
            session: Some("s".to_owned()),
            expires_at_ms: Some(50),
            last_used_at_ms: Some(40),
            revoked: Some((45, "bob".to_owned())),
            replaced_by: Some("t1".to_owned()),
            kind: TokenKind::Session,
            ..of_agent(2, "coder")
        };
        let browser = Some(BrowserRecord { key: [7; 32], signed_in_with: "t9".to_owned() });
        let human = TokenRecord { browser, ..token(1, TokenKind::Human, "ana") };
        let tokens = [human, session, token(3, TokenKind::Service, "ana")];
        store.save_tokens(&tokens).await.unwrap();
        assert_eq!(store.tokens().await.unwrap(), tokens);

        store
            .record_token_uses(&[("t1".to_owned(), 70), ("t2".to_owned(), 30), ("t9".to_owned(), 1)])
            .await
            .unwrap();
        let uses: Vec<_> = store.tokens().await.unwrap().iter().map(|token| token.last_used_at_ms).collect();
        assert_eq!(uses, [Some(70), Some(40), None], "never earlier than before");
        // All of them or none: an agent's token needs its agent.
        let wrong = token(5, TokenKind::Agent, "ana");
        assert!(store.save_tokens(&[token(4, TokenKind::Human, "ana"), wrong]).await.is_err());
        assert_eq!(token_ids(&store).await, ["t1", "t2", "t3"]);
    })
    .await;
}

#[tokio::test]
async fn a_user_is_removed_with_everything_of_theirs() {
    on_every_database(async |store| {
        for name in ["ana", "bob"] {
            store.save_user(&user(name)).await.unwrap();
            let agent = AgentRecord {
                id: format!("{name}-s"),
                owner: Some(name.to_owned()),
                updated_by: "admin".to_owned(),
                ..AgentRecord::default()
            };
            store.save_agent(&agent).await.unwrap();
        }
        store
            .save_tokens(&[
                token(1, TokenKind::Human, "ana"),
                of_agent(2, "ana-s"),
                token(3, TokenKind::Human, "bob"),
                of_agent(4, "bob-s"),
            ])
            .await
            .unwrap();
        store.save_invite(&invite(1, "ana")).await.unwrap();
        store.save_invite(&invite(2, "bob")).await.unwrap();
        assert!(store.remove_user("ana", "admin", 10).await.unwrap());
        assert!(!store.remove_user("ana", "admin", 10).await.unwrap());
        assert_eq!(store.users().await.unwrap(), [user("bob")]);
        assert_eq!(token_ids(&store).await, ["t3", "t4"]);
        assert_eq!(store.agent("ana-s").await.unwrap(), None);
        assert!(store.agent("bob-s").await.unwrap().is_some());
        assert_eq!(store.invite(&[1; 32]).await.unwrap(), None);
        assert_eq!(store.invite(&[2; 32]).await.unwrap(), Some(invite(2, "bob")));
    })
    .await;
}

#[tokio::test]
async fn an_invitation_is_used_once_and_in_time() {
    on_every_database(async |store| {
        store.save_invite(&invite(1, "ana")).await.unwrap();
        assert!(!store.use_invite("i1", &token(1, TokenKind::Human, "ana"), 100).await.unwrap(), "too late");
        assert!(!store.use_invite("i9", &token(1, TokenKind::Human, "ana"), 50).await.unwrap(), "none");
        assert_eq!(token_ids(&store).await, Vec::<String>::new());
        let used = race(&store, |store, number| async move {
            let number = u8::try_from(number).unwrap();
            store
                .use_invite("i1", &token(number, TokenKind::Human, "ana"), 50)
                .await
                .unwrap()
                .then_some(number)
        })
        .await;
        assert_eq!(used.len(), 1, "{used:?}");
        assert_eq!(token_ids(&store).await, [format!("t{}", used[0])]);
        let found = store.invite(&[1; 32]).await.unwrap();
        assert_eq!(found, Some(InviteRecord { used_at_ms: Some(50), ..invite(1, "ana") }));

        // The next one ends those that were not used, and no others.
        store.save_invite(&invite(2, "ana")).await.unwrap();
        store.save_invite(&invite(3, "bob")).await.unwrap();
        store.save_invite(&invite(4, "ana")).await.unwrap();
        let mut left = Vec::new();
        for number in 1..=4 {
            left.push(store.invite(&[number; 32]).await.unwrap().is_some());
        }
        assert_eq!(left, [true, false, true, true]);
    })
    .await;
}
