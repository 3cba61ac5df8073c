//! The endpoint file: where the gateway of a data directory can be reached, while it runs.
//!
//! A gateway that is killed leaves the file behind, so the file also holds its process id. Otherwise a client
//! would send its token to whatever listens at that address later.

use std::fs;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

const FILE_NAME: &str = "endpoint";

/// The file of a running gateway. Dropping it removes the file.
pub(crate) struct Endpoint {
    file: PathBuf,
}

impl Endpoint {
    /// Writes where this process listens.
    pub(crate) fn announce(data: &Path, scheme: &str, mut address: SocketAddr) -> Self {
        if address.ip().is_unspecified() {
            address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        let file = data.join(FILE_NAME);
        // Without it commands need --url; that is no reason not to run.
        if let Err(error) = replace(&file, &format!("{scheme}://{address}/mcp\n{}\n", std::process::id())) {
            tracing::warn!(%error, "commands will not find this gateway without --url");
        }
        Self { file }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

/// Replaces a file so that readers see all of it or none.
pub(crate) fn replace(file: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let new = file.with_extension("new");
    let mut out = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    out.write_all(content.as_ref())?;
    fs::rename(&new, file)
}

/// What the endpoint file of a gateway holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Announced {
    pub(crate) url: String,
    pub(crate) process: u32,
}

impl Announced {
    /// The content of the file, if the process that wrote it still runs.
    pub(crate) fn read(data: &Path) -> Option<Self> {
        let text = fs::read_to_string(data.join(FILE_NAME)).ok()?;
        let (url, process) = text.trim().split_once('\n')?;
        let found = Self { url: url.to_owned(), process: process.parse().ok()? };
        found.is_alive().then_some(found)
    }

    /// Whether the process still runs.
    pub(crate) fn is_alive(&self) -> bool {
        Path::new("/proc").join(self.process.to_string()).exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_runs_is_believed() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(Announced::read(data.path()), None);
        let endpoint = Endpoint::announce(data.path(), "https", "0.0.0.0:7".parse().unwrap());
        let expected = Announced { url: "https://127.0.0.1:7/mcp".to_owned(), process: std::process::id() };
        assert_eq!(Announced::read(data.path()), Some(expected));
        drop(endpoint);
        assert!(!data.path().join(FILE_NAME).exists());
        // No process has a number as large as this.
        for left in ["", "http://127.0.0.1:7/mcp\n", "http://127.0.0.1:7/mcp\n4294967295\n", "x\ny\n"] {
            fs::write(data.path().join(FILE_NAME), left).unwrap();
            assert_eq!(Announced::read(data.path()), None, "{left}");
        }
    }
}
