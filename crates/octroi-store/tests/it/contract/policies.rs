//! Policies: at most one is active per level, and every change increases the revision.

use octroi_store::{
    PolicyDraft, PolicyLevel, PolicyRecord, PolicyRefusal, PolicyStatus, ProposalVerdict, Store, StoreError,
};

use super::{on_every_database, race};

fn draft(level: PolicyLevel, source: &str) -> PolicyDraft {
    PolicyDraft {
        level,
        language: "rules".to_owned(),
        source: source.to_owned(),
        author: "coder".to_owned(),
        rationale: Some("it is \"better\"".to_owned()),
        check_result: Some("{\"ok\":true}".to_owned()),
    }
}

fn of_agent(agent: &str) -> PolicyLevel {
    PolicyLevel::Agent(agent.to_owned())
}

async fn activate(store: &Store, level: PolicyLevel, source: &str) -> PolicyRecord {
    store.activate_policy(&draft(level, source), None, 1).await.unwrap().unwrap()
}

async fn active(store: &Store) -> Vec<(PolicyLevel, String)> {
    let active = store.active_policies().await.unwrap();
    assert_eq!(active.revision, store.policy_revision().await.unwrap());
    active.policies.into_iter().map(|policy| (policy.draft.level, policy.draft.source)).collect()
}

#[tokio::test]
async fn a_policy_takes_the_place_of_the_one_before() {
    on_every_database(async |store| {
        assert_eq!(active(&store).await, []);
        assert_eq!(store.policy_revision().await.unwrap(), 0);
        let first = activate(&store, PolicyLevel::Global, "a").await;
        let expected = PolicyRecord {
            id: first.id,
            draft: draft(PolicyLevel::Global, "a"),
            version: Some(1),
            status: PolicyStatus::Active,
            was_proposed: false,
            created_at_ms: 1,
            decided_at_ms: None,
            decided_by: None,
            decision_reason: None,
        };
        assert_eq!(first, expected);
        assert_eq!(store.policy(first.id).await.unwrap(), Some(expected.clone()));

        let second = activate(&store, PolicyLevel::Global, "b").await;
        assert_eq!(second.version, Some(2));
        let superseded = PolicyRecord { status: PolicyStatus::Superseded, ..expected };
        assert_eq!(
            store.policy_history(&PolicyLevel::Global, 10).await.unwrap(),
            [second.clone(), superseded]
        );
        assert_eq!(store.policy_history(&PolicyLevel::Global, 1).await.unwrap(), [second]);
        assert_eq!(active(&store).await, [(PolicyLevel::Global, "b".to_owned())]);
        assert_eq!(store.policy_revision().await.unwrap(), 2);
        assert_eq!(store.policy(999).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn levels_and_agents_are_apart() {
    on_every_database(async |store| {
        let levels = [PolicyLevel::Floor, PolicyLevel::Global, of_agent("a"), of_agent("b")];
        // In any order of creation, the floor comes first.
        for level in levels.iter().rev() {
            assert_eq!(activate(&store, level.clone(), level.as_str()).await.version, Some(1));
        }
        activate(&store, of_agent("a"), "new").await;
        let expected = [
            (PolicyLevel::Floor, "floor"),
            (PolicyLevel::Global, "global"),
            (of_agent("a"), "new"),
            (of_agent("b"), "agent"),
        ];
        assert_eq!(active(&store).await, expected.map(|(level, source)| (level, source.to_owned())));
        assert_eq!(store.policy_history(&of_agent("nobody"), 10).await.unwrap(), []);
        // An empty agent id would apply to everybody.
        let nameless = store.activate_policy(&draft(of_agent(""), "x"), None, 1).await;
        assert!(matches!(nameless, Err(StoreError::Database { .. })), "{nameless:?}");
        assert_eq!(store.policy_revision().await.unwrap(), 5);
    })
    .await;
}

#[tokio::test]
async fn what_was_not_seen_is_not_replaced() {
    on_every_database(async |store| {
        let try_with = async |expected| {
            let outcome = store.activate_policy(&draft(PolicyLevel::Floor, "x"), Some(expected), 1).await;
            outcome.unwrap().map(|policy| policy.version)
        };
        let changed = |expected, now| Err(PolicyRefusal::Changed { expected, now });
        assert_eq!(try_with(1).await, changed(1, 0));
        assert_eq!(try_with(0).await, Ok(Some(1)));
        assert_eq!(try_with(0).await, changed(0, 1));
        assert_eq!(try_with(1).await, Ok(Some(2)));
        assert_eq!(store.policy_revision().await.unwrap(), 2);
        assert_eq!(store.policy_history(&PolicyLevel::Floor, 10).await.unwrap().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_proposal_changes_nothing_until_it_is_approved() {
    on_every_database(async |store| {
        activate(&store, of_agent("coder"), "old").await;
        let proposal = store.propose_policy(&draft(of_agent("coder"), "new"), 5).await.unwrap();
        assert_eq!((proposal.status, proposal.version), (PolicyStatus::Proposed, None));
        assert_eq!(active(&store).await, [(of_agent("coder"), "old".to_owned())]);
        assert_eq!(store.policy_revision().await.unwrap(), 1);

        let approve = ProposalVerdict::Approve;
        let approved = store.decide_proposal(proposal.id, approve, "bob", Some("fine"), 6).await.unwrap();
        let expected = PolicyRecord {
            version: Some(2),
            status: PolicyStatus::Active,
            decided_at_ms: Some(6),
            decided_by: Some("bob".to_owned()),
            decision_reason: Some("fine".to_owned()),
            ..proposal.clone()
        };
        assert_eq!(approved, Ok(expected));
        assert_eq!(active(&store).await, [(of_agent("coder"), "new".to_owned())]);
        assert_eq!(store.policy_revision().await.unwrap(), 2);

        let refusal = PolicyRefusal::Decided {
            status: PolicyStatus::Active,
            by: Some("bob".to_owned()),
            at_ms: Some(6),
        };
        for verdict in [ProposalVerdict::Approve, ProposalVerdict::Reject] {
            let again = store.decide_proposal(proposal.id, verdict, "eve", None, 7).await.unwrap();
            assert_eq!(again, Err(refusal.clone()));
        }
        assert_eq!(store.withdraw_proposal(proposal.id, "coder", 7).await.unwrap(), Err(refusal));
    })
    .await;
}

#[tokio::test]
async fn a_proposal_that_is_rejected_or_withdrawn_never_takes_effect() {
    on_every_database(async |store| {
        let propose = async || store.propose_policy(&draft(of_agent("coder"), "x"), 5).await.unwrap().id;
        let (rejected, withdrawn) = (propose().await, propose().await);
        let outcome = store.decide_proposal(rejected, ProposalVerdict::Reject, "bob", Some("no"), 6).await;
        assert_eq!(outcome.unwrap().unwrap().status, PolicyStatus::Rejected);
        // Other agents can neither withdraw it nor find out that it exists.
        for id in [rejected, withdrawn] {
            let outcome = store.withdraw_proposal(id, "other", 6).await.unwrap();
            assert_eq!(outcome, Err(PolicyRefusal::Unknown));
        }
        let outcome = store.withdraw_proposal(withdrawn, "coder", 6).await.unwrap();
        assert_eq!(outcome.unwrap().status, PolicyStatus::Withdrawn);
        for id in [rejected, withdrawn] {
            let outcome = store.decide_proposal(id, ProposalVerdict::Approve, "bob", None, 7).await.unwrap();
            assert!(matches!(outcome, Err(PolicyRefusal::Decided { .. })), "{outcome:?}");
        }
        assert_eq!(active(&store).await, []);
        assert_eq!(store.policy_history(&of_agent("coder"), 10).await.unwrap(), []);
        assert_eq!(store.policy_revision().await.unwrap(), 0);

        // A policy set by an operator is not a proposal.
        let set = activate(&store, PolicyLevel::Global, "y").await.id;
        for id in [set, 999] {
            let outcome = store.decide_proposal(id, ProposalVerdict::Reject, "bob", None, 7).await.unwrap();
            assert_eq!(outcome, Err(PolicyRefusal::Unknown));
        }
    })
    .await;
}

#[tokio::test]
async fn proposals_are_found_by_agent_and_status() {
    on_every_database(async |store| {
        activate(&store, of_agent("coder"), "set by a person").await;
        let mut all = Vec::new();
        for (level, author) in [
            (of_agent("coder"), "coder"),
            (of_agent("coder"), "ada"),
            (PolicyLevel::Global, "coder"),
            (of_agent("other"), "other"),
        ] {
            let proposal = PolicyDraft { author: author.to_owned(), ..draft(level, "x") };
            all.push(store.propose_policy(&proposal, 1).await.unwrap().id);
        }
        store.decide_proposal(all[0], ProposalVerdict::Approve, "bob", None, 2).await.unwrap().unwrap();
        let found = async |agent, status| {
            let found = store.proposals(agent, status, 100).await.unwrap();
            found.iter().map(|one| all.iter().position(|id| *id == one.id).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(found(None, None).await, [3, 2, 1, 0]);
        assert_eq!(found(Some("coder"), None).await, [2, 1, 0]);
        assert_eq!(found(None, Some(PolicyStatus::Proposed)).await, [3, 2, 1]);
        assert_eq!(found(Some("coder"), Some(PolicyStatus::Active)).await, [0]);
        assert_eq!(store.proposals(None, None, 1).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_one_wins() {
    on_every_database(async |store| {
        for version in 0..10_i64 {
            let activating = race(&store, move |store, attempt| async move {
                let draft = draft(PolicyLevel::Global, &attempt.to_string());
                store.activate_policy(&draft, Some(version), 1).await.unwrap().ok()
            });
            let [won]: [PolicyRecord; 1] = activating.await.try_into().unwrap();
            assert_eq!(store.active_policies().await.unwrap().policies, [won]);
        }
        let id = store.propose_policy(&draft(PolicyLevel::Global, "x"), 1).await.unwrap().id;
        let deciding = race(&store, move |store, attempt| async move {
            let verdict = if attempt % 2 == 0 { ProposalVerdict::Approve } else { ProposalVerdict::Reject };
            store.decide_proposal(id, verdict, &attempt.to_string(), None, 2).await.unwrap().ok()
        });
        let [decided]: [PolicyRecord; 1] = deciding.await.try_into().unwrap();
        assert_eq!(store.policy(id).await.unwrap(), Some(decided));
        // Without an expected version nobody is refused, and no change is lost.
        let n_before = store.policy_history(&PolicyLevel::Global, 100).await.unwrap().len();
        let writing = race(&store, |store, attempt| async move {
            Some(activate(&store, PolicyLevel::Global, &attempt.to_string()).await.version)
        });
        assert_eq!(writing.await.len(), 16);
        assert_eq!(store.policy_history(&PolicyLevel::Global, 100).await.unwrap().len(), n_before + 16);
    })
    .await;
}
