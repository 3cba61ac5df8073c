//! Tools about definitions that are kept back.

use octroi_core::ServerName;
use octroi_core::pin::{DefinitionHash, PinKind, PinPolicy};
use octroi_core::time::show_time;
use octroi_gateway::{Caller, Forgotten, Gateway, HeldPin, PinName};
use serde_json::{Value, json};

use super::servers::{Arguments, Tool, tool};
use super::told;

pub(super) const HELD: &str = "resource://pins/held";

type Argument = (&'static str, &'static str, bool, &'static str);

const SERVER: Argument = ("server", "string", true, "Whose it is");
const KIND: Argument = ("kind", "string", false, "tool, prompt, template or server [default: tool]");
const NAME: Argument =
    ("name", "string", false, "Its name at its server; left out for a server's own instructions");

pub(super) const TOOLS: [Tool; 5] = [
    tool(
        "pins_list",
        "Definitions that are kept back until a person has seen them: what changed, and what is suspicious.",
        &[("all", "boolean", false, "Also those that somebody has looked at and keeps out")],
        true,
    ),
    tool(
        "pins_accept",
        "Accept a definition that is kept back, so that it can be used.",
        &[
            SERVER,
            KIND,
            NAME,
            ("hash", "string", true, "The definition that was looked at, from `pins_list`"),
        ],
        false,
    ),
    tool(
        "pins_reject",
        "Keep a definition out, also when it comes back. Another one under its name is asked about again; \
         `pins_accept` undoes it.",
        &[
            SERVER,
            KIND,
            NAME,
            ("hash", "string", false, "The definition that was looked at [default: the present one]"),
        ],
        false,
    ),
    tool(
        "pins_forget",
        "Forget what was accepted of a server, or of one thing that it lists, so that it counts as seen for the \
         first time. What is kept out stays out.",
        &[
            SERVER,
            ("kind", "string", false, "tool, prompt, template or server, if several have the name"),
            ("name", "string", false, "Its name at its server; left out for all of the server's"),
        ],
        false,
    ),
    tool("pins_lock", "The text of a lock file with all that is accepted now.", &[], true),
];

pub(super) async fn run(
    gateway: &Gateway,
    caller: &Caller,
    tool: &str,
    arguments: &Arguments,
) -> Result<Value, String> {
    match tool {
        "pins_list" if arguments.is("all") => return list(gateway, |_| true).await,
        "pins_list" => return waiting(gateway).await,
        "pins_lock" => {
            let text = gateway.lock_text().await.map_err(|problem| told(&problem))?;
            return Ok(json!({ "text": text }));
        }
        _ => {}
    }
    let server = arguments.text("server").unwrap_or_default();
    let server = ServerName::parse(server).map_err(|_| format!("there is no server `{server}`"))?;
    let kind = arguments.word("kind", PinKind::parse, "tool, prompt, template or server")?;
    let name = arguments.text("name").unwrap_or_default();
    if tool == "pins_forget" {
        let one = arguments.text("name").map(|name| (kind, name));
        let forgotten = gateway.forget_pins(&server, one, &caller.principal).await;
        return Ok(told_forgotten(
            &server,
            arguments.text("name"),
            &forgotten.map_err(|problem| told(&problem))?,
        ));
    }
    let pin = PinName { server: &server, kind: kind.unwrap_or(PinKind::Tool), name };
    let hash = arguments.word("hash", |text| text.parse::<DefinitionHash>().ok(), "64 hexadecimal digits")?;
    match tool {
        "pins_accept" => {
            let hash = hash.ok_or("`hash` is missing")?;
            let in_use = gateway.accept_pin(pin, &hash, &caller.principal).await;
            let in_use = in_use.map_err(|problem| told(&problem))?;
            Ok(json!({
                "server": server.as_str(), "kind": pin.kind.as_str(), "name": name,
                "hash": hash.to_string(), "accepted": true, "in_use": in_use,
            }))
        }
        "pins_reject" => {
            let rejected = gateway.reject_pin(pin, hash.as_ref(), &caller.principal).await;
            let hash = rejected.map_err(|problem| told(&problem))?;
            Ok(json!({
                "server": server.as_str(), "kind": pin.kind.as_str(), "name": name,
                "hash": hash.to_string(), "accepted": false, "in_use": false,
            }))
        }
        other => Err(format!("there is no tool `{other}`")),
    }
}

/// What waits for a person.
pub(super) async fn waiting(gateway: &Gateway) -> Result<Value, String> {
    list(gateway, |held| held.kept_out_by.is_none()).await
}

async fn list(gateway: &Gateway, is_wanted: impl Fn(&HeldPin) -> bool) -> Result<Value, String> {
    let mut held = gateway.held_pins().await.map_err(|problem| told(&problem))?;
    held.retain(is_wanted);
    Ok(json!({"held": held.iter().map(shown).collect::<Vec<_>>(), "count": held.len()}))
}

fn told_forgotten(server: &ServerName, name: Option<&str>, forgotten: &Forgotten) -> Value {
    let Forgotten { n_forgotten, policy, n_locked, n_waiting } = forgotten;
    let mut next = match policy {
        PinPolicy::TrustFirst => {
            "what the server lists counts as seen for the first time: it is accepted as it is, \
             unless something about it is suspicious"
                .to_owned()
        }
        PinPolicy::Ask => "what the server lists waits for a person before it can be used".to_owned(),
        PinPolicy::Strict => "only what the lock file holds can be used, as before".to_owned(),
    };
    if *n_locked > 0 {
        next = format!("{next}; {n_locked} stand in the lock file, which still counts");
    }
    json!({
        "server": server.as_str(), "name": name, "forgotten": n_forgotten, "mode": policy.as_str(),
        "locked": n_locked, "waiting": n_waiting, "next": next,
    })
}

fn shown(held: &HeldPin) -> Value {
    let changes = held.changes.iter().map(|change| {
        json!({"path": change.path, "old": change.old, "new": change.new, "class": change.class.as_str()})
    });
    let findings = held.findings.iter().map(|finding| {
        json!({
            "kind": finding.kind.as_str(),
            "severity": finding.severity.as_str(),
            "path": finding.path,
            "excerpt": finding.excerpt,
        })
    });
    json!({
        "server": held.server.as_str(),
        "kind": held.kind.as_str(),
        "name": held.name,
        "hash": held.hash.to_string(),
        "reason": held.reason,
        "kept_out_by": held.kept_out_by,
        "accepted_at": held.accepted.as_ref().map(|(at_ms, _)| show_time(*at_ms)),
        "accepted_by": held.accepted.as_ref().map(|(_, by)| by),
        "changes": changes.collect::<Vec<_>>(),
        "findings": findings.collect::<Vec<_>>(),
        "look_alikes": held.look_alikes,
        "definition": serde_json::from_str(&held.definition).unwrap_or_else(|_| json!(held.definition)),
    })
}
