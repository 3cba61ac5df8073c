//! `octroi pins lock`: writes all accepted definitions to a lock file.

use std::path::{Path, PathBuf};

use octroi_api::operations::NoArguments;
use octroi_api::operations::pins::PinsLock;
use serde_json::json;

use crate::cli::pins::LockPins;
use crate::client::Client;
use crate::commands::Failure;
use crate::config::{Sources, data_directory, load};
use crate::printer;

pub(super) async fn write_lock_file(options: &LockPins) -> Result<(), Failure> {
    let text = Client::find(&options.target)?.call::<PinsLock>(&NoArguments {}).await?.text;
    let file = match &options.file {
        Some(file) => file.clone(),
        None => configured_file(options)?,
    };
    if file == Path::new("-") {
        printer::data(text.trim_end());
        return Ok(());
    }
    replace(&file, &text).map_err(|error| {
        Failure::new(format!("cannot write {}", file.display()))
            .cause(error)
            .hint("name a file that can be written with --file FILE, or print it with --file -")
    })?;
    let n_pins = text.lines().filter(|line| *line == "[[pins]]").count();
    if options.target.json {
        printer::json(&json!({"file": file.display().to_string(), "pins": n_pins}));
    } else {
        let definitions = printer::count(n_pins, "accepted definition");
        printer::data(&format!("{} holds {definitions}", file.display()));
    }
    Ok(())
}

/// The file that a gateway with this configuration reads.
fn configured_file(options: &LockPins) -> Result<PathBuf, Failure> {
    let data = options.target.data.clone().unwrap_or_else(data_directory);
    let sources = Sources { config: options.config.clone(), data, ..Sources::default() };
    Ok(load(&sources)?.settings.pins.lock)
}

/// Replaces the file at once, because a gateway may read it at any moment.
fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, file)
}
