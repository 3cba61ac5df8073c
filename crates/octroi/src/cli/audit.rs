//! Options of commands about the audit log.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use octroi_core::audit::{Kind, Ruling};

use super::Target;
use super::words::{number, word};

/// What to do with the audit log.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List records, the newest first.
    #[command(visible_alias = "ls")]
    List(ListRecords),
    /// Show a record, or all records of a call, in full.
    Show(ShowRecords),
    /// Count records by kind, decision, agent and tool.
    Report(CountRecords),
    /// Verify that nobody changed the log. Reads the files; a gateway may be running.
    Verify(VerifyLog),
    /// Prove that a record is part of the log, for somebody without access to the log.
    Prove(ProveRecord),
    /// Check a proof.
    CheckProof(CheckProof),
    /// Export records for other programs.
    Export(ExportRecords),
    /// Remove old records. The purge itself is recorded.
    Purge(PurgeRecords),
}

/// Where the files of the log are.
#[derive(Debug, Args)]
pub(crate) struct LogLocation {
    /// The gateway's data directory [default: the user's data directory].
    #[arg(long, value_name = "DIR", env = "OCTROI_DATA")]
    pub(crate) data: Option<PathBuf>,
}

/// Which records to select.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RecordFilter {
    /// Not older than this: `30m`, `7d`, or a time as in `2027-01-31T12:00:00Z`.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,

    /// Older than this.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,

    /// The kind of event, as in `policy_violation`; may be given more than once.
    #[arg(long = "kind", value_name = "KIND", value_parser = word::<Kind>(), hide_possible_values = true)]
    pub(crate) kinds: Vec<Kind>,

    /// The tool; `*` matches any characters.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) tool: Option<String>,

    /// The agent.
    #[arg(long)]
    pub(crate) agent: Option<String>,

    /// The server.
    #[arg(long)]
    pub(crate) server: Option<String>,

    /// The session of a client, as records name it.
    #[arg(long)]
    pub(crate) session: Option<String>,

    /// A text that the record contains.
    #[arg(long)]
    pub(crate) text: Option<String>,
}

/// Options of `octroi audit list`.
#[derive(Debug, Args)]
pub(crate) struct ListRecords {
    #[command(flatten)]
    pub(crate) filter: RecordFilter,

    /// The decision.
    #[arg(long, value_parser = word::<Ruling>())]
    pub(crate) decision: Option<Ruling>,

    /// The call.
    #[arg(long, value_name = "ID")]
    pub(crate) call: Option<String>,

    /// How many records to list at most.
    #[arg(short = 'n', long = "lines", value_name = "N", value_parser = number::<u64>, default_value_t = 50)]
    pub(crate) n_max: u64,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi audit show`.
#[derive(Debug, Args)]
pub(crate) struct ShowRecords {
    /// The number of a record, or a call.
    #[arg(value_name = "NUMBER|CALL")]
    pub(crate) what: String,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi audit report`.
#[derive(Debug, Args)]
pub(crate) struct CountRecords {
    /// Not older than this.
    #[arg(long, value_name = "TIME", default_value = "7d")]
    pub(crate) since: String,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi audit verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyLog {
    #[command(flatten)]
    pub(crate) location: LogLocation,

    /// A copy of `key.pub` that was stored elsewhere [default: the one beside the log].
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,

    /// Checkpoints that were stored elsewhere; may be given more than once.
    #[arg(long, value_name = "FILE")]
    pub(crate) witness: Vec<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `octroi audit prove`.
#[derive(Debug, Args)]
pub(crate) struct ProveRecord {
    /// The number of the record.
    #[arg(value_name = "NUMBER", value_parser = number::<u64>)]
    pub(crate) seq: u64,

    #[command(flatten)]
    pub(crate) location: LogLocation,

    /// Where to write the proof [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Options of `octroi audit check-proof`.
#[derive(Debug, Args)]
pub(crate) struct CheckProof {
    /// The proof.
    pub(crate) file: PathBuf,

    /// The log's `key.pub`.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
}

/// Options of `octroi audit export`.
#[derive(Debug, Args)]
pub(crate) struct ExportRecords {
    #[command(flatten)]
    pub(crate) filter: RecordFilter,

    /// The output format.
    #[arg(long, value_enum, default_value_t = RecordFormat::Jsonl)]
    pub(crate) format: RecordFormat,

    /// Where to write them [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) location: LogLocation,
}

/// An output format for other programs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RecordFormat {
    /// One JSON object in each line.
    Jsonl,
    /// A table for spreadsheets.
    Csv,
    /// One OCSF event in each line.
    Ocsf,
}

/// Options of `octroi audit purge`.
#[derive(Debug, Args)]
pub(crate) struct PurgeRecords {
    /// Older than this.
    #[arg(long, value_name = "TIME")]
    pub(crate) before: String,

    /// Do not ask for confirmation.
    #[arg(long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi tail`.
#[derive(Debug, Args)]
pub(crate) struct Tail {
    /// Only this agent.
    #[arg(long)]
    pub(crate) agent: Option<String>,

    /// Only tools that match; `*` matches any characters.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) tool: Option<String>,

    /// How many past records to show first.
    #[arg(short = 'n', long = "lines", value_name = "N", value_parser = number::<u64>, default_value_t = 10)]
    pub(crate) lines: u64,

    #[command(flatten)]
    pub(crate) target: Target,
}
