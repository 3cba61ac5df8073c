//! Reads a line from the terminal without showing it.

use std::io::{self, Read as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::printer;

const CTRL_C: u8 = 0x03;
const CTRL_D: u8 = 0x04;
const CTRL_U: u8 = 0x15;
const BACKSPACE: [u8; 2] = [0x08, 0x7f];

/// Shows what is typed again, however reading ends.
struct Shown(Termios);

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
        printer::ask("\n");
    }
}

/// Asks for a line. What was typed before is dropped, because it was shown.
///
/// The terminal passes on every byte: its own lines end after four kilobytes, and Ctrl-C would end this process with
/// the terminal left as it is.
pub(crate) fn read(question: &str) -> io::Result<String> {
    let before = tcgetattr(io::stdin())?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
    tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
    let shown = Shown(before);
    printer::ask(question);
    let line = line(io::stdin().lock().bytes());
    drop(shown);
    let line = line?.ok_or(io::ErrorKind::Interrupted)?;
    String::from_utf8(line).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// A line as a person types it; `None` if the person gave up.
fn line(bytes: impl Iterator<Item = io::Result<u8>>) -> io::Result<Option<Vec<u8>>> {
    let mut line: Vec<u8> = Vec::new();
    for byte in bytes {
        match byte? {
            b'\r' | b'\n' => break,
            CTRL_C => return Ok(None),
            CTRL_D if line.is_empty() => return Ok(None),
            CTRL_D => break,
            CTRL_U => line.clear(),
            byte if BACKSPACE.contains(&byte) => remove_character(&mut line),
            byte => line.push(byte),
        }
    }
    Ok(Some(line))
}

/// Removes the last character, of one byte or more.
fn remove_character(line: &mut Vec<u8>) {
    while let Some(byte) = line.pop() {
        let is_continuation = byte & 0xc0 == 0x80;
        if !is_continuation {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_types() {
        for (typed, expected) in [
            ("value\r", Some("value")),
            ("value\nmore", Some("value")),
            ("value", Some("value")),
            ("valx\u{7f}ue\n", Some("value")),
            ("vaü\u{8}lue\n", Some("value")),
            ("\u{7f}value\n", Some("value")),
            ("wrong\u{15}value\n", Some("value")),
            ("value\u{4}", Some("value")),
            ("", Some("")),
            ("\u{4}", None),
            ("value\u{3}\n", None),
        ] {
            let read = line(typed.bytes().map(Ok)).unwrap();
            assert_eq!(read.as_deref(), expected.map(str::as_bytes), "{typed:?}");
        }
    }
}
