//! The schema in Cedar's own language.
//!
//! Names come from servers: everything that is not a plain identifier is quoted and escaped.

use std::fmt::Write as _;

use super::{EVERY_CALL, Tools, group_name, tool_name};
use crate::shape::{Field, LeftOut, Record, Scalar, Type};

/// The part that is the same for all tools. `docs/cedar.md` explains it.
const PREAMBLE: &str = r#"// Who calls. A profile is empty if there is none.
entity Agent = {
  profile: String,
  role: String, // "human" or "agent"
};

entity Server;

// What is called.
entity Tool in [Server] = {
  name: String,
  read_only: Bool,
  risk: Long, // 0 low, 1 medium, 2 high, 3 critical
  risk_name: String,
  server: String,
  side_effects: Set<String>,
  trust: String, // "low", "medium" or "high"
};

// What was found in the arguments, and how the agent behaved.
type Facts = {
  calls_last_minute: Long,
  hosts: Set<String>,
  is_first_use: Bool,
  paths: Set<String>,
  paths_outside_project: Set<String>,
  payload_bytes: Long,
  secrets: Set<String>,
  shell_heads: Set<String>,
  sql_verbs: Set<String>,
};

// What the call is part of.
type Session = {
  mode: String,
  project?: String,
  spec_frozen: Bool,
  spec_hash?: String,
};
"#;

/// Reserved words of Cedar, which must be quoted as names.
const RESERVED: [&str; 11] =
    ["true", "false", "if", "then", "else", "in", "is", "like", "has", "__cedar", "Set"];

pub(super) fn write(tools: &Tools) -> String {
    let mut text = PREAMBLE.to_owned();
    text.push_str("\n// Every tool.\n");
    write_line(&mut text, 0, &format!("action {};", quoted(EVERY_CALL)));
    for (server, tools) in tools {
        let group = group_name(server);
        text.push('\n');
        write_line(&mut text, 0, &format!("action {} in [{}];", quoted(&group), quoted(EVERY_CALL)));
        for (name, tool) in tools {
            text.push('\n');
            for left_out in &tool.arguments.left_out {
                write_line(&mut text, 0, &format!("// {}", explained(left_out)));
            }
            write_line(&mut text, 0, &format!("@doc({})", quoted(&tool.note)));
            let name = quoted(&tool_name(server, name));
            write_line(&mut text, 0, &format!("action {name} in [{}] appliesTo {{", quoted(&group)));
            write_line(&mut text, 1, "principal: [Agent],");
            write_line(&mut text, 1, "resource: [Tool],");
            write_line(&mut text, 1, "context: {");
            write_record(&mut text, 2, "args", &tool.arguments.record);
            write_line(&mut text, 2, "facts: Facts,");
            write_line(&mut text, 2, "session: Session,");
            write_line(&mut text, 1, "},");
            write_line(&mut text, 0, "};");
        }
    }
    text
}

fn write_record(text: &mut String, depth: usize, name: &str, record: &Record) {
    if record.fields.is_empty() {
        write_line(text, depth, &format!("{name}: {{}},"));
        return;
    }
    write_line(text, depth, &format!("{name}: {{"));
    for (name, field) in &record.fields {
        write_field(text, depth + 1, name, field);
    }
    write_line(text, depth, "},");
}

fn write_field(text: &mut String, depth: usize, name: &str, field: &Field) {
    let name = format!("{}{}", attribute(name), if field.is_required { "" } else { "?" });
    match &field.of {
        Type::Scalar(scalar) => write_line(text, depth, &format!("{name}: {},", scalar_name(*scalar))),
        Type::Set(scalar) => write_line(text, depth, &format!("{name}: Set<{}>,", scalar_name(*scalar))),
        Type::Record(record) => write_record(text, depth, &name, record),
    }
}

fn write_line(text: &mut String, depth: usize, line: &str) {
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "{:1$}{line}", "", depth * 2);
}

const fn scalar_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Text => "String",
        Scalar::Bool => "Bool",
        Scalar::Long => "Long",
    }
}

fn explained(left_out: &LeftOut) -> String {
    let path: Vec<String> = left_out.path.iter().map(|name| attribute(name)).collect();
    match path.as_slice() {
        [] => format!("Without arguments: {}.", left_out.why),
        _ => format!("Without args.{}: {}.", path.join("."), left_out.why),
    }
}

/// A name without quotes, if Cedar parses it as an identifier.
fn attribute(name: &str) -> String {
    let is_word = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|other| other.is_ascii_alphanumeric() || other == '_');
    if is_word && !RESERVED.contains(&name) { name.to_owned() } else { quoted(name) }
}

/// Rust's escapes are valid in Cedar.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}
