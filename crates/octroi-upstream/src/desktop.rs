//! The person's own browser, which is no process of Octroi's.

use std::process::Stdio;
use std::{env, io};

/// Opens an address in the browser of whoever started this program. The browser goes on when Octroi ends: it was there
/// before, or the person keeps it.
pub fn open_in_browser(url: &str) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "the browser is the person's, and outlives this program")]
    let mut command = std::process::Command::new(opener()?);
    let opening = command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    // What opens it hands the address over and ends; it is a child of nobody who waits after that.
    opening.map(drop)
}

/// The program that knows the person's browser.
fn opener() -> io::Result<&'static str> {
    if cfg!(target_os = "macos") {
        return Ok("open");
    }
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"]
        .into_iter()
        .any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    if has_display { Ok("xdg-open") } else { Err(io::Error::other("there is no display")) }
}
