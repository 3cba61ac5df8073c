//! Inclusion proofs: a record is part of the log, verifiable without the log.

use std::path::Path;

use octroi_core::audit::merkle::{self, Prover};
use octroi_core::audit::{Checkpoint, Hash, PublicKey, chain};
use serde::{Deserialize, Serialize};

use super::checkpoints::NoteReader;
use super::cursor::{Cursor, Step};
use super::error::AuditError;
use super::format::segments;
use super::recover::public_key;

/// A record, a signed checkpoint that covers it, and the hashes in between.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The number of the record.
    pub seq: u64,
    /// The exact text of the record.
    pub record: String,
    /// The sibling hashes on the path from the record to the root, in base64.
    pub path: Vec<String>,
    /// The signed checkpoint, as a note.
    pub checkpoint: String,
}

/// Why a proof cannot be created, or is invalid.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ProofError {
    /// The log cannot be read.
    #[error("the audit log cannot be read")]
    Log(#[from] AuditError),
    /// There is no such record, or not any more.
    #[error("there is no record {seq}")]
    NoRecord {
        /// The number of the record.
        seq: u64,
    },
    /// No checkpoint covers the record yet.
    #[error("record {seq} is not covered by a checkpoint yet")]
    NotSigned {
        /// The number of the record.
        seq: u64,
    },
    /// Records that the proof needs are damaged.
    #[error("the log is damaged at record {seq}")]
    Damaged {
        /// The first damaged record.
        seq: u64,
    },
    /// The checkpoint in the proof is not signed with the key.
    #[error("the checkpoint is not signed with this key")]
    Signature,
    /// The proof does not lead from the record to the checkpoint.
    #[error("the proof does not lead from the record to the checkpoint")]
    Wrong,
}

impl ProofError {
    /// What the operator can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Log(error) => error.hint(),
            Self::NoRecord { .. } => "list records with `octroi audit`".to_owned(),
            Self::NotSigned { .. } => "try again in ten seconds".to_owned(),
            Self::Damaged { .. } => "run `octroi audit verify`".to_owned(),
            Self::Signature | Self::Wrong => {
                "the record or the proof was changed, or the key is another log's".to_owned()
            }
        }
    }
}

/// Proves that a record is part of the log in a directory. Reads everything up to the first
/// checkpoint after it.
pub fn prove(directory: &Path, seq: u64) -> Result<Proof, ProofError> {
    let key = public_key(directory)?;
    let (checkpoint, note) = covering(directory, seq, &key)?;
    let files = segments(directory).map_err(|error| AuditError::io(directory, error))?;
    let mut prover = None;
    let mut record = None;
    let mut next = 0;
    for file in &files {
        let Ok((mut cursor, header)) = Cursor::open(&file.path)? else {
            return Err(ProofError::Damaged { seq: next });
        };
        if prover.is_none() {
            next = header.first_seq;
            let index = seq.checked_sub(1).ok_or(ProofError::NoRecord { seq })?;
            let begun = Prover::new(index, checkpoint.size, &header.tree);
            prover = Some(begun.ok_or(ProofError::NoRecord { seq })?);
        }
        let Some(prover) = &mut prover else { continue };
        while next <= checkpoint.size {
            let frame = match cursor.next()? {
                Step::Frame(frame) if frame.seq == next => frame,
                Step::End => break,
                Step::Frame(_) | Step::Torn { .. } | Step::Unreadable => {
                    return Err(ProofError::Damaged { seq: next });
                }
            };
            prover.push(chain::leaf(next, frame.body));
            if next == seq {
                record = Some(String::from_utf8_lossy(frame.body).into_owned());
            }
            next += 1;
        }
    }
    let path = prover.and_then(Prover::finish).ok_or(ProofError::Damaged { seq: next })?;
    let record = record.ok_or(ProofError::NoRecord { seq })?;
    let path = path.iter().map(|hash| hash.to_base64()).collect();
    let proof = Proof { seq, record, path, checkpoint: note };
    // A changed log yields no valid proof; report that here and not where the proof is used.
    check_proof(&proof, &key).map_err(|_| ProofError::Damaged { seq })?;
    Ok(proof)
}

/// Checks a proof; returns the checkpoint that it is valid for.
pub fn check_proof(proof: &Proof, key: &PublicKey) -> Result<Checkpoint, ProofError> {
    let checkpoint = Checkpoint::open(&proof.checkpoint, key).map_err(|_| ProofError::Signature)?;
    let path: Option<Vec<Hash>> = proof.path.iter().map(|hash| Hash::from_base64(hash)).collect();
    let index = proof.seq.checked_sub(1).ok_or(ProofError::Wrong)?;
    let leaf = chain::leaf(proof.seq, proof.record.as_bytes());
    let leads = merkle::check(leaf, index, checkpoint.size, &path.ok_or(ProofError::Wrong)?, checkpoint.root);
    if leads { Ok(checkpoint) } else { Err(ProofError::Wrong) }
}

/// The first checkpoint that covers a record.
fn covering(directory: &Path, seq: u64, key: &PublicKey) -> Result<(Checkpoint, String), ProofError> {
    let Some(mut notes) = NoteReader::open(directory)? else { return Err(ProofError::NotSigned { seq }) };
    while let Some(note) = notes.next().map_err(|error| AuditError::io(directory, error))? {
        match Checkpoint::open(&note.text, key) {
            Ok(checkpoint) if checkpoint.size >= seq => return Ok((checkpoint, note.text)),
            Ok(_) | Err(_) => {}
        }
    }
    Err(ProofError::NotSigned { seq })
}
