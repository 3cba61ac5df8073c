use std::sync::Arc;

use octroi_core::principal::{NewToken, TokenEntries, TokenEntry, TokenHolder, TokenKind, hash_token};
use octroi_core::{Principal, UserRole};
use octroi_store::{TokenRecord, UserRecord};

use super::snapshot::{Snapshot, Sources};

const NOW_MS: i64 = 1_000;

fn user(name: &str, role: UserRole, is_disabled: bool) -> UserRecord {
    UserRecord { name: name.to_owned(), role, is_disabled, created_at_ms: 1, created_by: "admin".to_owned() }
}

fn token(id: &str, kind: TokenKind, user: &str, agent: Option<&str>) -> TokenRecord {
    TokenRecord {
        id: id.to_owned(),
        hash: hash_token(id),
        kind,
        user: user.to_owned(),
        agent: agent.map(str::to_owned),
        session: (kind == TokenKind::Session).then(|| "s1".to_owned()),
        label: id.to_owned(),
        created_at_ms: 1,
        created_by: "admin".to_owned(),
        expires_at_ms: None,
        last_used_at_ms: None,
        revoked: None,
        replaced_by: None,
        browser: None,
    }
}

fn snapshot(sources: &Sources) -> Snapshot {
    Snapshot::of(sources, &Snapshot::default())
}

/// What a token stands for: `ana admin`, `agent:coder of ana`, or nothing.
fn stands_for(sources: &Sources, secret: &str) -> String {
    match snapshot(sources).find(&hash_token(secret)).filter(|accepted| !accepted.is_expired(NOW_MS)) {
        None => "nobody".to_owned(),
        Some(accepted) => match &accepted.principal {
            principal @ Principal::Person(_) if principal.is_admin() => format!("{principal} admin"),
            principal @ Principal::Person(_) => format!("{principal} member"),
            principal => format!("{principal} of {}", principal.user()),
        },
    }
}

#[test]
fn a_token_is_as_good_as_its_user() {
    let ana = |role, is_disabled| vec![user("ana", role, is_disabled)];
    let members = ana(UserRole::Member, false);
    let human = token("t", TokenKind::Human, "ana", None);
    let agent = token("t", TokenKind::Agent, "ana", Some("coder"));
    let session = token("t", TokenKind::Session, "ana", Some("coder"));
    let service = token("t", TokenKind::Service, "ana", None);
    for (users, token, expected) in [
        (members.clone(), human.clone(), "ana member"),
        (ana(UserRole::Admin, false), human.clone(), "ana admin"),
        (ana(UserRole::Admin, true), human.clone(), "nobody"),
        (Vec::new(), human.clone(), "nobody"),
        (Vec::new(), TokenRecord { user: "admin".to_owned(), ..human.clone() }, "admin admin"),
        // The built-in administrator cannot be locked out, whatever the database says.
        (
            vec![user("admin", UserRole::Member, true)],
            TokenRecord { user: "admin".to_owned(), ..human.clone() },
            "admin admin",
        ),
        (members.clone(), agent.clone(), "agent:coder of ana"),
        (ana(UserRole::Member, true), agent.clone(), "nobody"),
        (members.clone(), session.clone(), "session:s1 of ana"),
        (ana(UserRole::Member, true), session, "nobody"),
        (members.clone(), service.clone(), "service:t of ana"),
        (ana(UserRole::Member, true), service, "nobody"),
        (members.clone(), TokenRecord { revoked: Some((1, "ana".to_owned())), ..human.clone() }, "nobody"),
        (members.clone(), TokenRecord { expires_at_ms: Some(NOW_MS), ..human.clone() }, "nobody"),
        (members.clone(), TokenRecord { expires_at_ms: Some(NOW_MS + 1), ..human }, "ana member"),
        (members, TokenRecord { expires_at_ms: Some(NOW_MS), ..agent }, "nobody"),
    ] {
        let sources = Sources {
            stored_users: users.clone(),
            stored_tokens: vec![token.clone()],
            owners: [("coder".into(), "ana".into())].into(),
            ..Sources::default()
        };
        assert_eq!(stands_for(&sources, "t"), expected, "{users:?} {token:?}");
    }
}

#[test]
fn the_configuration_names_users_and_cannot_unlock_them() {
    let person = |is_admin| TokenHolder::Person { user: "ana".into(), is_admin };
    for (holder, users, expected) in [
        (person(false), vec![], "ana member"),
        (person(true), vec![], "ana admin"),
        (person(true), vec![user("ana", UserRole::Member, false)], "ana admin"),
        (person(false), vec![user("ana", UserRole::Admin, false)], "ana admin"),
        (person(true), vec![user("ana", UserRole::Admin, true)], "nobody"),
        (TokenHolder::admin(), vec![], "admin admin"),
        (TokenHolder::Agent("coder".into()), vec![], "agent:coder of ana"),
        (TokenHolder::Agent("coder".into()), vec![user("ana", UserRole::Member, true)], "nobody"),
        (TokenHolder::Agent("writer".into()), vec![], "agent:writer of admin"),
    ] {
        let mut entries = TokenEntries::default();
        entries.insert(hash_token("t"), TokenEntry::of(holder.clone()));
        let owners = [("coder".into(), "ana".into())].into();
        let sources = Sources { entries, stored_users: users.clone(), owners, ..Sources::default() };
        assert_eq!(stands_for(&sources, "t"), expected, "{holder:?} {users:?}");
    }
}

#[test]
fn uses_are_written_down_once_a_minute_and_survive_a_new_snapshot() {
    let sources =
        Sources { stored_tokens: vec![token("t", TokenKind::Human, "admin", None)], ..Sources::default() };
    let first = snapshot(&sources);
    assert_eq!(first.take_uses(), []);
    let use_it = |snapshot: &Snapshot, at_ms| snapshot.find(&hash_token("t")).unwrap().used(at_ms);
    use_it(&first, 100_000);
    use_it(&first, 130_000);
    assert_eq!(first.last_use("t"), Some(100_000));
    let second = Snapshot::of(&sources, &first);
    assert_eq!(second.take_uses(), [("t".to_owned(), 100_000)]);
    assert_eq!(second.take_uses(), []);
    use_it(&second, 170_000);
    assert_eq!(second.take_uses(), [("t".to_owned(), 170_000)]);
}

#[test]
fn a_new_token_says_what_it_is() {
    let token = NewToken::create(TokenKind::Agent, getrandom::fill).unwrap();
    assert_eq!(octroi_core::principal::token_id(&token.secret), Some(&*token.id));
    let snapshot = Arc::new(Snapshot::default());
    assert!(snapshot.is_current("local", NOW_MS), "a client without a token is as good as its process");
    assert!(!snapshot.is_current(&token.id, NOW_MS));
}
