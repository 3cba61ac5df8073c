//! Helpers of the tests of the binary.

use std::path::{Path, PathBuf};
use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer_binary;
use serde_json::{Value, json};

/// Long enough for a loaded machine; a test that passes rarely waits this long.
pub(crate) const SOON: Duration = Duration::from_secs(10);

pub(crate) fn octroi() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_octroi"))
}

/// An entry for a peer that Octroi starts itself.
pub(crate) fn stdio_entry(name: &str, flags: &[&str]) -> String {
    let command: Vec<String> = std::iter::once(peer_binary().display().to_string())
        .chain(flags.iter().map(|flag| (*flag).to_owned()))
        .collect();
    format!("[[mcp.servers]]\nname = \"{name}\"\ncommand = {}\n", json!(command))
}

/// An entry for a peer that is already running.
pub(crate) fn remote_entry(name: &str, transport: &str, url: &str) -> String {
    format!("[[mcp.servers]]\nname = \"{name}\"\ntransport = \"{transport}\"\nurl = \"{url}\"\n")
}

/// A client of all servers, as the agent.
pub(crate) async fn connect(gateway: &TestGateway, era: Era, options: ClientOptions) -> TestClient {
    TestClient::connect(gateway.transport(), era, options).await.expect("the client should connect")
}

/// A client with all capabilities, whose user answers forms in this way.
pub(crate) fn answering(elicitation: Value) -> ClientOptions {
    let capabilities = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
    ClientOptions::answering(capabilities, move |method, _| {
        Ok(match method {
            "elicitation/create" => elicitation.clone(),
            "sampling/createMessage" => json!({
                "role": "assistant", "model": "test", "content": { "type": "text", "text": "something" },
            }),
            _ => json!({ "roots": [{ "uri": "file:///a" }, { "uri": "file:///b" }] }),
        })
    })
}

/// Leaves a part of `docs/interop.md` where `cargo xtask` finds it.
pub(crate) fn keep(name: &str, text: &str) {
    let target =
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target directory").join("interop");
    std::fs::create_dir_all(&target).expect("the directory can be made");
    std::fs::write(target.join(name), text).expect("the grid can be kept");
}
