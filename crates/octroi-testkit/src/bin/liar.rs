//! `octroi-liar`: a server over stdio that lies in every way.

use std::process::ExitCode;

fn main() -> ExitCode {
    match octroi_testkit::peer::faults::liar::serve() {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever started it has gone.
        Err(_) => ExitCode::FAILURE,
    }
}
