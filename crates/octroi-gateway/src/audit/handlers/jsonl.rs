//! Appends events to a file, one per line. If log rotation moves the file away, a new one is created.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use octroi_upstream::BackgroundTasks;
use parking_lot::Mutex;

use super::delivery::Delivery;
use super::error::HandlerError;
use super::{AuditHandler, Handling};

/// A file of JSON lines.
pub(super) struct Jsonl {
    path: PathBuf,
    open: Arc<Mutex<Option<File>>>,
    tasks: BackgroundTasks,
}

impl Jsonl {
    pub(super) fn new(path: &Path, tasks: &BackgroundTasks) -> Self {
        Self { path: path.to_owned(), open: Arc::default(), tasks: tasks.clone() }
    }
}

impl AuditHandler for Jsonl {
    fn handle<'a>(&'a self, events: &'a [Delivery]) -> Handling<'a> {
        let mut text = String::new();
        for event in events {
            text.push_str(&event.to_json());
            text.push('\n');
        }
        let (path, open) = (self.path.clone(), Arc::clone(&self.open));
        Box::pin(async move {
            let writing =
                self.tasks.spawn_blocking("audit-jsonl", move || append(&path, &mut open.lock(), &text));
            writing.await.unwrap_or(Err(HandlerError::Other("the program is ending".to_owned())))
        })
    }
}

fn append(path: &Path, open: &mut Option<File>, text: &str) -> Result<(), HandlerError> {
    let is_same = match (&*open, std::fs::metadata(path)) {
        (Some(file), Ok(named)) => {
            file.metadata().is_ok_and(|held| (held.dev(), held.ino()) == (named.dev(), named.ino()))
        }
        _ => false,
    };
    if !is_same {
        *open = None;
    }
    let file = match open {
        Some(file) => file,
        none => {
            if let Some(directory) = path.parent() {
                std::fs::create_dir_all(directory)?;
            }
            none.insert(OpenOptions::new().append(true).create(true).mode(0o600).open(path)?)
        }
    };
    let length = file.metadata()?.len();
    if let Err(error) = file.write_all(text.as_bytes()) {
        // An incomplete line would corrupt the next one. If it cannot be truncated, it stays.
        let _ = file.set_len(length);
        return Err(error.into());
    }
    Ok(())
}
