//! Records completions: they come with every character that a user types, so those of one argument and minute have one
//! start and one end together.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use octroi_core::decision::Trace;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::{AuditRecorder, CallRecord, DescribedRequest};
use crate::audit::AuditError;

const MINUTE_MS: i64 = 60_000;
/// So many arguments are completed at the same time; beyond, the oldest gets its end early.
const ARGUMENTS_MAX: usize = 1_000;

/// Completions whose end is not recorded yet.
#[derive(Debug, Default)]
pub(super) struct Completions {
    by_argument: Mutex<HashMap<CompletedArgument, Gathered>>,
}

/// The principal, the server, the subject and the argument.
type CompletedArgument = (Arc<str>, String, String, String);

/// The completions of one argument within a minute.
struct Gathered {
    record: CallRecord,
    since_ms: i64,
    n_requests: u64,
    n_bytes: usize,
    digest: Sha256,
}

impl std::fmt::Debug for Gathered {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Gathered").field("n_requests", &self.n_requests).finish_non_exhaustive()
    }
}

impl Gathered {
    fn new(record: CallRecord, since_ms: i64, sent: &[u8]) -> Self {
        let mut gathered = Self { record, since_ms, n_requests: 0, n_bytes: 0, digest: Sha256::new() };
        gathered.add(sent);
        gathered
    }

    fn add(&mut self, sent: &[u8]) {
        self.n_requests += 1;
        self.n_bytes += sent.len();
        self.digest.update(sent);
    }

    async fn end(self) {
        let Self { mut record, n_requests, n_bytes, digest, .. } = self;
        let digest = hex::encode(digest.finalize());
        let _ =
            write!(record.about, "\"requests\":{n_requests},\"bytes\":{n_bytes},\"digest\":\"{digest}\",");
        record.end("completed", None).await;
    }
}

impl AuditRecorder {
    /// Records a completion before its server sees it: by a start of its own, or among those that began within the
    /// last minute.
    pub(crate) async fn gather(
        self: &Arc<Self>,
        asked: DescribedRequest<'_>,
        trace: &Trace,
        argument: &str,
        sent: &[u8],
    ) -> Result<(), AuditError> {
        let at_ms = asked.at_ms;
        let key = (
            Arc::clone(&asked.initiator.id),
            asked.server.to_owned(),
            asked.subject.1.to_owned(),
            argument.to_owned(),
        );
        {
            let mut by_argument = self.completions.by_argument.lock();
            if let Some(gathered) = by_argument.get_mut(&key)
                && (gathered.since_ms..gathered.since_ms + MINUTE_MS).contains(&at_ms)
            {
                gathered.add(sent);
                return Ok(());
            }
        }
        let record = self.begin_request(asked, trace).await?;
        let ended = {
            let mut by_argument = self.completions.by_argument.lock();
            let earlier = by_argument.insert(key, Gathered::new(record, at_ms, sent));
            let oldest = || by_argument.iter().min_by_key(|(_, gathered)| gathered.since_ms);
            let oldest =
                if by_argument.len() > ARGUMENTS_MAX { oldest().map(|(key, _)| key.clone()) } else { None };
            [earlier, oldest.and_then(|key| by_argument.remove(&key))]
        };
        for gathered in ended.into_iter().flatten() {
            gathered.end().await;
        }
        Ok(())
    }

    /// Records the end of completions that began more than a minute ago.
    pub(crate) async fn end_completions(&self, now_ms: i64) {
        self.end_those(|gathered| now_ms.abs_diff(gathered.since_ms) >= MINUTE_MS.unsigned_abs()).await;
    }

    /// Records the end of all completions.
    pub(crate) async fn end_all_completions(&self) {
        self.end_those(|_| true).await;
    }

    async fn end_those(&self, is_over: impl Fn(&Gathered) -> bool) {
        let ended: Vec<Gathered> = {
            let mut by_argument = self.completions.by_argument.lock();
            by_argument.extract_if(|_, gathered| is_over(gathered)).map(|(_, gathered)| gathered).collect()
        };
        for gathered in ended {
            gathered.end().await;
        }
    }
}
