//! Commands about definitions that are kept back.

use std::path::{Path, PathBuf};

use owo_colors::OwoColorize as _;
use serde_json::{Value, json};

use super::Failure;
use crate::cli::people::{ForgetPins, LockPins, OnePin, Pins, PinsCommand};
use crate::client::Client;
use crate::config::{Sources, data_directory, load};
use crate::printer::{self, visible};

pub(super) async fn run(pins: &Pins) -> Result<(), Failure> {
    match &pins.command {
        None => list_held(pins).await,
        Some(PinsCommand::Show(one)) => show(one).await,
        Some(PinsCommand::Accept(one)) => accept(one).await,
        Some(PinsCommand::KeepOut(one)) => keep_out(one).await,
        Some(PinsCommand::Forget(which)) => forget(which).await,
        Some(PinsCommand::Lock(options)) => lock(options).await,
    }
}

async fn list_held(pins: &Pins) -> Result<(), Failure> {
    let held = held(&Client::find(&pins.target)?, pins.all).await?;
    if pins.target.json {
        printer::data(&json!(held).to_string());
        return Ok(());
    }
    let (kept_out, waiting): (Vec<_>, Vec<_>) = held.iter().partition(|held| held["kept_out_by"].is_string());
    for held in &waiting {
        tell(held);
    }
    if waiting.is_empty() {
        printer::say("nothing is kept back that nobody has looked at");
    } else {
        printer::say(
            "look closer with `octroi pins show SERVER.NAME`, accept with `octroi pins accept SERVER.NAME`",
        );
    }
    if !kept_out.is_empty() {
        printer::data("kept out:");
        for held in kept_out {
            tell(held);
        }
    }
    Ok(())
}

/// What waits for a person, and with `all` what somebody keeps out as well.
async fn held(client: &Client, all: bool) -> Result<Vec<Value>, Failure> {
    let mut told = client.call("pins_list", json!({ "all": all })).await?;
    Ok(match told["held"].take() {
        Value::Array(held) => held,
        _ => Vec::new(),
    })
}

/// The one that is meant.
async fn find(client: &Client, one: &OnePin) -> Result<Value, Failure> {
    let (server, name) = one.name.split_once('.').unwrap_or((&one.name, ""));
    let mut found: Vec<Value> = held(client, true).await?;
    let n_held = found.len();
    found.retain(|held| {
        held["server"] == server
            && held["name"] == name
            && one.kind.as_ref().is_none_or(|kind| held["kind"] == kind.as_str())
    });
    match (found.len(), found.pop()) {
        (1, Some(held)) => Ok(held),
        (0, _) => {
            let kind = one.kind.as_deref().map(|kind| format!("{kind} ")).unwrap_or_default();
            let failure = Failure::new(format!("no {kind}`{}` is kept back", one.name));
            Err(failure.hint(format!("`octroi pins` lists what is ({n_held} now)")))
        }
        _ => Err(Failure::new(format!("`{}` is the name of several", one.name))
            .hint("say which with --kind tool, --kind prompt or --kind template")),
    }
}

fn full_name(held: &Value) -> String {
    match text(held, "name") {
        "" => text(held, "server").to_owned(),
        name => format!("{}.{}", text(held, "server"), name),
    }
}

/// One in a few lines: what, why, and what changed.
fn tell(held: &Value) {
    printer::data(&format!(
        "{}  {}  {}",
        visible(&full_name(held)).bold(),
        text(held, "kind"),
        visible(text(held, "reason"))
    ));
    for change in list(held, "changes") {
        printer::data(&format!("    {} ({})", visible(place(change)), text(change, "class")));
        if let Some(old) = change["old"].as_str() {
            printer::data(&format!("      {}", format!("- {}", indented(old)).red()));
        }
        if let Some(new) = change["new"].as_str() {
            printer::data(&format!("      {}", format!("+ {}", indented(new)).green()));
        }
    }
    for finding in list(held, "findings") {
        let (severity, kind) = (text(finding, "severity"), text(finding, "kind"));
        let (path, excerpt) = (visible(place(finding)), visible(text(finding, "excerpt")));
        printer::data(&format!("    {}: {kind} at {path}: {excerpt}", severity.yellow()));
    }
    for other in list(held, "look_alikes") {
        let other = visible(other.as_str().unwrap_or_default());
        printer::data(&format!("    {}: it looks like {other}", "warning".yellow()));
    }
}

async fn show(one: &OnePin) -> Result<(), Failure> {
    let held = find(&Client::find(&one.target)?, one).await?;
    if one.target.json {
        printer::data(&held.to_string());
        return Ok(());
    }
    tell(&held);
    match (held["accepted_by"].as_str(), held["accepted_at"].as_str()) {
        (Some(by), Some(at)) => {
            printer::data(&format!("    the one before it was accepted by {} at {at}", visible(by)))
        }
        _ => printer::data("    none was accepted before it"),
    }
    printer::data(&format!("    hash {}", text(&held, "hash")));
    for line in format!("{:#}", held["definition"]).lines() {
        printer::data(&format!("    {}", visible(line)));
    }
    printer::say(&format!("accept it with `octroi pins accept {}`", visible(&one.name)));
    Ok(())
}

async fn accept(one: &OnePin) -> Result<(), Failure> {
    let client = Client::find(&one.target)?;
    let held = find(&client, one).await?;
    let mut arguments = named(&held);
    // What the server lists by then must still be this one.
    arguments["hash"] = held["hash"].clone();
    let told = client.call("pins_accept", arguments).await?;
    if one.target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    tell(&held);
    if told["in_use"] == true {
        printer::data(&format!("{} accepted; it can be used now", visible(&one.name)));
    } else {
        printer::data(&format!("{} accepted, but the lock file stands above that", visible(&one.name)));
        printer::say("write what is accepted into it with `octroi pins lock`");
    }
    Ok(())
}

async fn keep_out(one: &OnePin) -> Result<(), Failure> {
    let client = Client::find(&one.target)?;
    let held = find(&client, one).await?;
    let mut arguments = named(&held);
    arguments["hash"] = held["hash"].clone();
    let told = client.call("pins_reject", arguments).await?;
    if one.target.json {
        printer::data(&told.to_string());
    } else {
        let name = visible(&one.name);
        printer::data(&format!(
            "{name} is kept out, also when it comes back; another definition is asked about"
        ));
        printer::say(&format!("undo it with `octroi pins accept {name}`; `octroi pins --all` lists it"));
    }
    Ok(())
}

async fn forget(which: &ForgetPins) -> Result<(), Failure> {
    let (server, name) = match which.name.split_once('.') {
        Some((server, name)) => (server, Some(name)),
        None => (which.name.as_str(), None),
    };
    let mut arguments = json!({ "server": server });
    // A server's own instructions have no name.
    let name = name.or(which.kind.as_deref().filter(|kind| *kind == "server").map(|_| ""));
    for (key, value) in [("name", name), ("kind", which.kind.as_deref())] {
        if let Some(value) = value {
            arguments[key] = json!(value);
        }
    }
    let told = Client::find(&which.target)?.call("pins_forget", arguments).await?;
    if which.target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    let n_forgotten = told["forgotten"].as_u64().unwrap_or_default();
    let definitions = if n_forgotten == 1 { "definition" } else { "definitions" };
    printer::data(&format!("{n_forgotten} accepted {definitions} of {} forgotten", visible(&which.name)));
    printer::data(&format!("from now on {}", text(&told, "next")));
    if let Some(n_waiting) = told["waiting"].as_u64().filter(|n_waiting| *n_waiting > 0) {
        printer::say(&format!("{n_waiting} wait for a person now; see `octroi pins`"));
    }
    Ok(())
}

fn named(held: &Value) -> Value {
    json!({"server": held["server"], "kind": held["kind"], "name": held["name"]})
}

async fn lock(options: &LockPins) -> Result<(), Failure> {
    let told = Client::find(&options.target)?.call("pins_lock", json!({})).await?;
    let text = text(&told, "text");
    let file = match &options.file {
        Some(file) => file.clone(),
        None => lock_file(options)?,
    };
    if file == Path::new("-") {
        printer::data(text.trim_end());
        return Ok(());
    }
    write(&file, text).map_err(|error| {
        Failure::new(format!("cannot write {}", file.display()))
            .cause(error)
            .hint("name a file that can be written with --file FILE, or print it with --file -")
    })?;
    let n_pins = text.lines().filter(|line| *line == "[[pins]]").count();
    if options.target.json {
        printer::data(&json!({"file": file.display().to_string(), "pins": n_pins}).to_string());
    } else {
        printer::data(&format!("{} holds {n_pins} accepted definitions", file.display()));
    }
    Ok(())
}

/// The file that a gateway with this configuration reads.
fn lock_file(options: &LockPins) -> Result<PathBuf, Failure> {
    let data = options.target.data.clone().unwrap_or_else(data_directory);
    let sources = Sources { config: options.config.clone(), data, ..Sources::default() };
    Ok(load(&sources)?.settings.pins.lock)
}

/// A gateway may read the file at any moment, so it is never half written.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, file)
}

fn place(value: &Value) -> &str {
    match text(value, "path") {
        "" => "the whole",
        path => path,
    }
}

fn indented(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join("\n        ")
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}
