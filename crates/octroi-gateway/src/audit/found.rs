//! A log that was read and is not opened yet: what it says about itself can still be compared with what is
//! known elsewhere, before anything is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use octroi_core::audit::checkpoint::origin;
use octroi_core::audit::{Checkpoint, SigningKey};
use tokio::sync::watch;
use tracing::{error, warn};

use super::checkpoints::CheckpointFile;
use super::compressor::Compressor;
use super::error::AuditError;
use super::file::{Faults, create_directory};
use super::log::{AuditLog, LogParts, Opened, Options};
use super::queue::WriteQueue;
use super::recover::{LogLock, Recovered, publish_key, published_key, recover, signing_key};
use super::syncer::{Publisher, Syncer};
use super::unfinished::unfinished;
use super::writer::{Begin, CheckpointRule, Writer, create_segment};

const NODE_MAX: usize = 64;

/// A log that was read and locked.
#[derive(Debug)]
pub(crate) struct FoundLog {
    directory: PathBuf,
    options: Options,
    lock: LogLock,
    key: Arc<SigningKey>,
    checkpoints: CheckpointFile,
    signed: Option<Checkpoint>,
    recovered: Recovered,
    faults: Arc<Faults>,
}

/// What a log says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogFacts {
    /// The node of the log.
    pub(crate) node: String,
    /// The last record that is there.
    pub(crate) last: u64,
    /// The key that signs its checkpoints, as text.
    pub(crate) key: String,
    /// Whether another key was published for it.
    pub(crate) has_other_key: bool,
    /// How many records a checkpoint covers.
    pub(crate) signed_until: u64,
    /// How many records had to be covered by one, as the log itself says.
    pub(crate) signed_before: u64,
    /// Whether there are checkpoints, and none is signed with its key.
    pub(crate) has_only_other_checkpoints: bool,
    /// The number of the newest snapshot of the database in it; zero if there is none.
    pub(crate) snapshot: u64,
}

impl FoundLog {
    /// Reads the last segment of a log; nothing but an unfinished end is changed. Creates the key and the file of
    /// checkpoints if there are none.
    pub(crate) fn find(directory: &Path, options: &Options) -> Result<Self, AuditError> {
        create_directory(directory)?;
        let lock = LogLock::acquire(directory)?;
        let key = Arc::new(signing_key(directory)?);
        let (checkpoints, signed) = CheckpointFile::open(directory, &key.public())?;
        #[cfg(test)]
        let faults = Arc::clone(&options.faults);
        #[cfg(not(test))]
        let faults = Arc::<Faults>::default();
        let recovered = recover(directory, signed.as_ref(), &faults, || node_name(options.node.as_deref()))?;
        for problem in &recovered.problems {
            error!(problem = %problem, "audit log was changed or damaged; run `octroi audit verify`");
        }
        if let Some(cut) = recovered.cut {
            warn!(audit.segment = cut.segment, n_bytes = cut.n_bytes, "truncated an unfinished audit record");
        }
        let (directory, options) = (directory.to_owned(), options.clone());
        Ok(Self { directory, options, lock, key, checkpoints, signed, recovered, faults })
    }

    /// What it says about itself.
    pub(crate) fn facts(&self) -> LogFacts {
        let Recovered { node, last_read, carried, .. } = &self.recovered;
        let key = self.key.public().to_text(&origin(node));
        let published = published_key(&self.directory).map(|published| published.to_text(&origin(node)));
        LogFacts {
            node: node.clone(),
            last: *last_read,
            has_other_key: published.is_some_and(|published| published != key),
            key,
            signed_until: self.signed.as_ref().map_or(0, |signed| signed.size),
            signed_before: carried.signed_until,
            has_only_other_checkpoints: self.signed.is_none() && !self.checkpoints.is_empty(),
            snapshot: carried.snapshot,
        }
    }

    /// Opens it, and starts its threads.
    pub(crate) fn open(self) -> Result<Opened, AuditError> {
        let Self { directory, options, lock, key, checkpoints, signed, recovered, faults } = self;
        publish_key(&directory, &recovered.node, &key.public())?;
        let Recovered { node, head, mut carried, segment, last_number, cut, problems, .. } = recovered;
        let signed_until = signed.map_or(0, |signed| signed.size);
        // The log is about to say that they are there.
        checkpoints.sync()?;
        carried.signed_until = signed_until;
        let problem = problems.first().map(ToString::to_string);
        let begin = Begin {
            directory: &directory,
            node: &node,
            number: last_number + 1,
            reason: if problem.is_some() { "damaged" } else { "begun" },
            problem: problem.as_deref(),
            at_ms: u64::try_from(options.clock.now_ms()).unwrap_or_default(),
        };
        let recovered_until = head.seq;
        let must_reopen = segment.is_some();
        let (segment, head) = match segment {
            Some(segment) => (segment, head),
            None => create_segment(&begin, &head, &carried, &faults)?,
        };
        let unfinished = unfinished(&directory, &carried.calls)?;
        let (position, positions) = watch::channel(head.seq);
        let (newest, checkpoint) = watch::channel(None);
        let syncer = Arc::new(Syncer::new(Arc::clone(&segment.file), segment.number));
        let compressor = Arc::new(Compressor::new(&directory, segment.number, &faults));
        let mut writer = Writer {
            directory,
            node,
            segment_bytes: options.segment_bytes,
            checkpoint_rule: CheckpointRule {
                n_records: options.checkpoint_records,
                interval: options.checkpoint_interval,
            },
            signed: signed_until,
            unsigned_since: Some(options.clock.instant()),
            clock: options.clock,
            head,
            carried,
            segment,
            shared: Arc::new(WriteQueue::new(positions, checkpoint)),
            syncer,
            compressor,
            position,
            faults,
            buffer: Vec::new(),
            jobs: Vec::new(),
            kept: Vec::new(),
        };
        if must_reopen {
            writer.reopen("opened", cut.map_or(0, |cut| cut.n_bytes))?;
        }
        let publisher = Publisher { key: Arc::clone(&key), file: checkpoints, newest };
        let log = AuditLog::start(
            LogParts { lock, compress: options.compress, key, recovered_until },
            writer,
            publisher,
        )?;
        Ok(Opened { log, unfinished, cut, problems })
    }
}

/// Names are part of notes and file headers, so they are restricted.
fn node_name(configured: Option<&str>) -> Result<String, AuditError> {
    let Some(node) = configured else {
        let mut bytes = [0_u8; 8];
        getrandom::fill(&mut bytes).map_err(|_| AuditError::NoRandomness)?;
        return Ok(format!("node-{:016x}", u64::from_be_bytes(bytes)));
    };
    let is_plain =
        node.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
    let is_valid = is_plain && (1..=NODE_MAX).contains(&node.len());
    if is_valid { Ok(node.to_owned()) } else { Err(AuditError::Node { node: node.to_owned() }) }
}
