//! `[[gates]]` and `[[inference]]`: custom gates, and the known risk and side effects of tools.

use std::time::Duration;

use serde_json::json;

use super::address::plain_program;
use super::keys::RISKS;
use super::keys::governance::{GATE, INFERENCE};
use super::listed::{Entries, Listed};
use super::reader::TableReader;
use super::settings::Context;
use crate::glob::Glob;
use crate::policy::ToolPattern;
use crate::server::Program;
use crate::syntax::{Node, Origin};
use crate::tool::infer::InferenceRule;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(2);
const DEFAULT_MEMORY: usize = 256;

/// One of `[[gates]]`: a program that checks calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateSpec {
    /// Its name in denials.
    pub name: String,
    /// The program to run.
    pub program: Program,
    /// It checks only these tools; empty for all.
    pub tools: Vec<ToolPattern>,
    /// Timeout of one answer.
    pub timeout: Duration,
    /// Its memory limit, in MiB.
    pub memory_mib: usize,
}

impl GateSpec {
    /// Whether it checks this tool.
    pub fn concerns(&self, server: &str, tool: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|pattern| pattern.matches(server, tool))
    }
}

impl Context<'_> {
    pub(super) fn gates(&self, nodes: &[Node]) -> Entries<GateSpec> {
        let listed = Listed { what: "gate", name: Some("name"), keys: GATE };
        self.each(nodes, &listed, |reader, origin, _| {
            let name = reader.identifier("name");
            let has_command = reader.has("command");
            let program = if has_command { plain_program(reader, self.base, origin) } else { None };
            let tools = reader.tool_patterns("tools");
            let timeout = reader.duration("timeout", DEFAULT_TIMEOUT);
            let memory_mib = reader.count("memory", 1, DEFAULT_MEMORY);
            Some(GateSpec { name: name?, program: program?, tools, timeout, memory_mib })
        })
    }

    pub(super) fn inference(&self, nodes: &[Node]) -> Entries<InferenceRule> {
        let listed = Listed { what: "inference", name: None, keys: INFERENCE };
        self.each(nodes, &listed, |reader, _, _| {
            Some(InferenceRule {
                tools: full_names(reader),
                words: words(reader),
                risk: reader.word("risk", &RISKS),
                side_effects: reader.has("side_effects").then(|| reader.tags("side_effects")),
            })
        })
    }
}

/// A pattern without a dot or a star can match no `server.tool`.
fn full_names(reader: &mut TableReader<'_>) -> Glob {
    let Some(text) = reader.some_text("tools") else {
        reader.show("tools", json!("*"));
        return Glob::new("*");
    };
    if !text.contains(['.', '*']) {
        let origin = reader.origin("tools");
        let hint = format!("write `{text}.*` for a server, `*.{text}` for a tool");
        reader.log.error_with_hint(&origin, "`tools` is a pattern over `server.tool`", hint);
    }
    Glob::new(&text)
}

/// Names and descriptions are split into lower-case words; anything else would never match.
fn words(reader: &mut TableReader<'_>) -> Vec<String> {
    let all = reader.all_located("words");
    for (filled, origin) in &all {
        if filled.value.is_empty() || !filled.value.chars().all(char::is_alphanumeric) {
            not_a_word(reader, &filled.redacted, origin);
        }
    }
    reader.show("words", json!(all.iter().map(|(filled, _)| &filled.redacted).collect::<Vec<_>>()));
    all.into_iter().map(|(filled, _)| filled.value.to_lowercase()).collect()
}

fn not_a_word(reader: &mut TableReader<'_>, text: &str, origin: &Origin) {
    let hint = "write letters and digits only, as in `delete`".to_owned();
    reader.log.error_with_hint(origin, format!("`{text}` is not a single word"), hint);
}
