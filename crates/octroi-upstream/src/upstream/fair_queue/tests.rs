use proptest::prelude::*;

use super::*;

fn enter(queue: &Arc<FairQueue>, principal: &str) -> Admission {
    queue.enter(&principal.into(), Duration::ZERO)
}

fn free(admission: Admission) -> QueueSlot {
    match admission {
        Admission::Free(slot) => slot,
        other => panic!("{other:?}"),
    }
}

fn waiting(admission: Admission) -> oneshot::Receiver<QueueSlot> {
    match admission {
        Admission::Waiting(receiver) => receiver,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_principal_alone_has_every_slot_and_the_whole_queue() {
    let queue = FairQueue::new(3, 2);
    let slots: Vec<_> = (0..3).map(|_| free(enter(&queue, "a"))).collect();
    let mut waiters: Vec<_> = (0..2).map(|_| waiting(enter(&queue, "a"))).collect();
    assert!(matches!(enter(&queue, "a"), Admission::Full));
    drop(slots);
    for waiter in &mut waiters {
        assert!(waiter.try_recv().is_ok());
    }
    assert_eq!(queue.n_waiting(), 0);
}

#[test]
fn a_flood_delays_another_by_one_turn() {
    let queue = FairQueue::new(1, 100);
    let first = free(enter(&queue, "flood"));
    let mut flood: Vec<_> = (0..50).map(|_| waiting(enter(&queue, "flood"))).collect();
    let mut quiet = waiting(enter(&queue, "quiet"));
    drop(first);
    let second = flood[0].try_recv().unwrap();
    assert!(quiet.try_recv().is_err());
    drop(second);
    assert!(quiet.try_recv().is_ok(), "turns alternate, however many wait");
}

#[test]
fn a_full_queue_gives_way_to_another_principal() {
    let queue = FairQueue::new(1, 4);
    let _running = free(enter(&queue, "flood"));
    let mut flood: Vec<_> = (0..4).map(|_| waiting(enter(&queue, "flood"))).collect();
    let _quiet = waiting(enter(&queue, "quiet"));
    let lost: Vec<bool> = flood
        .iter_mut()
        .map(|waiter| matches!(waiter.try_recv(), Err(oneshot::error::TryRecvError::Closed)))
        .collect();
    assert_eq!(lost, [false, false, false, true], "the newest call of the flood loses its place");
    assert!(matches!(enter(&queue, "flood"), Admission::Full));
    assert_eq!(queue.n_waiting(), 4);
}

#[test]
fn no_principal_holds_every_slot_once_there_is_another() {
    let queue = FairQueue::new(10, 100);
    drop(free(enter(&queue, "quiet")));
    let flood: Vec<_> = (0..8).map(|_| free(enter(&queue, "flood"))).collect();
    let _waits = waiting(enter(&queue, "flood"));
    let _quiet = free(enter(&queue, "quiet"));
    drop(flood);
}

#[test]
fn long_calls_of_two_leave_a_slot_to_a_third() {
    let queue = FairQueue::new(10, 100);
    drop(free(enter(&queue, "quiet")));
    let mut many: Vec<_> = (0..8).map(|_| free(enter(&queue, "many"))).collect();
    let _second = free(enter(&queue, "second"));
    let mut waits = waiting(enter(&queue, "second"));
    drop(free(enter(&queue, "quiet")));
    // What is free is not kept from anybody: it is a part of more.
    many.truncate(7);
    assert!(waits.try_recv().is_ok());
    let _quiet = free(enter(&queue, "quiet"));
}

#[test]
fn a_caller_that_gave_up_takes_no_slot_and_no_place() {
    let queue = FairQueue::new(1, 1);
    let running = free(enter(&queue, "a"));
    drop(waiting(enter(&queue, "a")));
    queue.forget_gone();
    let mut next = waiting(enter(&queue, "a"));
    drop(running);
    assert!(next.try_recv().is_ok());
}

#[test]
fn a_slot_that_arrives_too_late_goes_to_the_next() {
    let queue = FairQueue::new(1, 2);
    let running = free(enter(&queue, "a"));
    let late = waiting(enter(&queue, "a"));
    let mut next = waiting(enter(&queue, "a"));
    drop(running);
    drop(late);
    assert!(next.try_recv().is_ok());
}

#[derive(Clone, Debug)]
enum Step {
    Enter(u8),
    End(usize),
    GiveUp(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0_u8..4).prop_map(Step::Enter),
        2 => any::<usize>().prop_map(Step::End),
        1 => any::<usize>().prop_map(Step::GiveUp),
    ];
    proptest::collection::vec(step, 0..200)
}

proptest! {
    /// Whatever comes in which order: never more slots than there are, and none is lost.
    #[test]
    fn slots_are_neither_lost_nor_doubled(n_slots in 1_usize..6, n_waiting in 0_usize..6, steps in steps()) {
        let queue = FairQueue::new(n_slots, n_waiting);
        let (mut running, mut waiters) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Enter(principal) => match enter(&queue, &principal.to_string()) {
                    Admission::Free(slot) => running.push(slot),
                    Admission::Waiting(receiver) => waiters.push(receiver),
                    Admission::Full => {}
                },
                Step::End(index) if !running.is_empty() => drop(running.swap_remove(index % running.len())),
                Step::GiveUp(index) if !waiters.is_empty() => {
                    drop(waiters.swap_remove(index % waiters.len()));
                    queue.forget_gone();
                }
                Step::End(_) | Step::GiveUp(_) => {}
            }
            waiters.retain_mut(|receiver| match receiver.try_recv() {
                Ok(slot) => {
                    running.push(slot);
                    false
                }
                Err(oneshot::error::TryRecvError::Empty) => true,
                Err(oneshot::error::TryRecvError::Closed) => false,
            });
            prop_assert!(running.len() <= n_slots);
            prop_assert_eq!(queue.state.lock().n_running, running.len());
            prop_assert_eq!(queue.n_waiting(), waiters.len());
        }
        // What waits gets a slot once the others are done.
        for _ in 0..=waiters.len() {
            running.clear();
            running.extend(waiters.iter_mut().filter_map(|receiver| receiver.try_recv().ok()));
        }
        drop(running);
        prop_assert_eq!(queue.n_waiting(), 0);
        prop_assert_eq!(queue.state.lock().n_running, 0);
    }
}
