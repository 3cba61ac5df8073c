//! `octroi up`: the gateway in the foreground.

use std::path::Path;

use octroi_gateway::Memory;

use super::Failure;
use super::run::{OwnGateway, Pace, load, no_memory, sources, wait_for_signal};
use crate::cli::Up;
use crate::{config, printer};

pub(super) async fn run(options: Up) -> Result<(), Failure> {
    let sources = sources(&options.source, options.listen);
    let config = load(&sources)?;
    let file = config.file.clone();
    let memory = Memory::open(&sources.data).await.map_err(|error| no_memory(&error))?;
    let own = OwnGateway::open(sources, config, memory, Pace::Configured).await?;
    announce(file.as_deref(), &own);
    own.serve(async {
        wait_for_signal().await;
        printer::say("  stopping");
    })
    .await
}

fn announce(file: Option<&Path>, own: &OwnGateway) {
    let (address, admin) = (own.address, &own.admin);
    let n_servers = own.gateway.status().len();
    printer::say(&format!("octroi {}  {n_servers} servers", env!("CARGO_PKG_VERSION")));
    printer::fact("MCP", &format!("http://{address}/mcp"));
    if admin.is_new {
        printer::fact("Token", &format!("{}   (shown once, kept in {})", admin.token, admin.file.display()));
    } else {
        printer::fact("Token", &format!("in {}", admin.file.display()));
    }
    match file {
        Some(file) => printer::fact("Config", &file.display().to_string()),
        None => printer::fact("Config", "none found; write octroi.toml, see examples/octroi.toml"),
    }
    let data = admin.file.parent().unwrap_or(Path::new("."));
    // As it was called: it may not be on the PATH.
    let program = std::env::args().next().unwrap_or_else(|| "octroi".to_owned());
    let is_usual = data == config::data_directory();
    let place = if is_usual { String::new() } else { format!(" --data {}", data.display()) };
    let next = format!("{program} status{place}");
    printer::fact("Next", &next);
}
