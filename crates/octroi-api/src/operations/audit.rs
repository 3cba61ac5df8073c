//! Operations about the audit log.

use octroi_core::audit::{Kind, Ruling};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

/// In the order in which lists have them.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<AuditQuery>(),
    OperationEntry::of::<AuditShow>(),
    OperationEntry::of::<AuditVerify>(),
    OperationEntry::of::<AuditPurge>(),
    OperationEntry::of::<AuditReport>(),
];

/// A record of the audit log. One that cannot be read has only its number and `unreadable`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRecord {
    /// Its number in the log
    pub seq: u64,
    /// When, in milliseconds since 1970
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
    /// What happened, as `tool_invocation_start`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How much it matters: info, warn or error
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Who did it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<AuditActor>,
    /// For which agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// In which session
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The server concerned
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The canonical id of the tool concerned
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Where the tool comes from
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_type: Option<String>,
    /// In which project
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Which call
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// How the call was decided
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// Everything else, by kind of record
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub context: Value,
    /// Whether the record cannot be read
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreadable: bool,
    /// What another version of Octroi wrote besides.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditActor {
    /// What kind of principal, as `user` or `agent`
    pub kind: String,
    /// Its id
    pub id: String,
}

/// Records in full.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRecords {
    /// The records
    pub records: Vec<AuditRecord>,
}

/// Searches the log.
pub struct AuditQuery;

/// Which records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditQueryRequest {
    /// Not before this moment, in milliseconds since 1970
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// Before this moment, in milliseconds since 1970
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// One of these kinds of records
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Wire<Kind>>,
    /// The agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The server
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The canonical id of the tool; `*` stands for any letters
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What was decided; not with `after`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Wire<Ruling>>,
    /// The call; not with `after`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// A text that is somewhere in the record
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How many at most [default: 50]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// `next` of an earlier answer, to go on; not with `after`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// The number of the last record that is known already; reads on from it, the oldest first
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// What was found: newest first, or with `after` oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AuditPage {
    /// A search.
    Found(AuditFound),
    /// Reading on.
    Followed(AuditFollowed),
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditFound {
    /// The records, the newest first; a page may be short though there are more
    pub records: Vec<AuditRecord>,
    /// What to give as `before` to go on; null at the end
    pub next: Option<i64>,
    /// The number of the last record in the log
    pub position: u64,
    /// How many of the newest records cannot be found yet
    pub behind: u64,
}

/// What was read on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditFollowed {
    /// The records, the oldest first
    pub records: Vec<AuditRecord>,
    /// The number of the last record that was looked at; give it as `after` to go on
    pub last: u64,
}

impl Operation for AuditQuery {
    type Request = AuditQueryRequest;
    type Response = AuditPage;

    const NAME: &'static str = "audit_query";
    const TITLE: &'static str = "Search the audit log";
    const DESCRIPTION: &'static str = "Search what was recorded, the newest first; or, with `after`, read on from a number, the oldest first.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::InvalidArguments, ErrorCode::AuditUnavailable, ErrorCode::StorageUnavailable];

    fn object(_: &AuditQueryRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Reads records in full.
pub struct AuditShow;

/// Which record, or which call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditShowRequest {
    /// The number of the record; all records of its call are answered
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
    const DESCRIPTION: &'static str = "A record, or all records of a call, in full.";
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

/// Whether the log is as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditVerification {
    /// Whether nothing is wrong
    pub intact: bool,
    /// The gateway that wrote it
    pub node: String,
    /// The public key that its checkpoints are verified with
    pub key: String,
    /// The first record
    pub first_seq: u64,
    /// The last record
    pub last_seq: u64,
    /// How many records were read
    pub records: u64,
    /// In how many segments
    pub segments: u64,
    /// How many signed checkpoints were verified
    pub checkpoints: u64,
    /// The last record that a signature covers
    pub signed_until: u64,
    /// The hash of the chain at the end
    pub chain: String,
    /// The root of the Merkle tree over all records
    pub root: String,
    /// What is wrong
    pub problems: Vec<String>,
}

impl Operation for AuditVerify {
    type Request = NoArguments;
    type Response = AuditVerification;

    const NAME: &'static str = "audit_verify";
    const TITLE: &'static str = "Verify the audit log";
    const DESCRIPTION: &'static str = "Check whether anybody changed the audit log.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::AuditUnavailable];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Removes old records.
pub struct AuditPurge;

/// Which records to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditPurgeRequest {
    /// Records older than this moment, in milliseconds since 1970
    pub before_ms: u64,
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditPurged {
    /// How many segments
    pub segments: u64,
    /// How many records were in them
    pub records: u64,
}

impl Operation for AuditPurge {
    type Request = AuditPurgeRequest;
    type Response = AuditPurged;

    const NAME: &'static str = "audit_purge";
    const TITLE: &'static str = "Remove old audit records";
    const DESCRIPTION: &'static str =
        "Remove old records, whole segments at a time. The log says that this was done.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::AuditPurged };
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::AuditUnavailable];
    const DESTRUCTIVE: bool = true;
    const IDEMPOTENT: bool = true;

    fn object(_: &AuditPurgeRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Counts what happened.
pub struct AuditReport;

/// Since when to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditReportRequest {
    /// Not before this moment, in milliseconds since 1970 [default: 0]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
}

/// What happened, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditCounts {
    /// Since when, in milliseconds since 1970
    pub since_ms: i64,
    /// The counts
    pub counts: Vec<AuditCount>,
}

/// How often something happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditCount {
    /// The kind of record
    pub kind: String,
    /// The agent
    pub agent: Option<String>,
    /// The canonical id of the tool
    pub tool: Option<String>,
    /// How the call was decided
    pub decision: Option<String>,
    /// How many records
    pub n: u64,
}

impl Operation for AuditReport {
    type Request = AuditReportRequest;
    type Response = AuditCounts;

    const NAME: &'static str = "audit_report";
    const TITLE: &'static str = "Count audit records";
    const DESCRIPTION: &'static str = "Count what happened, by kind, agent, tool and decision.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::AuditUnavailable, ErrorCode::StorageUnavailable];

    fn object(_: &AuditReportRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
