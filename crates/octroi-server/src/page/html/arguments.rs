//! What a call sends, on the page: whole, folded where they are long, with masked values to reveal.

use maud::{Markup, html};
use octroi_core::approval::ArgumentsState;
use octroi_core::redact::indented;
use octroi_gateway::ShownArguments;

use super::Visible;

/// Longer text is folded. It is on the page all the same.
const FOLDED_FROM: usize = 4_000;

/// The arguments and other params as text.
pub(super) fn arguments(shown: &ShownArguments) -> Markup {
    html! {
        h2 { "Arguments" }
        @match shown.state {
            ArgumentsState::Whole => {}
            ArgumentsState::Removed => {
                p role="status" { "What was sent was removed when this was over. This is a short version." }
            }
            ArgumentsState::Unreadable => {
                p class="complaint" role="alert" {
                    "What is sent cannot be read: it is encrypted with another key. The call can only be denied."
                }
            }
        }
        (folded(&indented(&shown.text)))
        @if let Some(others) = &shown.other_params {
            h2 { "Also sent" }
            (folded(&indented(others)))
        }
        p class="quiet" {
            "Invisible characters are written as " span class="odd" { "U+…" } "."
            @if !shown.masked.is_empty() { " What may be a secret is masked." }
        }
    }
}

/// Long text with its beginning first, and all of it on demand.
fn folded(text: &str) -> Markup {
    let start = text.floor_char_boundary(FOLDED_FROM);
    html! {
        @if start < text.len() {
            (lines(&text[..start]))
            details {
                summary { "Show all (" (text.len()) " bytes; above are the first " (start) ")" }
                (lines(text))
            }
        } @else {
            (lines(text))
        }
    }
}

/// The masked values, with a button for each if there is a ticket.
pub(super) fn masked(shown: &ShownArguments, ticket: Option<&str>) -> Markup {
    html! {
        @if !shown.masked.is_empty() {
            h2 { "Masked values" }
            form method="post" autocomplete="off" {
                @if let Some(ticket) = ticket {
                    input type="hidden" name="ticket" value=(Visible(ticket));
                }
                ul class="masked" {
                    @for value in &shown.masked {
                        li {
                            code { (Visible(place(&value.path))) }
                            " " (value.kind) ", " (value.length) " bytes "
                            @if ticket.is_some() {
                                // A path holds what agents choose, and must come back exactly.
                                button name="reveal" value=(hex::encode(&value.path)) { "Reveal" }
                            }
                        }
                    }
                }
                @if ticket.is_some() {
                    p class="quiet" { "That you looked at a value is recorded, not the value." }
                }
            }
        }
    }
}

fn place(path: &str) -> &str {
    if path.is_empty() { "everything" } else { path }
}

fn lines(text: &str) -> Markup {
    html! {
        pre tabindex="0" {
            @for (number, line) in text.lines().enumerate() {
                @if number > 0 { "\n" }
                (Visible(line))
            }
        }
    }
}
