//! Verbs of SQL statements.
//!
//! Dialects differ in comments and strings, which can hide a statement from one parser but not from another.
//! So every text is parsed in two dialects, and the verbs of both count.

mod lexer;

use super::INCOMPLETE;
use super::keys::Use;
use lexer::{Dialect, Token};

/// Words that start a statement. `WITH` is not one: the statement after it counts.
const VERBS: &[&str] = &[
    "ALTER",
    "ANALYZE",
    "ATTACH",
    "BACKUP",
    "BEGIN",
    "CALL",
    "CLUSTER",
    "COMMENT",
    "COMMIT",
    "COPY",
    "CREATE",
    "DEALLOCATE",
    "DECLARE",
    "DELETE",
    "DESC",
    "DESCRIBE",
    "DETACH",
    "DO",
    "DROP",
    "EXEC",
    "EXECUTE",
    "EXPLAIN",
    "FLUSH",
    "GRANT",
    "HANDLER",
    "IMPORT",
    "INSERT",
    "INSTALL",
    "KILL",
    "LISTEN",
    "LOAD",
    "LOCK",
    "MERGE",
    "NOTIFY",
    "OPTIMIZE",
    "PRAGMA",
    "PREPARE",
    "PURGE",
    "REFRESH",
    "REINDEX",
    "RENAME",
    "REPAIR",
    "REPLACE",
    "RESET",
    "RESTORE",
    "REVOKE",
    "ROLLBACK",
    "SAVEPOINT",
    "SECURITY",
    "SELECT",
    "SET",
    "SHOW",
    "SHUTDOWN",
    "START",
    "TABLE",
    "TRUNCATE",
    "UNLISTEN",
    "UPDATE",
    "UPSERT",
    "USE",
    "VACUUM",
    "VALUES",
];
/// After these words a nested statement may start.
const BEFORE_VERBS: &[&str] = &[
    "EXPLAIN",
    "ANALYZE",
    "VERBOSE",
    "UNION",
    "ALL",
    "EXCEPT",
    "INTERSECT",
    "AS",
    "BEGIN",
    "THEN",
    "ELSE",
    "DO",
    "LOOP",
    "GO",
    "RETURN",
    "PLAN",
    "FORMAT",
];
/// Word pairs that form a statement anywhere: some dialects need no separator between statements.
const PAIRS: &[(&str, &[&str])] = &[
    ("DELETE", &["FROM"]),
    ("INSERT", &["INTO", "OVERWRITE"]),
    ("REPLACE", &["INTO"]),
    ("MERGE", &["INTO"]),
    ("DROP", OBJECTS),
    ("CREATE", OBJECTS),
    ("ALTER", OBJECTS),
    ("TRUNCATE", &["TABLE"]),
    ("LOAD", &["DATA"]),
    ("ATTACH", &["DATABASE"]),
    ("GRANT", &["SELECT", "ALL", "INSERT", "UPDATE", "DELETE", "USAGE", "EXECUTE"]),
    ("REVOKE", &["SELECT", "ALL", "INSERT", "UPDATE", "DELETE", "USAGE", "EXECUTE"]),
];
const OBJECTS: &[&str] = &[
    "TABLE",
    "DATABASE",
    "SCHEMA",
    "INDEX",
    "VIEW",
    "USER",
    "ROLE",
    "FUNCTION",
    "PROCEDURE",
    "TRIGGER",
    "COLUMN",
    "SEQUENCE",
    "TYPE",
    "EXTENSION",
    "POLICY",
    "MATERIALIZED",
    "TEMPORARY",
    "TEMP",
    "UNIQUE",
    "OR",
    "TABLESPACE",
    "LOGIN",
    "SERVER",
];
/// Pairs with a few words in between.
const DISTANT: &[(&str, &str)] = &[("SELECT", "FROM"), ("UPDATE", "SET"), ("COPY", "FROM"), ("COPY", "TO")];
const DISTANCE_MAX: usize = 40;

/// Reports every verb of the statements in a text.
pub(super) fn find(text: &str, use_of_text: Use, found: &mut dyn FnMut(&str)) {
    if !(use_of_text.is_sql || may_be_sql(text)) {
        return;
    }
    if use_of_text.is_sql || looks_like_sql(text) {
        for dialect in [Dialect::Standard, Dialect::MySql] {
            statements(&lexer::tokens(text, dialect), found);
        }
    } else {
        embedded(text, use_of_text, found);
    }
}

/// A cheap check that rules out most texts: statements contain one of these words.
fn may_be_sql(text: &str) -> bool {
    const MARKS: [&str; 14] = [
        "select", "from", "into", "set", "table", "drop", "create", "alter", "grant", "revoke", "data",
        "pragma", "exec", "call",
    ];
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic();
    text.as_bytes().split(|byte| !is_letter(byte)).any(|word| {
        (3..=6).contains(&word.len()) && MARKS.iter().any(|mark| word.eq_ignore_ascii_case(mark.as_bytes()))
    })
}

/// Whether the first words may start a statement rather than a sentence.
fn looks_like_sql(text: &str) -> bool {
    [Dialect::Standard, Dialect::MySql].into_iter().any(|dialect| {
        let tokens = lexer::tokens(text, dialect);
        let words: Vec<_> = tokens.iter().filter(|token| **token != Token::Opening).collect();
        match words.as_slice() {
            [Token::Word(verb), ..] if verb == "WITH" => tokens.contains(&Token::Opening),
            [Token::Word(verb), Token::Word(next), ..] if pair(verb, next) => true,
            [Token::Word(verb), rest @ ..] if verb == "SELECT" => {
                // `SELECT 1`, `SELECT *`, `SELECT f(x)`, `SELECT a FROM b`; not `Select a file`.
                !matches!(rest.first(), Some(Token::Word(_)) | None)
                    || rest.iter().any(|token| **token == Token::Word("FROM".to_owned()))
                    || tokens.contains(&Token::Opening)
            }
            [Token::Word(verb), rest @ ..] => {
                let near = &rest[..rest.len().min(DISTANCE_MAX)];
                let meets = |word: &str| {
                    near.iter().any(|token| matches!(token, Token::Word(other) if other == word))
                };
                let is_distant = DISTANT.iter().any(|(first, second)| first == verb && meets(second));
                // A word may come in between, as in `DELETE t FROM`.
                let has_object =
                    rest.iter().take(2).any(|token| matches!(token, Token::Word(next) if pair(verb, next)));
                // No sentence starts in all capitals.
                let is_loud = VERBS.contains(&verb.as_str()) && text.trim_start().starts_with(verb.as_str());
                is_distant || has_object || is_loud
            }
            _ => false,
        }
    })
}

fn pair(first: &str, second: &str) -> bool {
    PAIRS.iter().any(|(verb, seconds)| *verb == first && seconds.contains(&second))
}

fn statements(tokens: &[Token], found: &mut dyn FnMut(&str)) {
    let mut is_start = true;
    let mut is_prepared = false;
    let mut has_verb = true;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Word(word) => {
                let word = word.as_str();
                let next = match tokens.get(at + 1) {
                    Some(Token::Word(next)) => next.as_str(),
                    Some(Token::End | Token::Opening | Token::Closing | Token::Other | Token::Hidden)
                    | None => "",
                };
                let is_verb = is_start && VERBS.contains(&word)
                    || pair(word, next)
                    || word == "UPDATE" && sets(&tokens[at..]);
                if is_start && word == "WITH" {
                    (is_prepared, has_verb) = (true, false);
                }
                if is_verb {
                    found(word);
                    has_verb = true;
                }
                // A query that writes its result.
                if word == "INTO" && !is_start {
                    found("INSERT");
                }
                is_start = BEFORE_VERBS.contains(&word);
            }
            Token::End => {
                report_lost(is_prepared && !has_verb, found);
                (is_start, is_prepared, has_verb) = (true, false, true);
            }
            Token::Opening | Token::Closing => is_start = true,
            Token::Hidden => found(INCOMPLETE),
            Token::Other => is_start = false,
        }
    }
    report_lost(is_prepared && !has_verb, found);
}

/// Reports a `WITH` whose statement was not found.
fn report_lost(is_lost: bool, found: &mut dyn FnMut(&str)) {
    if is_lost {
        found(INCOMPLETE);
    }
}

/// `UPDATE t SET`, with only a few tokens in between.
fn sets(tokens: &[Token]) -> bool {
    tokens.iter().skip(1).take(4).any(|token| matches!(token, Token::Word(word) if word == "SET"))
}

/// Statements inside other text, such as a command line. Outside of commands they must be in upper case.
fn embedded(text: &str, use_of_text: Use, found: &mut dyn FnMut(&str)) {
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words: Vec<_> = text.split(|character| !is_word(character)).filter(|word| !word.is_empty()).collect();
    for (at, word) in words.iter().enumerate() {
        if word.len() > 8
            || !(use_of_text.is_of_command() || word.bytes().all(|byte| byte.is_ascii_uppercase()))
        {
            continue;
        }
        let verb = word.to_ascii_uppercase();
        let near = &words[at + 1..words.len().min(at + 1 + DISTANCE_MAX)];
        let is_pair = near.first().is_some_and(|next| pair(&verb, &next.to_ascii_uppercase()));
        let is_distant = || {
            DISTANT.iter().any(|(first, second)| {
                *first == verb && near.iter().any(|word| word.eq_ignore_ascii_case(second))
            })
        };
        if is_pair || is_distant() {
            found(&verb);
        }
    }
}
