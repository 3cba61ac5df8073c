//! The contract of every database behind a store. Each case runs on each of them.

mod agents;
mod approvals;
mod audit;
mod calls;
mod choices;
mod entries;
mod pins;
mod policies;
mod secrets;
mod users;

use std::sync::Arc;

use octroi_core::Health;
use octroi_core::ServerName;
use octroi_store::{
    Catalogue, ERROR_LENGTH_MAX, HealthSample, ManagedBy, Recorded, RecordedChange, SAMPLES_MAX, Saved,
    Scope, ServerKey, ServerRecord, Store, StoreError, StoredCatalogue,
};

use crate::support::{catalogue, definition, key, test_key};

/// The databases under test.
#[derive(Clone, Copy)]
enum Database {
    Sqlite,
}

const DATABASES: [Database; 1] = [Database::Sqlite];

/// Runs a case on an empty store of each database.
pub(crate) async fn on_every_database(case: impl AsyncFn(Arc<Store>)) {
    for database in DATABASES {
        match database {
            Database::Sqlite => {
                let directory = tempfile::tempdir().unwrap();
                case(Arc::new(Store::open(directory.path(), &test_key).await.unwrap())).await;
            }
        }
    }
}

/// Runs the same operation in many concurrent tasks; returns the results of those that succeeded.
async fn race<T: Send + 'static, F: Future<Output = Option<T>> + Send + 'static>(
    store: &Arc<Store>,
    attempt: impl Fn(Arc<Store>, usize) -> F,
) -> Vec<T> {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..16 {
        tasks.spawn(attempt(store.clone(), number));
    }
    tasks.join_all().await.into_iter().flatten().collect()
}

async fn record(store: &Store, name: &str) -> ServerKey {
    store.record_server(&key(name), ManagedBy::File, &definition(name), 1).await.unwrap();
    key(name)
}

fn sample(at_ms: i64) -> HealthSample {
    HealthSample { at_ms, health: Health::Healthy, latency_ms: Some(at_ms % 10), error: None }
}

#[tokio::test]
async fn a_new_store_is_empty() {
    on_every_database(async |store| {
        assert_eq!(store.servers().await.unwrap(), []);
        assert_eq!(store.server(&key("files")).await.unwrap(), None);
        assert_eq!(store.catalogues().await.unwrap(), []);
        assert_eq!(store.health_samples(&key("files"), 10).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn a_definition_gets_a_revision_with_each_change() {
    on_every_database(async |store| {
        let key = key("files");
        let mut outcomes = Vec::new();
        for (managed_by, command, now_ms) in [
            (ManagedBy::File, "a", 10),
            (ManagedBy::File, "a", 20),
            (ManagedBy::File, "b", 30),
            (ManagedBy::Database, "b", 40),
            (ManagedBy::Database, "b", 50),
        ] {
            let Recorded { revision, change } =
                store.record_server(&key, managed_by, &definition(command), now_ms).await.unwrap();
            outcomes.push((revision, change));
        }
        let expected = [
            (1, RecordedChange::Added),
            (1, RecordedChange::Unchanged),
            (2, RecordedChange::Changed),
            (3, RecordedChange::Changed),
            (3, RecordedChange::Unchanged),
        ];
        assert_eq!(outcomes, expected);
        let record = ServerRecord {
            key: key.clone(),
            managed_by: ManagedBy::Database,
            definition: definition("b"),
            revision: 3,
            enabled_override: None,
            switched_by: None,
            is_agreed: false,
            asks_clients: false,
            first_seen_ms: 10,
            last_seen_ms: 50,
        };
        assert_eq!(store.server(&key).await.unwrap(), Some(record));
    })
    .await;
}

#[tokio::test]
async fn servers_of_one_name_but_other_scopes_are_apart() {
    on_every_database(async |store| {
        let name = ServerName::parse("files").unwrap();
        let scopes = [Scope::System, Scope::User("ada".into()), Scope::User("bob".into())];
        for (number, scope) in scopes.iter().enumerate() {
            let key = ServerKey { scope: scope.clone(), name: name.clone() };
            store.record_server(&key, ManagedBy::Preset, &definition("x"), 1).await.unwrap();
            store.save_catalogue(&key, &catalogue(number), 1).await.unwrap();
        }
        let found: Vec<Scope> = store.servers().await.unwrap().into_iter().map(|one| one.key.scope).collect();
        assert_eq!(found, scopes);
        let found: Vec<Catalogue> =
            store.catalogues().await.unwrap().into_iter().map(|one| one.catalogue).collect();
        assert_eq!(found, [catalogue(0), catalogue(1), catalogue(2)]);
    })
    .await;
}

#[tokio::test]
async fn enabling_outlives_a_changed_definition() {
    on_every_database(async |store| {
        let key = record(&store, "files").await;
        for enabled in [Some(false), Some(true), None, Some(false)] {
            store.set_enabled_override(&key, enabled.map(|enabled| (enabled, "ada"))).await.unwrap();
            let found = store.server(&key).await.unwrap().unwrap();
            let by = enabled.map(|_| "ada".to_owned());
            assert_eq!((found.enabled_override, found.switched_by), (enabled, by));
        }
        let recorded = store.record_server(&key, ManagedBy::File, &definition("other"), 2).await.unwrap();
        assert_eq!(recorded, Recorded { revision: 2, change: RecordedChange::Changed });
        assert_eq!(store.server(&key).await.unwrap().unwrap().enabled_override, Some(false));
    })
    .await;
}

#[tokio::test]
async fn enabling_a_server_is_a_yes_that_stays() {
    on_every_database(async |store| {
        let (switched, agreed) = (record(&store, "switched").await, record(&store, "agreed").await);
        let is_agreed =
            async |key: &ServerKey| store.server(key).await.unwrap().is_some_and(|found| found.is_agreed);
        for (enabled, expected) in
            [(Some(false), false), (None, false), (Some(true), true), (Some(false), true), (None, true)]
        {
            store.set_enabled_override(&switched, enabled.map(|enabled| (enabled, "ada"))).await.unwrap();
            assert_eq!(is_agreed(&switched).await, expected, "{enabled:?}");
        }
        assert!(!is_agreed(&agreed).await);
        store.agree_to_server(&agreed).await.unwrap();
        store.record_server(&agreed, ManagedBy::File, &definition("other"), 2).await.unwrap();
        assert!(is_agreed(&agreed).await);
    })
    .await;
}

#[tokio::test]
async fn that_a_server_asks_outlives_a_changed_definition() {
    on_every_database(async |store| {
        let key = record(&store, "files").await;
        for asks_clients in [true, false, true] {
            store.set_asks_clients(&key, asks_clients).await.unwrap();
            assert_eq!(store.server(&key).await.unwrap().unwrap().asks_clients, asks_clients);
        }
        store.record_server(&key, ManagedBy::File, &definition("other"), 2).await.unwrap();
        assert!(store.servers().await.unwrap()[0].asks_clients);
    })
    .await;
}

#[tokio::test]
async fn nothing_is_kept_for_a_server_that_is_not_recorded() {
    on_every_database(async |store| {
        let key = key("nobody");
        for error in [
            store.set_enabled_override(&key, Some((true, "ada"))).await.unwrap_err(),
            store.agree_to_server(&key).await.unwrap_err(),
            store.set_asks_clients(&key, true).await.unwrap_err(),
            store.save_catalogue(&key, &catalogue(1), 1).await.unwrap_err(),
            store.add_health_sample(&key, &sample(1)).await.unwrap_err(),
        ] {
            assert!(matches!(&error, StoreError::UnknownServer { key: other } if *other == key), "{error:?}");
        }
        assert_eq!(store.catalogues().await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn forgetting_a_server_forgets_all_of_it() {
    on_every_database(async |store| {
        let (kept, gone) = (record(&store, "kept").await, record(&store, "gone").await);
        for key in [&kept, &gone] {
            store.save_catalogue(key, &catalogue(1), 1).await.unwrap();
            store.add_health_sample(key, &sample(1)).await.unwrap();
        }
        assert!(store.forget_server(&gone).await.unwrap());
        assert!(!store.forget_server(&gone).await.unwrap());
        // Nothing comes back with a new server of the same name.
        record(&store, "gone").await;
        assert_eq!(store.server(&gone).await.unwrap().unwrap().revision, 1);
        assert_eq!(store.catalogues().await.unwrap().len(), 1);
        assert_eq!(store.health_samples(&gone, 10).await.unwrap(), []);
        assert_eq!(store.health_samples(&kept, 10).await.unwrap(), [sample(1)]);
    })
    .await;
}

#[tokio::test]
async fn a_catalogue_comes_back_as_it_was() {
    on_every_database(async |store| {
        let key = record(&store, "files").await;
        // Whitespace, order, duplicate members, huge numbers and any characters are preserved.
        let catalogue = Catalogue {
            identity: r#"{ "name" : "f\u00fc" }"#.to_owned(),
            tools: [r#"{"b":1,"a":1e999,"b":2}"#, "{ }", r#"{"t":"'\"\\\u0000 ü 𝄞 ] ,"}"#, "{ }"]
                .map(str::to_owned)
                .to_vec(),
            prompts: Vec::new(),
            resources: vec!["123456789012345678901234567890".to_owned()],
            templates: (0..20_000).map(|number| format!("{{\"n\":{number}}}")).collect(),
        };
        assert_eq!(store.save_catalogue(&key, &catalogue, 7).await.unwrap(), Saved::Written);
        let content_hash = catalogue.content_hash();
        let stored = StoredCatalogue { key, catalogue, content_hash, saved_at_ms: 7 };
        assert_eq!(store.catalogues().await.unwrap(), [stored]);
    })
    .await;
}

#[tokio::test]
async fn an_equal_catalogue_is_not_written_again() {
    on_every_database(async |store| {
        let key = record(&store, "files").await;
        let mut reordered = catalogue(2);
        reordered.tools.swap(0, 1);
        let mut moved = reordered.clone();
        moved.resources.append(&mut moved.templates);
        for (number, (catalogue, expected)) in [
            (Catalogue::default(), Saved::Written),
            (Catalogue::default(), Saved::Unchanged),
            (catalogue(2), Saved::Written),
            (catalogue(2), Saved::Unchanged),
            (reordered, Saved::Written),
            (moved, Saved::Written),
        ]
        .into_iter()
        .enumerate()
        {
            let saved = store.save_catalogue(&key, &catalogue, number.try_into().unwrap()).await.unwrap();
            assert_eq!(saved, expected, "{number}");
            assert_eq!(store.catalogues().await.unwrap()[0].catalogue, catalogue);
        }
        assert_eq!(store.catalogues().await.unwrap()[0].saved_at_ms, 5);
        assert!(store.delete_catalogue(&key).await.unwrap());
        assert!(!store.delete_catalogue(&key).await.unwrap());
        assert_eq!(store.catalogues().await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn the_history_keeps_the_newest_samples() {
    on_every_database(async |store| {
        let (busy, quiet) = (record(&store, "busy").await, record(&store, "quiet").await);
        store.add_health_sample(&quiet, &sample(1)).await.unwrap();
        let n_added = i64::from(SAMPLES_MAX) + 20;
        for at_ms in 0..n_added {
            store.add_health_sample(&busy, &sample(at_ms)).await.unwrap();
        }
        assert_eq!(store.purge_health(0).await.unwrap(), 20);
        assert_eq!(store.purge_health(0).await.unwrap(), 0);
        let newest_first: Vec<HealthSample> = (20..n_added).rev().map(sample).collect();
        assert_eq!(store.health_samples(&busy, u32::MAX).await.unwrap(), newest_first);
        assert_eq!(store.health_samples(&busy, 3).await.unwrap(), newest_first[..3]);
        assert_eq!(store.health_samples(&busy, 0).await.unwrap(), []);
        assert_eq!(store.health_samples(&quiet, 3).await.unwrap(), [sample(1)]);
        // Those of the other server are older than this, too.
        assert_eq!(store.purge_health(n_added - 2).await.unwrap(), u64::from(SAMPLES_MAX) - 1);
        assert_eq!(store.health_samples(&busy, 10).await.unwrap(), newest_first[..2]);
        assert_eq!(store.health_samples(&quiet, 3).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn samples_come_back_as_they_were_but_for_endless_errors() {
    on_every_database(async |store| {
        let key = record(&store, "files").await;
        let all = [Health::Unknown, Health::Healthy, Health::Degraded, Health::Unhealthy];
        let mut samples = all.map(|health| HealthSample {
            // The clock may go back; samples are in order of insertion.
            at_ms: -5,
            health,
            latency_ms: None,
            error: Some("ü".repeat(ERROR_LENGTH_MAX + 1)),
        });
        for sample in &samples {
            store.add_health_sample(&key, sample).await.unwrap();
        }
        samples.reverse();
        for sample in &mut samples {
            sample.error = Some("ü".repeat(ERROR_LENGTH_MAX));
        }
        assert_eq!(store.health_samples(&key, 10).await.unwrap(), samples);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_write_and_read_at_once() {
    on_every_database(async |store| {
        let shared = record(&store, "shared").await;
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..32_usize {
            let (store, shared) = (store.clone(), shared.clone());
            tasks.spawn(async move {
                let own = record(&store, &format!("own{number}")).await;
                for round in 0..10 {
                    store.save_catalogue(&own, &catalogue(round), 1).await.unwrap();
                    store.save_catalogue(&shared, &catalogue(number), 1).await.unwrap();
                    store.add_health_sample(&shared, &sample(1)).await.unwrap();
                    // Never a mix of two catalogues: all that are returned match their hash, and none is
                    // missing.
                    let found = store.catalogues().await.unwrap();
                    assert!(found.iter().any(|one| one.key == shared));
                    assert!(found.iter().any(|one| one.key == own && one.catalogue == catalogue(round)));
                }
            });
        }
        while let Some(outcome) = tasks.join_next().await {
            outcome.unwrap();
        }
        assert_eq!(store.servers().await.unwrap().len(), 33);
        assert_eq!(store.catalogues().await.unwrap().len(), 33);
        assert_eq!(store.health_samples(&shared, SAMPLES_MAX).await.unwrap().len(), 320);
    })
    .await;
}

#[tokio::test]
async fn a_dropped_change_leaves_all_or_nothing() {
    on_every_database(async |store| {
        let key = record(&store, "files").await;
        store.save_catalogue(&key, &catalogue(0), 1).await.unwrap();
        let mut last = catalogue(0);
        for number in 1..100 {
            let next = catalogue(number);
            let limit = std::time::Duration::from_micros(20 * u64::try_from(number).unwrap());
            let _ = tokio::time::timeout(limit, store.save_catalogue(&key, &next, 1)).await;
            // It may still be in progress; the next write comes after it.
            store.set_enabled_override(&key, None).await.unwrap();
            let found = store.catalogues().await.unwrap().remove(0).catalogue;
            assert!(found == last || found == next, "after {number}");
            last = found;
        }
        store.save_catalogue(&key, &catalogue(1_000), 1).await.unwrap();
        assert_eq!(store.catalogues().await.unwrap()[0].catalogue, catalogue(1_000));
    })
    .await;
}
