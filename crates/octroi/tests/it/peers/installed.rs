//! The packages that real peers come from, and the server that is reached by URL.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::harness::SOON;

/// Makes a Node program leave when its standard input ends, which it does even if this test is killed.
const LEAVE_WITH_STDIN: &str = "data:text/javascript,process.stdin.resume().on('end',()=>process.exit())";

/// Where everything is that `cargo xtask test` installs.
pub(crate) struct Installed {
    peers: PathBuf,
    environments: PathBuf,
}

/// The directory of all virtual environments.
fn environments() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target directory");
    std::env::var_os("OCTROI_PEERS_VENVS").map_or_else(|| target.join("peers"), PathBuf::from)
}

/// A program of a virtual environment.
pub(crate) fn program(environment: &str, name: &str) -> PathBuf {
    let program = environments().join(environment).join("bin").join(name);
    assert!(
        program.exists(),
        "{} is not there; run `cargo xtask test`, which installs it",
        program.display()
    );
    program
}

impl Installed {
    /// Looks for every package, and fails where one is missing.
    pub(crate) fn find() -> Self {
        let installed = Self {
            peers: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers"),
            environments: environments(),
        };
        let node_modules = installed.node().join("node_modules");
        for needed in [
            node_modules.join("@modelcontextprotocol/sdk"),
            node_modules.join("@modelcontextprotocol/client"),
            node_modules.join(".bin/mcp-server-filesystem"),
            installed.everything(),
            installed.python("v1"),
            installed.python("v2"),
        ] {
            assert!(
                needed.exists(),
                "{} is not there: the real peers are not installed; run `cargo xtask test`, which installs them",
                needed.display()
            );
        }
        installed
    }

    /// The directory of the Node packages.
    pub(super) fn node(&self) -> PathBuf {
        self.peers.join("node")
    }

    /// A script of a client or a server, below `tests/peers`.
    pub(crate) fn script(&self, path: &str) -> PathBuf {
        self.peers.join(path)
    }

    /// The plan of this name.
    pub(super) fn plan(&self, name: &str) -> PathBuf {
        self.peers.join("plans").join(name).with_extension("json")
    }

    /// The interpreter of a virtual environment.
    pub(crate) fn python(&self, environment: &str) -> PathBuf {
        self.environments.join(environment).join("bin/python")
    }

    /// The script of `server-everything`.
    pub(super) fn everything(&self) -> PathBuf {
        self.node().join("node_modules/@modelcontextprotocol/server-everything/dist/index.js")
    }
}

/// A `server-everything` that listens on a free port and ends with this value.
pub(crate) struct Everything {
    pub(crate) url: String,
    port: u16,
    child: Child,
}

impl Everything {
    pub(super) async fn start(installed: &Installed, transport: &str, path: &str) -> Self {
        Self::start_script(&installed.everything(), transport, path).await
    }

    /// The same from its script.
    pub(crate) async fn start_script(script: &Path, transport: &str, path: &str) -> Self {
        Self::start_at(script, transport, path, free_port()).await
    }

    /// Ends it as a crash would; returns its port.
    pub(crate) async fn kill(mut self) -> u16 {
        self.child.kill().await.expect("it ends");
        self.port
    }

    /// The same at a port.
    pub(crate) async fn start_at(script: &Path, transport: &str, path: &str, port: u16) -> Self {
        let mut child = Command::new("node")
            .args(["--import", LEAVE_WITH_STDIN])
            .arg(script)
            .arg(transport)
            .env("PORT", port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("node should start");
        let listens = async {
            while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                let ended = child.try_wait().expect("the server can be asked how it is");
                assert_eq!(ended, None, "server-everything ended before it listened");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(SOON * 2, listens).await.expect("server-everything should listen");
        Self { url: format!("http://127.0.0.1:{port}/{path}"), port, child }
    }
}

/// The server cannot choose a port by itself and say which.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it has an address").port()
}
