//! Commands about the servers of a running gateway.

use std::time::Duration;

use owo_colors::OwoColorize as _;
use serde_json::{Value, json};

use super::Failure;
use crate::cli::{Logs, OneServer, Target};
use crate::client::Client;
use crate::printer::{self, visible};

/// How often `logs --follow` asks for more.
const FOLLOW_EVERY: Duration = Duration::from_millis(300);

pub(super) async fn status(target: &Target) -> Result<(), Failure> {
    let client = Client::find(target)?;
    let told = client.call("servers_list", json!({})).await?;
    if target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    let servers = told["servers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let running = servers.iter().filter(|server| server["state"] == "running").count();
    printer::data(&format!("{}  {running} of {} servers running", client.url, servers.len()));
    table(servers);
    gates(&told).for_each(|line| printer::data(&format!("  {line}")));
    for problem in told["problems"].as_array().into_iter().flatten() {
        printer::warn(text(problem));
    }
    // The names of tools are the servers' words.
    for warning in servers.iter().flat_map(|server| server["warnings"].as_array().into_iter().flatten()) {
        printer::warn(&visible(text(warning)));
    }
    Ok(())
}

pub(super) async fn list(target: &Target) -> Result<(), Failure> {
    let told = Client::find(target)?.call("servers_list", json!({})).await?;
    let servers = told["servers"].as_array().map(Vec::as_slice).unwrap_or_default();
    if target.json {
        printer::data(&json!(servers).to_string());
    } else if servers.is_empty() {
        printer::say("no servers; add [[mcp.servers]] to the configuration, see examples/octroi.toml");
    } else {
        table(servers);
    }
    Ok(())
}

pub(super) async fn get(server: &OneServer) -> Result<(), Failure> {
    let told = Client::find(&server.target)?.call("servers_get", json!({"name": server.name})).await?;
    if server.target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    for (name, value) in told.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        let value = match value {
            Value::String(text) => visible(text),
            // The past in words, newest first, or what is warned of.
            Value::Array(items) => {
                let word = |item: &Value| visible(item.as_str().unwrap_or_else(|| text(&item["health"])));
                items.iter().map(word).collect::<Vec<_>>().join(", ")
            }
            other => other.to_string(),
        };
        printer::data(&format!("{:<22} {value}", name.replace('_', " ")));
    }
    Ok(())
}

pub(super) async fn logs(options: &Logs) -> Result<(), Failure> {
    let OneServer { name, target } = &options.server;
    let client = Client::find(target)?;
    let (mut lines, mut from) = (options.lines, 0);
    loop {
        let told = client.call("servers_logs", json!({"name": name, "lines": lines, "from": from})).await?;
        for line in told["lines"].as_array().into_iter().flatten() {
            from = line["number"].as_u64().map_or(from, |number| number + 1);
            if target.json {
                printer::data(&line.to_string());
            } else {
                printer::data(&plain(text(&line["text"])));
            }
        }
        if !options.follow {
            return Ok(());
        }
        lines = u64::from(u32::MAX);
        tokio::time::sleep(FOLLOW_EVERY).await;
    }
}

/// A line of a server's log without colours, and without anything else that would move a terminal.
fn plain(line: &str) -> String {
    let line = anstream::adapter::strip_str(line).to_string();
    line.split('\t').map(visible).collect::<Vec<_>>().join("\t")
}

/// Does something to one server and says how it is then.
pub(super) async fn act(server: &OneServer, tool: &str, done: &str) -> Result<(), Failure> {
    let told = Client::find(&server.target)?.call(tool, json!({"name": server.name})).await?;
    tell(server, &told, done);
    Ok(())
}

pub(super) async fn toggle(server: &OneServer, enabled: bool) -> Result<(), Failure> {
    let arguments = json!({"name": server.name, "enabled": enabled});
    let told = Client::find(&server.target)?.call("servers_toggle", arguments).await?;
    let done =
        if enabled { "enabled; undo with `octroi disable`" } else { "disabled; undo with `octroi enable`" };
    tell(server, &told, done);
    Ok(())
}

pub(super) async fn reload(target: &Target) -> Result<(), Failure> {
    let told = Client::find(target)?.call("config_reload", json!({})).await.map_err(|failure| {
        if failure.exit_code != 1 {
            return failure;
        }
        failure.hint("nothing was changed; `octroi config check` lists everything that is wrong")
    })?;
    if target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    for word in ["added", "changed", "removed"] {
        let names: Vec<&str> = told[word].as_array().into_iter().flatten().map(text).collect();
        if !names.is_empty() {
            printer::data(&format!("{word:<10} {}", names.join(", ")));
        }
    }
    printer::data(&format!("{:<10} {}", "unchanged", told["unchanged"]));
    for problem in told["problems"].as_array().into_iter().flatten() {
        printer::warn(text(problem));
    }
    Ok(())
}

fn tell(server: &OneServer, told: &Value, done: &str) {
    if server.target.json {
        printer::data(&told.to_string());
    } else {
        let state = text(&told["state"]);
        let latency = told["latency_ms"].as_u64().map(|ms| format!(", {ms} ms")).unwrap_or_default();
        printer::data(&format!("{} {done} ({state}{latency})", server.name));
    }
}

fn table(servers: &[Value]) {
    let width = servers.iter().map(|server| text(&server["name"]).len()).max().unwrap_or_default().max(4);
    for server in servers {
        let state = text(&server["state"]);
        let padded = format!("{state:<10}");
        let state = match state {
            "running" => padded.green().to_string(),
            "failed" | "needs_auth" => padded.red().to_string(),
            _ => padded.dimmed().to_string(),
        };
        let tools = format!("{} tools", server["tools"]);
        let health = text(&server["health"]);
        let transport = text(&server["transport"]);
        let line =
            format!("  {:<width$}  {state} {health:<9}  {transport:<5}  {tools:>9}", text(&server["name"]));
        match server["error"].as_str() {
            Some(error) => printer::data(&format!("{line}  {}", visible(error))),
            None => printer::data(line.trim_end()),
        }
    }
}

/// How programs are doing that are asked about calls, each in a line.
pub(super) fn gates(told: &Value) -> impl Iterator<Item = String> {
    told["gates"].as_array().into_iter().flatten().map(|gate| {
        let (name, state) = (visible(text(&gate["name"])), text(&gate["state"]));
        let error =
            gate["last_error"].as_str().map(|error| format!(": {}", visible(error))).unwrap_or_default();
        format!(
            "gate {name}  {state}, asked {} times, {} without a verdict{error}",
            gate["asked"], gate["failed"]
        )
    })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_server_moves_no_terminal() {
        for (line, shown) in [
            ("ready\tin 3 ms", "ready\tin 3 ms"),
            ("\u{1b}[32mready\u{1b}[0m", "ready"),
            ("\u{1b}]0;title\u{7}ready\r", "ready\\r"),
            ("a\u{202e}b", "a\\u{202e}b"),
        ] {
            assert_eq!(plain(line), shown, "{line:?}");
        }
    }
}
