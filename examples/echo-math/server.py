#!/usr/bin/env python3
"""A small MCP server: three tools over standard input and output, nothing but Python.

Each line of input and output is a JSON-RPC message. Messages for people go to standard error;
`octroi logs echo-math` shows them.
"""

import json
import sys

NUMBERS = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
}

# Octroi infers the risk from names and hints: these tools only read.
TOOLS = [
    {
        "name": "echo",
        "description": "Returns what it is told",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "get_sum",
        "description": "Returns the sum of two numbers",
        "inputSchema": NUMBERS,
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "get_quotient",
        "description": "Divides one number by another",
        "inputSchema": NUMBERS,
        "annotations": {"readOnlyHint": True},
    },
]


class Refused(Exception):
    """A request that is answered by a JSON-RPC error."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def call(name, arguments):
    """Runs a tool. An error in the tool is a result with `isError`, for the model to read."""
    try:
        if name == "echo":
            text = arguments["text"]
        elif name == "get_sum":
            text = str(arguments["a"] + arguments["b"])
        elif name == "get_quotient":
            text = str(arguments["a"] / arguments["b"])
        else:
            raise Refused(-32602, f"there is no tool `{name}`")
    except (KeyError, TypeError, ZeroDivisionError) as problem:
        return {"content": [{"type": "text", "text": f"{type(problem).__name__}: {problem}"}], "isError": True}
    return {"content": [{"type": "text", "text": text}]}


def answer(method, params):
    if method == "initialize":
        # The version that the client asks for, if it is known here.
        known = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in known else known[-1],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "echo-math", "version": "1.0.0"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params.get("name"), params.get("arguments", {}))
    raise Refused(-32601, f"method not found: {method}")


def main():
    print("echo-math is ready", file=sys.stderr)
    for line in sys.stdin:
        message = json.loads(line)
        # Notifications have no id and get no answer.
        if "id" not in message or "method" not in message:
            continue
        response = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            response["result"] = answer(message["method"], message.get("params", {}))
        except Refused as refused:
            response["error"] = {"code": refused.code, "message": str(refused)}
        print(json.dumps(response), flush=True)


if __name__ == "__main__":
    main()
