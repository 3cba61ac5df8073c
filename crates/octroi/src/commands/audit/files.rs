//! Commands that read the files of the log, whether a gateway runs or not. Nothing here changes them.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use octroi_core::audit::{Filter, PublicKey};
use octroi_core::time::show_time;
use octroi_gateway::audit::{
    ExportFormat, LogReader, Proof, Report, VerifyOptions, check_proof as check, export as write_records,
    prove as prove_record, verify as verify_log,
};

use super::{directory, moment, tool_pattern};
use crate::cli::audit::{CheckProof, ExportRecords, ProveRecord, RecordFilter, RecordFormat, VerifyLog};
use crate::commands::Failure;
use crate::printer;

pub(super) fn verify(options: &VerifyLog) -> Result<(), Failure> {
    let directory = directory(options.location.data.as_ref());
    check_exists(&directory)?;
    let mut against = VerifyOptions {
        public_key: options.key.as_deref().map(public_key).transpose()?,
        ..VerifyOptions::default()
    };
    for path in &options.witness {
        against.witnesses.extend(notes(&read(path)?));
    }
    let report =
        verify_log(&directory, &against).map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    if options.json {
        printer::json(&report.to_json());
    } else {
        for line in report_lines(&report, against.witnesses.len()) {
            printer::data(&line);
        }
    }
    if report.is_intact() {
        return Ok(());
    }
    let problems = printer::count(report.problems.len(), "problem");
    Err(Failure::new(format!("the audit log was changed or damaged: {problems}"))
        .hint("keep a copy of the directory as it is; docs/audit.md says what each line means"))
}

fn report_lines(report: &Report, n_witnesses: usize) -> Vec<String> {
    let records = match report.n_records {
        0 => "none".to_owned(),
        n_records => format!(
            "{n_records} ({} to {}, in {})",
            report.first_seq,
            report.last_seq,
            printer::count(report.n_segments, "segment")
        ),
    };
    let beside = if n_witnesses > 0 { format!(", {n_witnesses} from elsewhere") } else { String::new() };
    let facts = [
        ("node", report.node.clone()),
        ("records", records),
        ("checkpoints", format!("{} agree{beside}", report.n_checkpoints)),
        ("signed until", format!("record {}", report.signed_until)),
        ("key", report.key.clone()),
    ];
    let line = |(label, value): (&str, String)| format!("{label:<12} {value}");
    let mut lines: Vec<String> = facts.into_iter().map(line).collect();
    if report.purged_until() > 0 {
        let purged = format!("records 1 to {}, as a signed record says", report.purged_until());
        lines.insert(2, line(("purged", purged)));
    }
    lines.extend(report.problems.iter().map(|problem| format!("  {problem}")));
    if report.is_intact() {
        lines.push(line(("intact", "yes".to_owned())));
    }
    lines
}

pub(super) fn prove(options: &ProveRecord) -> Result<(), Failure> {
    let directory = directory(options.location.data.as_ref());
    check_exists(&directory)?;
    let proof = prove_record(&directory, options.seq)
        .map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let text = serde_json::to_string(&proof).map_err(|error| Failure::from_error(&error))?;
    match &options.out {
        Some(path) => fs::write(path, text + "\n").map_err(|error| cannot_write(path, &error))?,
        None => printer::data(&text),
    }
    Ok(())
}

pub(super) fn check_proof(options: &CheckProof) -> Result<(), Failure> {
    let text = read(&options.file)?;
    let proof: Proof = serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!("{} is not a proof", options.file.display()))
            .cause(error)
            .hint("make one with `octroi audit prove`")
    })?;
    let checkpoint = check(&proof, &public_key(&options.key)?)
        .map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let at = show_time(i64::try_from(checkpoint.at_ms).unwrap_or(i64::MAX));
    printer::data(&format!(
        "record {} is in the log of `{}` as signed at {at} with {}",
        proof.seq,
        checkpoint.node,
        printer::count(checkpoint.size, "record")
    ));
    printer::data(&proof.record);
    Ok(())
}

pub(super) fn export(options: &ExportRecords) -> Result<(), Failure> {
    let directory = directory(options.location.data.as_ref());
    check_exists(&directory)?;
    let filter = filter(&options.filter)?;
    let format = match options.format {
        RecordFormat::Jsonl => ExportFormat::Jsonl,
        RecordFormat::Csv => ExportFormat::Csv,
        RecordFormat::Ocsf => ExportFormat::Ocsf,
    };
    let mut reader =
        LogReader::open(&directory).map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let exported = match &options.out {
        Some(path) => {
            let file = File::create(path).map_err(|error| cannot_write(path, &error))?;
            write_records(&mut reader, &filter, format, &mut BufWriter::new(file))
        }
        None => {
            write_records(&mut reader, &filter, format, &mut StandardOutput(BufWriter::new(io::stdout())))
        }
    };
    let exported = exported.map_err(|error| Failure::from_error(&error))?;
    if exported.n_unreadable > 0 {
        printer::warn(&format!(
            "{} or ends of segments cannot be read; run `octroi audit verify`",
            printer::count(exported.n_unreadable, "record")
        ));
    }
    if options.out.is_some() {
        printer::say(&printer::count(exported.n_records, "record"));
    }
    Ok(())
}

/// Standard output. A closed pipe is no error: the reader has seen enough.
struct StandardOutput<W>(W);

impl<W: Write> Write for StandardOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            flushed => flushed,
        }
    }
}

fn filter(filter: &RecordFilter) -> Result<Filter, Failure> {
    let time = |typed: &Option<String>| typed.as_deref().map(moment).transpose();
    Ok(Filter {
        since_ms: time(&filter.since)?,
        until_ms: time(&filter.until)?,
        kinds: filter.kinds.clone(),
        tool: filter.tool.as_deref().map(tool_pattern),
        agent: filter.agent.clone(),
        server: filter.server.clone(),
        session: filter.session.clone(),
        text: filter.text.clone(),
    })
}

pub(super) fn check_exists(directory: &Path) -> Result<(), Failure> {
    if directory.is_dir() {
        return Ok(());
    }
    Err(Failure::new(format!("there is no audit log in {}", directory.display()))
        .hint("name the gateway's data directory with --data DIR"))
}

fn public_key(path: &Path) -> Result<PublicKey, Failure> {
    PublicKey::parse(&read(path)?).ok_or_else(|| {
        Failure::new(format!("{} is not a public key", path.display()))
            .hint("it is in `audit/key.pub` below the data directory of the gateway")
    })
}

/// Splits a file into signed notes: each begins with the name of a log.
fn notes(text: &str) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for line in text.lines() {
        match notes.last_mut() {
            Some(note) if !line.starts_with("octroi-audit/") => {
                note.push_str(line);
                note.push('\n');
            }
            _ if line.trim().is_empty() => {}
            _ => notes.push(format!("{line}\n")),
        }
    }
    // In a file with several notes, each is followed by an empty line.
    notes.into_iter().map(|note| format!("{}\n", note.trim_end())).collect()
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {}", path.display())).cause(error))
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot write {}", path.display())).cause(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_split() {
        let note = "octroi-audit/n\n5\nroot\n\n\u{2014} octroi-audit/n sig\n";
        for text in [note.to_owned(), format!("{note}\n{note}\n"), format!("\n\n{note}{note}")] {
            let found = notes(&text);
            assert!(!found.is_empty() && found.iter().all(|found| found == note), "{found:?}");
        }
        assert_eq!(notes(&format!("{note}\n{note}")).len(), 2);
        assert!(notes("").is_empty());
    }
}
