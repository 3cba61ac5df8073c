//! The definitions in `tools/list`.

use serde_json::{Value, json};

use crate::peer::call::ServedCall;
use crate::peer::faults::{self, lies};
use crate::peer::world::World;

/// All current tools, always in the same order.
pub(crate) fn all(call: &ServedCall) -> Vec<Value> {
    let mut tools = fixed(call.speaks("2025-06-18"));
    let options = &call.world.options;
    tools.extend(faults::tools::definitions(options.fault));
    tools.extend(options.lie().map(|_| plain("reword", "Changes what the server says")));
    tools.extend(options.named_tools.iter().map(|name| dummy(name)));
    tools.extend((1..=options.tools).map(|n| dummy(&format!("t{n:04}"))));
    tools.extend((1..=call.world.n_grown()).map(|n| dummy(&format!("grown_{n}"))));
    lies::apply(&call.world, lies::List::Tools, &mut tools);
    tools
}

/// Whether this is one of the tools that only return their own name.
pub(crate) fn is_dummy(world: &World, name: &str) -> bool {
    let numbered = |prefix: &str, n_tools: u64| {
        name.strip_prefix(prefix)
            .and_then(|number| number.parse().ok())
            .is_some_and(|n: u64| n >= 1 && n <= n_tools)
    };
    numbered("t", world.options.tools as u64)
        || numbered("grown_", world.n_grown())
        || world.options.named_tools.iter().any(|known| known == name)
        || lies::is_added(world, name)
}

/// A tool without arguments.
pub(crate) fn plain(name: &str, description: &str) -> Value {
    tool(name, description, json!({}), &[])
}

/// A tool with arguments, some of which are required.
pub(crate) fn tool(name: &str, description: &str, properties: Value, required: &[&str]) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object", "properties": properties, "required": required },
    })
}

fn fixed(has_structured_output: bool) -> Vec<Value> {
    let mut echo = tool("echo", "Returns its text", json!({ "text": { "type": "string" } }), &["text"]);
    if has_structured_output {
        echo["outputSchema"] = json!({
            "type": "object",
            "properties": { "text": { "type": "string" } },
            "required": ["text"],
        });
    }
    echo["annotations"] = json!({ "readOnlyHint": true, "title": "Echo" });
    echo["x-unknown-in-definition"] = json!([1, { "two": 3 }]);
    let number = json!({ "type": "number" });
    let integer = json!({ "type": "integer", "minimum": 0 });
    vec![
        echo,
        tool("add", "Adds two numbers", json!({ "a": number, "b": number }), &["a", "b"]),
        plain("fail", "Returns a result that says it is an error"),
        plain("protocol_error", "Answers with a JSON-RPC error"),
        tool(
            "slow",
            "Takes `steps` pauses of `delay_ms`, reporting progress after each",
            json!({ "steps": integer, "delay_ms": integer }),
            &[],
        ),
        plain("ask", "Asks the user for a name by a form"),
        plain("sample", "Asks the client's model to say something"),
        plain("roots", "Asks for the client's roots"),
        plain("log", "Sends a log message at level info"),
        plain("touch", "Changes peer://counter"),
        plain("grow", "Adds a tool"),
        plain("image", "Returns an image"),
        plain("link", "Returns a link to a resource and an embedded one"),
        // The annotation makes HTTP clients of 2026-07-28 mirror the argument into `Mcp-Param-Region`.
        tool(
            "route",
            "Returns its region",
            json!({ "region": { "type": "string", "x-mcp-header": "Region" } }),
            &["region"],
        ),
        plain("cancelled_count", "How many tool calls were seen cancelled"),
        plain("calls_count", "How many tool calls were seen, without the counting tools"),
    ]
}

fn dummy(name: &str) -> Value {
    plain(name, "Returns its own name")
}
