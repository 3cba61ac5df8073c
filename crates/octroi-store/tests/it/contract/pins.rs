//! Pinned definitions: an accepted one is never replaced without review.

use octroi_core::ServerName;
use octroi_store::{
    Accepted, HeldDefinition, KeptOut, PastPin, PinKey, PinKind, PinRecord, Scope, ServerKey,
};

use super::{on_every_database, race};
use crate::support::key;

fn pin_key(server: &str, kind: PinKind, name: &str) -> PinKey {
    PinKey { server: key(server), kind, name: name.to_owned() }
}

fn tool(name: &str) -> PinKey {
    pin_key("files", PinKind::Tool, name)
}

fn pin(key: PinKey, number: u8) -> PinRecord {
    PinRecord {
        key,
        hash: [number; 32],
        definition: format!("{{\"number\":{number}}}"),
        accepted_at_ms: i64::from(number),
        accepted_by: "first sight".to_owned(),
    }
}

fn held(key: PinKey, number: u8) -> HeldDefinition {
    HeldDefinition {
        key,
        hash: [number; 32],
        definition: format!("{{\"number\":{number}}}"),
        seen_at_ms: i64::from(number),
        reason: "the description changed".to_owned(),
    }
}

#[tokio::test]
async fn pins_come_back_as_they_were() {
    on_every_database(async |store| {
        assert_eq!(store.pins().await.unwrap(), []);
        let of_user =
            ServerKey { scope: Scope::User("ada".into()), name: ServerName::parse("files").unwrap() };
        let pins = [
            pin(pin_key("files", PinKind::Prompt, "read"), 1),
            pin(pin_key("files", PinKind::Template, "read"), 2),
            pin(tool("read"), 3),
            pin(pin_key("other", PinKind::Tool, "read"), 4),
            pin(PinKey { server: of_user, kind: PinKind::Tool, name: "read".to_owned() }, 5),
        ];
        store.save_pins(&pins).await.unwrap();
        assert_eq!(store.pins().await.unwrap(), pins);
        store.save_pins(&[]).await.unwrap();
        assert_eq!(store.pins().await.unwrap(), pins);
    })
    .await;
}

#[tokio::test]
async fn what_was_accepted_before_is_kept() {
    on_every_database(async |store| {
        for number in [1, 2, 3] {
            store.save_pins(&[pin(tool("read"), number)]).await.unwrap();
        }
        // The same definition again changes nothing: the first acceptance is kept.
        let again = PinRecord { accepted_by: "eve".to_owned(), accepted_at_ms: 9, ..pin(tool("read"), 3) };
        store.save_pins(&[again]).await.unwrap();
        assert_eq!(store.pins().await.unwrap(), [pin(tool("read"), 3)]);
        let past = |number, ended_at_ms| PastPin { pin: pin(tool("read"), number), ended_at_ms };
        assert_eq!(store.past_pins(&tool("read"), 10).await.unwrap(), [past(2, 3), past(1, 2)]);
        assert_eq!(store.past_pins(&tool("read"), 1).await.unwrap(), [past(2, 3)]);
        assert_eq!(store.past_pins(&tool("write"), 10).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn a_person_accepts_what_they_saw_and_nothing_else() {
    on_every_database(async |store| {
        let read = tool("read");
        store.save_pins(&[pin(read.clone(), 1)]).await.unwrap();
        assert_eq!(store.accept_held(&read, &[2; 32], "bob", 5).await.unwrap(), Accepted::NotHeld);
        store.hold(&[held(read.clone(), 2), held(tool("write"), 2)]).await.unwrap();
        // During the review, the server changes it once more.
        store.hold(&[held(read.clone(), 3)]).await.unwrap();
        assert_eq!(store.held().await.unwrap(), [held(read.clone(), 3), held(tool("write"), 2)]);
        let outcome = store.accept_held(&read, &[2; 32], "bob", 6).await.unwrap();
        assert_eq!(outcome, Accepted::Changed(held(read.clone(), 3)));
        assert_eq!(store.pins().await.unwrap(), [pin(read.clone(), 1)]);

        let expected = PinRecord { accepted_at_ms: 7, accepted_by: "bob".to_owned(), ..pin(read.clone(), 3) };
        let outcome = store.accept_held(&read, &[3; 32], "bob", 7).await.unwrap();
        assert_eq!(outcome, Accepted::Pinned(expected.clone()));
        assert_eq!(store.pins().await.unwrap(), [expected]);
        assert_eq!(store.held().await.unwrap(), [held(tool("write"), 2)]);
        let past = PastPin { pin: pin(read.clone(), 1), ended_at_ms: 7 };
        assert_eq!(store.past_pins(&read, 10).await.unwrap(), [past]);
    })
    .await;
}

#[tokio::test]
async fn what_waits_can_be_dropped_or_saved() {
    on_every_database(async |store| {
        store.hold(&[held(tool("a"), 1), held(tool("b"), 1), held(tool("c"), 1)]).await.unwrap();
        assert!(store.drop_held(&tool("a")).await.unwrap());
        assert!(!store.drop_held(&tool("a")).await.unwrap());
        // Accepting another definition leaves the quarantined one; accepting this one ends its quarantine.
        store.save_pins(&[pin(tool("b"), 2), pin(tool("c"), 1)]).await.unwrap();
        assert_eq!(store.held().await.unwrap(), [held(tool("b"), 1)]);
    })
    .await;
}

#[tokio::test]
async fn forgetting_a_server_keeps_the_past_and_the_others() {
    on_every_database(async |store| {
        let other = pin_key("other", PinKind::Tool, "a");
        store.save_pins(&[pin(tool("a"), 1), pin(tool("b"), 2), pin(other.clone(), 3)]).await.unwrap();
        store.hold(&[held(tool("a"), 4), held(other.clone(), 5)]).await.unwrap();
        assert_eq!(store.forget_pins(&key("files"), 9).await.unwrap(), 2);
        assert_eq!(store.forget_pins(&key("files"), 9).await.unwrap(), 0);
        assert_eq!(store.pins().await.unwrap(), [pin(other.clone(), 3)]);
        assert_eq!(store.held().await.unwrap(), [held(other, 5)]);
        let past = PastPin { pin: pin(tool("a"), 1), ended_at_ms: 9 };
        assert_eq!(store.past_pins(&tool("a"), 10).await.unwrap(), [past]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_one_accepts() {
    on_every_database(async |store| {
        store.hold(&[held(tool("a"), 1)]).await.unwrap();
        let accepting = race(&store, |store, attempt| async move {
            let outcome = store.accept_held(&tool("a"), &[1; 32], &attempt.to_string(), 2).await.unwrap();
            match outcome {
                Accepted::Pinned(pin) => Some(pin),
                Accepted::Changed(_) | Accepted::NotHeld => None,
            }
        });
        assert_eq!(accepting.await, store.pins().await.unwrap());
        assert_eq!(store.pins().await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn one_thing_is_forgotten_and_the_others_stay() {
    on_every_database(async |store| {
        let (read, write) = (tool("read"), tool("write"));
        let prompt = pin_key("files", PinKind::Prompt, "read");
        store
            .save_pins(&[pin(read.clone(), 1), pin(write.clone(), 2), pin(prompt.clone(), 3)])
            .await
            .unwrap();
        store.hold(&[held(read.clone(), 4), held(write.clone(), 5)]).await.unwrap();
        assert!(store.forget_pin(&read, 9).await.unwrap());
        assert!(!store.forget_pin(&read, 10).await.unwrap(), "nothing is left to forget");
        assert_eq!(store.pins().await.unwrap(), [pin(prompt, 3), pin(write.clone(), 2)]);
        assert_eq!(store.held().await.unwrap(), [held(write, 5)]);
        let past = PastPin { pin: pin(read.clone(), 1), ended_at_ms: 9 };
        assert_eq!(store.past_pins(&read, 10).await.unwrap(), [past]);
    })
    .await;
}

#[tokio::test]
async fn what_is_kept_out_stays_out_until_it_is_accepted() {
    on_every_database(async |store| {
        let read = tool("read");
        let out = |number: u8, by: &str| KeptOut {
            key: tool("read"),
            hash: [number; 32],
            decided_at_ms: 7,
            decided_by: by.to_owned(),
        };
        store.save_pins(&[pin(read.clone(), 1)]).await.unwrap();
        store.hold(&[held(read.clone(), 2)]).await.unwrap();
        store.keep_out(&out(2, "ada")).await.unwrap();
        assert_eq!(store.held().await.unwrap(), [], "no longer quarantined");
        store.hold(&[held(read.clone(), 3)]).await.unwrap();
        store.keep_out(&out(2, "eve")).await.unwrap();
        assert_eq!(store.held().await.unwrap(), [held(read.clone(), 3)], "another one is quarantined");
        store.keep_out(&out(4, "eve")).await.unwrap();
        assert_eq!(store.kept_out().await.unwrap(), [out(2, "ada"), out(4, "eve")]);
        store.forget_pins(&key("files"), 8).await.unwrap();
        assert_eq!(store.kept_out().await.unwrap().len(), 2, "rejected definitions are kept");
        store.save_pins(&[pin(read.clone(), 2)]).await.unwrap();
        assert_eq!(store.kept_out().await.unwrap(), [out(4, "eve")]);
    })
    .await;
}
