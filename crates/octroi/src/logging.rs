//! The log, on standard error.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Starts the log. `RUST_LOG` overrides the level.
pub(crate) fn start(verbose: u8) {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| {
        EnvFilter::new(format!(
            "warn,octroi={level},octroi_server={level},octroi_gateway={level},octroi_upstream={level}"
        ))
    });
    let format = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(has_colours(
            std::io::stderr().is_terminal(),
            std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
        ))
        .with_env_filter(filter)
        .with_target(false)
        // A closed terminal would end the thread that reports it.
        .log_internal_errors(false);
    // Fails only where a log is running already, as in tests.
    let _ = format.try_init();
}

/// Colours are for terminals; in a file they would only be noise.
fn has_colours(is_terminal: bool, is_refused: bool) -> bool {
    is_terminal && !is_refused
}
