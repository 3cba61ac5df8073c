//! A strict parser for RFC 8259.

use std::collections::HashSet;

use super::{DEPTH_MAX, Doubles, Node};

/// Why a text is not acceptable JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// It is not JSON.
    #[error("not JSON at byte {at}: {what}")]
    Syntax {
        /// The byte offset.
        at: usize,
        /// The error at that offset.
        what: &'static str,
    },
    /// Two members of one object have the same name; parsers differ in which one they take.
    #[error("two members of one object are named `{0}`")]
    Double(String),
    /// It is nested too deeply.
    #[error("nested more than {DEPTH_MAX} deep")]
    Deep,
    /// The exponent of a number is too large.
    #[error("a number is too large or too small: `{0}`")]
    Exponent(String),
}

pub(super) fn parse(json: &[u8], doubles: Doubles) -> Result<Node, JsonError> {
    let Ok(text) = std::str::from_utf8(json) else {
        return Err(JsonError::Syntax { at: 0, what: "it is not UTF-8" });
    };
    let mut parser = Parser { text, at: 0, doubles };
    let node = parser.value(DEPTH_MAX)?;
    parser.skip_space();
    if parser.at < text.len() { Err(parser.error("unexpected text after the value")) } else { Ok(node) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    doubles: Doubles,
}

impl Parser<'_> {
    fn error(&self, what: &'static str) -> JsonError {
        JsonError::Syntax { at: self.at, what }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Consumes this byte if it comes next.
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn word(&mut self, word: &str, node: Node) -> Result<Node, JsonError> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(self.error("a value is expected"));
        }
        self.at += word.len();
        Ok(node)
    }

    fn value(&mut self, depth_left: usize) -> Result<Node, JsonError> {
        self.skip_space();
        match self.peek() {
            Some(b'n') => self.word("null", Node::Null),
            Some(b't') => self.word("true", Node::Bool(true)),
            Some(b'f') => self.word("false", Node::Bool(false)),
            Some(b'"') => self.string().map(Node::Text),
            Some(b'-' | b'0'..=b'9') => self.number().map(Node::Number),
            Some(b'[' | b'{') if depth_left == 0 => Err(JsonError::Deep),
            Some(b'[') => self.list(depth_left - 1),
            Some(b'{') => self.map(depth_left - 1),
            Some(_) => Err(self.error("a value is expected")),
            None => Err(self.error("unexpected end")),
        }
    }

    fn list(&mut self, depth_left: usize) -> Result<Node, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.takes(b']') {
            return Ok(Node::List(items));
        }
        loop {
            items.push(self.value(depth_left)?);
            self.skip_space();
            if self.takes(b']') {
                return Ok(Node::List(items));
            }
            if !self.takes(b',') {
                return Err(self.error("`,` or `]` is expected"));
            }
        }
    }

    fn map(&mut self, depth_left: usize) -> Result<Node, JsonError> {
        self.at += 1;
        let mut members = Vec::new();
        self.skip_space();
        if self.takes(b'}') {
            return Ok(Node::Map(members));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.error("a name is expected"));
            }
            let name = self.string()?;
            self.skip_space();
            if !self.takes(b':') {
                return Err(self.error("`:` is expected"));
            }
            members.push((name, self.value(depth_left)?));
            self.skip_space();
            if self.takes(b'}') {
                break;
            }
            if !self.takes(b',') {
                return Err(self.error("`,` or `}` is expected"));
            }
        }
        if self.doubles == Doubles::Refused {
            let mut seen = HashSet::new();
            if let Some((name, _)) = members.iter().find(|(name, _)| !seen.insert(name.as_str())) {
                return Err(JsonError::Double(name.clone()));
            }
        }
        Ok(Node::Map(members))
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.error("a digit is expected")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<String, JsonError> {
        let start = self.at;
        self.takes(b'-');
        if !self.takes(b'0') {
            self.digits()?;
        }
        if self.takes(b'.') {
            self.digits()?;
        }
        if self.takes(b'e') || self.takes(b'E') {
            let _is_signed = self.takes(b'+') || self.takes(b'-');
            self.digits()?;
        }
        Ok(self.text[start..self.at].to_owned())
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut string = String::new();
        loop {
            let start = self.at;
            while self.peek().is_some_and(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
                self.at += 1;
            }
            string.push_str(&self.text[start..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(string);
                }
                Some(b'\\') => string.push(self.escape()?),
                Some(_) => return Err(self.error("control character in a string")),
                None => return Err(self.error("a string is not closed")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let simple = match self.text.as_bytes().get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            Some(_) | None => return Err(self.error("invalid escape")),
        };
        self.at += 2;
        Ok(simple)
    }

    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let first = self.unit()?;
        // A lone surrogate is no character and cannot be stored in a string, so it is refused.
        let code = match first {
            0xd800..=0xdbff => {
                let second = self.unit()?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return Err(self.error("half a surrogate pair"));
                }
                0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            _ => first,
        };
        char::from_u32(code).ok_or_else(|| self.error("half a surrogate pair"))
    }

    /// Consumes `\uXXXX`.
    fn unit(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.as_bytes().get(self.at..self.at + 6).filter(|six| six.starts_with(b"\\u"));
        let Some(digits) = digits else { return Err(self.error("half a surrogate pair")) };
        let mut unit = 0;
        for digit in &digits[2..] {
            let value = char::from(*digit).to_digit(16);
            unit = unit * 16 + value.ok_or_else(|| self.error("four hexadecimal digits are expected"))?;
        }
        self.at += 6;
        Ok(unit)
    }
}
