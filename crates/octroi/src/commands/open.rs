//! `octroi open`: the web interface in the person's browser, signed in by a one-time code.

use octroi_api::operations::NoArguments;
use octroi_api::operations::tokens::TokensSignInCode;
use octroi_gateway::open_in_browser;
use serde_json::json;

use crate::cli::{Open, Target};
use crate::client::Client;
use crate::failure::Failure;
use crate::printer;

pub(super) async fn run(options: Open) -> Result<(), Failure> {
    let url = sign_in_url(&options.target).await?;
    if options.target.json {
        printer::json(&json!({ "url": url }));
        return Ok(());
    }
    if options.print {
        printer::data(&url);
        return Ok(());
    }
    show(&url);
    Ok(())
}

/// Opens the interface of a gateway that has just started.
pub(super) async fn first(target: &Target) {
    match sign_in_url(target).await {
        Ok(url) => show(&url),
        Err(failure) => {
            tracing::warn!(error = failure.message, hint = "run `octroi open`", "the browser was not opened");
        }
    }
}

/// The address with a code in its fragment, which no browser sends anywhere.
async fn sign_in_url(target: &Target) -> Result<String, Failure> {
    let client = Client::find(target)?;
    let code = client.call::<TokensSignInCode>(&NoArguments {}).await?;
    let base = client.url.strip_suffix("/mcp").unwrap_or(&client.url);
    Ok(format!("{base}{}", code.path))
}

fn show(url: &str) {
    match open_in_browser(url) {
        Ok(()) => printer::fact("Interface", "opened in your browser"),
        Err(_) => {
            printer::fact("Interface", &format!("{url}   (valid for 2 minutes, once)"));
        }
    }
}
