//! How the page looks. Whatever comes from agents and servers is written so that it can do nothing and
//! hide nothing.

use std::fmt::Write as _;

use octroi_core::approval::{Approval, ApprovalState};
use octroi_core::pin::is_hidden;
use octroi_core::time::show_time;

const STYLE: &str = include_str!("style.css");

/// What a page holds.
pub(super) struct Content {
    title: &'static str,
    body: String,
}

/// The whole document.
pub(super) fn document(content: &Content, nonce: &str) -> String {
    let Content { title, body } = content;
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"robots\" content=\"noindex\">\n<title>{title} · Octroi</title>\n\
         <style nonce=\"{nonce}\">{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <p class=\"brand\">Octroi</p>\n{body}</main>\n</body>\n</html>\n"
    )
}

/// The form for a token. It tells nothing about the call, nor whether there is one.
pub(super) fn sign_in(id: &str, complaint: Option<&str>) -> Content {
    let complaint =
        complaint.map(|text| format!("<p class=\"complaint\" role=\"alert\">{}</p>\n", visible(text)));
    let body = format!(
        "<h1>A call waits for a person</h1>\n{}\
         <form method=\"post\" autocomplete=\"off\">\n\
         <label for=\"token\">Your token</label>\n\
         <input id=\"token\" name=\"token\" type=\"password\" maxlength=\"4096\" required autofocus \
         spellcheck=\"false\" aria-describedby=\"about\">\n\
         <p id=\"about\" class=\"quiet\">A person's token: the admin token of the data directory, or one from the \
         configuration file. It is used for this page only and kept nowhere.</p>\n\
         <p class=\"buttons\"><button class=\"main\">Look at the call</button></p>\n</form>\n{}",
        complaint.unwrap_or_default(),
        by_command(id),
    );
    Content { title: "Sign in", body }
}

/// The call and the buttons. The reason is no `input`: there the enter key would press the first button.
pub(super) fn question(approval: &Approval, ticket: &str, now_ms: i64) -> Content {
    let body = format!(
        "{}{}<form method=\"post\" autocomplete=\"off\">\n\
         <input type=\"hidden\" name=\"ticket\" value=\"{}\">\n\
         <label for=\"reason\">Reason <span class=\"quiet\">(told to the agent, and kept)</span></label>\n\
         <textarea id=\"reason\" name=\"reason\" rows=\"2\" maxlength=\"2000\"></textarea>\n\
         <p class=\"buttons\">\
         <button class=\"main\" name=\"choice\" value=\"approve\">Approve once</button>\
         <button name=\"choice\" value=\"deny_continue\">Deny, it goes on</button>\
         <button class=\"stop\" name=\"choice\" value=\"deny_abort\">Deny, it stops</button></p>\n</form>\n{}",
        heading(approval, "wants to call"),
        facts(approval, Some(now_ms)),
        visible(ticket),
        by_command(&approval.id),
    );
    Content { title: "Decide", body }
}

/// What was decided, just now or before.
pub(super) fn decided(approval: &Approval) -> Content {
    let said = match approval.state {
        ApprovalState::DeniedContinue => "The call is denied. The agent goes on without it.",
        ApprovalState::DeniedAbort => "The call is denied. The agent is told to stop.",
        ApprovalState::Claimed => "The call is approved, and it is being made.",
        ApprovalState::Done => "The call is approved, and it was made.",
        _ => "The call is approved. It can be made once.",
    };
    let body = format!(
        "{}<p class=\"verdict\" role=\"status\">{said} {}</p>\n{}<p class=\"quiet\">You can close this page.</p>\n",
        heading(approval, "asked for"),
        decision(approval),
        facts(approval, None),
    );
    Content { title: "Decided", body }
}

/// Somebody else was faster.
pub(super) fn too_late(approval: &Approval) -> Content {
    let decided = decided(approval);
    let body = format!(
        "<p class=\"complaint\" role=\"alert\">This was decided already; what you chose changes nothing.</p>\n{}",
        decided.body
    );
    Content { title: "Decided already", body }
}

/// Nothing can be decided any more.
pub(super) fn gone(approval: &Approval) -> Content {
    let said = match approval.state {
        ApprovalState::Cancelled => "The call was taken back. Nothing was done.",
        ApprovalState::Orphaned => {
            "Octroi was restarted while the call was being made. Nobody knows how far it came."
        }
        _ => "Nobody decided in time. Nothing was done; the agent can ask again.",
    };
    let body = format!(
        "{}<p class=\"verdict\" role=\"status\">{said}</p>\n{}<p class=\"quiet\">You can close this page.</p>\n",
        heading(approval, "asked for"),
        facts(approval, None),
    );
    Content { title: "Over", body }
}

/// There is no such approval.
pub(super) fn unknown() -> Content {
    problem("Not found", "There is no approval at this address. `octroi approvals` lists what waits.")
}

/// Something went wrong.
pub(super) fn problem(title: &'static str, text: &str) -> Content {
    let body = format!("<h1>{title}</h1>\n<p role=\"alert\">{}</p>\n", visible(text));
    Content { title, body }
}

fn heading(approval: &Approval, verb: &str) -> String {
    let binding = &approval.binding;
    let who = binding.agent.as_deref().unwrap_or(&binding.principal);
    let (server, tool) = server_and_tool(&binding.tool);
    format!("<h1><b>{}</b> {verb} <code>{}.{}</code></h1>\n", visible(who), visible(server), visible(tool))
}

fn server_and_tool(id: &str) -> (&str, &str) {
    id.strip_prefix("mcp:").and_then(|rest| rest.split_once(':')).unwrap_or(("octroi", id))
}

/// Everything about the call that a person may see.
fn facts(approval: &Approval, now_ms: Option<i64>) -> String {
    let binding = &approval.binding;
    let (server, tool) = server_and_tool(&binding.tool);
    let list = |items: &[String]| {
        items.iter().fold(String::new(), |mut out, item| {
            let _ = write!(out, "<li>{}</li>", visible(item));
            out
        })
    };
    let effects = match approval.side_effects.as_slice() {
        [] => "none known".to_owned(),
        effects => format!("<ul class=\"tags\">{}</ul>", list(effects)),
    };
    let arguments: Vec<String> = indented(&approval.arguments_preview).lines().map(visible).collect();
    let when = match now_ms {
        Some(now_ms) => format!(" <span class=\"quiet\">in {}</span>", left(approval.expires_at_ms - now_ms)),
        None => String::new(),
    };
    let rows = [
        ("Agent", visible(binding.agent.as_deref().unwrap_or(&binding.principal))),
        ("Tool", format!("<code>{}</code>", visible(tool))),
        ("Server", format!("<code>{}</code>", visible(server))),
        (
            "Risk",
            format!("<span class=\"risk {}\">{}</span>", risk_class(&approval.risk), visible(&approval.risk)),
        ),
        ("Side effects", effects),
        ("Asked because", format!("<ul>{}</ul>", list(&approval.reasons))),
        ("Asked at", visible(&show_time(approval.requested_at_ms))),
        ("Expires", format!("{}{when}", visible(&show_time(approval.expires_at_ms)))),
    ];
    let mut out = String::from("<dl>\n");
    for (name, value) in rows {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{value}</dd>");
    }
    let _ = writeln!(
        out,
        "</dl>\n<h2>Arguments</h2>\n<pre tabindex=\"0\">{}</pre>\n\
         <p class=\"quiet\">Secrets are taken out, and what is long is cut. Characters that are not seen are \
         written as <span class=\"odd\">U+…</span>.</p>",
        arguments.join("\n")
    );
    out
}

fn decision(approval: &Approval) -> String {
    let by = approval.decided_by.as_deref().map(|by| format!("Decided by {}", visible(by)));
    let at = approval.decided_at_ms.map(|at_ms| format!(" at {}", show_time(at_ms)));
    let reason = approval.decision_reason.as_deref().map(|reason| format!(": {}", visible(reason)));
    match by {
        Some(by) => format!("{by}{}{}.", at.unwrap_or_default(), reason.unwrap_or_default()),
        None => String::new(),
    }
}

fn by_command(id: &str) -> String {
    let id = visible(id);
    format!(
        "<p class=\"quiet\">Or without this page: <code>octroi approve {id}</code> or \
         <code>octroi deny {id}</code>.</p>\n"
    )
}

/// A word of ours, whatever the store says.
fn risk_class(risk: &str) -> &'static str {
    match risk {
        "low" => "low",
        "medium" => "medium",
        "high" => "high",
        _ => "critical",
    }
}

fn left(milliseconds: i64) -> String {
    match milliseconds / 1_000 {
        seconds @ ..120 => format!("{} s", seconds.max(0)),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

/// Text for HTML, also within quotes: nothing in it is markup, and every character that is not seen or
/// that reorders others is named.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\r' | '\t' => named(&mut out, character),
            _ if is_hidden(character) => named(&mut out, character),
            _ => out.push(character),
        }
    }
    out
}

fn named(out: &mut String, character: char) {
    let _ = write!(out, "<span class=\"odd\">U+{:04X}</span>", u32::from(character));
}

/// JSON in lines. Only the white space between its parts changes, so that what is shown is what is meant.
fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut is_text = false;
    let mut is_escaped = false;
    let mut rest = json.chars().peekable();
    while let Some(character) = rest.next() {
        if is_text {
            out.push(character);
            is_text = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
            continue;
        }
        match character {
            ' ' | '\n' | '\r' | '\t' => {}
            '"' => {
                is_text = true;
                out.push(character);
            }
            '{' | '[' => {
                out.push(character);
                while rest.next_if(|next| matches!(next, ' ' | '\n' | '\r' | '\t')).is_some() {}
                match rest.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => out.push(end),
                    None => {
                        depth += 1;
                        new_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            other => out.push(other),
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests;
