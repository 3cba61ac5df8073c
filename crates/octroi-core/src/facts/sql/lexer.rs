//! Splits SQL into words, without comments, strings and quoted names.

/// How deep function bodies are parsed.
const BODIES_MAX: usize = 3;

/// The dialects that are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Comments nest, strings have no backslash escapes, `$$` quotes.
    Standard,
    /// `#` starts a comment, backslashes escape, `"` is a string, and some comments are executed.
    MySql,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word, in upper case.
    Word(String),
    /// The end of a statement.
    End,
    Opening,
    Closing,
    /// A number, a string, or punctuation.
    Other,
    /// Text that was nested too deeply to be parsed.
    Hidden,
}

pub(super) fn tokens(text: &str, dialect: Dialect) -> Vec<Token> {
    let mut lexer = Lexer { dialect, tokens: Vec::new(), unclosed: Vec::new() };
    lexer.read(text, BODIES_MAX);
    lexer.tokens
}

struct Lexer {
    dialect: Dialect,
    tokens: Vec<Token>,
    /// Opening marks that are never closed in this text: searched once, then treated as punctuation.
    unclosed: Vec<&'static str>,
}

impl Lexer {
    fn read(&mut self, text: &str, bodies_left: usize) {
        let outer = std::mem::take(&mut self.unclosed);
        let is_mysql = self.dialect == Dialect::MySql;
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            let after = &rest[character.len_utf8()..];
            rest = match character {
                '-' if after.starts_with('-') => past_line(after),
                '#' if is_mysql => past_line(after),
                // An executable comment, possibly with a minimum version.
                '/' if is_mysql && after.starts_with("*!") => {
                    after[2..].trim_start_matches(|digit: char| digit.is_ascii_digit())
                }
                '/' if after.starts_with('*') => {
                    self.past("/*", after, |text| past_comment(&text[1..], !is_mysql))
                }
                '\'' => self.past("'", after, |text| past_quote(text, '\'', is_mysql)),
                '"' => self.past("\"", after, |text| past_quote(text, '"', is_mysql)),
                '`' => self.past("`", after, |text| past_quote(text, '`', false)),
                '[' if !is_mysql => self.past("[", after, |text| past_quote(text, ']', false)),
                '$' if !is_mysql => self.body(rest, bodies_left),
                ';' => self.sign(Token::End, after),
                '(' => self.sign(Token::Opening, after),
                ')' => self.sign(Token::Closing, after),
                _ if character.is_alphabetic() || character == '_' => {
                    let is_part =
                        |character: char| character.is_alphanumeric() || character == '_' || character == '$';
                    let end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
                    self.tokens.push(Token::Word(rest[..end].to_uppercase()));
                    &rest[end..]
                }
                _ if character.is_whitespace() => after,
                _ => self.sign(Token::Other, after),
            };
        }
        self.unclosed = outer;
    }

    fn sign<'a>(&mut self, token: Token, after: &'a str) -> &'a str {
        // A run of punctuation counts as one token.
        if token != Token::Other || self.tokens.last() != Some(&Token::Other) {
            self.tokens.push(token);
        }
        after
    }

    /// Skips what an opening mark starts, if it is closed.
    fn past<'a>(
        &mut self,
        mark: &'static str,
        after: &'a str,
        end: impl Fn(&'a str) -> Option<&'a str>,
    ) -> &'a str {
        let rest = if self.unclosed.contains(&mark) { None } else { end(after) };
        // A comment is nothing; a string is a value.
        if rest.is_none() || mark != "/*" {
            self.sign(Token::Other, after);
        }
        rest.unwrap_or_else(|| {
            self.unclosed.push(mark);
            after
        })
    }

    /// `$tag$ … $tag$` is a string that often is a function body, so its content is parsed as well.
    fn body<'a>(&mut self, rest: &'a str, bodies_left: usize) -> &'a str {
        let after = &rest[1..];
        let is_tag = |character: char| character.is_alphanumeric() || character == '_';
        let tag_end = after.find(|character| !is_tag(character)).filter(|end| after[*end..].starts_with('$'));
        let Some(tag_end) = tag_end.filter(|_| !self.unclosed.contains(&"$")) else {
            return self.sign(Token::Other, after);
        };
        let (tag, inside) = rest.split_at(tag_end + 2);
        let Some(end) = inside.find(tag) else {
            self.unclosed.push("$");
            return self.sign(Token::Other, inside);
        };
        self.tokens.push(Token::Opening);
        match bodies_left.checked_sub(1) {
            Some(bodies_left) => self.read(&inside[..end], bodies_left),
            None => self.tokens.push(Token::Hidden),
        }
        self.tokens.push(Token::Closing);
        &inside[end + tag.len()..]
    }
}

fn past_line(text: &str) -> &str {
    &text[text.find('\n').unwrap_or(text.len())..]
}

fn past_comment(text: &str, nests: bool) -> Option<&str> {
    let mut depth = 1;
    let mut rest = text;
    loop {
        let at = rest.find(['*', '/'])?;
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("*/") {
            depth -= 1;
            if depth == 0 {
                return Some(after);
            }
            rest = after;
        } else if let Some(after) = rest.strip_prefix("/*").filter(|_| nests) {
            depth += 1;
            rest = after;
        } else {
            rest = &rest[1..];
        }
    }
}

/// Skips past the closing mark. A doubled mark ends one string and starts the next, so it needs no special
/// case.
fn past_quote(text: &str, mark: char, has_backslashes: bool) -> Option<&str> {
    let mut rest = text;
    loop {
        let at = rest.find([mark, '\\'])?;
        let found = &rest[at..];
        if found.starts_with(mark) {
            return Some(&found[mark.len_utf8()..]);
        }
        let skipped = if has_backslashes { found.chars().nth(1).map_or(0, char::len_utf8) } else { 0 };
        rest = &found[1 + skipped..];
    }
}
