//! Approvals: requested once, decided once, used once.

use octroi_core::Secret;
use octroi_core::approval::{Answer, Approval, ApprovalState, ApprovalVerdict, Binding, Refusal};
use octroi_store::{ApprovalFilter, ApprovalPart, PendingLimits, Store, TooManyPending};

use super::{on_every_database, race};
use crate::support::{approval, yes};

fn answer(verdict: ApprovalVerdict, by: &str) -> Answer {
    Answer { verdict, by: by.to_owned(), reason: Some("because".to_owned()) }
}

/// Requests an approval and approves it.
async fn granted(store: &Store, number: u32) -> Approval {
    let asked = store.request_approval(&approval(number)).await.unwrap();
    assert!(asked.is_new);
    store.decide_approval(&asked.approval.id, answer(yes(), "bob"), 2).await.unwrap().unwrap()
}

fn ids(approvals: &[Approval]) -> Vec<&str> {
    approvals.iter().map(|approval| approval.id.as_str()).collect()
}

#[tokio::test]
async fn an_approval_comes_back_as_it_was() {
    on_every_database(async |store| {
        assert_eq!(store.approval("ap_nothing").await.unwrap(), None);
        let mut asked = approval(1);
        asked.binding.policy_revision = u64::MAX;
        asked.side_effects = vec!["writes".to_owned(), "a \"b\" ü".to_owned()];
        assert_eq!(store.request_approval(&asked).await.unwrap().approval, asked);
        assert_eq!(store.approval(&asked.id).await.unwrap(), Some(asked.clone()));

        let verdict = ApprovalVerdict::Approve {
            edited_arguments: Some(Secret::new("{\"path\":\"/b\"}")),
            remembered_rule: Some("allow x".to_owned()),
            policy_revision: u64::MAX - 1,
            usable_until_ms: 2_000,
        };
        let approved = store.decide_approval(&asked.id, answer(verdict, "bob"), 5).await.unwrap().unwrap();
        let expected = Approval {
            state: ApprovalState::Approved,
            edited_arguments: Some(Secret::new("{\"path\":\"/b\"}")),
            remembered_rule: Some("allow x".to_owned()),
            decided_at_ms: Some(5),
            decided_by: Some("bob".to_owned()),
            decision_reason: Some("because".to_owned()),
            expires_at_ms: 2_000,
            binding: Binding { policy_revision: u64::MAX - 1, ..asked.binding.clone() },
            ..asked.clone()
        };
        assert_eq!(approved, expected);
        assert_eq!(store.find_grant(&asked.binding.call_key(), 6).await.unwrap(), Some(expected));

        store.claim_approval(&asked.id, &approved.binding, 7).await.unwrap().unwrap();
        assert_eq!(store.find_grant(&asked.binding.call_key(), 7).await.unwrap(), None);
        let done = store.finish_approval(&asked.id, "completed", 8).await.unwrap().unwrap();
        assert_eq!((done.claimed_at_ms, done.finished_at_ms), (Some(7), Some(8)));
        assert_eq!((done.state, done.outcome.as_deref()), (ApprovalState::Done, Some("completed")));
        assert_eq!(store.approval(&asked.id).await.unwrap(), Some(done));
    })
    .await;
}

#[tokio::test]
async fn nothing_happens_to_what_is_not_there() {
    on_every_database(async |store| {
        let id = "ap_nothing";
        for outcome in [
            store.decide_approval(id, answer(yes(), "bob"), 1).await.unwrap(),
            store.claim_approval(id, &approval(1).binding, 1).await.unwrap(),
            store.finish_approval(id, "completed", 1).await.unwrap(),
            store.cancel_approval(id, "gone", 1).await.unwrap(),
        ] {
            assert_eq!(outcome, Err(Refusal::Unknown));
        }
    })
    .await;
}

#[tokio::test]
async fn a_repeated_call_asks_nobody_twice() {
    on_every_database(async |store| {
        let again = |id: &str, now_ms| Approval {
            id: id.to_owned(),
            call_id: "another".to_owned(),
            requested_at_ms: now_ms,
            expires_at_ms: now_ms + 100,
            ..approval(1)
        };
        let first = store.request_approval(&again("ap_1", 0)).await.unwrap();
        let second = store.request_approval(&again("ap_2", 1)).await.unwrap();
        assert_eq!((second.is_new, &second.approval), (false, &first.approval));
        assert_eq!(store.approval("ap_2").await.unwrap(), None);

        // The same holds once it is approved, but not after it was used.
        store.decide_approval("ap_1", answer(yes(), "bob"), 2).await.unwrap().unwrap();
        assert_eq!(store.request_approval(&again("ap_3", 3)).await.unwrap().approval.id, "ap_1");
        store.claim_approval("ap_1", &approval(1).binding, 4).await.unwrap().unwrap();
        assert!(store.request_approval(&again("ap_4", 5)).await.unwrap().is_new);
        // Nor after it was denied.
        store
            .decide_approval("ap_4", answer(ApprovalVerdict::DenyContinue, "bob"), 6)
            .await
            .unwrap()
            .unwrap();
        assert!(store.request_approval(&again("ap_5", 7)).await.unwrap().is_new);
        // Nor from the time it expires, even if it was not marked.
        assert!(!store.request_approval(&again("ap_6", 106)).await.unwrap().is_new);
        assert!(store.request_approval(&again("ap_6", 107)).await.unwrap().is_new);
    })
    .await;
}

#[tokio::test]
async fn calls_that_differ_for_their_caller_are_apart() {
    on_every_database(async |store| {
        let binding = || approval(1).binding;
        for (number, binding) in (1..).zip([
            binding(),
            Binding { principal: "eve".to_owned(), ..binding() },
            Binding { agent: None, ..binding() },
            Binding { agent: Some("other".to_owned()), ..binding() },
            Binding { tool: "mcp:files:other".to_owned(), ..binding() },
            Binding { arguments_hash: [9; 32], ..binding() },
        ]) {
            let id = format!("ap_{number}");
            let asked = Approval { id: id.clone(), binding: binding.clone(), ..approval(1) };
            assert!(store.request_approval(&asked).await.unwrap().is_new, "{binding:?}");
            assert_eq!(store.find_grant(&binding.call_key(), 2).await.unwrap(), None, "{binding:?}");
            store.decide_approval(&id, answer(yes(), "bob"), 2).await.unwrap().unwrap();
            assert_eq!(store.find_grant(&binding.call_key(), 2).await.unwrap().unwrap().id, id);
        }
    })
    .await;
}

#[tokio::test]
async fn what_can_no_longer_be_used_makes_room_for_a_new_question() {
    on_every_database(async |store| {
        let first = granted(&store, 1).await;
        let mut next = approval(1);
        "ap_next".clone_into(&mut next.id);
        next.requested_at_ms = 5;
        next.binding.policy_revision += 1;
        let asked = store.request_approval(&next).await.unwrap();
        assert_eq!((asked.is_new, asked.approval.id.as_str()), (true, "ap_next"));
        assert_eq!(ids(&asked.replaced), [first.id.as_str()]);
        assert_eq!(asked.replaced[0].state, ApprovalState::Cancelled);
        let outcome = store.claim_approval(&first.id, &first.binding, 6).await.unwrap();
        assert_eq!(outcome, Err(Refusal::Cancelled));
    })
    .await;
}

#[tokio::test]
async fn the_first_decision_stands() {
    on_every_database(async |store| {
        store.request_approval(&approval(1)).await.unwrap();
        let id = approval(1).id;
        store.decide_approval(&id, answer(ApprovalVerdict::DenyAbort, "bob"), 3).await.unwrap().unwrap();
        let refusal = Refusal::Decided { state: ApprovalState::DeniedAbort, by: "bob".to_owned(), at_ms: 3 };
        for verdict in [yes(), ApprovalVerdict::DenyContinue, ApprovalVerdict::DenyAbort] {
            let outcome = store.decide_approval(&id, answer(verdict, "eve"), 4).await.unwrap();
            assert_eq!(outcome, Err(refusal.clone()));
        }
        assert_eq!(store.claim_approval(&id, &approval(1).binding, 5).await.unwrap(), Err(refusal));
        assert_eq!(store.find_grant(&approval(1).binding.call_key(), 5).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn a_grant_is_bound_to_all_of_its_call() {
    on_every_database(async |store| {
        let granted = granted(&store, 1).await;
        let binding = || granted.binding.clone();
        for (other, what) in [
            (Binding { principal: "eve".to_owned(), ..binding() }, "who asks"),
            (Binding { agent: None, ..binding() }, "the agent"),
            (Binding { tool: "mcp:files:other".to_owned(), ..binding() }, "the tool"),
            (Binding { definition_hash: [9; 32], ..binding() }, "the definition of the tool"),
            (Binding { arguments_hash: [9; 32], ..binding() }, "the arguments"),
            (Binding { policy_revision: 9, ..binding() }, "the policy"),
        ] {
            let outcome = store.claim_approval(&granted.id, &other, 3).await.unwrap();
            assert_eq!(outcome, Err(Refusal::Differs { what }));
        }
        store.claim_approval(&granted.id, &binding(), 3).await.unwrap().unwrap();
        let outcome = store.claim_approval(&granted.id, &binding(), 4).await.unwrap();
        assert_eq!(outcome, Err(Refusal::Used { at_ms: 3 }));
    })
    .await;
}

#[tokio::test]
async fn time_passes_whether_or_not_somebody_marks_it() {
    on_every_database(async |store| {
        let granted = granted(&store, 1).await;
        store.request_approval(&approval(2)).await.unwrap();
        store.request_approval(&Approval { expires_at_ms: 5_000, ..approval(3) }).await.unwrap();
        let at_ms = granted.expires_at_ms;
        assert_eq!(store.expire_approvals(at_ms - 1).await.unwrap(), []);
        assert!(store.find_grant(&granted.binding.call_key(), at_ms - 1).await.unwrap().is_some());

        let expired = Err(Refusal::Expired { at_ms });
        assert_eq!(store.find_grant(&granted.binding.call_key(), at_ms).await.unwrap(), None);
        assert_eq!(store.claim_approval(&granted.id, &granted.binding, at_ms).await.unwrap(), expired);
        let decided = store.decide_approval(&approval(2).id, answer(yes(), "bob"), at_ms).await.unwrap();
        assert_eq!(decided, expired);

        let marked = store.expire_approvals(at_ms).await.unwrap();
        assert_eq!(ids(&marked), [granted.id.as_str(), &approval(2).id]);
        assert!(marked.iter().all(|approval| approval.state == ApprovalState::Expired));
        assert_eq!(store.expire_approvals(at_ms).await.unwrap(), []);
        // Marked ones stay expired, even if the clock goes back.
        assert_eq!(store.claim_approval(&granted.id, &granted.binding, 3).await.unwrap(), expired);
    })
    .await;
}

#[tokio::test]
async fn what_was_being_called_at_the_end_of_a_run_is_never_called_again() {
    on_every_database(async |store| {
        let (claimed, unused) = (granted(&store, 1).await, granted(&store, 2).await);
        let elsewhere = Approval { node: Some("b".to_owned()), ..approval(3) };
        store.request_approval(&elsewhere).await.unwrap();
        store.decide_approval(&elsewhere.id, answer(yes(), "bob"), 2).await.unwrap().unwrap();
        store.request_approval(&approval(4)).await.unwrap();
        for one in [&claimed, &elsewhere] {
            store.claim_approval(&one.id, &one.binding, 3).await.unwrap().unwrap();
        }

        assert_eq!(ids(&store.orphan_claimed(Some("b"), 9).await.unwrap()), [elsewhere.id.as_str()]);
        assert_eq!(ids(&store.orphan_claimed(None, 10).await.unwrap()), [claimed.id.as_str()]);
        assert_eq!(store.orphan_claimed(None, 11).await.unwrap(), []);
        let orphaned = store.approval(&claimed.id).await.unwrap().unwrap();
        assert_eq!((orphaned.state, orphaned.finished_at_ms), (ApprovalState::Orphaned, Some(10)));
        let outcome = store.claim_approval(&claimed.id, &claimed.binding, 12).await.unwrap();
        assert_eq!(outcome, Err(Refusal::Orphaned));
        // An unused grant and an undecided request survive the end of the run.
        store.claim_approval(&unused.id, &unused.binding, 12).await.unwrap().unwrap();
        assert_eq!(store.approval(&approval(4).id).await.unwrap().unwrap().state, ApprovalState::Pending);
    })
    .await;
}

#[tokio::test]
async fn lists_are_paged_newest_first() {
    on_every_database(async |store| {
        for number in 0..10 {
            let agent = Some(if number % 2 == 0 { "even" } else { "odd" }.to_owned());
            let mut asked = approval(number);
            asked.binding.agent = agent;
            store.request_approval(&asked).await.unwrap();
            if number < 4 {
                store.cancel_approval(&asked.id, "gone", 2).await.unwrap().unwrap();
            }
        }
        let numbers = async |part, agent: Option<&str>, before: Option<u32>, n_max| {
            let filter = ApprovalFilter { part, agent: agent.map(str::to_owned) };
            let before = before.map(|number| approval(number).id);
            let found = store.approvals(&filter, before.as_deref(), n_max).await.unwrap();
            let numbers = found.iter().map(|one| one.call_id.trim_start_matches("call-").parse().unwrap());
            numbers.collect::<Vec<u32>>()
        };
        assert_eq!(numbers(ApprovalPart::All, None, None, 3).await, [9, 8, 7]);
        assert_eq!(numbers(ApprovalPart::All, None, Some(7), 2).await, [6, 5]);
        assert_eq!(numbers(ApprovalPart::Pending, None, None, 100).await, [9, 8, 7, 6, 5, 4]);
        assert_eq!(numbers(ApprovalPart::Pending, Some("odd"), Some(9), 100).await, [7, 5]);
        assert_eq!(numbers(ApprovalPart::History, None, None, 100).await, [3, 2, 1, 0]);
        assert_eq!(numbers(ApprovalPart::History, Some("even"), None, 100).await, [2, 0]);
        assert_eq!(numbers(ApprovalPart::All, Some("nobody"), None, 100).await, [0; 0]);
        assert_eq!(numbers(ApprovalPart::All, None, Some(999), 100).await, [0; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_dropped_claim_leaves_a_grant_or_a_used_one() {
    on_every_database(async |store| {
        for number in 0..60 {
            let granted = granted(&store, number).await;
            let limit = std::time::Duration::from_micros(10 * u64::from(number));
            let claiming = store.claim_approval(&granted.id, &granted.binding, 3);
            let claimed = tokio::time::timeout(limit, claiming).await;
            // Whatever the result, nothing is locked, and it is used exactly once.
            let again = store.claim_approval(&granted.id, &granted.binding, 4).await.unwrap();
            match (claimed.map(Result::unwrap), again) {
                (Ok(Ok(_)) | Err(_), Err(refusal)) => assert_eq!(refusal, Refusal::Used { at_ms: 3 }),
                (Err(_), Ok(claimed)) => assert_eq!(claimed.claimed_at_ms, Some(4)),
                other => panic!("{other:?}"),
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_one_wins() {
    on_every_database(async |store| {
        for number in 0..20 {
            let asking = race(&store, move |store, attempt| async move {
                let asked = Approval { id: format!("ap_{number}_{attempt}"), ..approval(number) };
                let requested = store.request_approval(&asked).await.unwrap();
                requested.is_new.then_some(requested.approval.id)
            });
            let [id]: [String; 1] = asking.await.try_into().unwrap();

            let deciding = race(&store, |store, attempt| {
                let id = id.clone();
                async move {
                    let verdict = if attempt % 2 == 0 { yes() } else { ApprovalVerdict::DenyContinue };
                    let decided = store.decide_approval(&id, answer(verdict, &attempt.to_string()), 2).await;
                    decided.unwrap().ok()
                }
            });
            let [decided]: [Approval; 1] = deciding.await.try_into().unwrap();
            assert_eq!(store.approval(&id).await.unwrap().as_ref(), Some(&decided));

            let claiming = race(&store, |store, _| {
                let id = id.clone();
                async move { store.claim_approval(&id, &approval(number).binding, 3).await.unwrap().ok() }
            });
            let n_claims = usize::from(decided.state == ApprovalState::Approved);
            assert_eq!(claiming.await.len(), n_claims);
        }
    })
    .await;
}

/// A pending approval of an agent.
fn of_agent(agent: &str, number: u32) -> Approval {
    let mut asked = approval(number);
    asked.binding.agent = Some(agent.to_owned());
    asked.binding.principal = format!("agent:{agent}");
    asked
}

#[tokio::test]
async fn an_agent_has_a_limited_number_of_open_questions() {
    on_every_database(async |store| {
        let limits = PendingLimits { n_pending: 2, n_bytes: usize::MAX };
        for number in [1, 2] {
            assert!(store.request_approval_within(&of_agent("a", number), limits).await.unwrap().is_ok());
        }
        let beyond = store.request_approval_within(&of_agent("a", 3), limits).await.unwrap();
        assert!(matches!(beyond, Err(TooManyPending { n_pending: 2, .. })), "{beyond:?}");
        let same = store.request_approval_within(&of_agent("a", 2), limits).await.unwrap().unwrap();
        assert!(!same.is_new, "what waits already is found");
        let other = store.request_approval_within(&of_agent("b", 4), limits).await.unwrap();
        assert!(other.is_ok(), "another agent is not affected");
        store.cancel_approval(&of_agent("a", 1).id, "gone", 2).await.unwrap().unwrap();
        assert!(store.request_approval_within(&of_agent("a", 5), limits).await.unwrap().is_ok());
    })
    .await;
}

#[tokio::test]
async fn an_agent_has_a_limited_number_of_bytes_in_open_questions() {
    on_every_database(async |store| {
        let limits = PendingLimits { n_pending: usize::MAX, n_bytes: 1_000 };
        let large = |agent: &str, number| {
            let arguments = Secret::new(format!("{{\"text\":\"{}\"}}", "ü".repeat(300)));
            Approval { arguments, ..of_agent(agent, number) }
        };
        assert!(store.request_approval_within(&large("a", 1), limits).await.unwrap().is_ok());
        assert!(store.request_approval_within(&large("a", 2), limits).await.unwrap().is_err());
        assert!(store.request_approval_within(&large("b", 3), limits).await.unwrap().is_ok());
        // Other params count, too.
        let beside = |number| {
            let others = Secret::new(format!("{{\"params\":\"{}\"}}", "x".repeat(600)));
            Approval { other_params: Some(others), ..of_agent("c", number) }
        };
        assert!(store.request_approval_within(&beside(4), limits).await.unwrap().is_ok());
        assert!(store.request_approval_within(&beside(5), limits).await.unwrap().is_err());
    })
    .await;
}

#[tokio::test]
async fn a_flood_of_one_agent_hides_no_question_of_another() {
    on_every_database(async |store| {
        store.request_approval(&of_agent("quiet", 1)).await.unwrap();
        for number in 2..50 {
            store.request_approval(&of_agent("flood", number)).await.unwrap();
        }
        let pending = ApprovalFilter { part: ApprovalPart::Pending, agent: None };
        let listed = store.approvals(&pending, None, 5).await.unwrap();
        let agents: Vec<_> = listed.iter().filter_map(|approval| approval.binding.agent.as_deref()).collect();
        assert_eq!(agents, ["flood", "flood", "flood", "flood", "quiet"], "the newest first");
    })
    .await;
}
