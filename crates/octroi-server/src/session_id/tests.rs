//! Ids of sessions: what they carry, for whom they open, and when.

use octroi_core::principal::TokenName;
use octroi_core::{ServerKey, UserRole};

use super::*;

fn ids(run: u64, restore: Option<Duration>) -> SessionIds {
    let cipher = octroi_store::MasterKey::new([7; 32]).cipher(PURPOSE);
    SessionIds { cipher, run, clock: octroi_gateway::system_clock(), restore }
}

fn client(capabilities: &str, info: &str) -> InitializeParams {
    InitializeParams {
        version: Version::V2025_06_18,
        capabilities: ClientCapabilities::read(Bytes::copy_from_slice(capabilities.as_bytes())),
        info: Some(Bytes::copy_from_slice(info.as_bytes())),
    }
}

const DAY: Option<Duration> = Some(Duration::from_hours(24));
const ALL: Frontend = Frontend::Compositor(View::Merged);

fn agent(id: &str, agent: &str, token: &str) -> Principal {
    Principal::session(id, agent, "ann", TokenName::labelled(token))
}

#[test]
fn an_id_carries_its_session_over_a_restart() {
    let (before, after) = (ids(1, DAY), ids(2, DAY));
    let ann = agent("agent:ann", "ann", "one");
    let declared = client(r#"{"elicitation":{}}"#, r#"{"name":"a client","version":"1"}"#);
    let id = before.issue(&ann, &ALL, &declared).unwrap();
    assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
    assert!(id.len() < 200, "{}", id.len());
    let restored = after.open_earlier(&id, &ann, &ALL).unwrap();
    assert_eq!(restored.version, declared.version);
    assert_eq!(restored.capabilities, declared.capabilities);
    assert_eq!(restored.info, declared.info);
    assert!(before.open_earlier(&id, &ann, &ALL).is_none(), "in its own run it is known, or over");
    assert!(ids(2, None).open_earlier(&id, &ann, &ALL).is_none(), "switched off");
}

#[test]
fn an_id_opens_for_nobody_else() {
    let (before, after) = (ids(1, DAY), ids(2, DAY));
    let ann = agent("agent:ann", "ann", "one");
    let id = before.issue(&ann, &ALL, &client("{}", "{}")).unwrap();
    let files = Frontend::Compositor(View::Server(ServerKey::parse("files").unwrap()));
    let person = Principal::person("ann", UserRole::Member, TokenName::labelled("one"));
    for (principal, frontend) in [
        (agent("agent:bob", "ann", "one"), ALL),
        (agent("agent:ann", "bob", "one"), ALL),
        (agent("agent:ann", "ann", "two"), ALL),
        (agent("agent:an", "nann", "one"), ALL),
        (person, ALL),
        (ann.clone(), files),
        (ann.clone(), Frontend::Management),
    ] {
        assert!(after.open_earlier(&id, &principal, &frontend).is_none(), "{principal:?} {frontend:?}");
    }
    for wrong in ["", "x", &"A".repeat(5_000), &id[1..], &format!("{id}AAAA")] {
        assert!(after.open_earlier(wrong, &ann, &ALL).is_none(), "{wrong}");
    }
    assert!(after.open_earlier(&id, &ann, &ALL).is_some());
}

#[test]
fn an_id_ages() {
    let ann = agent("agent:ann", "ann", "one");
    let id = ids(1, DAY).issue(&ann, &ALL, &client("{}", "{}")).unwrap();
    std::thread::sleep(Duration::from_millis(5));
    assert!(ids(2, Some(Duration::from_millis(1))).open_earlier(&id, &ann, &ALL).is_none());
    assert!(ids(2, DAY).open_earlier(&id, &ann, &ALL).is_some());
}

#[test]
fn an_id_stays_short_whatever_its_client_declares() {
    let ann = agent("agent:ann", "ann", "one");
    let long = "x".repeat(10_000);
    let escapes = "\\u0001".repeat(1_000);
    for (capabilities, info, name) in [
        (
            format!(r#"{{"roots":{{}},"sampling":{{}},"experimental":{{"a":"{long}"}}}}"#),
            format!(r#"{{"name":"n","version":"2","icons":["{long}"]}}"#),
            Some("n".to_owned()),
        ),
        (
            r#"{"roots":{},"sampling":{}}"#.to_owned(),
            format!(r#"{{"name":"{long}","version":"2"}}"#),
            Some(long[..64].to_owned()),
        ),
        (r#"{"roots":{},"sampling":{}}"#.to_owned(), format!(r#"{{"name":"{escapes}"}}"#), None),
        (r#"{"roots":{},"sampling":{}}"#.to_owned(), long.clone(), None),
    ] {
        let id = ids(1, DAY).issue(&ann, &ALL, &client(&capabilities, &info)).unwrap();
        assert!(id.len() <= ID_MAX, "{}", id.len());
        let restored = ids(2, DAY).open_earlier(&id, &ann, &ALL).unwrap();
        let roots = restored.capabilities.allow(&octroi_mcp::Method::RootsList, b"{}");
        assert!(roots.is_ok(), "{:?}", restored.capabilities);
        let info = restored.info.map(|info| serde_json::from_slice::<Value>(&info).unwrap());
        assert_eq!(info.map(|info| info["name"].as_str().unwrap().to_owned()), name);
    }
}
