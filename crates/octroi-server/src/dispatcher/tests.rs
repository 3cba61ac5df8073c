//! The dispatcher with operations made for these tests: what is recorded, in which order, and who is
//! authorised.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use octroi_api::operations::agents::AgentRequest;
use octroi_api::operations::pins::LockText;
use octroi_api::{Effect, Operation};
use octroi_core::UserRole;
use octroi_core::audit::Filter;
use octroi_core::principal::TokenName;
use octroi_gateway::{GatewayOptions, NewAgent, Persistence, Processes, system_clock};
use serde_json::json;

use super::*;
use crate::control::{Agreed, ReloadError, Reloading};
use crate::operations::handler::{Plan, change, change_or_preview, read};

const CHANGES: Effect = Effect::Changes { audit: Kind::AdministrativeChange };

/// An operation about an agent, that answers a text.
macro_rules! operation {
    ($name:ident, $access:expr, $effect:expr) => {
        struct $name;

        impl Operation for $name {
            type Request = AgentRequest;
            type Response = LockText;

            const NAME: &'static str = stringify!($name);
            const TITLE: &'static str = "";
            const DESCRIPTION: &'static str = "";
            const ACCESS: Access = $access;
            const EFFECT: Effect = $effect;
            const ERRORS: &'static [ErrorCode] = &[];

            fn object(request: &AgentRequest) -> ObjectRef<'_> {
                ObjectRef::Agent(&request.agent_id)
            }

            fn effect(request: &AgentRequest) -> Effect {
                if request.agent_id == "preview" { Effect::Reads } else { Self::EFFECT }
            }
        }
    };
}

operation!(Look, Access::PeopleAndOwnAgent, Effect::Reads);
operation!(Own, Access::OwnAgent, Effect::Reads);
operation!(Set, Access::People, CHANGES);

static N_MADE: AtomicUsize = AtomicUsize::new(0);

async fn look(_: &OperationContext, request: AgentRequest) -> Result<LockText, OperationError> {
    Ok(LockText { text: request.agent_id })
}

/// Plans a change that takes a moment, and fails for the agent `unlucky`.
async fn set(_: &OperationContext, request: AgentRequest) -> Plan<LockText> {
    if request.agent_id == "unknown" {
        return Err(OperationError::not_found("there is no such agent"));
    }
    let (before, after) = (json!({"text": "old"}), json!({"text": "new"}));
    Ok(PlannedChange::new(json!({"agent": request.agent_id}), before, after, async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        if request.agent_id == "unlucky" {
            return Err(OperationError::InvalidArguments("no luck".to_owned()));
        }
        N_MADE.fetch_add(1, Ordering::Relaxed);
        Ok(LockText { text: request.agent_id })
    }))
}

/// What creates the agents that the tests need.
const SETUP: &str = "setup";

struct NoControl;

impl Control for NoControl {
    fn reload(self: Arc<Self>, _: Arc<Gateway>, _: Agreed) -> Reloading {
        let error = ReloadError::Unusable { message: "there is no file".to_owned(), hint: None };
        Box::pin(std::future::ready(Err(error)))
    }

    fn configuration(&self) -> Value {
        json!({})
    }

    fn secrets_changed(self: Arc<Self>, _: Arc<Gateway>) -> crate::control::Applying {
        Box::pin(std::future::ready(Ok(octroi_api::operations::config::ConfigChanges::default())))
    }
}

struct TestGateway {
    operations: Arc<Operations>,
    _directory: tempfile::TempDir,
}

impl TestGateway {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = system_clock();
        let persistence = Persistence::open(directory.path(), clock.clone()).await.unwrap();
        let owner = format!("test:{}", directory.path().display());
        let gateway = Gateway::start(GatewayOptions {
            servers: Vec::new(),
            processes: Processes { owner, reaper: None, is_alone: false },
            persistence: Some(persistence),
            builtin: None,
            clock,
        });
        let gateway = gateway.await.unwrap();
        for agent in ["x", "preview", "unknown", "unlucky", "coder", "writer"] {
            let new = NewAgent { id: agent.to_owned(), ..NewAgent::default() };
            let change = gateway.governance().create_agent(new, &person()).unwrap();
            let recorded =
                gateway.record_change(ChangeAuthor::Octroi, Kind::AdministrativeChange, SETUP, change);
            assert!(recorded.await.unwrap().apply().await.is_ok());
        }
        Self { operations: Operations::new(gateway, Arc::new(NoControl)), _directory: directory }
    }

    async fn run(&self, handler: &Handler, who: Principal, agent: &str) -> Result<Value, ErrorCode> {
        let arguments = json!({ "agent_id": agent });
        let ran = self.operations.run(handler, Requester::without_client(who), arguments).await;
        ran.map_err(|error| ApiError::from(&error).code)
    }

    /// Kind, and context, of everything that was recorded since the agents were created.
    async fn records(&self) -> Vec<(String, Value)> {
        let (records, _) = self.operations.gateway().audit().after(0, Filter::default(), 100).await.unwrap();
        let entries = records.iter().map(|record| {
            let entry = record.entry().unwrap();
            (entry.kind.as_str().to_owned(), serde_json::from_str(entry.context).unwrap_or_default())
        });
        let is_setup = |context: &Value| context["operation"] == SETUP;
        entries.filter(|(kind, context)| kind != "audit_opened" && !is_setup(context)).collect()
    }
}

fn person() -> Principal {
    Principal::person("ana", UserRole::Admin, TokenName::labelled("ana"))
}

fn agent(name: &str) -> Principal {
    Principal::agent(name, "ana", TokenName::labelled(name))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_recorded_once_ahead_of_it() {
    let gateway = TestGateway::new().await;
    let (look, set) = (read::<Look>(look), change_or_preview::<Set>(set, look));
    assert_eq!(gateway.run(&look, person(), "x").await, Ok(json!({"text": "x"})));
    assert_eq!(gateway.run(&set, person(), "preview").await, Ok(json!({"text": "preview"})));
    assert_eq!(gateway.run(&set, person(), "unknown").await, Err(ErrorCode::NotFound));
    assert_eq!(gateway.records().await, [], "nothing has changed");

    assert_eq!(gateway.run(&set, person(), "x").await, Ok(json!({"text": "x"})));
    let expected = (
        "administrative_change".to_owned(),
        json!({"operation": "Set", "agent": "x", "before": {"text": "old"}, "after": {"text": "new"}}),
    );
    assert_eq!(gateway.records().await, std::slice::from_ref(&expected));

    assert_eq!(gateway.run(&set, person(), "unlucky").await, Err(ErrorCode::InvalidArguments));
    let records = gateway.records().await;
    let [first, planned, failed] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!((first, &planned.1["after"]), (&expected, &json!({"text": "new"})));
    assert_eq!(failed.0, "administrative_change");
    assert_eq!(
        failed.1,
        json!({"operation": "Set", "agent": "unlucky", "failed": true, "reason": "no luck"})
    );
    gateway.operations.gateway().stop(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_was_begun_is_finished_without_its_client() {
    let gateway = TestGateway::new().await;
    let set = change::<Set>(set);
    let before = N_MADE.load(Ordering::Relaxed);
    let run = gateway.run(&set, person(), "x");
    assert!(tokio::time::timeout(Duration::from_millis(20), run).await.is_err(), "the client has gone");
    gateway.operations.finished().await;
    assert!(N_MADE.load(Ordering::Relaxed) > before);
    assert_eq!(gateway.records().await.len(), 1);
    gateway.operations.gateway().stop(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_recorded_is_not_done() {
    static N: AtomicUsize = AtomicUsize::new(0);
    async fn count(_: &OperationContext, _: AgentRequest) -> Plan<LockText> {
        Ok(PlannedChange::new(json!({}), Value::Null, Value::Null, async {
            N.fetch_add(1, Ordering::Relaxed);
            Ok(LockText::default())
        }))
    }
    let gateway = TestGateway::new().await;
    let count = change::<Set>(count);
    assert!(gateway.run(&count, person(), "x").await.is_ok());
    // Stopping the gateway closes the audit log.
    gateway.operations.gateway().stop(Duration::from_secs(5)).await;
    assert_eq!(gateway.run(&count, person(), "x").await, Err(ErrorCode::AuditUnavailable));
    assert_eq!(N.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_access_rule_decides_who_is_authorised() {
    let gateway = TestGateway::new().await;
    let (all, own, people) = (read::<Look>(look), read::<Own>(look), change::<Set>(set));
    for (handler, who, agent, expected) in [
        (&all, person(), "coder", None),
        (&all, agent("coder"), "coder", None),
        (&all, agent("writer"), "coder", Some(ErrorCode::NotFound)),
        (&own, person(), "coder", Some(ErrorCode::PeopleOnly)),
        (&own, agent("coder"), "coder", None),
        (&own, agent("writer"), "coder", Some(ErrorCode::NotFound)),
        (&people, person(), "coder", None),
        (&people, agent("coder"), "coder", Some(ErrorCode::PeopleOnly)),
    ] {
        let place = format!("{} {} {agent}", handler.name, who.id());
        assert_eq!(gateway.run(handler, who, agent).await.err(), expected, "{place}");
    }
    let wrong = Requester::without_client(person());
    let wrong =
        gateway.operations.run(&all, wrong, json!({"agent": 1})).await.expect_err("not its arguments");
    assert_eq!(ApiError::from(&wrong).code, ErrorCode::InvalidParams);
    gateway.operations.gateway().stop(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operations_and_resources_are_found_by_who_asks() {
    let gateway = TestGateway::new().await;
    for (who, name, expected) in [
        (person(), "servers_list", None),
        (agent("coder"), "servers_list", Some(ErrorCode::PeopleOnly)),
        (agent("coder"), "policy_check", Some(ErrorCode::InvalidArguments)),
        (person(), "policy_propose", Some(ErrorCode::ToolNotFound)),
        (person(), "nothing", Some(ErrorCode::ToolNotFound)),
    ] {
        let place = format!("{} {name}", who.id());
        let done = gateway.operations.perform(Requester::without_client(who), name, json!({})).await;
        assert_eq!(done.err().map(|error| ApiError::from(&error).code), expected, "{place}");
    }
    let unknown = Some(ErrorCode::ResourceNotFound);
    for (who, uri, expected) in [
        (person(), "resource://servers/list", None),
        (person(), "resource://servers/nobody", unknown),
        (person(), "resource://agents/coder/approvals/ap_x", unknown),
        (person(), "resource://approval-policy/proposals/7", unknown),
        (person(), "resource://agents/coder/policy/state", None),
        (person(), "file:///a", unknown),
        (agent("coder"), "resource://servers/list", unknown),
        (agent("coder"), "resource://agents/coder/policy/state", None),
        (agent("writer"), "resource://agents/coder/policy/state", unknown),
        (agent("writer"), "resource://approval-policy/policy", None),
    ] {
        let place = format!("{} {uri}", who.id());
        let read = gateway.operations.read(Requester::without_client(who), uri).await;
        assert_eq!(read.err().map(|error| ApiError::from(&error).code), expected, "{place}");
    }
    assert_eq!(gateway.records().await, [], "reading leaves no record");
    gateway.operations.gateway().stop(Duration::from_secs(5)).await;
}
