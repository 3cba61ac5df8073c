//! The file of signed checkpoints: one note after the other, each followed by an empty line.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use octroi_core::audit::checkpoint::NOTE_MAX;
use octroi_core::audit::{Checkpoint, PublicKey};

use super::error::AuditError;
use super::file::read_at;

pub(super) const FILE_NAME: &str = "checkpoints";
/// The beginning of every note: the name of a log.
const START: &[u8] = b"octroi-audit/";
/// Enough for the last note and the rest of a torn one.
const TAIL: u64 = 4 * NOTE_MAX as u64;

/// The file, opened by its only writer.
#[derive(Debug)]
pub(super) struct CheckpointFile {
    path: PathBuf,
    file: File,
    length: u64,
}

impl CheckpointFile {
    /// Opens the file, truncates an unfinished note, and returns the last checkpoint signed with this key.
    pub(super) fn open(directory: &Path, key: &PublicKey) -> Result<(Self, Option<Checkpoint>), AuditError> {
        let path = directory.join(FILE_NAME);
        let failed = |error| AuditError::io(&path, error);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        let (from, bytes) = read_tail(&file).map_err(failed)?;
        let (end, last) = last_note(&bytes, key);
        let length = from + end as u64;
        file.set_len(length).map_err(failed)?;
        Ok((Self { path, file, length }, last))
    }

    /// Whether it has no note, by whatever key.
    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Appends a note. If that fails, nothing of it remains.
    pub(super) fn append(&mut self, note: &str) -> Result<(), AuditError> {
        let text = format!("{note}\n");
        if let Err(error) = self.file.write_all_at(text.as_bytes(), self.length) {
            let _ = self.file.set_len(self.length);
            return Err(AuditError::io(&self.path, error));
        }
        self.length += text.len() as u64;
        Ok(())
    }

    pub(super) fn sync(&self) -> Result<(), AuditError> {
        self.file.sync_data().map_err(|error| AuditError::io(&self.path, error))
    }
}

/// The size of the last checkpoint that is signed with a key; zero if there is none.
pub(super) fn last_signed(directory: &Path, key: &PublicKey) -> Result<u64, AuditError> {
    let path = directory.join(FILE_NAME);
    match File::open(&path).and_then(|file| read_tail(&file)) {
        Ok((_, bytes)) => Ok(last_note(&bytes, key).1.map_or(0, |last| last.size)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(AuditError::io(&path, error)),
    }
}

/// The same, when it is on disk: while the log is written, checkpoints are not synced one by one.
pub(super) fn signed_on_disk(directory: &Path, key: &PublicKey) -> Result<u64, AuditError> {
    let size = last_signed(directory, key)?;
    let path = directory.join(FILE_NAME);
    let synced = File::open(&path).and_then(|file| file.sync_data());
    synced.map(|()| size).map_err(|error| AuditError::io(&path, error))
}

/// The end of the file, and where it begins.
fn read_tail(file: &File) -> io::Result<(u64, Vec<u8>)> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(TAIL);
    let mut bytes = vec![0; usize::try_from(length - from).unwrap_or_default()];
    let n_read = read_at(file, &mut bytes, from)?;
    bytes.truncate(n_read);
    Ok((from, bytes))
}

/// Where the last whole note ends, and the last signed checkpoint.
fn last_note(bytes: &[u8], key: &PublicKey) -> (usize, Option<Checkpoint>) {
    let mut end = 0;
    let mut last = None;
    let mut notes = NoteReader::new(bytes);
    while let Ok(Some(note)) = notes.next() {
        if note.is_whole {
            end = notes.n_read;
            last = Checkpoint::open(&note.text, key).ok().or(last);
        }
    }
    (end, last)
}

/// Reads the notes of a file, one at a time.
#[derive(Debug)]
pub(super) struct NoteReader<R> {
    input: R,
    position: u64,
    n_read: usize,
    /// The first line of the next note, if the previous one was not terminated.
    ahead: Vec<u8>,
}

/// A note, or unreadable text in its place.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) text: String,
    /// Whether it is terminated. Text after the last whole note is unfinished.
    pub(super) is_whole: bool,
}

impl NoteReader<BufReader<io::Take<File>>> {
    /// The notes that are in the file now; `None` if there is no file.
    pub(super) fn open(directory: &Path) -> Result<Option<Self>, AuditError> {
        let path = directory.join(FILE_NAME);
        let failed = |error| AuditError::io(&path, error);
        match File::open(&path) {
            Ok(file) => {
                let length = file.metadata().map_err(failed)?.len();
                Ok(Some(Self::new(BufReader::new(file.take(length)))))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }
}

impl<R: BufRead> NoteReader<R> {
    fn new(input: R) -> Self {
        Self { input, position: 0, n_read: 0, ahead: Vec::new() }
    }

    /// The position of the note that was read last, counted from one.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The next note with its signatures, or unreadable text in its place. At most the maximum size of a
    /// note is kept.
    pub(super) fn next(&mut self) -> io::Result<Option<Note>> {
        let mut note = std::mem::take(&mut self.ahead);
        let (mut n_empty, mut is_whole) = (0, false);
        loop {
            let start = note.len();
            let n_line = (&mut self.input).take(NOTE_MAX as u64).read_until(b'\n', &mut note)?;
            self.n_read += n_line;
            if n_line == 0 {
                break;
            }
            let line = &note[start..];
            if start > 0 && line.starts_with(START) {
                self.ahead = note.split_off(start);
                break;
            }
            if line == b"\n" {
                // Text, empty line, signatures, empty line.
                is_whole = n_empty == 1 && !note[..start].ends_with(b"\n\n");
                n_empty += 1;
                if start == 0 || is_whole {
                    note.truncate(start);
                    n_empty = 0;
                }
                if is_whole {
                    break;
                }
            }
            if note.len() > NOTE_MAX {
                note.truncate(NOTE_MAX + 1);
            }
        }
        if note.is_empty() {
            return Ok(None);
        }
        self.position += 1;
        Ok(Some(Note { text: String::from_utf8_lossy(&note).into_owned(), is_whole }))
    }
}

#[cfg(test)]
mod tests {
    use octroi_core::audit::{Hash, SigningKey};

    use super::*;

    fn note(size: u64) -> String {
        let hash = Hash([1; 32]);
        let checkpoint = Checkpoint { node: "n".to_owned(), size, root: hash, chain: hash, at_ms: 1 };
        checkpoint.sign(&SigningKey::from_seed(&[1; 32]))
    }

    #[test]
    fn a_torn_note_is_cut_wherever_it_ends() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE_NAME);
        let key = SigningKey::from_seed(&[1; 32]).public();
        let whole = format!("{}\n{}\n", note(1), note(2));
        for length in 0..whole.len() {
            std::fs::write(&path, &whole.as_bytes()[..length]).unwrap();
            let (mut file, last) = CheckpointFile::open(directory.path(), &key).unwrap();
            let n_whole = u64::from(length > note(1).len());
            assert_eq!(last.map_or(0, |last| last.size), n_whole, "{length}");
            file.append(&note(3)).unwrap();
            let mut notes = NoteReader::open(directory.path()).unwrap().unwrap();
            let mut sizes = Vec::new();
            while let Some(note) = notes.next().unwrap() {
                assert!(note.is_whole);
                sizes.push(Checkpoint::open(&note.text, &key).unwrap().size);
            }
            assert_eq!(sizes, if n_whole == 1 { vec![1, 3] } else { vec![3] }, "{length}");
        }
    }

    #[test]
    fn notes_after_garbage_are_found() {
        let text = format!("{}\ngarbage\n\nmore{}\n{}\n", note(1), note(2), note(3));
        let mut notes = NoteReader::new(text.as_bytes());
        let mut sizes = Vec::new();
        while let Some(note) = notes.next().unwrap() {
            sizes.push(Checkpoint::claimed(&note.text).map(|checkpoint| checkpoint.size));
        }
        assert_eq!(sizes, [Some(1), None, None, Some(3)]);
        // The end of a long file, from any offset on.
        let key = SigningKey::from_seed(&[1; 32]).public();
        let long: String = (1..9).flat_map(|size| [note(size), "\n".to_owned()]).collect();
        for from in 0..note(1).len() * 3 {
            let (end, last) = last_note(&long.as_bytes()[from..], &key);
            assert_eq!((end, last.unwrap().size), (long.len() - from, 8), "{from}");
        }
    }
}
