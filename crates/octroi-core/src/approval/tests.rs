#![expect(
    clippy::needless_raw_string_hashes,
    reason = "expectations are updated by a program that writes them so"
)]

use std::fmt::Write as _;

use expect_test::expect;
use proptest::prelude::*;

use super::*;

const EXPIRES_AT_MS: i64 = 100;

fn binding() -> Binding {
    Binding {
        principal: "ada".to_owned(),
        agent: Some("coder".to_owned()),
        tool: "mcp:files:write".to_owned(),
        definition_hash: [1; 32],
        arguments_hash: [2; 32],
        policy_revision: 3,
    }
}

fn pending() -> Approval {
    Approval {
        id: approval_id(&[7; ID_BYTES]),
        call_id: "call-1".to_owned(),
        binding: binding(),
        state: ApprovalState::Pending,
        arguments_preview: r#"{"path":"/a"}"#.to_owned(),
        other_params_preview: None,
        other_params: None,
        arguments: Secret::new(r#"{"path":"/a","key":"hunter2"}"#),
        arguments_state: ArgumentsState::Whole,
        edited_arguments: None,
        risk: "high".to_owned(),
        side_effects: vec!["writes_files".to_owned()],
        reasons: vec!["it writes".to_owned()],
        approvers: Approvers::default(),
        requested_at_ms: 0,
        expires_at_ms: EXPIRES_AT_MS,
        decided_at_ms: None,
        decided_by: None,
        decision_reason: None,
        claimed_at_ms: None,
        finished_at_ms: None,
        outcome: None,
        remembered_rule: None,
        node: None,
    }
}

fn answer(verdict: ApprovalVerdict, by: &str) -> Event {
    Event::Decide(Answer { verdict, by: by.to_owned(), reason: None })
}

fn cancel() -> Event {
    Event::Cancel { reason: "the caller went away".to_owned() }
}

fn finish() -> Event {
    Event::Finish { outcome: "completed".to_owned() }
}

/// An approval brought to a state by the usual events.
fn in_state(state: ApprovalState) -> Approval {
    let approve = || (answer(ApprovalVerdict::approve(3, EXPIRES_AT_MS), "bob"), 10);
    let claim = || (Event::Claim(binding()), 20);
    let way = match state {
        ApprovalState::Pending => vec![],
        ApprovalState::Approved => vec![approve()],
        ApprovalState::DeniedContinue => vec![(answer(ApprovalVerdict::DenyContinue, "bob"), 10)],
        ApprovalState::DeniedAbort => vec![(answer(ApprovalVerdict::DenyAbort, "bob"), 10)],
        ApprovalState::Expired => vec![(Event::Expire, EXPIRES_AT_MS)],
        ApprovalState::Cancelled => vec![(cancel(), 10)],
        ApprovalState::Orphaned => vec![approve(), claim(), (Event::Crash, 30)],
        ApprovalState::Claimed => vec![approve(), claim()],
        ApprovalState::Done => vec![approve(), claim(), (finish(), 30)],
    };
    let mut approval = pending();
    for (event, now_ms) in way {
        approval.apply(event, now_ms).unwrap();
    }
    assert_eq!(approval.state, state);
    approval
}

/// Every state with every event, at one moment.
fn table(now_ms: i64) -> String {
    let events = [
        ("approve", answer(ApprovalVerdict::approve(3, EXPIRES_AT_MS), "eve")),
        ("deny_continue", answer(ApprovalVerdict::DenyContinue, "eve")),
        ("deny_abort", answer(ApprovalVerdict::DenyAbort, "eve")),
        ("expire", Event::Expire),
        ("cancel", cancel()),
        ("claim", Event::Claim(binding())),
        ("finish", finish()),
        ("crash", Event::Crash),
    ];
    let mut table = String::new();
    for state in ApprovalState::ALL {
        let _ = writeln!(table, "{}", state.as_str());
        for (name, event) in &events {
            let outcome = match in_state(state).next(event, now_ms) {
                Ok(next) => next.as_str().to_owned(),
                Err(refusal) => format!("- {refusal}"),
            };
            let _ = writeln!(table, "  {name:13} {outcome}");
        }
    }
    table
}

#[test]
fn in_time() {
    expect![[r#"
        pending
          approve       approved
          deny_continue denied_continue
          deny_abort    denied_abort
          expire        - the approval has not expired yet
          cancel        cancelled
          claim         - nobody has decided yet
          finish        - no call is being made with this approval
          crash         pending
        approved
          approve       - bob has already decided: approved
          deny_continue - bob has already decided: approved
          deny_abort    - bob has already decided: approved
          expire        - the approval has not expired yet
          cancel        cancelled
          claim         claimed
          finish        - no call is being made with this approval
          crash         approved
        denied_continue
          approve       - bob has already decided: denied_continue
          deny_continue - bob has already decided: denied_continue
          deny_abort    - bob has already decided: denied_continue
          expire        - bob has already decided: denied_continue
          cancel        - bob has already decided: denied_continue
          claim         - bob has already decided: denied_continue
          finish        - bob has already decided: denied_continue
          crash         denied_continue
        denied_abort
          approve       - bob has already decided: denied_abort
          deny_continue - bob has already decided: denied_abort
          deny_abort    - bob has already decided: denied_abort
          expire        - bob has already decided: denied_abort
          cancel        - bob has already decided: denied_abort
          claim         - bob has already decided: denied_abort
          finish        - bob has already decided: denied_abort
          crash         denied_abort
        expired
          approve       - the approval has expired
          deny_continue - the approval has expired
          deny_abort    - the approval has expired
          expire        - the approval has expired
          cancel        - the approval has expired
          claim         - the approval has expired
          finish        - the approval has expired
          crash         expired
        cancelled
          approve       - the approval was cancelled
          deny_continue - the approval was cancelled
          deny_abort    - the approval was cancelled
          expire        - the approval was cancelled
          cancel        - the approval was cancelled
          claim         - the approval was cancelled
          finish        - the approval was cancelled
          crash         cancelled
        orphaned
          approve       - a restart interrupted the call; its outcome is unknown
          deny_continue - a restart interrupted the call; its outcome is unknown
          deny_abort    - a restart interrupted the call; its outcome is unknown
          expire        - a restart interrupted the call; its outcome is unknown
          cancel        - a restart interrupted the call; its outcome is unknown
          claim         - a restart interrupted the call; its outcome is unknown
          finish        - a restart interrupted the call; its outcome is unknown
          crash         orphaned
        claimed
          approve       - bob has already decided: claimed
          deny_continue - bob has already decided: claimed
          deny_abort    - bob has already decided: claimed
          expire        - the approval was used already
          cancel        - the approval was used already
          claim         - the approval was used already
          finish        done
          crash         orphaned
        done
          approve       - bob has already decided: done
          deny_continue - bob has already decided: done
          deny_abort    - bob has already decided: done
          expire        - the approval was used already
          cancel        - the approval was used already
          claim         - the approval was used already
          finish        - no call is being made with this approval
          crash         done
    "#]]
    .assert_eq(&table(EXPIRES_AT_MS - 1));
}

#[test]
fn from_the_moment_it_expires() {
    expect![[r#"
        pending
          approve       - the approval has expired
          deny_continue - the approval has expired
          deny_abort    - the approval has expired
          expire        expired
          cancel        - the approval has expired
          claim         - the approval has expired
          finish        - no call is being made with this approval
          crash         pending
        approved
          approve       - the approval has expired
          deny_continue - the approval has expired
          deny_abort    - the approval has expired
          expire        expired
          cancel        - the approval has expired
          claim         - the approval has expired
          finish        - no call is being made with this approval
          crash         approved
        denied_continue
          approve       - bob has already decided: denied_continue
          deny_continue - bob has already decided: denied_continue
          deny_abort    - bob has already decided: denied_continue
          expire        - bob has already decided: denied_continue
          cancel        - bob has already decided: denied_continue
          claim         - bob has already decided: denied_continue
          finish        - bob has already decided: denied_continue
          crash         denied_continue
        denied_abort
          approve       - bob has already decided: denied_abort
          deny_continue - bob has already decided: denied_abort
          deny_abort    - bob has already decided: denied_abort
          expire        - bob has already decided: denied_abort
          cancel        - bob has already decided: denied_abort
          claim         - bob has already decided: denied_abort
          finish        - bob has already decided: denied_abort
          crash         denied_abort
        expired
          approve       - the approval has expired
          deny_continue - the approval has expired
          deny_abort    - the approval has expired
          expire        - the approval has expired
          cancel        - the approval has expired
          claim         - the approval has expired
          finish        - the approval has expired
          crash         expired
        cancelled
          approve       - the approval was cancelled
          deny_continue - the approval was cancelled
          deny_abort    - the approval was cancelled
          expire        - the approval was cancelled
          cancel        - the approval was cancelled
          claim         - the approval was cancelled
          finish        - the approval was cancelled
          crash         cancelled
        orphaned
          approve       - a restart interrupted the call; its outcome is unknown
          deny_continue - a restart interrupted the call; its outcome is unknown
          deny_abort    - a restart interrupted the call; its outcome is unknown
          expire        - a restart interrupted the call; its outcome is unknown
          cancel        - a restart interrupted the call; its outcome is unknown
          claim         - a restart interrupted the call; its outcome is unknown
          finish        - a restart interrupted the call; its outcome is unknown
          crash         orphaned
        claimed
          approve       - bob has already decided: claimed
          deny_continue - bob has already decided: claimed
          deny_abort    - bob has already decided: claimed
          expire        - the approval was used already
          cancel        - the approval was used already
          claim         - the approval was used already
          finish        done
          crash         orphaned
        done
          approve       - bob has already decided: done
          deny_continue - bob has already decided: done
          deny_abort    - bob has already decided: done
          expire        - the approval was used already
          cancel        - the approval was used already
          claim         - the approval was used already
          finish        - no call is being made with this approval
          crash         done
    "#]]
    .assert_eq(&table(EXPIRES_AT_MS));
}

#[test]
fn the_first_decision_stands_and_is_reported() {
    let mut approval = pending();
    approval.apply(answer(ApprovalVerdict::DenyContinue, "bob"), 10).unwrap();
    let before = approval.clone();
    let refusal = approval.apply(answer(ApprovalVerdict::approve(3, EXPIRES_AT_MS), "eve"), 11).unwrap_err();
    let expected = Refusal::Decided { state: ApprovalState::DeniedContinue, by: "bob".to_owned(), at_ms: 10 };
    assert_eq!((refusal, approval), (expected, before));
}

#[test]
fn what_happened_is_kept() {
    let mut approval = pending();
    let edited = Secret::new(r#"{"path":"/b"}"#);
    let verdict = ApprovalVerdict::Approve {
        edited_arguments: Some(edited.clone()),
        remembered_rule: Some("allow files.write".to_owned()),
        policy_revision: 3,
        usable_until_ms: EXPIRES_AT_MS,
    };
    let reason = Some("only there".to_owned());
    approval
        .apply(Event::Decide(Answer { verdict, by: "bob".to_owned(), reason: reason.clone() }), 10)
        .unwrap();
    approval.apply(Event::Claim(binding()), 20).unwrap();
    // The call may take longer than its approval was good for.
    approval.apply(finish(), EXPIRES_AT_MS + 5).unwrap();
    assert_eq!(approval.effective_arguments(), &edited);
    let expected = Approval {
        state: ApprovalState::Done,
        edited_arguments: Some(edited),
        decided_at_ms: Some(10),
        decided_by: Some("bob".to_owned()),
        decision_reason: reason,
        claimed_at_ms: Some(20),
        finished_at_ms: Some(EXPIRES_AT_MS + 5),
        outcome: Some("completed".to_owned()),
        remembered_rule: Some("allow files.write".to_owned()),
        ..pending()
    };
    assert_eq!(approval, expected);
}

#[test]
fn a_grant_is_for_one_exact_call() {
    let same = binding();
    assert_eq!(same.differs(&binding()), None);
    for (other, what) in [
        (Binding { principal: "eve".to_owned(), ..binding() }, "who asks"),
        (Binding { agent: None, ..binding() }, "the agent"),
        (Binding { tool: "mcp:files:read".to_owned(), ..binding() }, "the tool"),
        (Binding { definition_hash: [9; 32], ..binding() }, "the definition of the tool"),
        (Binding { arguments_hash: [9; 32], ..binding() }, "the arguments"),
        (Binding { policy_revision: 4, ..binding() }, "the policy"),
    ] {
        let refusal = in_state(ApprovalState::Approved).apply(Event::Claim(other), 20).unwrap_err();
        assert_eq!(refusal, Refusal::Differs { what });
    }
}

#[test]
fn ids_use_every_bit_they_can() {
    assert_eq!(approval_id(&[0; ID_BYTES]), "ap_aaaaaaaaaaaaaaaaaaaa");
    assert_eq!(approval_id(&[255; ID_BYTES]), "ap_77777777777777777777");
    let mut seen = std::collections::HashSet::new();
    for bit in 0..100 {
        let bits = (1_u128 << bit).to_be_bytes();
        assert!(seen.insert(approval_id(bits[3..].try_into().unwrap())), "bit {bit}");
    }
}

#[test]
fn states_are_read_back_and_arguments_are_not_shown() {
    for state in ApprovalState::ALL {
        assert_eq!(ApprovalState::parse(state.as_str()), Some(state));
    }
    assert_eq!(ApprovalState::parse("allowed"), None);
    assert!(!format!("{:?}", pending()).contains("hunter2"));
}

fn any_event() -> impl Strategy<Value = Event> {
    // Events that lead to a claim are more frequent, or few sequences would get there.
    prop::sample::select(vec![
        answer(ApprovalVerdict::approve(3, EXPIRES_AT_MS), "bob"),
        answer(ApprovalVerdict::approve(3, EXPIRES_AT_MS), "bob"),
        answer(ApprovalVerdict::DenyContinue, "bob"),
        answer(ApprovalVerdict::DenyAbort, "bob"),
        Event::Expire,
        cancel(),
        Event::Claim(binding()),
        Event::Claim(binding()),
        Event::Claim(Binding { policy_revision: 9, ..binding() }),
        finish(),
        Event::Crash,
    ])
}

proptest! {
    /// The clock may jump both ways; a final state stays final.
    #[test]
    fn at_most_one_claim_and_only_while_granted(
        events in prop::collection::vec((any_event(), 0..2 * EXPIRES_AT_MS), 0..30)
    ) {
        let mut approval = pending();
        let (mut n_claims, mut n_decisions, mut is_over) = (0, 0, false);
        for (event, now_ms) in events {
            let before = approval.clone();
            let outcome = approval.apply(event.clone(), now_ms);
            if outcome.is_err() {
                prop_assert_eq!(&approval, &before);
                continue;
            }
            match event {
                Event::Claim(claimed) => {
                    n_claims += 1;
                    prop_assert_eq!(before.state, ApprovalState::Approved);
                    prop_assert_eq!(claimed, binding());
                    prop_assert!(!is_over && now_ms < EXPIRES_AT_MS);
                }
                Event::Decide(_) => {
                    n_decisions += 1;
                    prop_assert!(!is_over && now_ms < EXPIRES_AT_MS);
                }
                Event::Finish { .. } => prop_assert_eq!(before.state, ApprovalState::Claimed),
                Event::Expire | Event::Cancel { .. } | Event::Crash => {}
            }
            prop_assert!(n_claims <= 1 && n_decisions <= 1);
            is_over |= !matches!(
                approval.state,
                ApprovalState::Pending | ApprovalState::Approved | ApprovalState::Claimed
            );
        }
    }
}
