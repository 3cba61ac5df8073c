//! Operations on the audit log.

use octroi_core::audit::{Kind, Ruling};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::route::Route;
use crate::wire::Wire;

mod files;

pub use files::{
    AuditExport, AuditExported, AuditProof, AuditProve, ExportFormat, ExportRequest, ProveRequest,
};

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<AuditQuery>(),
    OperationEntry::of::<AuditShow>(),
    OperationEntry::of::<AuditVerify>(),
    OperationEntry::of::<AuditPurge>(),
    OperationEntry::of::<AuditReport>(),
    OperationEntry::of::<AuditProve>(),
    OperationEntry::of::<AuditExport>(),
];

/// A record of the audit log. An unreadable one has only its number and `unreadable`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRecord {
    /// Its number in the log
    pub seq: u64,
    /// When it happened, in milliseconds since 1970
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
    /// The kind of event, as `tool_invocation_start`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its severity: info, warn or error
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// The principal that did it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<AuditActor>,
    /// The agent on whose behalf it happened
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session it happened in
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The server concerned
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The canonical id of the tool concerned
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The kind of source that provides the tool
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_type: Option<String>,
    /// The project it happened in
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The call it belongs to
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The decision about the call
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// Further details, depending on the kind
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub context: Value,
    /// Whether the record cannot be read
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreadable: bool,
    /// Members that another version of Octroi wrote.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The principal behind a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditActor {
    /// The kind of principal, as `user` or `agent`
    pub kind: String,
    /// Its id
    pub id: String,
}

/// Complete records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRecords {
    /// The records
    pub records: Vec<AuditRecord>,
}

/// Searches the log.
pub struct AuditQuery;

/// The records to search for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditQueryRequest {
    /// At or after this moment, in milliseconds since 1970
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// Before this moment, in milliseconds since 1970
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// Only these kinds of records; `policy_decision` stands for the decisions that other records contain
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Wire<Kind>>,
    /// The agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The server
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The session, as records name it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The canonical id of the tool; `*` matches any characters
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The decision; not with `after`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Wire<Ruling>>,
    /// The call; not with `after`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// A text that occurs in the record
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The maximum number [default: 50]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// `next` of the previous page, to continue; not with `after`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// The number of the last known record; continues after it, oldest first
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// A page of records: newest first, or with `after` oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AuditPage {
    /// A page of search results.
    Found(AuditFound),
    /// A page of following records.
    Followed(AuditFollowed),
}

/// A page of search results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditFound {
    /// The records, newest first; a page may be short even if there are more
    pub records: Vec<AuditRecord>,
    /// The value of `before` for the next page; null at the end
    pub next: Option<i64>,
    /// The number of the last record in the log
    pub position: u64,
    /// How many of the newest records are not indexed yet
    pub behind: u64,
}

/// A page of following records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditFollowed {
    /// The records, oldest first
    pub records: Vec<AuditRecord>,
    /// The number of the last examined record; give it as `after` to continue
    pub last: u64,
}

impl Operation for AuditQuery {
    type Request = AuditQueryRequest;
    type Response = AuditPage;

    const NAME: &'static str = "audit_query";
    const TITLE: &'static str = "Search the audit log";
    const DESCRIPTION: &'static str =
        "Search the records, newest first; or, with `after`, continue from a number, oldest first.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::InvalidArguments, ErrorCode::AuditUnavailable, ErrorCode::StorageUnavailable];
    const REST: &'static [Route] = &[Route::get("/api/audit")];

    fn object(request: &AuditQueryRequest) -> ObjectRef<'_> {
        request.agent.as_deref().map_or(ObjectRef::Administration, ObjectRef::PastAgent)
    }
}

/// Shows complete records.
pub struct AuditShow;

/// A record or a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditShowRequest {
    /// The number of the record; all records of its call are returned
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Instead of a record: the call
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

impl Operation for AuditShow {
    type Request = AuditShowRequest;
    type Response = AuditRecords;

    const NAME: &'static str = "audit_show";
    const TITLE: &'static str = "Show audit records";
    const DESCRIPTION: &'static str = "A complete record, or all records of a call.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::NotFound,
        ErrorCode::InvalidArguments,
        ErrorCode::AuditUnavailable,
        ErrorCode::StorageUnavailable,
    ];

    fn object(_: &AuditShowRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Verifies the log.
pub struct AuditVerify;

/// The result of verifying the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditVerification {
    /// Whether there are no problems
    pub intact: bool,
    /// The node that wrote the log
    pub node: String,
    /// The public key that verifies its checkpoints
    pub key: String,
    /// The records up to this one were purged, as a signed record says; 0 if none were
    #[serde(default)]
    pub purged_until: u64,
    /// The first record
    pub first_seq: u64,
    /// The last record
    pub last_seq: u64,
    /// The number of records that were read
    pub records: u64,
    /// The number of segments
    pub segments: u64,
    /// The number of verified checkpoints
    pub checkpoints: u64,
    /// The last record that a signature covers
    pub signed_until: u64,
    /// The chain value at the end
    pub chain: String,
    /// The root of the Merkle tree over all records
    pub root: String,
    /// All problems that were found
    pub problems: Vec<String>,
}

impl Operation for AuditVerify {
    type Request = NoArguments;
    type Response = AuditVerification;

    const NAME: &'static str = "audit_verify";
    const TITLE: &'static str = "Verify the audit log";
    const DESCRIPTION: &'static str = "Check whether anybody changed the audit log.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::AuditUnavailable];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Removes old records.
pub struct AuditPurge;

/// The records to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditPurgeRequest {
    /// Records older than this moment, in milliseconds since 1970
    pub before_ms: u64,
}

/// The records that were removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditPurged {
    /// The number of segments
    pub segments: u64,
    /// The number of records in them
    pub records: u64,
}

impl Operation for AuditPurge {
    type Request = AuditPurgeRequest;
    type Response = AuditPurged;

    const NAME: &'static str = "audit_purge";
    const TITLE: &'static str = "Remove old audit records";
    const DESCRIPTION: &'static str =
        "Remove old records, whole segments at a time. The removal is recorded in the log.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = Effect::Changes { audit: Kind::AuditPurged };
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::AuditUnavailable];
    const DESTRUCTIVE: bool = true;
    const IDEMPOTENT: bool = true;

    fn object(_: &AuditPurgeRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Counts records.
pub struct AuditReport;

/// The period to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditReportRequest {
    /// At or after this moment, in milliseconds since 1970 [default: 0]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
}

/// Counts of records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditCounts {
    /// The start of the period, in milliseconds since 1970
    pub since_ms: i64,
    /// The counts
    pub counts: Vec<AuditCount>,
}

/// A count of similar records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditCount {
    /// The kind of record
    pub kind: String,
    /// The agent
    pub agent: Option<String>,
    /// The canonical id of the tool
    pub tool: Option<String>,
    /// The decision about the call
    pub decision: Option<String>,
    /// The number of records
    pub n: u64,
}

impl Operation for AuditReport {
    type Request = AuditReportRequest;
    type Response = AuditCounts;

    const NAME: &'static str = "audit_report";
    const TITLE: &'static str = "Count audit records";
    const DESCRIPTION: &'static str = "Count records by kind, agent, tool and decision.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::AuditUnavailable, ErrorCode::StorageUnavailable];

    fn object(_: &AuditReportRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
