//! The HTML of the approval page. Text from agents and servers can neither run nor hide anything.
//!
//! The templates escape every text by themselves. Text from others is also wrapped in [`Visible`], which
//! makes invisible characters visible.

use maud::{DOCTYPE, Markup, PreEscaped, Render, html};
use octroi_core::OWN_NAME;
use octroi_core::approval::{Approval, ApprovalState, ArgumentsState};
use octroi_core::pin::is_hidden;
use octroi_core::time::{show_span, show_time};
use octroi_gateway::ShownArguments;

mod arguments;

use arguments::{arguments, masked};

const STYLE: &str = include_str!("style.css");

/// The title and the body of a page.
pub(super) struct Content {
    title: &'static str,
    body: Markup,
}

/// The whole document.
pub(super) fn document(content: &Content, nonce: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                title { (content.title) " · Octroi" }
                style nonce=(nonce) { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    p class="brand" { "Octroi" }
                    (content.body)
                }
            }
        }
    };
    page.into_string()
}

/// The form for a token. It reveals nothing about the call, nor whether there is one.
pub(super) fn sign_in(id: &str, complaint: Option<&str>) -> Content {
    let body = html! {
        h1 { "A call needs approval" }
        @if let Some(text) = complaint {
            p class="complaint" role="alert" { (Visible(text)) }
        }
        form method="post" autocomplete="off" {
            label for="token" { "Your token" }
            input id="token" name="token" type="password" maxlength="4096" required autofocus
                spellcheck="false" aria-describedby="about";
            p id="about" class="quiet" {
                "A person's token: the admin token of the data directory, or one from the configuration file. "
                "It is used for this page only and not stored."
            }
            p class="buttons" { button class="main" { "Show the call" } }
        }
        (by_command(id))
    };
    Content { title: "Sign in", body }
}

/// The call and the buttons. The reason is no `input`: there the enter key would press the first button.
pub(super) fn question(approval: &Approval, shown: &ShownArguments, ticket: &str, now_ms: i64) -> Content {
    let body = html! {
        (heading(approval, "wants to call"))
        (facts(approval, Some(now_ms)))
        (arguments(shown))
        (masked(shown, Some(ticket)))
        form method="post" autocomplete="off" {
            input type="hidden" name="ticket" value=(Visible(ticket));
            label for="reason" { "Reason " span class="quiet" { "(sent to the agent, and recorded)" } }
            textarea id="reason" name="reason" rows="2" maxlength="2000" {}
            p class="buttons" {
                // What cannot be shown cannot be approved.
                @if shown.state == ArgumentsState::Whole {
                    button class="main" name="choice" value="approve" { "Approve once" }
                }
                button name="choice" value="deny_continue" { "Deny, agent continues" }
                button class="stop" name="choice" value="deny_abort" { "Deny, agent stops" }
            }
        }
        (by_command(&approval.id))
    };
    Content { title: "Decide", body }
}

/// The call, for somebody who may see it and not decide about it.
pub(super) fn for_others(approval: &Approval, shown: &ShownArguments, now_ms: i64) -> Content {
    let who = approval.approvers.describe();
    let body = html! {
        (heading(approval, "wants to call"))
        p class="verdict" role="status" {
            "Only " (Visible(who.as_deref().unwrap_or("somebody else"))) " may decide about this call."
        }
        (facts(approval, Some(now_ms)))
        (arguments(shown))
        (masked(shown, None))
    };
    Content { title: "Waits for others", body }
}

/// The page of an approval that is decided, just now or earlier.
pub(super) fn decided(approval: &Approval, shown: &ShownArguments) -> Content {
    let outcome = match approval.state {
        ApprovalState::DeniedContinue => "The call is denied. The agent continues without it.",
        ApprovalState::DeniedAbort => "The call is denied. The agent must stop.",
        ApprovalState::Claimed => "The call is approved, and it is being made.",
        ApprovalState::Done => "The call is approved, and it was made.",
        _ => "The call is approved. It can be made once.",
    };
    let body = html! {
        (heading(approval, "asked for"))
        p class="verdict" role="status" { (outcome) " " (decision(approval)) }
        (facts(approval, None))
        (arguments(shown))
        (masked(shown, None))
        p class="quiet" { "You can close this page." }
    };
    Content { title: "Decided", body }
}

/// The page after a decision that came second.
pub(super) fn too_late(approval: &Approval, shown: &ShownArguments) -> Content {
    let body = html! {
        p class="complaint" role="alert" { "This was decided already; your choice has no effect." }
        (decided(approval, shown).body)
    };
    Content { title: "Decided already", body }
}

/// The page of an approval that can no longer be decided.
pub(super) fn gone(approval: &Approval, shown: &ShownArguments) -> Content {
    let outcome = match approval.state {
        ApprovalState::Cancelled => "The call was cancelled. Nothing was done.",
        ApprovalState::Orphaned => {
            "Octroi was restarted while the call was being made. How far it got is unknown."
        }
        _ => "Nobody decided in time. Nothing was done; the agent can ask again.",
    };
    let body = html! {
        (heading(approval, "asked for"))
        p class="verdict" role="status" { (outcome) }
        (facts(approval, None))
        (arguments(shown))
        (masked(shown, None))
        p class="quiet" { "You can close this page." }
    };
    Content { title: "Closed", body }
}

/// The button that exchanges an invitation for a token.
pub(super) fn invitation() -> Content {
    let body = html! {
        h1 { "You are invited" }
        p { "The next page shows your token, once. Have a safe place ready to keep it, such as a password manager." }
        form method="post" autocomplete="off" {
            p class="buttons" { button class="main" { "Show my token" } }
        }
    };
    Content { title: "Invitation", body }
}

/// The token that an invitation was exchanged for.
pub(super) fn first_token(user: &str, token: &str) -> Content {
    let body = html! {
        h1 { "Your token, " (Visible(user)) }
        p role="status" { "This page shows it only now. Whoever has it can act in your name." }
        pre { code { (Visible(token)) } }
        p {
            "Put it into the variable " code { "OCTROI_TOKEN" } " for the command line, or paste it where the \
            approval page asks for your token. Never give it to an agent: " code { "octroi token create --agent NAME" }
            " makes a token for one."
        }
        p class="quiet" { "The link that led here does not work again." }
    };
    Content { title: "Your token", body }
}

/// The page for a link that is no invitation, or not any more.
pub(super) fn no_invitation() -> Content {
    problem(
        "No invitation",
        "This link was used, has expired, or never was an invitation. Ask for another: \
         `octroi user invite NAME` makes one.",
    )
}

/// The page for an address without an approval.
pub(super) fn unknown() -> Content {
    problem("Not found", "There is no approval at this address. `octroi approvals` lists pending calls.")
}

/// The page for an error.
pub(super) fn problem(title: &'static str, text: &str) -> Content {
    let body = html! {
        h1 { (title) }
        p role="alert" { (Visible(text)) }
    };
    Content { title, body }
}

fn heading(approval: &Approval, verb: &str) -> Markup {
    let (server, tool) = server_and_tool(&approval.binding.tool);
    html! {
        h1 {
            b { (Visible(caller(approval))) } " " (verb) " "
            code { (Visible(server)) "." (Visible(tool)) }
        }
    }
}

fn caller(approval: &Approval) -> &str {
    approval.binding.agent.as_deref().unwrap_or(&approval.binding.principal)
}

fn server_and_tool(id: &str) -> (&str, &str) {
    id.strip_prefix("mcp:").and_then(|rest| rest.split_once(':')).unwrap_or((OWN_NAME, id))
}

/// Everything about the call but what it sends.
fn facts(approval: &Approval, now_ms: Option<i64>) -> Markup {
    let (server, tool) = server_and_tool(&approval.binding.tool);
    let items = |items: &[String]| html! { @for item in items { li { (Visible(item)) } } };
    html! {
        dl {
            dt { "Agent" } dd { (Visible(caller(approval))) }
            dt { "Tool" } dd { code { (Visible(tool)) } }
            dt { "Server" } dd { code { (Visible(server)) } }
            dt { "Risk" }
            dd { span class={ "risk " (risk_class(&approval.risk)) } { (Visible(&approval.risk)) } }
            dt { "Side effects" }
            dd {
                @if approval.side_effects.is_empty() { "none known" }
                @else { ul class="tags" { (items(&approval.side_effects)) } }
            }
            dt { "Asked because" } dd { ul { (items(&approval.reasons)) } }
            dt { "Asked at" } dd { (show_time(approval.requested_at_ms)) }
            dt { "Expires" }
            dd {
                (show_time(approval.expires_at_ms))
                @if let Some(now_ms) = now_ms {
                    " " span class="quiet" { "in " (show_span(approval.expires_at_ms - now_ms)) }
                }
            }
        }
    }
}

fn decision(approval: &Approval) -> Markup {
    html! {
        @if let Some(by) = &approval.decided_by {
            "Decided by " (Visible(by))
            @if let Some(at_ms) = approval.decided_at_ms { " at " (show_time(at_ms)) }
            @if let Some(reason) = &approval.decision_reason { ": " (Visible(reason)) }
            "."
        }
    }
}

fn by_command(id: &str) -> Markup {
    html! {
        p class="quiet" {
            "Or without this page: " code { "octroi approve " (Visible(id)) }
            " or " code { "octroi deny " (Visible(id)) } "."
        }
    }
}

/// A fixed set of CSS classes, whatever the store holds.
fn risk_class(risk: &str) -> &'static str {
    match risk {
        "low" => "low",
        "medium" => "medium",
        "high" => "high",
        _ => "critical",
    }
}

/// Text from somebody else. Nothing in it is markup, also within quotes of either kind, and every character
/// that is invisible or reorders others is written as its code point.
pub(super) struct Visible<'a>(pub(super) &'a str);

impl Render for Visible<'_> {
    fn render_to(&self, out: &mut String) {
        for character in self.0.chars() {
            match character {
                // The templates write attributes in double quotes and so leave this one as it is.
                '\'' => out.push_str("&#39;"),
                '\n' | '\r' | '\t' => named(character).render_to(out),
                _ if is_hidden(character) => named(character).render_to(out),
                _ => character.encode_utf8(&mut [0; 4]).render_to(out),
            }
        }
    }
}

fn named(character: char) -> Markup {
    html! { span class="odd" { (format!("U+{:04X}", u32::from(character))) } }
}

#[cfg(test)]
mod tests;
