//! Splits a script into commands and commands into words.

use super::super::INCOMPLETE;
use super::{Word, argv, nested};

/// The nesting limit; real scripts are far below it.
const FRAMES_MAX: usize = 200;

/// How `"` is interpreted. Not every shell has quotes, and not every text closes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DoubleQuotes {
    Quote,
    Letter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opener {
    Script,
    Parenthesis,
    Backtick,
}

/// A command that is being parsed, and what encloses it.
struct Frame {
    opener: Opener,
    words: Vec<Word>,
    word: Word,
    is_in_word: bool,
    is_in_quotes: bool,
    /// The next word is a redirection target, not part of the command.
    is_redirected: bool,
}

impl Frame {
    fn new(opener: Opener) -> Self {
        let word = Word::default();
        Self { opener, words: Vec::new(), word, is_in_word: false, is_in_quotes: false, is_redirected: false }
    }

    fn push(&mut self, text: &str) {
        self.is_in_word = true;
        self.word.text.push_str(text);
        if let Some(raw) = &mut self.word.raw {
            raw.push_str(text);
        }
    }

    /// A character after a backslash.
    fn push_escaped(&mut self, text: &str) {
        let raw = self.word.raw.get_or_insert_with(|| self.word.text.clone());
        raw.push('\\');
        self.push(text);
    }

    fn end_word(&mut self) {
        if !std::mem::take(&mut self.is_in_word) {
            return;
        }
        let word = std::mem::take(&mut self.word);
        if !std::mem::take(&mut self.is_redirected) {
            self.words.push(word);
        }
    }

    fn redirect(&mut self) {
        // `2>`: the number belongs to the redirection.
        if self.word.text.bytes().all(|byte| byte.is_ascii_digit()) {
            self.is_in_word = false;
            self.word = Word::default();
        }
        self.end_word();
        self.is_redirected = true;
    }

    fn end_command(&mut self, levels_left: usize, found: &mut dyn FnMut(&str)) {
        self.end_word();
        self.is_redirected = false;
        argv::command(&std::mem::take(&mut self.words), levels_left, found);
    }
}

/// Reports the programs of all commands; returns whether every double quote was closed.
pub(super) fn commands(
    text: &str,
    double_quotes: DoubleQuotes,
    levels_left: usize,
    found: &mut dyn FnMut(&str),
) -> bool {
    let mut frames = vec![Frame::new(Opener::Script)];
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let (letter, after) = rest.split_at(character.len_utf8());
        rest = after;
        let depth = frames.len();
        let Some(frame) = frames.last_mut() else { break };
        match character {
            '\\' => {
                let next = rest.chars().next().map_or(0, char::len_utf8);
                if !rest.starts_with('\n') {
                    frame.push_escaped(&rest[..next]);
                }
                rest = &rest[next..];
            }
            '"' if double_quotes == DoubleQuotes::Quote => {
                frame.is_in_quotes = !frame.is_in_quotes;
                frame.is_in_word = true;
            }
            '\'' if !frame.is_in_quotes => match rest.find('\'') {
                Some(end) => {
                    frame.push(&rest[..end]);
                    rest = &rest[end + 1..];
                }
                None => frame.push(letter),
            },
            '$' if rest.starts_with('(') => {
                // Its output is unknown, so the word is unknown.
                frame.push(letter);
                rest = &rest[1..];
                open(&mut frames, Opener::Parenthesis, found);
            }
            '`' if frame.opener == Opener::Backtick => close(&mut frames, levels_left, found),
            '`' => {
                frame.push("$");
                open(&mut frames, Opener::Backtick, found);
            }
            _ if frame.is_in_quotes => frame.push(letter),
            '(' => {
                frame.end_word();
                open(&mut frames, Opener::Parenthesis, found);
            }
            ')' if frame.opener == Opener::Parenthesis && depth > 1 => close(&mut frames, levels_left, found),
            ';' | '|' | '&' | '\n' | '\r' | ')' => frame.end_command(levels_left, found),
            // `<(command)` counts as a word.
            '<' | '>' if rest.starts_with('(') => frame.push("$"),
            '<' | '>' => {
                frame.redirect();
                // `>>`, `2>&1`, `>|`
                rest = rest.trim_start_matches(['<', '>', '&', '|']);
            }
            '#' if !frame.is_in_word => {
                let end = rest.find('\n').unwrap_or(rest.len());
                // Another shell does not treat it as a comment.
                nested(rest[..end].trim_start_matches('#'), levels_left, found);
                rest = &rest[end..];
            }
            _ if character.is_whitespace() => frame.end_word(),
            _ => frame.push(letter),
        }
    }
    let is_closed = frames.iter().all(|frame| !frame.is_in_quotes);
    for mut frame in frames {
        frame.end_command(levels_left, found);
    }
    is_closed
}

fn open(frames: &mut Vec<Frame>, opener: Opener, found: &mut dyn FnMut(&str)) {
    if frames.len() >= FRAMES_MAX {
        found(INCOMPLETE);
    } else {
        frames.push(Frame::new(opener));
    }
}

fn close(frames: &mut Vec<Frame>, levels_left: usize, found: &mut dyn FnMut(&str)) {
    if let Some(mut frame) = frames.pop() {
        frame.end_command(levels_left, found);
    }
}
