//! As much as a message may hold, and more.

use serde_json::json;

use super::attack::Attack;

/// The largest request that the gateway accepts by default, less the frame of a message.
const LIMIT: usize = (4 << 20) - 512;
/// The headers that it accepts.
const HEADERS: usize = 60 << 10;
const N_BATCHED: usize = 64;

pub(crate) async fn run(attack: &Attack) {
    let echo = |text: String| attack.call("bulk_echo", &format!("{{\"text\":{text}}}"));
    let bodies = [
        echo(format!("\"{}\"", "x".repeat(LIMIT))),
        echo(format!("\"{}\"", "\\u0061".repeat(LIMIT / 6))),
        attack.call("bulk_echo", &wide(LIMIT)),
        attack.call("bulk_echo", &format!("{{\"text\":\"x\",\"many\":[{}0]}}", "0,".repeat(LIMIT / 2 - 32))),
        attack.call(
            "bulk_echo",
            &format!("{{\"text\":\"x\",\"many\":[{}{{}}]}}", "{},".repeat(LIMIT / 3 - 32)),
        ),
        echo(format!("\"{}\"", "x".repeat(2 * LIMIT))),
    ];
    let small = [attack.call("bulk_echo", &wide(60 << 10)), attack.call("liar_wide", &wide(60 << 10))];
    let answers = [
        attack.call("liar_huge", &json!({ "bytes": 12_000_000 }).to_string()),
        attack.call("liar_huge", &json!({ "bytes": 20_000_000 }).to_string()),
        attack.call("liar_flood", "{}"),
    ];
    let lists = [attack.modern("tools/list", "", json!({})), attack.modern("resources/list", "", json!({}))];
    let header = format!("x-huge: {}\r\n", "x".repeat(HEADERS));
    let headers = [attack.post(&header, b"{}")];
    let ping =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "x": "y".repeat(60 << 10) } });
    let batches = [attack.post("", json!(vec![ping; N_BATCHED]).to_string().as_bytes())];
    tokio::join!(
        attack.send_all("huge body", 6, &bodies),
        attack.send_all("wide body", 4, &small),
        attack.send_all("huge answer", 4, &answers),
        attack.send_all("huge list", 2, &lists),
        attack.send_all("huge headers", 2, &headers),
        attack.send_all("huge batch", 2, &batches),
    );
}

/// Arguments with as many members as fit.
fn wide(n_bytes: usize) -> String {
    let members: Vec<String> = (0..n_bytes / 12).map(|number| format!("\"k{number:06}\":1")).collect();
    format!("{{\"text\":\"x\",{}}}", members.join(","))
}
