//! What can be told from a call's arguments, so that policies need neither regular expressions nor loops.

use std::collections::BTreeSet;

/// Facts about one call, found by looking at every text among its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Absolute paths, after `.` and `..` are resolved.
    pub paths: BTreeSet<String>,
    /// Those of them that lie outside the agent's project; all of them if it has none.
    pub paths_outside_project: BTreeSet<String>,
    /// Hosts named by URLs, in lower case, without port.
    pub hosts: BTreeSet<String>,
    /// Verbs of SQL statements, in capitals.
    pub sql_verbs: BTreeSet<String>,
    /// The programs that command lines would run.
    pub shell_heads: BTreeSet<String>,
    /// Kinds of secrets that seem to be among the arguments.
    pub secrets: BTreeSet<String>,
    /// How long the arguments are as JSON.
    pub payload_bytes: u64,
    /// Whether this agent has never called this tool before.
    pub is_first_use: bool,
    /// How many calls this agent made within the last minute.
    pub calls_last_minute: u32,
}
