//! The text of a lock file.

use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Lock, Pin, PinKey};
use crate::name::ServerKey;
use crate::pin::hash::PinKind;

/// The file version that this program writes.
const VERSION: &str = "1";
const HEADER: &str = "# Which definitions of tools, prompts and resources were accepted. Written by Octroi; keep it under version control.\n";
const FIELDS: [&str; 6] = ["server", "kind", "name", "hash", "accepted_at", "accepted_by"];

/// Why a lock file cannot be used. It is never used in part: missing entries would count as not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct LockError {
    /// The line, from 1.
    pub line: usize,
    /// The error in that line.
    pub message: String,
}

impl LockError {
    /// How to fix it.
    pub fn hint(&self) -> &'static str {
        "fix the line or restore the file from version control; the item of a deleted entry must be accepted again"
    }
}

pub(super) fn parse(text: &str) -> Result<Lock, LockError> {
    let reader = LockReader { text };
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let is_conflict = text.lines().any(|line| line.starts_with("<<<<<<< "));
        let conflict = if is_conflict { "; a merge was not finished" } else { "" };
        reader.error(at, format!("{}{conflict}", error.message().trim()))
    })?;
    let table = table.get_ref();
    if let Some(key) = table.keys().find(|key| !matches!(key.get_ref().as_ref(), "version" | "pins")) {
        return Err(reader.error(key.span().start, format!("`{}` is not known here", key.get_ref())));
    }
    match table.get("version") {
        None => return Err(reader.error(0, "`version` is missing".to_owned())),
        Some(version) => reader.version(version)?,
    }
    let mut lock = Lock::default();
    let Some(pins) = table.get("pins") else { return Ok(lock) };
    let DeValue::Array(pins) = pins.get_ref() else {
        return Err(reader.error(pins.span().start, "`pins` must be a list of tables: `[[pins]]`".to_owned()));
    };
    for entry in pins {
        let (key, pin) = reader.entry(entry)?;
        if lock.pins.contains_key(&key) {
            let message = format!("{} `{}` of server `{}` is pinned twice", key.kind, key.name, key.server);
            return Err(reader.error(entry.span().start, message));
        }
        lock.pins.insert(key, pin);
    }
    Ok(lock)
}

struct LockReader<'a> {
    text: &'a str,
}

impl LockReader<'_> {
    fn error(&self, at: usize, message: String) -> LockError {
        let line = 1 + self.text.get(..at).unwrap_or_default().matches('\n').count();
        LockError { line, message }
    }

    fn version(&self, version: &Spanned<DeValue<'_>>) -> Result<(), LockError> {
        match version.get_ref() {
            DeValue::Integer(number) if number.as_str() == VERSION => Ok(()),
            _ => {
                let message = format!("this program reads version {VERSION} only");
                Err(self.error(version.span().start, message))
            }
        }
    }

    fn entry(&self, entry: &Spanned<DeValue<'_>>) -> Result<(PinKey, Pin), LockError> {
        let start = entry.span().start;
        let DeValue::Table(table) = entry.get_ref() else {
            return Err(self.error(start, "a pin must be a table".to_owned()));
        };
        if let Some(key) = table.keys().find(|key| !FIELDS.contains(&key.get_ref().as_ref())) {
            return Err(self.error(key.span().start, format!("`{}` is not known here", key.get_ref())));
        }
        let field = |name: &str| match table.get(name) {
            None => Err(self.error(start, format!("`{name}` is missing"))),
            Some(value) => match value.get_ref() {
                DeValue::String(text) => Ok((value.span().start, text.to_string())),
                _ => Err(self.error(value.span().start, format!("`{name}` must be a text in quotes"))),
            },
        };
        let (server_at, server) = field("server")?;
        let server = ServerKey::parse(&server)
            .ok_or_else(|| self.error(server_at, format!("`{server}` is not the name of a server")))?;
        let (kind_at, kind) = field("kind")?;
        let kind = PinKind::parse(&kind).ok_or_else(|| {
            let kinds = PinKind::ALL.map(PinKind::as_str).join(", ");
            self.error(kind_at, format!("`{kind}` is no kind: there are {kinds}"))
        })?;
        let (hash_at, hash) = field("hash")?;
        let hash = hash.parse().map_err(|error| self.error(hash_at, format!("{error}")))?;
        let (time_at, accepted_at) = field("accepted_at")?;
        if !is_time(&accepted_at) {
            let message = "`accepted_at` must look like 2026-01-31T12:00:00Z".to_owned();
            return Err(self.error(time_at, message));
        }
        let key = PinKey { server, kind, name: field("name")?.1 };
        Ok((key, Pin { hash, accepted_at, accepted_by: field("accepted_by")?.1 }))
    }
}

/// Whether a text has the form of a time in UTC, with an optional fraction of a second.
fn is_time(text: &str) -> bool {
    let Some(text) = text.strip_suffix('Z') else { return false };
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let shape: String =
        seconds.chars().map(|character| if character.is_ascii_digit() { '0' } else { character }).collect();
    shape == "0000-00-00T00:00:00"
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn write(out: &mut fmt::Formatter<'_>, lock: &Lock) -> fmt::Result {
    writeln!(out, "{HEADER}version = {VERSION}")?;
    for (key, pin) in &lock.pins {
        let (server, hash) = (key.server.to_string(), pin.hash.to_string());
        let values =
            [server.as_str(), key.kind.as_str(), &key.name, &hash, &pin.accepted_at, &pin.accepted_by];
        out.write_str("\n[[pins]]\n")?;
        for (field, value) in FIELDS.iter().zip(values) {
            writeln!(out, "{field} = {}", quoted(value))?;
        }
    }
    Ok(())
}

/// A basic string on one line. Hidden characters are escaped, so that no name can imitate another.
fn quoted(value: &str) -> String {
    let mut out = String::from("\"");
    for character in value.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if character == '\r' || crate::pin::characters::hidden(character).is_some() => {
                out.push_str("\\U");
                out.push_str(&hex::encode(u32::from(character).to_be_bytes()));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;
    use crate::pin::DefinitionHash;

    fn pin(byte: u8, at: &str, by: &str) -> Pin {
        Pin {
            hash: DefinitionHash::from_bytes([byte; 32]),
            accepted_at: at.to_owned(),
            accepted_by: by.to_owned(),
        }
    }

    fn key(server: &str, kind: PinKind, name: &str) -> PinKey {
        PinKey { server: ServerKey::parse(server).unwrap(), kind, name: name.to_owned() }
    }

    #[test]
    fn a_file_is_written_in_order_and_read_back() {
        let mut lock = Lock::default();
        lock.insert(key("b", PinKind::Tool, "x"), pin(1, "2026-01-31T12:00:00Z", "ann"));
        lock.insert(key("a", PinKind::Tool, "say \"hi\"\u{200b}"), pin(2, "2026-01-31T12:00:00.5Z", "bob"));
        lock.insert(key("a", PinKind::Server, ""), pin(3, "2026-01-31T12:00:00Z", "bob"));
        expect![[r#"
            # Which definitions of tools, prompts and resources were accepted. Written by Octroi; keep it under version control.
            version = 1

            [[pins]]
            server = "a"
            kind = "server"
            name = ""
            hash = "0303030303030303030303030303030303030303030303030303030303030303"
            accepted_at = "2026-01-31T12:00:00Z"
            accepted_by = "bob"

            [[pins]]
            server = "a"
            kind = "tool"
            name = "say \"hi\"\U0000200b"
            hash = "0202020202020202020202020202020202020202020202020202020202020202"
            accepted_at = "2026-01-31T12:00:00.5Z"
            accepted_by = "bob"

            [[pins]]
            server = "b"
            kind = "tool"
            name = "x"
            hash = "0101010101010101010101010101010101010101010101010101010101010101"
            accepted_at = "2026-01-31T12:00:00Z"
            accepted_by = "ann"
        "#]]
        .assert_eq(&lock.to_string());
        assert_eq!(Lock::parse(&lock.to_string()), Ok(lock));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let entry = "[[pins]]\nserver = \"a\"\nkind = \"tool\"\nname = \"x\"\nhash = \"HASH\"\naccepted_at = \"2026-01-31T12:00:00Z\"\naccepted_by = \"ann\"\n"
            .replace("HASH", &"0".repeat(64));
        let file = |entry: &str| format!("version = 1\n{entry}");
        for (text, line, message) in [
            (String::new(), 1, "`version` is missing"),
            ("version = 2".to_owned(), 1, "this program reads version 1 only"),
            ("version = \"1\"".to_owned(), 1, "this program reads version 1 only"),
            ("version = 1\nother = 2".to_owned(), 2, "`other` is not known here"),
            ("version = 1\npins = 3".to_owned(), 2, "`pins` must be a list of tables: `[[pins]]`"),
            (
                file(&entry.replace("\"tool\"", "\"tols\"")),
                4,
                "`tols` is no kind: there are server, tool, prompt, resource, template",
            ),
            (file(&entry.replace("name = ", "nome = ")), 5, "`nome` is not known here"),
            (file(&entry.replace("name = \"x\"\n", "")), 2, "`name` is missing"),
            (file(&entry.replace("name = \"x\"", "name = 3")), 5, "`name` must be a text in quotes"),
            (file(&entry.replace("00", "0")), 6, "a hash is 64 hexadecimal digits"),
            (file(&entry.replace("2026", "soon")), 7, "`accepted_at` must look like 2026-01-31T12:00:00Z"),
            (file(&format!("{entry}\n{entry}")), 10, "tool `x` of server `a` is pinned twice"),
        ] {
            assert_eq!(Lock::parse(&text), Err(LockError { line, message: message.to_owned() }), "{text}");
        }
        let unmerged = Lock::parse(&file(&format!("{entry}<<<<<<< ours\n"))).unwrap_err();
        assert_eq!(unmerged.line, 9);
        assert!(unmerged.message.ends_with("; a merge was not finished"), "{unmerged}");
    }

    #[test]
    fn of_two_files_that_disagree_neither_is_believed() {
        let (x, y, z) =
            (key("a", PinKind::Tool, "x"), key("a", PinKind::Tool, "y"), key("a", PinKind::Tool, "z"));
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z");
        let mut ours = Lock::default();
        ours.insert(x.clone(), pin(1, late, "ann"));
        ours.insert(y.clone(), pin(1, early, "ann"));
        let mut theirs = Lock::default();
        theirs.insert(x.clone(), pin(1, early, "bob"));
        theirs.insert(y.clone(), pin(2, late, "bob"));
        theirs.insert(z.clone(), pin(3, late, "bob"));
        let merged = ours.clone().merge(theirs.clone());
        assert_eq!(merged.conflicts, [y]);
        assert_eq!(
            merged.lock.iter().collect::<Vec<_>>(),
            [(&x, &pin(1, early, "bob")), (&z, &pin(3, late, "bob"))]
        );
        assert_eq!(theirs.merge(ours), merged);
    }

    proptest! {
        #[test]
        fn any_names_come_back(server in "([a-z]{1,4}/)?[a-z][a-z0-9-]{0,8}", name: String, by: String) {
            let mut lock = Lock::default();
            lock.insert(key(&server, PinKind::Tool, &name), pin(7, "2026-01-31T12:00:00Z", &by));
            prop_assert_eq!(Lock::parse(&lock.to_string()), Ok(lock));
        }

        #[test]
        fn no_text_is_too_strange(text in "(version = 1\n)?[\\[\\]pins= \"\n0-9a-z]{0,40}") {
            let _ = Lock::parse(&text);
        }
    }
}
