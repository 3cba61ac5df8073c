//! What is kept of finished approvals is limited.

use octroi_core::Secret;
use octroi_core::approval::{Answer, Approval, ApprovalVerdict, ArgumentsState};
use octroi_store::{ApprovalFilter, PendingLimits, Store};

use crate::support::{approval, test_key};

const LIMITS: PendingLimits = PendingLimits { n_pending: 100, n_bytes: 4 << 20 };

fn large(number: u32) -> Approval {
    let text = |size: usize| format!("{{\"x\":\"{}\"}}", "y".repeat(size));
    let mut asked = approval(number);
    asked.binding.agent = Some("a".to_owned());
    Approval {
        arguments: Secret::new(text(1 << 20)),
        arguments_preview: text(4_000),
        requested_at_ms: i64::from(number),
        expires_at_ms: i64::from(number) + 1_000_000,
        ..asked
    }
}

fn denied() -> Answer {
    Answer { verdict: ApprovalVerdict::DenyContinue, by: "bob".to_owned(), reason: None }
}

/// What all files of the database have together.
fn bytes_in(directory: &std::path::Path) -> u64 {
    let files = std::fs::read_dir(directory).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[tokio::test]
async fn an_agent_that_asks_and_cancels_does_not_fill_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    for number in 1..=200 {
        let asked = large(number);
        store.request_approval_within(&asked, LIMITS).await.unwrap().unwrap();
        let cancelled = store.cancel_approval(&asked.id, "gone", i64::from(number)).await.unwrap().unwrap();
        assert_eq!(cancelled.arguments_state, ArgumentsState::Removed);
        assert_eq!(store.approval(&asked.id).await.unwrap().unwrap(), cancelled);
    }
    let n_bytes = bytes_in(directory.path());
    assert!(n_bytes < 24 << 20, "{n_bytes} bytes after 200 MiB");
    store.close().await;
}

#[tokio::test]
async fn arguments_of_finished_approvals_give_way_to_those_that_wait() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    for number in 1..=50 {
        store.request_approval_within(&large(number), LIMITS).await.unwrap().unwrap();
        store.decide_approval(&large(number).id, denied(), i64::from(number)).await.unwrap().unwrap();
    }
    let all = store.approvals(&ApprovalFilter::default(), None, 100).await.unwrap();
    let n_whole = all.iter().filter(|one| one.arguments_state == ArgumentsState::Whole).count();
    assert!((1..=3).contains(&n_whole), "{n_whole}: at most 4 MiB, encrypted");
    assert!(all[..n_whole].iter().all(|one| one.arguments_state == ArgumentsState::Whole), "the newest");
    assert_eq!(all.len(), 50);
    let n_bytes = bytes_in(directory.path());
    assert!(n_bytes < 32 << 20, "{n_bytes} bytes");

    assert_eq!(store.forget_approvals(20).await.unwrap(), 20);
    store.request_approval_within(&large(60), LIMITS).await.unwrap().unwrap();
    assert_eq!(store.forget_approvals(1_000).await.unwrap(), 30, "what waits stays");
    let left = store.approvals(&ApprovalFilter::default(), None, 100).await.unwrap();
    assert_eq!(left.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["ap_60"]);
    store.close().await;
}
