//! The notices that wait for one client of the modern era.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use octroi_gateway::Notice;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// A queue without a limit of its own: a notice that waits already is not added again, so it never has more than one
/// for each kind of list and for each resource that its client watches. None is lost, however slowly it reads.
#[derive(Default)]
pub(crate) struct NoticeQueue {
    waiting: Mutex<Waiting>,
    added: Notify,
}

#[derive(Default)]
struct Waiting {
    in_order: VecDeque<Arc<Notice>>,
    known: HashSet<Arc<Notice>>,
}

impl NoticeQueue {
    /// Adds a notice, unless the same one waits.
    pub(crate) fn push(&self, notice: Notice) {
        let notice = Arc::new(notice);
        let mut waiting = self.waiting.lock();
        if waiting.known.insert(Arc::clone(&notice)) {
            waiting.in_order.push_back(notice);
            self.added.notify_one();
        }
    }

    /// The next notice. Dropping the future loses none.
    pub(crate) async fn next(&self) -> Arc<Notice> {
        loop {
            if let Some(notice) = self.take() {
                return notice;
            }
            self.added.notified().await;
        }
    }

    fn take(&self) -> Option<Arc<Notice>> {
        let mut waiting = self.waiting.lock();
        let notice = waiting.in_order.pop_front()?;
        waiting.known.remove(&notice);
        Some(notice)
    }
}

#[cfg(test)]
mod tests {
    use octroi_mcp::Method;

    use super::*;

    #[test]
    fn every_change_is_told_once_to_a_client_that_does_not_read() {
        let queue = NoticeQueue::default();
        let updated = |n: usize| Notice::ResourceUpdated(format!("file://{n}"));
        for _ in 0..3 {
            queue.push(Notice::ListChanged(Method::ToolsChanged));
            (0..1_000).for_each(|n| queue.push(updated(n)));
        }
        let told: Vec<Notice> =
            std::iter::from_fn(|| queue.take()).map(|notice| Notice::clone(&notice)).collect();
        let expected: Vec<Notice> = std::iter::once(Notice::ListChanged(Method::ToolsChanged))
            .chain((0..1_000).map(updated))
            .collect();
        assert_eq!(told, expected);
        queue.push(updated(1));
        assert_eq!(queue.take().as_deref(), Some(&updated(1)), "a later change is told again");
    }
}
