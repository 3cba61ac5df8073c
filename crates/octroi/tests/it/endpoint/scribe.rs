//! A server of a few lines of shell that records its input and answers with a given text, for bytes that no
//! JSON library may touch.

use std::path::{Path, PathBuf};

use serde_json::json;

/// A configured scribe; its directory must outlive it.
pub(super) struct Scribe {
    pub(super) entry: String,
    log: PathBuf,
}

impl Scribe {
    /// Answers every tool call with `result`.
    pub(super) fn new(directory: &Path, era: &str, result: &str) -> Self {
        let (script, log, answer) =
            (directory.join("scribe.sh"), directory.join("log"), directory.join("result.json"));
        std::fs::write(&answer, result).expect("the answer can be written");
        std::fs::write(&script, SCRIPT).expect("the script can be written");
        let command = json!(["sh", script, log, answer]);
        let entry = format!("[[mcp.servers]]\nname = \"scribe\"\nera = \"{era}\"\ncommand = {command}\n");
        Self { entry, log }
    }

    /// Whether any tool call came.
    pub(super) fn was_called(&self) -> bool {
        std::fs::read_to_string(&self.log).expect("the log can be read").contains("tools/call")
    }

    /// The last tool call, as it came.
    pub(super) fn last_call(&self) -> String {
        let log = std::fs::read_to_string(&self.log).expect("the log can be read");
        let call = log.lines().rfind(|line| line.contains("tools/call"));
        call.unwrap_or_else(|| panic!("no call in {log}")).to_owned()
    }
}

const SCRIPT: &str = r#"
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$1"
  id=$(printf '%s' "$line" | sed 's/^{"jsonrpc":"2.0","id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"notifications/'*) continue ;;
    *'"server/discover"'*)
      result='{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}' ;;
    *'"initialize"'*)
      result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"scribe","version":"0"}}' ;;
    *'"tools/list"'*)
      result='{"tools":[{"name":"write","inputSchema":{"type":"object"},"x-unknown":[123456789012345678901234567890,1e400]}]}' ;;
    *'"tools/call"'*) result=$(cat "$2") ;;
    *) result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;
