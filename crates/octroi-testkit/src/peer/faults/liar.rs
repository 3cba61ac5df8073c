//! A server over stdio that lies in every way: endless lists, schemas that are expensive to check, and
//! answers that are huge, deep, broken, late, for somebody else or sent again and again.
//!
//! It writes its messages as text, because most of them are none.

use std::io::{self, BufRead as _, Write as _};
use std::time::Duration;

use serde_json::{Value, json};

/// Entries of one page; there is always a next page.
const PAGE: u64 = 1_000;
/// The length of a description.
const DESCRIPTION: usize = 1_000;
/// The deepest answer that a gateway accepts is much shallower.
const DEEP: usize = 200_000;
const NESTED: usize = 120;
const N_NOTIFICATIONS: usize = 5_000;

/// Serves stdin and stdout until stdin ends.
pub fn serve() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        let (Some(method), Some(_)) = (message["method"].as_str(), message.get("id")) else { continue };
        match method {
            "tools/call" => {
                // A slow answer must not delay the next one.
                std::thread::spawn(move || answer_call(&message));
            }
            _ => answer(&message, method)?,
        }
    }
    Ok(())
}

fn answer(message: &Value, method: &str) -> io::Result<()> {
    let (id, cursor) = (&message["id"], message["params"]["cursor"].as_str());
    let page: u64 = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or_default();
    let listed =
        |name: &str, entries: Vec<Value>| json!({ name: entries, "nextCursor": (page + 1).to_string() });
    let numbers = page * PAGE..(page + 1) * PAGE;
    let result = match method {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": { "listChanged": true }, "resources": { "subscribe": true } },
            "serverInfo": { "name": "liar", "version": "0" },
        }),
        "ping" | "resources/subscribe" | "resources/unsubscribe" => json!({}),
        "tools/list" => {
            let own = if page == 0 { own_tools() } else { Vec::new() };
            listed("tools", own.into_iter().chain(numbers.map(numbered_tool)).collect())
        }
        "resources/list" => listed(
            "resources",
            numbers
                .map(|n| json!({ "uri": format!("peer://r{n:07}"), "name": "x".repeat(DESCRIPTION) }))
                .collect(),
        ),
        _ => return write(&error(id)),
    };
    write(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string())
}

fn answer_call(message: &Value) {
    let (id, arguments) = (&message["id"], &message["params"]["arguments"]);
    let result = |text: &str| {
        let content = json!([{ "type": "text", "text": text }]);
        json!({ "jsonrpc": "2.0", "id": id, "result": { "content": content } }).to_string()
    };
    let nested = |depth: usize| {
        let value = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        result("HERE").replacen("\"HERE\"", &format!("\"x\",\"deep\":{value}"), 1)
    };
    let number = |name: &str| arguments[name].as_u64().unwrap_or_default();
    let lines = match message["params"]["name"].as_str().unwrap_or_default() {
        "huge" => vec![result(&"x".repeat(usize::try_from(number("bytes")).unwrap_or_default()))],
        "deep" => vec![nested(DEEP)],
        "nested" => vec![nested(NESTED)],
        "garbage" => {
            let whole = result("x");
            vec!["}{".to_owned(), whole[..whole.len() / 2].to_owned(), "\u{1}\u{2}".repeat(1_000), whole]
        }
        "slow" => {
            std::thread::sleep(Duration::from_millis(number("ms")));
            vec![result("late")]
        }
        "wrong_id" => {
            let others = ["null", "-1", "\"x\"", "{}", "999999"]
                .map(|other| format!("{{\"jsonrpc\":\"2.0\",\"id\":{other},\"result\":{{\"content\":[]}}}}"));
            others.into_iter().chain([result("x"), result("x"), error(id)]).collect()
        }
        "flood" => {
            let told = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {
                "level": "info", "data": "x".repeat(DESCRIPTION),
            } });
            let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": message["params"]["_meta"]["progressToken"], "progress": 1,
            } });
            let lines = std::iter::repeat_n([told.to_string(), progress.to_string()], N_NOTIFICATIONS);
            lines.flatten().chain([result("x")]).collect()
        }
        "change" => {
            let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            vec![changed.to_string(), result("x")]
        }
        _ => vec![result("x")],
    };
    for line in lines {
        if write(&line).is_err() {
            return;
        }
    }
}

fn error(id: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no" } }).to_string()
}

fn write(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

fn numbered_tool(number: u64) -> Value {
    tool(&format!("t{number:07}"), json!({ "type": "object" }))
}

fn tool(name: &str, schema: Value) -> Value {
    json!({ "name": name, "description": "x".repeat(DESCRIPTION), "inputSchema": schema })
}

/// The tools whose calls lie, and those whose arguments are expensive to check.
fn own_tools() -> Vec<Value> {
    let anything = json!({ "type": "object" });
    let node = json!({ "$ref": "#/$defs/node" });
    let nodes = |of: Value| json!({ "type": "object", "properties": { "child": of, "children": { "type": "array", "items": of } } });
    let recursive =
        json!({ "$defs": { "node": nodes(node.clone()) }, "$ref": "#/$defs/node", "type": "object" });
    let choices: Vec<Value> =
        (0..20).map(|n| json!({ "allOf": [node, { "maxProperties": 100 + n }] })).collect();
    let choices = json!({ "$defs": { "node": nodes(node.clone()) }, "type": "object", "oneOf": choices });
    let patterns: Vec<Value> =
        (0..50).map(|n| json!({ "pattern": format!("^(a+)+(a|a?){{0,{n}}}$") })).collect();
    let pattern =
        json!({ "type": "object", "properties": { "text": { "type": "string", "anyOf": patterns } } });
    let unique =
        json!({ "type": "object", "properties": { "items": { "type": "array", "uniqueItems": true } } });
    let wide_patterns: serde_json::Map<String, Value> =
        (0..100).map(|n| (format!("k.*{n}$"), json!({ "type": "integer" }))).collect();
    let wide = json!({ "type": "object", "patternProperties": wide_patterns });
    let lies = ["huge", "deep", "nested", "garbage", "slow", "wrong_id", "flood", "change"];
    lies.map(|name| tool(name, anything.clone()))
        .into_iter()
        .chain([
            tool("recursive", recursive),
            tool("choices", choices),
            tool("pattern", pattern),
            tool("unique", unique),
            tool("wide", wide),
        ])
        .collect()
}
