//! Handlers for records that are kept elsewhere: proofs and exports.

use octroi_api::operations::audit::{
    AuditExported, AuditProof, ExportFormat as Wanted, ExportRequest, ProveRequest,
};
use octroi_core::audit::Filter;
use octroi_core::audit::checkpoint::origin;
use octroi_gateway::audit::{ExportFormat, Proof, ProofError, export_some};

use super::super::context::OperationContext;
use super::super::shape::count;
use crate::error::OperationError;

/// So many records one page has at most.
const PAGE: usize = 2_000;

const HOW: &str = "save the JSON to a file and run `octroi audit check-proof FILE --key key.pub`, with a copy of the \
    log's key.pub that did not come with the proof. By hand: the leaf is SHA-256(0x00, the number as eight bytes \
    little-endian, the record); hash it with the hashes of the path as in RFC 6962; the result is the root in the \
    third line of the checkpoint, whose signature is a note as in C2SP tlog-checkpoint";

pub(in super::super) async fn prove(
    context: &OperationContext,
    request: ProveRequest,
) -> Result<AuditProof, OperationError> {
    let audit = context.gateway.audit();
    let Proof { seq, record, path, checkpoint } = audit.prove(request.seq).await.map_err(refused)?;
    let key = audit.log().map(|log| log.public_key().to_text(&origin(log.node()))).unwrap_or_default();
    Ok(AuditProof { seq, record, path, checkpoint, key, how: HOW.to_owned() })
}

fn refused(error: ProofError) -> OperationError {
    match error {
        ProofError::Log(error) => OperationError::AuditIndex(Box::new(error.into())),
        ProofError::NoRecord { .. } => OperationError::not_found_in(
            error.to_string(),
            "`octroi audit list` shows the records, with --json also their calls",
        ),
        ProofError::NotSigned { .. }
        | ProofError::Damaged { .. }
        | ProofError::Signature
        | ProofError::Wrong => OperationError::CannotProve(error),
    }
}

pub(in super::super) async fn export(
    context: &OperationContext,
    request: ExportRequest,
) -> Result<AuditExported, OperationError> {
    let after = request.after.unwrap_or_default();
    let format = match request.format.unwrap_or_default() {
        Wanted::Jsonl => ExportFormat::Jsonl,
        Wanted::Csv => ExportFormat::Csv,
    };
    let filter = Filter {
        since_ms: request.since_ms,
        until_ms: request.until_ms,
        kinds: request.kinds.into_iter().map(|kind| kind.0).collect(),
        tool: request.tool,
        agent: request.agent,
        server: request.server,
        session: None,
        text: request.text,
    };
    let audit = context.gateway.audit();
    let (records, last) = audit.after(after, filter, PAGE).await?;
    let text = export_some(&records, format, request.after.is_none());
    let more = last > after && audit.log().is_some_and(|log| log.position() > last);
    Ok(AuditExported { text, records: count(records.len()), last, more })
}
