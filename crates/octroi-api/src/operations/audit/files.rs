//! Records to keep elsewhere: with a proof that they are part of the log, and in formats of other programs.

use octroi_core::audit::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation};
use crate::wire::Wire;

/// Proves that a record is part of the log.
pub struct AuditProve;

/// The record to prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProveRequest {
    /// The number of the record
    pub seq: u64,
}

/// A record, a signed checkpoint that covers it, and the hashes in between. It can be checked without the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditProof {
    /// The number of the record
    pub seq: u64,
    /// The exact text of the record
    pub record: String,
    /// The hashes beside the path from the record to the root, in base64
    pub path: Vec<String>,
    /// The signed checkpoint
    pub checkpoint: String,
    /// The public key that the checkpoint is signed with; whoever checks the proof should have it from elsewhere
    pub key: String,
    /// How to check it
    pub how: String,
}

impl Operation for AuditProve {
    type Request = ProveRequest;
    type Response = AuditProof;

    const NAME: &'static str = "audit_prove";
    const TITLE: &'static str = "Prove a record";
    const DESCRIPTION: &'static str =
        "Prove that a record is part of the log, for somebody who has no access to the log.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::Conflict, ErrorCode::AuditUnavailable];

    fn object(_: &ProveRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Exports records, page by page.
pub struct AuditExport;

/// The format of exported records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ExportFormat {
    /// One JSON object in each line.
    #[default]
    Jsonl,
    /// A table for spreadsheets; the first page begins with the names of its columns.
    Csv,
}

/// The records to export.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportRequest {
    /// The format [default: jsonl]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<ExportFormat>,
    /// At or after this moment, in milliseconds since 1970
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// Before this moment, in milliseconds since 1970
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// Only these kinds of records
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Wire<Kind>>,
    /// The agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The server
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The canonical id of the tool; `*` matches any characters
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A text that occurs in the record
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// `last` of the previous page, to continue [default: from the beginning]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// A page of exported records. The pages one after the other are the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditExported {
    /// The records in the format
    pub text: String,
    /// The number of records on this page
    pub records: u64,
    /// The number of the last examined record; give it as `after` to continue
    pub last: u64,
    /// Whether there are records after it
    pub more: bool,
}

impl Operation for AuditExport {
    type Request = ExportRequest;
    type Response = AuditExported;

    const NAME: &'static str = "audit_export";
    const TITLE: &'static str = "Export audit records";
    const DESCRIPTION: &'static str = "Records in a format of other programs, oldest first, page by page.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::AuditUnavailable];

    fn object(_: &ExportRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
