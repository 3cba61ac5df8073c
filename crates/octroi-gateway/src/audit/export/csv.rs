//! Records as CSV (RFC 4180).

use octroi_core::audit::Entry;

use super::words;
use crate::audit::reader::Record;

/// The header line.
pub(super) const NAMES: &str = "seq,at_ms,kind,level,actor_kind,actor,agent,session,server,tool,project,\
                                source_type,call,decision,context,chain\r\n";

pub(super) fn put(line: &mut Vec<u8>, record: &Record, entry: &Entry<'_>) {
    put_field(line, &record.seq.to_string());
    put_next(line, &entry.at_ms.to_string());
    put_next(line, entry.kind.as_str());
    put_next(line, entry.level.as_str());
    put_next(line, entry.actor_kind.as_str());
    put_next(line, &entry.actor_id);
    for word in words(entry) {
        put_next(line, word.unwrap_or_default());
    }
    put_next(line, entry.source.map_or("", |source| source.as_str()));
    put_next(line, &entry.call.map_or_else(String::new, |call| call.to_string()));
    put_next(line, entry.ruling.map_or("", |ruling| ruling.as_str()));
    put_next(line, entry.context);
    put_next(line, &record.chain.to_base64());
    line.extend_from_slice(b"\r\n");
}

fn put_next(line: &mut Vec<u8>, text: &str) {
    line.push(b',');
    put_field(line, text);
}

fn put_field(line: &mut Vec<u8>, text: &str) {
    // Spreadsheets execute text that looks like a formula, and agents choose some of these texts.
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if !is_formula && !text.contains(['"', ',', '\n', '\r']) {
        line.extend_from_slice(text.as_bytes());
        return;
    }
    line.push(b'"');
    if is_formula {
        line.push(b'\'');
    }
    line.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("a \"b\"", "\"a \"\"b\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=cmd()", "\"'=cmd()\""),
            ("@x", "\"'@x\""),
        ] {
            let mut line = Vec::new();
            put_field(&mut line, text);
            assert_eq!(String::from_utf8(line).unwrap(), expected);
        }
    }
}
