use std::sync::Arc;

use octroi_core::approval::ApprovalState;
use octroi_core::pin::PinKind;

use super::deliver::desktop_program;
use super::digest::{Digest, LISTED_MAX};
use crate::alerts::{QuarantinedDefinition, WaitingCall};

fn call(id: &str, caller: &str) -> Arc<WaitingCall> {
    Arc::new(WaitingCall {
        id: id.to_owned(),
        caller: caller.to_owned(),
        tool: "demo.write_note".to_owned(),
        risk: "medium".to_owned(),
        reasons: vec!["`demo.write_note` writes files; profile `guarded` asks before writes".to_owned()],
        arguments: "{\"name\":\"a\"}".to_owned(),
        page: Some(format!("http://127.0.0.1:7878/approvals/{id}")),
        requested_at_ms: 0,
        expires_at_ms: 3_600_000,
        state: ApprovalState::Pending,
        decided_by: None,
        reason: None,
        edited: false,
    })
}

fn definition(server: &str, name: &str) -> Arc<QuarantinedDefinition> {
    Arc::new(QuarantinedDefinition {
        server: server.to_owned(),
        kind: PinKind::Tool,
        name: name.to_owned(),
        reason: "its definition differs from the accepted one; see `octroi pins`".to_owned(),
    })
}

fn texts(digest: &mut Digest) -> Vec<String> {
    digest.take().into_iter().map(|notice| notice.text).collect()
}

#[test]
fn what_happens_together_is_told_together() {
    let mut digest = Digest::default();
    assert!(digest.is_empty() && digest.take().is_empty());
    digest.add_call(call("ap_a", "coder"));
    assert_eq!(
        texts(&mut digest),
        [
            "coder waits for your approval: `demo.write_note` writes files; profile `guarded` asks before writes. \
          Decide: http://127.0.0.1:7878/approvals/ap_a or octroi approve ap_a"
        ]
    );
    assert!(digest.is_empty(), "nothing is told twice");
    for number in 0..500 {
        digest.add_call(call(&format!("ap_{number}"), if number % 2 == 0 { "coder" } else { "writer" }));
    }
    digest.miss(7);
    digest.add_definition(definition("files", "read"));
    let notices = digest.take();
    assert_eq!(notices.len(), 2);
    assert_eq!(
        notices[0].text,
        "507 calls of coder, writer wait for your approval. See them: octroi approvals"
    );
    assert_eq!(notices[0].json["count"], 507);
    assert_eq!(notices[0].json["calls"].as_array().map(Vec::len), Some(LISTED_MAX));
    assert_eq!(
        notices[1].text,
        "tool `read` of server files is quarantined: its definition differs from the accepted one; see `octroi pins`"
    );
}

#[test]
fn who_is_not_needed_any_more_is_not_told() {
    let mut digest = Digest::default();
    digest.add_call(call("ap_a", "coder"));
    digest.add_call(call("ap_b", "coder"));
    digest.remove_call("ap_a");
    digest.remove_call("ap_other");
    assert_eq!(digest.take()[0].json["calls"][0]["id"], "ap_b");
    digest.add_call(call("ap_c", "coder"));
    digest.remove_call("ap_c");
    assert!(digest.is_empty());
}

#[test]
fn many_definitions_are_counted() {
    let mut digest = Digest::default();
    for number in 0..50 {
        digest.add_definition(definition("files", &number.to_string()));
    }
    assert_eq!(texts(&mut digest), ["50 definitions of files are quarantined. See them: octroi pins"]);
}

#[test]
fn a_text_is_one_argument_of_the_desktop() {
    let program = desktop_program("-i x'\"; $(rm) <b>a</b> & c");
    let last = program.args.last().map(String::as_str);
    if cfg!(target_os = "macos") {
        assert_eq!(last, Some("-i x'\"; $(rm) <b>a</b> & c"));
    } else {
        assert_eq!(last, Some("-i x'\"; $(rm) &lt;b&gt;a&lt;/b&gt; &amp; c"));
        assert_eq!(program.args[..3], ["--app-name=Octroi", "--", "Octroi"]);
    }
}
