//! Classifies an argument by its name.

/// How a text is used, as far as its argument's name tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the uses do not exclude each other")]
pub(crate) struct Use {
    /// Even a bare word is a path.
    pub(crate) is_path: bool,
    /// A command line.
    pub(super) is_command: bool,
    /// The arguments of a command line, one by one.
    pub(super) is_arguments: bool,
    /// Even a bare word is a host.
    pub(crate) is_host: bool,
    /// A URL, possibly without its scheme.
    pub(crate) is_address: bool,
    /// SQL, even if it does not look like it.
    pub(super) is_sql: bool,
}

/// Longer names are not classified.
const NAME_MAX: usize = 128;

const PATHS: &[&str] = &[
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "dir",
    "dirs",
    "directory",
    "directories",
    "folder",
    "folders",
    "cwd",
    "workdir",
    "src",
    "dst",
    "dest",
    "destination",
];
const COMMANDS: &[&str] = &[
    "command",
    "commands",
    "cmd",
    "cmds",
    "script",
    "scripts",
    "shell",
    "bash",
    "commandline",
    "cmdline",
    "program",
    "executable",
    "entrypoint",
];
const COMMANDS_WHOLE: &[&str] = &["run", "exec", "execute", "sh", "terminal", "binary"];
const ARGUMENTS: &[&str] = &["args", "argv", "arguments"];
const HOSTS: &[&str] = &["host", "hosts", "hostname", "hostnames", "domain", "domains", "ipaddress"];
const ADDRESSES: &[&str] =
    &["url", "urls", "uri", "uris", "endpoint", "endpoints", "proxy", "origin", "remote"];
const SQL: &[&str] = &["sql", "query", "queries", "statement", "statements", "stmt", "ddl", "dml"];

impl Use {
    pub(crate) fn of(key: &str) -> Self {
        if key.is_empty() || key.len() > NAME_MAX {
            return Self::default();
        }
        let name = folded(key);
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        Self {
            is_path: ends(PATHS),
            is_command: ends(COMMANDS) || COMMANDS_WHOLE.contains(&name.as_str()),
            is_arguments: ends(ARGUMENTS),
            is_host: ends(HOSTS) || name == "ip" || name == "server",
            is_address: ends(ADDRESSES),
            is_sql: ends(SQL),
        }
    }
    /// Whether it is a command or part of one.
    pub(crate) const fn is_of_command(self) -> bool {
        self.is_command || self.is_arguments
    }
}

/// In lower case, without `_`, `-`, `.` and spaces: `filePath`, `file_path` and `File-Path` are one name.
fn folded(key: &str) -> String {
    let is_kept = |character: &char| !u8::try_from(*character).is_ok_and(is_joint);
    key.chars().filter(is_kept).map(|character| character.to_ascii_lowercase()).collect()
}

const fn is_joint(byte: u8) -> bool {
    matches!(byte, b'_' | b'-' | b'.' | b' ')
}

const SECRETS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "authorization",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "cookie",
    "bearer",
    "sessionid",
    "connectionstring",
    "signingkey",
    "encryptionkey",
    "accountkey",
    "masterkey",
    "psswrd",
];
/// The length of the shortest of these words, and of the harmless ones.
const WORD_MIN: usize = 5;
const SECRETS_WHOLE: &[&str] = &["auth", "pwd", "pass", "pin", "otp", "jwt", "pat", "xapikey"];
/// Names that contain such a word but hold no secret.
const HARMLESS: &[&str] = &[
    "maxtoken",
    "tokens",
    "tokencount",
    "tokenlimit",
    "tokenizer",
    "tokentype",
    "pagetoken",
    "nexttoken",
    "tokenurl",
    "tokenendpoint",
    "secretname",
    "passwordpolicy",
    "cookieconsent",
    "cookiepolicy",
    "authorizationendpoint",
    "passwordfile",
    "passwordstdin",
    "passwordprompt",
    "tokenfile",
    "secretfile",
    "credentialhelper",
    "secretsmanager",
];
/// Names end with these after a mark: `DB_PASS`, `mysql-pwd`. Without the mark it would be `compass`.
const LAST_WORDS: &[&str] = &["pass", "pwd", "pw", "passwd"];

/// Whether a member of this name holds a secret. Called for every member of every call, so it never
/// allocates.
pub(crate) fn is_secret(key: &str) -> bool {
    let mut room = [0; NAME_MAX];
    if key.is_empty() || key.len() > NAME_MAX {
        return false;
    }
    let mut length = 0;
    for byte in key.bytes().filter(|byte| !is_joint(*byte)) {
        room[length] = byte.to_ascii_lowercase();
        length += 1;
    }
    let name = &room[..length];
    let holds = |words: &[&str]| {
        // Most names are too short to hold any.
        (0..(name.len() + 1).saturating_sub(WORD_MIN)).any(|at| {
            let rest = &name[at..];
            words.iter().any(|word| word.as_bytes()[0] == rest[0] && rest.starts_with(word.as_bytes()))
        })
    };
    SECRETS_WHOLE.iter().any(|word| word.as_bytes() == name)
        || holds(SECRETS) && !holds(HARMLESS)
        || ends_like_secret(key)
}

fn ends_like_secret(key: &str) -> bool {
    let last = key.bytes().rposition(is_joint).map(|at| &key.as_bytes()[at + 1..]);
    last.is_some_and(|last| LAST_WORDS.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_use() {
        for (key, expected) in [
            ("path", Use { is_path: true, ..Use::default() }),
            ("targetFile", Use { is_path: true, ..Use::default() }),
            ("working_directory", Use { is_path: true, ..Use::default() }),
            ("shell-command", Use { is_command: true, ..Use::default() }),
            ("run", Use { is_command: true, ..Use::default() }),
            ("prune", Use::default()),
            ("args", Use { is_arguments: true, ..Use::default() }),
            ("dbHost", Use { is_host: true, ..Use::default() }),
            ("base_url", Use { is_address: true, ..Use::default() }),
            ("query", Use { is_sql: true, ..Use::default() }),
            ("title", Use::default()),
            ("", Use::default()),
        ] {
            assert_eq!(Use::of(key), expected, "{key}");
        }
        assert_eq!(Use::of(&"path".repeat(100)), Use::default());
    }

    #[test]
    fn no_word_is_shorter_than_the_shortest() {
        assert!(SECRETS.iter().chain(HARMLESS).all(|word| word.len() >= WORD_MIN));
        for word in SECRETS {
            assert!(is_secret(word) && is_secret(&format!("x{word}")), "{word}");
        }
    }

    #[test]
    fn names_of_secrets() {
        for key in [
            "password",
            "DB_PASSWORD",
            "apiKey",
            "x-api-key",
            "Authorization",
            "access_token",
            "Set-Cookie",
            "client_secret",
            "pwd",
            "DB_PASS",
            "mysql-pwd",
            "AccountKey",
        ] {
            assert!(is_secret(key), "{key}");
        }
        for key in [
            "max_tokens",
            "tokens",
            "next_page_token",
            "pathway",
            "author",
            "tokenizer",
            "spinner",
            "",
            "key",
            "bypass",
            "password-file",
        ] {
            assert!(!is_secret(key), "{key}");
        }
    }
}
