//! Commands about quarantined definitions.

use octroi_api::operations::pins::{
    AcceptPinRequest, ForgetPinsRequest, HeldPin, ListPinsRequest, PinsAccept, PinsForget, PinsList,
    PinsReject, RejectPinRequest,
};
use octroi_core::pin::PinKind;

use crate::cli::pins::{ForgetPins, OnePin, Pins, PinsCommand};
use crate::client::Client;
use crate::failure::Failure;
use crate::printer::{self, visible};
use crate::table::line_width;

mod lock;
mod render;

use render::{detail_lines, list_lines, summary_lines};

pub(super) async fn run(pins: &Pins) -> Result<(), Failure> {
    match &pins.command {
        None => list(pins).await,
        Some(PinsCommand::Show(one)) => show(one).await,
        Some(PinsCommand::Accept(one)) => accept(one).await,
        Some(PinsCommand::KeepOut(one)) => reject(one).await,
        Some(PinsCommand::Forget(which)) => forget(which).await,
        Some(PinsCommand::Lock(options)) => lock::write_lock_file(options).await,
    }
}

async fn list(pins: &Pins) -> Result<(), Failure> {
    let client = Client::find(&pins.target)?;
    let held = client.call::<PinsList>(&ListPinsRequest { all: pins.all }).await?.held;
    if pins.target.json {
        printer::json(&held);
        return Ok(());
    }
    let (rejected, waiting): (Vec<_>, Vec<_>) = held.iter().partition(|pin| pin.kept_out_by.is_some());
    if !waiting.is_empty() {
        print_list(&waiting);
    }
    if waiting.is_empty() {
        printer::say("no quarantined definition waits for review");
    } else {
        printer::say(
            "look closer with `octroi pins show SERVER.NAME`, accept with `octroi pins accept SERVER.NAME`",
        );
    }
    if !rejected.is_empty() {
        printer::data("rejected:");
        print_list(&rejected);
    }
    Ok(())
}

/// Finds one definition among those that wait and those that were rejected.
async fn find(client: &Client, one: &OnePin) -> Result<HeldPin, Failure> {
    let (server, name) = one.name.split_once('.').unwrap_or((&one.name, ""));
    let mut found = client.call::<PinsList>(&ListPinsRequest { all: true }).await?.held;
    let n_held = found.len();
    found.retain(|pin| {
        pin.server == server && pin.name == name && one.kind.is_none_or(|kind| pin.kind.0 == kind)
    });
    match (found.len(), found.pop()) {
        (1, Some(pin)) => Ok(pin),
        (0, _) => {
            let kind = one.kind.map(|kind| format!("{} ", kind.as_str())).unwrap_or_default();
            Err(Failure::new(format!("no {kind}`{}` is quarantined", one.name))
                .hint(format!("`octroi pins` lists those that are ({n_held} now)")))
        }
        _ => Err(Failure::new(format!("`{}` is the name of several definitions", one.name))
            .hint("say which with --kind tool, --kind prompt or --kind template")),
    }
}

fn print_list(pins: &[&HeldPin]) {
    list_lines(pins, line_width()).iter().for_each(|line| printer::data(line));
}

fn print_summary(pin: &HeldPin) {
    for line in summary_lines(pin) {
        printer::data(&line);
    }
}

async fn show(one: &OnePin) -> Result<(), Failure> {
    let pin = find(&Client::find(&one.target)?, one).await?;
    if one.target.json {
        printer::json(&pin);
        return Ok(());
    }
    print_summary(&pin);
    for line in detail_lines(&pin) {
        printer::data(&line);
    }
    printer::say(&format!("accept it with `octroi pins accept {}`", visible(&one.name)));
    Ok(())
}

async fn accept(one: &OnePin) -> Result<(), Failure> {
    let client = Client::find(&one.target)?;
    let pin = find(&client, one).await?;
    let request = AcceptPinRequest {
        server: pin.server.clone(),
        kind: Some(pin.kind),
        name: Some(pin.name.clone()),
        // Fails if the server lists another definition by then.
        hash: pin.hash.clone(),
    };
    let decision = client.call::<PinsAccept>(&request).await?;
    if one.target.json {
        printer::json(&decision);
        return Ok(());
    }
    print_summary(&pin);
    if decision.in_use {
        printer::data(&format!("{} accepted; it can be used now", visible(&one.name)));
    } else {
        printer::data(&format!("{} accepted, but the lock file takes precedence", visible(&one.name)));
        printer::say("write what is accepted into it with `octroi pins lock`");
    }
    Ok(())
}

async fn reject(one: &OnePin) -> Result<(), Failure> {
    let client = Client::find(&one.target)?;
    let pin = find(&client, one).await?;
    let request = RejectPinRequest {
        server: pin.server,
        kind: Some(pin.kind),
        name: Some(pin.name),
        hash: Some(pin.hash),
    };
    let decision = client.call::<PinsReject>(&request).await?;
    if one.target.json {
        printer::json(&decision);
        return Ok(());
    }
    let name = visible(&one.name);
    printer::data(&format!(
        "{name} is rejected, also when it comes back; another definition needs review again"
    ));
    printer::say(&format!("undo it with `octroi pins accept {name}`; `octroi pins --all` lists it"));
    Ok(())
}

async fn forget(which: &ForgetPins) -> Result<(), Failure> {
    let (server, name) = match which.name.split_once('.') {
        Some((server, name)) => (server, Some(name)),
        None => (which.name.as_str(), None),
    };
    // A server's own instructions have no name.
    let name = name.or((which.kind == Some(PinKind::Server)).then_some(""));
    let request = ForgetPinsRequest {
        server: server.to_owned(),
        kind: which.kind.map(Into::into),
        name: name.map(str::to_owned),
    };
    let forgotten = Client::find(&which.target)?.call::<PinsForget>(&request).await?;
    if which.target.json {
        printer::json(&forgotten);
        return Ok(());
    }
    let definitions = printer::count(forgotten.forgotten, "accepted definition");
    printer::data(&format!("{definitions} of {} forgotten", visible(&which.name)));
    printer::data(&format!("from now on {}", forgotten.next));
    if forgotten.waiting > 0 {
        let waiting = printer::count(forgotten.waiting, "definition");
        printer::say(&format!("waiting for review now: {waiting}; see `octroi pins`"));
    }
    Ok(())
}
