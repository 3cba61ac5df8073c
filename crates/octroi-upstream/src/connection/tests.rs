use octroi_core::CanonicalId;
use octroi_core::agent::{AgentContext, Profile};
use octroi_core::call::Call;
use octroi_core::decision::{Circumstances, Decision, decide, decide_other};
use octroi_core::facts::Facts;
use octroi_core::policy::Policies;
use octroi_core::server::ToolAccess;
use octroi_core::tool::{Risk, SideEffects, Source, ToolDescriptor};
use octroi_core::trust::Trust;
use octroi_mcp::Version;
use serde_json::json;
use tokio::sync::mpsc;

use super::*;
use crate::background::BackgroundTasks;
use crate::event::EventSink;
use crate::identity::SpokenEras;

fn permit_of(decision: Decision) -> Permit {
    match decision {
        Decision::Allow(permit) => permit,
        Decision::Ask(_) | Decision::Deny(_) => panic!("it is allowed"),
    }
}

/// A permit for a tool of a server.
fn for_tool(server: &str, name: &str) -> Permit {
    let server = ServerKey::parse(server).unwrap();
    let tool = ToolDescriptor {
        id: CanonicalId::mcp(&server, name),
        source: Source::Mcp,
        source_id: server.to_string().into(),
        name: name.into(),
        risk: Risk::Low,
        side_effects: SideEffects::default(),
        requires_admin: false,
        enabled: true,
        off_because: None,
        trust: Trust::High,
        timeout: Duration::from_secs(1),
        version: None,
        definition_hash: [0; 32],
    };
    let context = AgentContext { profile: Profile::Open, ..AgentContext::default() };
    let (arguments, facts) = (json!({}), Facts::default);
    let call = Call::imagined(None, &context, &tool, &arguments, &facts, 0);
    let circumstances = Circumstances {
        server: &server,
        paused: None,
        switched_off: None,
        invalid_arguments: None,
        access: &ToolAccess::default(),
        held: None,
        custom: &[],
        exceeded: None,
        policies: &Policies::default(),
    };
    permit_of(decide(&call, &circumstances))
}

/// A permit for requests of a server that call no tool.
fn for_others(server: &str) -> Permit {
    permit_of(decide_other(&ServerKey::parse(server).unwrap(), None, None, None, 1))
}

/// With a permit for anything else, the server does not see a byte.
#[tokio::test]
async fn nothing_is_sent_that_the_permit_does_not_cover() {
    let (writer, mut sent) = mpsc::channel(16);
    let (events, _reported) = mpsc::channel(16);
    let server = ServerKey::parse("files").unwrap();
    let tasks = BackgroundTasks::new(tokio::runtime::Handle::current());
    let mux = Mux::new(writer, EventSink::new(server.clone(), events), 1024, tasks);
    let identity = ServerIdentity {
        era: Era::Legacy,
        version: Version::LATEST_LEGACY,
        info: None,
        capabilities: json!({}),
        instructions: None,
        spoken: SpokenEras::default(),
        abilities: octroi_mcp::capability::Abilities::ALL,
    };
    let connection = Connection::new(server, identity, Link::Shared(mux), Bytes::from_static(b"{}"));
    let call = |method: &Method, subject: &Subject, permit: &Permit| {
        let params = br#"{"name":"files_read","arguments":{}}"#;
        let envelope = Envelope::parse(envelope::request(&Id::number(7), method, params)).unwrap();
        let params = Params::read(envelope.params()).unwrap();
        connection.call(
            permit,
            Outgoing {
                envelope: &envelope,
                params: &params,
                subject,
                sender: None,
                round: &Round::default(),
                param_headers: Vec::new(),
                owner: "ann".into(),
            },
        )
    };
    let read = Subject { name: Some("read".to_owned()), ..Subject::default() };
    let unnamed = Subject::default();
    for (method, subject, permit) in [
        (Method::ToolsCall, &read, for_tool("other", "read")),
        (Method::ToolsCall, &read, for_tool("files", "write")),
        (Method::ToolsCall, &read, for_others("files")),
        (Method::ToolsCall, &unnamed, for_tool("files", "read")),
        (Method::PromptsGet, &read, for_tool("files", "read")),
        (Method::PromptsGet, &read, for_others("other")),
    ] {
        match call(&method, subject, &permit) {
            Err(refused) => assert!(matches!(refused, UpstreamError::NotPermitted), "{method}: {refused:?}"),
            Ok(mut call) => {
                let _ = tokio::time::timeout(Duration::from_millis(10), call.next()).await;
                panic!("{method} {subject:?} is sent: {:?}", sent.try_recv());
            }
        }
        assert!(sent.try_recv().is_err(), "{method} {subject:?}: the server received something");
    }
    for (method, permit) in
        [(Method::ToolsCall, for_tool("files", "read")), (Method::PromptsGet, for_others("files"))]
    {
        let mut call = call(&method, &read, &permit).expect("it is permitted");
        let _ = tokio::time::timeout(Duration::from_millis(10), call.next()).await;
        let message = sent.try_recv().expect("it was sent");
        let message: Value = serde_json::from_slice(&message).unwrap();
        assert_eq!(
            (&message["method"], &message["params"]["name"]),
            (&json!(method.as_str()), &json!("read"))
        );
        // Giving it up tells the server, too.
        drop(call);
        while sent.try_recv().is_ok() {}
    }
}
