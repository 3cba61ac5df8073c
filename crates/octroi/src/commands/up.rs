//! `octroi up`: the gateway in the foreground.

use std::path::Path;

use octroi_core::principal::DEFAULT_AGENT;
use octroi_gateway::{OnLoss, Persistence};

use super::run::{OwnGateway, Pace, key_origin, load, no_store, sources, stop_signal, with_secrets};
use super::start::{Accepting, StartConfig};
use super::{alerts, open};
use crate::cli::{Target, Up};
use crate::config::accepted::mark_first_start;
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::{clock, config, printer};

pub(super) async fn run(options: Up) -> Result<(), Failure> {
    let sources = sources(&options.source, options.listen);
    let key = key_origin(&sources)?;
    let accepting = if options.accept_config { Accepting::Everything } else { Accepting::AskAtTerminal };
    let on_loss = if options.accept_loss { OnLoss::Accept } else { OnLoss::Refuse };
    mark_first_start(&sources.data);
    let persistence = Persistence::open_with(&sources.data, clock::system(), on_loss, &key)
        .await
        .map_err(|error| no_store(&error))?;
    let sources = with_secrets(sources, &persistence).await?;
    let config = load(&sources)?;
    let file = config.file.clone();
    let start = StartConfig::decide(&sources, config, accepting)?;
    let own = OwnGateway::open(sources, start, persistence, Pace::Configured).await?;
    // Whoever reads where it listens may stop it at once.
    let stop = stop_signal();
    announce(file.as_deref(), &own);
    let terminal = Terminal::at_start();
    let (program, data_option) = own_command(&own);
    let alerts = own.gateway.alerts();
    let target = options
        .open
        .then(|| Target { data: own.admin.file.parent().map(Path::to_path_buf), ..Target::default() });
    let opening = async move {
        if let Some(target) = target {
            open::first(&target).await;
        }
        std::future::pending::<()>().await;
    };
    own.serve(async {
        tokio::select! {
            () = opening => {}
            () = stop => printer::say("  stopping"),
            // Nobody could stop it from there any more, and nobody would see it.
            () = terminal.closed() => tracing::warn!("the terminal was closed, stopping"),
            () = alerts::print(alerts, (&program, &data_option)) => {}
        }
    })
    .await
}

fn announce(file: Option<&Path>, own: &OwnGateway) {
    let OwnGateway { address, admin, agent, .. } = own;
    let servers = printer::count(own.gateway.servers().names().len(), "server");
    printer::say(&format!("octroi {}  {servers}", env!("CARGO_PKG_VERSION")));
    printer::fact("MCP", &format!("{}://{address}/mcp", own.scheme));
    if octroi_server::has_interface() {
        printer::fact("Interface", &format!("{}://{address}/   (`octroi open` signs you in)", own.scheme));
    }
    // The agent's token, because this is the line that people copy into their clients.
    let kept = agent.file.display();
    if agent.is_new {
        let text = format!("{}   (agent {DEFAULT_AGENT}, shown once, kept in {kept})", agent.token);
        printer::fact("Token", &text);
    } else {
        printer::fact("Token", &format!("in {kept}   (agent {DEFAULT_AGENT})"));
    }
    printer::fact("Admin", &format!("token in {}, for you and not for clients", admin.file.display()));
    match file {
        Some(file) => printer::fact("Config", &file.display().to_string()),
        None => printer::fact("Config", "none found; write octroi.toml, see examples/octroi.toml"),
    }
    let (program, data_option) = own_command(own);
    printer::fact("Next", &format!("{program} status{data_option}"));
}

/// How a person runs Octroi for this gateway: the program, and the option that comes last.
fn own_command(own: &OwnGateway) -> (String, String) {
    let data = own.admin.file.parent().unwrap_or(Path::new("."));
    // As it was started: the program may not be on the PATH.
    let program = std::env::args().next().unwrap_or_else(|| "octroi".to_owned());
    let is_usual = data == config::data_directory();
    let data_option = if is_usual { String::new() } else { format!(" --data {}", data.display()) };
    (program, data_option)
}
