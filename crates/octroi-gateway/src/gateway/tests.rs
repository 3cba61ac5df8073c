//! A whole gateway without servers, and the log of an earlier run.

use std::time::Duration;

use octroi_core::audit::{Actor, ActorKind, Event, Kind};
use octroi_core::principal::TokenName;
use octroi_core::{Principal, ServerKey, UserRole};
use octroi_store::{
    AuditFilter, AuditRecord, CanonicalJson, HealthSample, ManagedBy, PolicyDraft, PolicyLevel, Store,
};
use parking_lot::Mutex;

use super::*;
use crate::audit::{AuditHandler, AuditLog, Delivery, Durability, Handling, Options, VerifyOptions, verify};
use crate::{AuditSearch, KeyOrigin, OnLoss, rebuild_database};

const DAY: Duration = Duration::from_hours(24);
const PATIENCE: Duration = Duration::from_secs(20);

/// Creates a log with some small segments.
async fn leave_log(data: &std::path::Path) -> u64 {
    let mut options = Options::new(octroi_upstream::system_clock());
    options.segment_bytes = 4_096;
    let log = AuditLog::open(&data.join("audit"), &options).unwrap().log;
    for _ in 0..100 {
        let actor = Actor::new(ActorKind::Agent, "agent:coder");
        let at_ms = u64::try_from(octroi_upstream::system_clock().now_ms()).unwrap();
        let event = Event { agent: Some("coder"), ..Event::new(at_ms, Kind::PolicyDecision, actor) };
        log.append(&event, Durability::Os).await.unwrap();
    }
    log.close().await.unwrap()
}

async fn start(data: &std::path::Path) -> Arc<Gateway> {
    let clock = octroi_upstream::system_clock();
    // Some tests leave a log without its database, or a shorter one.
    let persistence =
        Persistence::open_with(data, clock.clone(), OnLoss::Accept, &KeyOrigin::Directory).await.unwrap();
    let persistence = Some(persistence);
    let owner = format!("test:{}", data.display());
    let processes = Processes { owner, reaper: None, is_alone: false };
    let options = GatewayOptions { servers: Vec::new(), processes, persistence, builtin: None, clock };
    Gateway::start(options).await.unwrap()
}

fn all() -> AuditSearch {
    AuditSearch { filter: AuditFilter::default(), n_max: 1_000, ..AuditSearch::default() }
}

async fn first_found(gateway: &Gateway) -> u64 {
    gateway.audit().search(&all()).await.unwrap().rows.last().unwrap().seq
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_are_too_old_go_from_the_log_and_from_the_table() {
    let person = Principal::person("ann", UserRole::Member, TokenName::labelled("ann"));
    for is_asked in [true, false] {
        let place = tempfile::tempdir().unwrap();
        let last = leave_log(place.path()).await;
        let gateway = start(place.path()).await;
        let found = gateway.audit().search(&all()).await.unwrap();
        assert!(found.n_behind == 0 && found.rows.len() as u64 >= last, "{} of {last}", found.rows.len());
        let settings = AuditSection { retention: Some(DAY), ..AuditSection::default() };
        gateway.govern(GovernanceSettings::default(), settings.clone(), &[]).await.unwrap();
        assert_eq!(gateway.audit().purge(&person, 1).await.unwrap().n_records, 0);
        assert_eq!(first_found(&gateway).await, 1, "nothing is that old");

        if is_asked {
            let purged = gateway.audit().purge(&person, u64::MAX).await.unwrap();
            assert!(purged.n_segments > 1 && purged.n_records > 0, "{purged:?}");
        } else {
            let settings = AuditSection { retention: Some(Duration::from_millis(1)), ..settings };
            gateway.govern(GovernanceSettings::default(), settings, &[]).await.unwrap();
        }
        let waiting = async {
            while first_found(&gateway).await == 1 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap();
        let kept = gateway.audit().record(first_found(&gateway).await).await.unwrap();
        assert!(kept.is_some(), "what is found must be in the log");
        let found = gateway.audit().search(&all()).await.unwrap();
        let purges: Vec<_> = found.rows.iter().filter(|row| row.event_type == "audit_purged").collect();
        let actor = if is_asked { &**person.id() } else { "octroi" };
        assert!(!purges.is_empty() && purges.iter().all(|row| row.actor_id == actor), "{purges:#?}");
        gateway.stop(PATIENCE).await;
        let report = verify(&place.path().join("audit"), &VerifyOptions::default()).unwrap();
        assert!(report.is_intact() && report.first_seq > 1, "{report:?}");
    }
}

/// A purge leaves a snapshot behind, so that a database that is lost later can still be made again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_is_made_again_from_a_log_that_was_purged() {
    let person = Principal::person("ann", UserRole::Member, TokenName::labelled("ann"));
    let place = tempfile::tempdir().unwrap();
    let gateway = start(place.path()).await;
    let draft = PolicyDraft {
        level: PolicyLevel::Global,
        language: "rules".to_owned(),
        source: "[[deny]]\nid = \"no-echo\"\ntool = \"*\"\n".to_owned(),
        author: "ann".to_owned(),
        rationale: None,
        check_result: None,
    };
    gateway.governance.set_policy(&draft, None).await.unwrap();
    gateway.stop(PATIENCE).await;
    drop(gateway);
    let recorded = verify(&place.path().join("audit"), &VerifyOptions::default()).unwrap().last_seq;
    // The segments in which the policy was recorded are not the last ones.
    leave_log(place.path()).await;
    let gateway = start(place.path()).await;
    let purged = gateway.audit().purge(&person, u64::MAX).await.unwrap();
    assert!(purged.n_records >= recorded, "{purged:?}");
    gateway.stop(PATIENCE).await;
    drop(gateway);
    for file in ["octroi.db", "octroi.db-wal", "octroi.db-shm"] {
        let _ = std::fs::remove_file(place.path().join(file));
    }
    let clock = octroi_upstream::system_clock();
    let rebuilt = rebuild_database(place.path(), &clock, Actor::SYSTEM, OnLoss::Refuse).await.unwrap();
    assert_eq!(rebuilt.n_policies, 1);
    let gateway = start(place.path()).await;
    let active = gateway.governance.active_policy(&PolicyLevel::Global).await.unwrap();
    assert_eq!(active.map(|record| record.draft.source), Some(draft.source));
    gateway.stop(PATIENCE).await;
}

#[derive(Default)]
struct Counter(Mutex<Vec<String>>);

impl AuditHandler for Counter {
    fn handle<'a>(&'a self, events: &'a [Delivery]) -> Handling<'a> {
        Box::pin(async move {
            self.0.lock().extend(events.iter().map(Delivery::to_json));
            Ok(())
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_adds_a_handler_of_its_own() {
    let place = tempfile::tempdir().unwrap();
    let gateway = start(place.path()).await;
    let counter = Arc::new(Counter::default());
    gateway.audit().register_handler("own", Arc::clone(&counter) as Arc<dyn AuditHandler>).unwrap();
    for wrong in ["own", "", "../own", "a.new", "a/b"] {
        assert!(gateway.audit().register_handler(wrong, Arc::<Counter>::default()).is_err(), "{wrong}");
    }
    // A configuration without handlers does not remove it.
    gateway.govern(GovernanceSettings::default(), AuditSection::default(), &[]).await.unwrap();
    assert_eq!(gateway.audit().handler_readings().len(), 1);
    let waiting = async {
        while !counter.0.lock().iter().any(|event| event.contains("auth_failed")) {
            gateway.audit().record_refused("the token is not known", std::net::Ipv4Addr::LOCALHOST.into());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap();
    gateway.stop(PATIENCE).await;
}

/// A power failure may cut the end of the log although it was already copied.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_the_log_lost_are_not_found_in_place_of_later_ones() {
    let place = tempfile::tempdir().unwrap();
    let last = leave_log(place.path()).await;
    let node = verify(&place.path().join("audit"), &VerifyOptions::default()).unwrap().node;
    let actor = Actor::new(ActorKind::Agent, "agent:lost");
    let gone = Event::new(1, Kind::PolicyDecision, actor).body();
    let records: Vec<AuditRecord<'_>> =
        (1..=last + 20).map(|seq| AuditRecord::read(seq, &gone).unwrap()).collect();
    let store = Store::open(place.path(), &|_, _| Ok(None)).await.unwrap();
    store.append_audit(&node, &records).await.unwrap();
    store.close().await;

    let gateway = start(place.path()).await;
    let found = gateway.audit().search(&all()).await.unwrap();
    let numbers: Vec<u64> = found.rows.iter().map(|row| row.seq).collect();
    assert_eq!(numbers, (1..=found.position).rev().collect::<Vec<_>>(), "each once");
    assert!(found.position > last, "the log was opened again");
    let wrong: Vec<_> =
        found.rows.iter().filter(|row| (row.actor_id == "agent:lost") != (row.seq <= last)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_of_health_checks_go_when_they_are_too_old() {
    let place = tempfile::tempdir().unwrap();
    let gateway = start(place.path()).await;
    let store = gateway.persistence().unwrap().store();
    let key = ServerKey::parse("files").unwrap();
    store.record_server(&key, ManagedBy::File, &CanonicalJson::of(serde_json::json!({})), 1).await.unwrap();
    let now_ms = octroi_upstream::system_clock().now_ms();
    for n_days in [8, 6, 0] {
        let at_ms = now_ms - n_days * i64::try_from(DAY.as_millis()).unwrap();
        let sample =
            HealthSample { at_ms, health: octroi_core::Health::Healthy, latency_ms: None, error: None };
        store.add_health_sample(&key, &sample).await.unwrap();
    }
    for (health_retention, n_left) in [(None, 3), (Some(7 * DAY), 2), (Some(DAY), 1)] {
        let settings = GovernanceSettings { health_retention, ..GovernanceSettings::default() };
        gateway.govern(settings, AuditSection::default(), &[]).await.unwrap();
        gateway.forget_checks().await;
        assert_eq!(store.health_samples(&key, 10).await.unwrap().len(), n_left, "{health_retention:?}");
    }
}
