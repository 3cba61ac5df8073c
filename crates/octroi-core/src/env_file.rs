//! `.env` files: variables that the configuration refers to, one to a line.
//!
//! What is read is what programs that read such files agree on: `NAME=value`, an `export` before it, comments, single
//! quotes for text as it is, double quotes for text with escapes, both also over several lines. Nothing is expanded.

use std::collections::BTreeMap;

use crate::secret::Secret;

/// A line that is no variable. No text contains what is written there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct EnvFileError {
    /// The line, from 1.
    pub line: usize,
    reason: &'static str,
}

/// Reads the variables of a file. The last of several with one name counts.
pub fn parse(text: &str) -> Result<BTreeMap<String, Secret>, EnvFileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut variables = BTreeMap::new();
    let mut reader = Reader { rest: text, line: 1 };
    while !reader.rest.is_empty() {
        let begun = reader.line;
        let at = |reason| EnvFileError { line: begun, reason };
        reader.skip_spaces();
        if reader.ends_line() {
            reader.skip_line();
            continue;
        }
        let (name, after) = reader.rest.split_once('=').ok_or(at("it is not NAME=value"))?;
        let name = name.trim_end_matches([' ', '\t']);
        let name = match name.strip_prefix("export") {
            Some(name) if name.starts_with([' ', '\t']) => name.trim_start_matches([' ', '\t']),
            Some(_) | None => name,
        };
        if !is_name(name) {
            return Err(at("it is not NAME=value"));
        }
        let name = name.to_owned();
        reader.rest = after;
        reader.skip_spaces();
        let value = reader.value().map_err(at)?;
        variables.insert(name, Secret::new(value));
    }
    Ok(variables)
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl Reader<'_> {
    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    /// Whether nothing but a comment is left of the line.
    fn ends_line(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with(['#', '\n']) || self.rest.starts_with("\r\n")
    }

    fn skip_line(&mut self) {
        self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
        self.line += 1;
    }

    fn value(&mut self) -> Result<String, &'static str> {
        let quote = self.rest.chars().next().filter(|first| ['\'', '"'].contains(first));
        let Some(quote) = quote else {
            let line = self.rest.split('\n').next().unwrap_or_default();
            // A `#` within a word is a part of it.
            let comment = line.match_indices('#').map(|(place, _)| place);
            let mut ends = comment.filter(|place| *place == 0 || line[..*place].ends_with([' ', '\t']));
            let value = line[..ends.next().unwrap_or(line.len())].trim_end().to_owned();
            self.skip_line();
            return Ok(value);
        };
        let value = self.quoted(quote)?;
        self.skip_spaces();
        if !self.ends_line() {
            return Err("something follows the closing quote");
        }
        self.skip_line();
        Ok(value)
    }

    fn quoted(&mut self, quote: char) -> Result<String, &'static str> {
        let mut value = String::new();
        let mut letters = self.rest.char_indices().skip(1);
        while let Some((place, letter)) = letters.next() {
            match letter {
                _ if letter == quote => {
                    self.line += self.rest[..place].matches('\n').count();
                    self.rest = &self.rest[place + 1..];
                    return Ok(value);
                }
                '\\' if quote == '"' => match letters.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, 'r')) => value.push('\r'),
                    Some((_, 't')) => value.push('\t'),
                    Some((_, escaped @ ('"' | '\\' | '$'))) => value.push(escaped),
                    Some((_, other)) => value.extend(['\\', other]),
                    None => break,
                },
                _ => value.push(letter),
            }
        }
        Err("a quote is not closed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, String)>, String> {
        let variables = parse(text).map_err(|error| error.to_string())?;
        Ok(variables.into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect())
    }

    #[test]
    fn variables_of_a_file() {
        for (text, expected) in [
            ("", &[][..]),
            ("# nothing\n\n   \t\n  # more\r\n", &[]),
            ("A=b", &[("A", "b")]),
            ("\u{feff}A=b\r\nC=d\r\n", &[("A", "b"), ("C", "d")]),
            ("export A=b\nexport\tC = d  \n", &[("A", "b"), ("C", "d")]),
            ("exported=1", &[("exported", "1")]),
            ("A=", &[("A", "")]),
            ("A= # comment", &[("A", "")]),
            ("A=b#c # d", &[("A", "b#c")]),
            ("A=postgres://u:p@h/d?x=y", &[("A", "postgres://u:p@h/d?x=y")]),
            ("A='b # \\n $c'  # d", &[("A", "b # \\n $c")]),
            (r#"A="b\n\t\"\\\$c \d # e""#, &[("A", "b\n\t\"\\$c \\d # e")]),
            ("A=\"b\nc\"\nD=e", &[("A", "b\nc"), ("D", "e")]),
            ("A='b\nc'\nD=e", &[("A", "b\nc"), ("D", "e")]),
            ("A=${HOME}$x", &[("A", "${HOME}$x")]),
            ("A=b\nA=c", &[("A", "c")]),
            ("A=b c d", &[("A", "b c d")]),
            ("A=b'c'", &[("A", "b'c'")]),
            ("A=\u{fc}\u{1f511}", &[("A", "\u{fc}\u{1f511}")]),
        ] {
            let expected: Vec<(String, String)> =
                expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            assert_eq!(read(text), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_variable_is_refused_with_its_line_and_nothing_of_it() {
        for (text, expected) in [
            ("A=b\nhunter2", "line 2: it is not NAME=value"),
            ("=hunter2", "line 1: it is not NAME=value"),
            ("1A=hunter2", "line 1: it is not NAME=value"),
            ("A-B=hunter2", "line 1: it is not NAME=value"),
            ("A B=hunter2", "line 1: it is not NAME=value"),
            ("export=hunter2\nA.B=c", "line 2: it is not NAME=value"),
            ("A='b\nc'\n'hunter2", "line 3: it is not NAME=value"),
            ("A='hunter2", "line 1: a quote is not closed"),
            ("A=\"hunter2\\\"", "line 1: a quote is not closed"),
            ("A='b' hunter2", "line 1: something follows the closing quote"),
        ] {
            assert_eq!(read(text), Err(expected.to_owned()), "{text:?}");
        }
    }
}
