use octroi_core::glob::Glob;
use octroi_core::policy::ToolPattern;
use octroi_core::tool::{Risk, SideEffects, Source};
use octroi_core::trust::Trust;
use octroi_core::{CanonicalId, ServerKey};

use super::*;

fn tool(name: &str) -> ToolDescriptor {
    let server = ServerKey::parse("fs").unwrap();
    ToolDescriptor {
        id: CanonicalId::mcp(&server, name),
        source: Source::Mcp,
        source_id: "fs".into(),
        name: name.into(),
        risk: Risk::Low,
        side_effects: SideEffects::default(),
        requires_admin: false,
        enabled: true,
        off_because: None,
        trust: Trust::Medium,
        timeout: Duration::from_secs(1),
        version: None,
        definition_hash: [0; 32],
    }
}

fn quota(change: impl FnOnce(&mut QuotaSpec)) -> Quotas {
    let mut spec = QuotaSpec {
        name: "q".to_owned(),
        token: None,
        agent: None,
        server: None,
        tool: None,
        calls_per_minute: None,
        max_in_flight: None,
        max_runtime: None,
        each: true,
    };
    change(&mut spec);
    let quotas = Quotas::default();
    quotas.set(&[spec]);
    quotas
}

/// Makes a call and ends it immediately.
fn call(quotas: &Quotas, agent: &str, name: &str, now_ms: i64) -> Result<Vec<String>, String> {
    let tool = tool(name);
    let mut reservation =
        quotas.reserve(QuotaSubject { token: "t", agent, tool: &tool }, Counting::Call, now_ms)?;
    reservation.make();
    Ok(std::mem::take(&mut reservation.warnings))
}

#[test]
fn calls_per_minute_are_counted_for_each() {
    let quotas = quota(|spec| {
        spec.agent = Some(Glob::new("*"));
        spec.calls_per_minute = Some(5);
    });
    let now = 100 * MINUTE_MS;
    let warned: Vec<usize> = (0..5).map(|_| call(&quotas, "a", "x", now).unwrap().len()).collect();
    assert_eq!(warned, [0, 0, 0, 1, 0], "at 80 %, once");
    assert_eq!(
        call(&quotas, "a", "y", now),
        Err("quota `q` allows 5 calls per minute, which are used up".to_owned())
    );
    assert!(call(&quotas, "b", "x", now).is_ok(), "another agent counts for itself");
    assert!(call(&quotas, "a", "x", now + 2 * MINUTE_MS).is_ok(), "later there is room again");
}

#[test]
fn together_means_together() {
    let quotas = quota(|spec| {
        spec.agent = Some(Glob::new("*"));
        spec.calls_per_minute = Some(2);
        spec.each = false;
    });
    assert!(call(&quotas, "a", "x", 0).is_ok());
    assert!(call(&quotas, "b", "x", 0).is_ok());
    assert!(call(&quotas, "c", "x", 0).is_err());
}

#[test]
fn calls_in_flight_are_given_back() {
    let quotas = quota(|spec| {
        spec.tool = ToolPattern::parse("fs.slow");
        spec.max_in_flight = Some(1);
        spec.max_runtime = Some(Duration::from_secs(3));
    });
    let slow = tool("slow");
    let subject = QuotaSubject { token: "t", agent: "a", tool: &slow };
    let reservation = quotas.reserve(subject, Counting::Call, 0).unwrap();
    assert_eq!(reservation.max_runtime, Some(Duration::from_secs(3)));
    assert_eq!(
        quotas.reserve(subject, Counting::Call, 0).unwrap_err(),
        "quota `q` allows 1 call at a time, and it is running"
    );
    assert!(call(&quotas, "a", "quick", 0).is_ok(), "other tools are not concerned");
    drop(reservation);
    assert!(quotas.reserve(subject, Counting::Call, 0).is_ok());
}

#[test]
fn a_call_that_is_not_made_does_not_count() {
    let quotas = quota(|spec| {
        spec.server = Some(Glob::new("fs"));
        spec.calls_per_minute = Some(1);
    });
    let x = tool("x");
    let subject = QuotaSubject { token: "t", agent: "a", tool: &x };
    for _ in 0..10 {
        drop(quotas.reserve(subject, Counting::Call, 0).unwrap());
    }
    assert!(call(&quotas, "a", "x", 0).is_ok());
    assert!(call(&quotas, "a", "x", 0).is_err());
}

#[test]
fn a_quota_that_stays_goes_on_counting() {
    let quotas = quota(|spec| {
        spec.agent = Some(Glob::new("*"));
        spec.calls_per_minute = Some(1);
    });
    assert!(call(&quotas, "a", "x", 0).is_ok());
    let specs: Vec<QuotaSpec> = quotas.quotas.load().iter().map(|quota| quota.spec.clone()).collect();
    quotas.set(&specs);
    assert!(call(&quotas, "a", "x", 0).is_err());
}

#[test]
fn checking_reserves_nothing() {
    let quotas = quota(|spec| {
        spec.agent = Some(Glob::new("*"));
        spec.calls_per_minute = Some(1);
        spec.max_in_flight = Some(1);
    });
    let (now, tool) = (100 * MINUTE_MS, tool("x"));
    let subject = |agent| QuotaSubject { token: "t", agent, tool: &tool };
    for _ in 0..3 {
        assert_eq!(quotas.exceeded(subject("a"), Counting::Call, now), None);
    }
    call(&quotas, "a", "x", now).expect("there is a place");
    assert_eq!(
        quotas.exceeded(subject("a"), Counting::Call, now).as_deref(),
        Some("quota `q` allows 1 call per minute, which is used up")
    );
    assert_eq!(quotas.exceeded(subject("b"), Counting::Call, now), None);
}

#[test]
fn what_goes_on_with_a_call_is_not_another_call() {
    let quotas = quota(|spec| {
        spec.agent = Some(Glob::new("*"));
        spec.calls_per_minute = Some(1);
        spec.max_in_flight = Some(1);
    });
    let tool = tool("x");
    let subject = QuotaSubject { token: "t", agent: "a", tool: &tool };
    assert!(call(&quotas, "a", "x", 0).is_ok());
    assert!(quotas.exceeded(subject, Counting::Call, 0).is_some());
    assert_eq!(quotas.exceeded(subject, Counting::Continuation, 0), None);
    let going_on = quotas.reserve(subject, Counting::Continuation, 0).unwrap();
    assert!(quotas.reserve(subject, Counting::Continuation, 0).is_err(), "it is in flight all the same");
    drop(going_on);
    assert!(quotas.exceeded(subject, Counting::Call, 0).is_some(), "giving it back takes nothing off");
}
