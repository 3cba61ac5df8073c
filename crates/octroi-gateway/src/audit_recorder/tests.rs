//! Records of calls whose callers gave up.

use std::path::Path;

use futures_util::FutureExt as _;
use octroi_core::audit::Entry;

use super::*;
use crate::audit::{LogReader, Options};
use crate::governance::imagine;

fn recorder(directory: &Path) -> Arc<AuditRecorder> {
    let log = AuditLog::open(directory, &Options::new(octroi_upstream::system_clock())).unwrap().log;
    let tasks = BackgroundTasks::new(tokio::runtime::Handle::current());
    Arc::new(AuditRecorder::new(Some(log), tasks, octroi_upstream::system_clock()))
}

/// Begins a call with side effects, whose start has to be on disk.
async fn begin(recorder: &Arc<AuditRecorder>) -> Result<CallRecord, AuditError> {
    let initiator =
        Initiator { kind: ActorKind::Agent, id: "agent:a".into(), agent: Some("a".into()), session: None };
    let tool = imagine("files", "write_file");
    let described = DescribedCall {
        initiator: &initiator,
        context: &AgentContext::default(),
        tool: &tool,
        arguments: b"{}",
        others: &OtherParams::default(),
        approval: None,
    };
    assert_eq!(recorder.durability(described), Durability::Disk);
    recorder.begin(recorder.call_id(1), described, &Trace::default(), 1).await
}

/// What was recorded after the log was opened: the kind, and the outcome.
fn recorded(directory: &Path) -> Vec<(Kind, Option<String>)> {
    let mut reader = LogReader::open(directory).unwrap();
    let records = reader.records(2).unwrap().map(Result::unwrap);
    records
        .map(|record| {
            let Entry { kind, context, .. } = record.entry().unwrap();
            let context: serde_json::Value = serde_json::from_str(context).unwrap();
            (kind, context["outcome"].as_str().map(str::to_owned))
        })
        .collect()
}

#[tokio::test]
async fn a_caller_that_gives_up_while_the_start_is_written_has_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let recorder = recorder(directory.path());
    let mut beginning = Box::pin(begin(&recorder));
    assert!(beginning.as_mut().now_or_never().is_none(), "it waits for the disk");
    drop(beginning);
    drop(begin(&recorder).await.unwrap());
    let log = recorder.log().unwrap();
    log.close().await.unwrap();
    let mut kinds = recorded(directory.path());
    kinds.sort_by_key(|(kind, _)| *kind == Kind::ToolInvocationEnd);
    let (begun, cancelled) =
        ((Kind::ToolInvocationStart, None), (Kind::ToolInvocationEnd, Some("cancelled".to_owned())));
    assert_eq!(kinds, [begun.clone(), begun, cancelled.clone(), cancelled]);
}

#[tokio::test]
async fn what_was_not_begun_is_not_ended() {
    let directory = tempfile::tempdir().unwrap();
    let recorder = recorder(directory.path());
    recorder.log().unwrap().close().await.unwrap();
    assert!(matches!(begin(&recorder).await, Err(AuditError::Closed)));
    assert_eq!(recorded(directory.path()), []);
}
