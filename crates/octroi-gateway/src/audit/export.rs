//! Exports records for other programs: JSON lines, CSV, or OCSF.

mod csv;
mod ocsf;

use std::io::{self, Write};

use octroi_core::audit::{Entry, Filter};
use octroi_core::escape_hidden;

use super::error::AuditError;
use super::reader::{LogReader, Record};

/// An export format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// One JSON object per line: the original record with its number.
    Jsonl,
    /// A table with a header line.
    Csv,
    /// One OCSF event (API Activity) per line.
    Ocsf,
}

/// The result of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// The number of exported records.
    pub n_records: u64,
    /// The number of unreadable records, or segments that are unreadable from some point on.
    pub n_unreadable: u64,
}

/// Why an export ended early.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The log cannot be read.
    #[error("the audit log cannot be read")]
    Log(#[from] AuditError),
    /// The output cannot be written.
    #[error("the export cannot be written")]
    Output(#[source] io::Error),
}

/// Writes every record that matches the filter.
pub fn export(
    reader: &mut LogReader,
    filter: &Filter,
    format: ExportFormat,
    output: &mut dyn Write,
) -> Result<Exported, ExportError> {
    let mut exported = Exported::default();
    let mut line = Vec::new();
    if format == ExportFormat::Csv {
        output.write_all(csv::NAMES.as_bytes()).map_err(ExportError::Output)?;
    }
    for record in reader.records(1)? {
        let record = match record {
            Ok(record) => record,
            Err(AuditError::Unreadable { .. }) => {
                exported.n_unreadable += 1;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if record.entry().is_err() {
            exported.n_unreadable += 1;
            continue;
        }
        for event in matching_events(filter, record) {
            let Ok(entry) = event.entry() else { continue };
            line.clear();
            put_as(format, &mut line, &event, &entry);
            // People open exports in terminals and editors.
            let shown = escape_hidden(&String::from_utf8_lossy(&line)).into_owned();
            output.write_all(shown.as_bytes()).map_err(ExportError::Output)?;
            exported.n_records += 1;
        }
    }
    output.flush().map_err(ExportError::Output)?;
    Ok(exported)
}

/// Records in a format, to be appended to those before; the first ones with a header, if the format has one.
pub fn export_some(records: &[Record], format: ExportFormat, is_first: bool) -> String {
    let mut text = String::new();
    if is_first && format == ExportFormat::Csv {
        text.push_str(csv::NAMES);
    }
    let mut line = Vec::new();
    for record in records {
        let Ok(entry) = record.entry() else { continue };
        line.clear();
        put_as(format, &mut line, record, &entry);
        // People open exports in terminals and editors.
        text.push_str(&escape_hidden(&String::from_utf8_lossy(&line)));
    }
    text
}

fn put_as(format: ExportFormat, line: &mut Vec<u8>, record: &Record, entry: &Entry<'_>) {
    match format {
        ExportFormat::Jsonl => put_json(line, record),
        ExportFormat::Csv => csv::put(line, record, entry),
        ExportFormat::Ocsf => ocsf::put(line, record, entry),
    }
}

/// The events that a record is found as, the oldest first: the decision that it contains, and itself.
pub(crate) fn matching_events(filter: &Filter, record: Record) -> Vec<Record> {
    let Ok(entry) = record.entry() else { return Vec::new() };
    let decision = filter.wants_decision(&entry, &record.body).then(|| record.decision()).flatten();
    let matches = filter.wants(&entry, &record.body);
    decision.into_iter().chain(matches.then_some(record)).collect()
}

/// The original text of the record with its number in front.
fn put_json(line: &mut Vec<u8>, record: &Record) {
    let start = line.len();
    line.extend_from_slice(format!("{{\"seq\":{},", record.seq).as_bytes());
    line.extend_from_slice(record.body.strip_prefix(b"{").unwrap_or(&record.body));
    // Inside a string a line break is always escaped; outside it is insignificant whitespace.
    line[start..].iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    line.push(b'\n');
}

/// The optional columns of an entry.
fn words<'a>(entry: &'a Entry<'_>) -> [Option<&'a str>; 5] {
    [
        entry.agent.as_deref(),
        entry.session.as_deref(),
        entry.server.as_deref(),
        entry.tool.as_deref(),
        entry.project.as_deref(),
    ]
}
