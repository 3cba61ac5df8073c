"""Options, plans and expectations shared by the Python clients.

A plan is data: the same file must mean the same to the Node and to the Python
clients, so everything here has its twin in ../node/plan.mjs. The format is
described in ../README.md.
"""

import argparse
import json
import re
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

METHODS = {
    "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read",
    "prompts/list", "prompts/get", "completion/complete",
}  # fmt: skip
STEP_KEYS = {
    "check", "method", "params", "expect", "error", "progress", "elicit", "cancel_after_ms", "watch", "eventually",
    "timeout_s",
}  # fmt: skip
EXPECT_KEYS = {"path", "equals", "contains", "includes", "excludes"}


class UsageError(Exception):
    """A mistake of the caller: bad option, bad plan, missing package. Exit code 2, never a failed check."""


@dataclass
class Options:
    url: str | None
    sse: bool
    token: str | None
    command: list[str]
    era: str
    timeout_s: float
    steps: list[dict[str, Any]]


def require_mcp(major: int) -> None:
    """Says how to install the right `mcp`: an import error deep inside the wrong one helps nobody."""
    try:
        version = metadata.version("mcp")
    except metadata.PackageNotFoundError:
        version = "none"
    if version.split(".")[0] != str(major):
        sys.stderr.write(
            f"error: mcp {major}.x is needed, {version} is installed for {sys.executable}: make a virtual environment "
            f"and run `pip install -r requirements-v{major}.txt` in it, then use its python\n"
        )
        raise SystemExit(2)


def read_options(argv: list[str], eras: list[str]) -> Options:
    """Parses the command line; `eras` lists what `--era` may name, its first entry is the default."""
    # Everything after `--` is the server's command line and may hold options of its own.
    split = argv.index("--") if "--" in argv else len(argv)
    own, command = argv[:split], argv[split + 1 :]
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--url")
    parser.add_argument("--sse", action="store_true")
    parser.add_argument("--token")
    parser.add_argument("--plan", required=True)
    parser.add_argument("--server", default="")
    parser.add_argument("--var", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--era", choices=eras, default=eras[0])
    parser.add_argument("--timeout", type=float, default=30.0)
    found = parser.parse_args(own)
    if bool(found.url) == bool(command):
        raise UsageError("give either --url URL or -- COMMAND ARGS...")
    if found.sse and (not found.url or "modern" in eras):
        raise UsageError("--sse goes with --url, and only with 1.x")
    if not found.timeout > 0:
        raise UsageError("--timeout takes a number of seconds above 0")
    variables = {"prefix": f"{found.server}_" if found.server else ""}
    for pair in found.var:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise UsageError(f"--var takes NAME=VALUE, not {pair!r}")
        variables[name] = value
    steps = read_plan(found.plan, variables, found.server)
    return Options(found.url, found.sse, found.token, command, found.era, found.timeout, steps)


def read_plan(file: str, variables: dict[str, str], server: str) -> list[dict[str, Any]]:
    try:
        steps = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read plan {file}: {error}") from error
    if not isinstance(steps, list) or not steps:
        raise UsageError(f"plan {file} must be a list of steps")
    for step in steps:
        check_step(step)
    return substitute(steps, variables, server)


def check_step(step: dict[str, Any]) -> None:
    # A misspelt key would silently check nothing, so unknown keys are refused.
    if not isinstance(step.get("check"), str):
        raise UsageError('every step needs a "check" name')
    if unknown := step.keys() - STEP_KEYS:
        raise UsageError(f"step {step['check']!r}: unknown keys {sorted(unknown)}")
    if step.get("method") not in METHODS:
        raise UsageError(f"step {step['check']!r}: unknown method {step.get('method')!r}")
    for expectation in expectations(step):
        if unknown := expectation.keys() - EXPECT_KEYS:
            raise UsageError(f"step {step['check']!r}: unknown expectations {sorted(unknown)}")


def expectations(step: dict[str, Any]) -> list[dict[str, Any]]:
    expect = step.get("expect", [])
    return expect if isinstance(expect, list) else [expect]


def substitute(value: Any, variables: dict[str, str], server: str) -> Any:
    if isinstance(value, str):
        return fill(value, variables, server)
    if isinstance(value, list):
        return [substitute(item, variables, server) for item in value]
    if isinstance(value, dict):
        return {key: substitute(item, variables, server) for key, item in value.items()}
    return value


def fill(text: str, variables: dict[str, str], server: str) -> str:
    def variable(match: re.Match[str]) -> str:
        if match[1] not in variables:
            raise UsageError(f"the plan needs --var {match[1]}=...")
        return variables[match[1]]

    # `(?!\})` keeps the closing brace of a URI template: {{uri:demo://x/{id}}} ends in three.
    text = re.sub(r"\{\{uri:(.+?)\}\}(?!\})", lambda match: mount_uri(match[1], server), text)
    return re.sub(r"\{\{(\w+)\}\}", variable, text)


def mount_uri(uri: str, server: str) -> str:
    """The gateway serves `scheme://REST` of a mounted server as `scheme://SERVER/REST`."""
    return uri.replace("://", f"://{server}/", 1) if server else uri


def mismatch(expectation: dict[str, Any], result: Any) -> str | None:
    """Returns what is wrong with `result`, or None when it meets the expectation."""
    path = expectation.get("path", "")
    found = look_up(result, path)
    shown = f"{path or 'result'} is {brief(found)}"
    if "equals" in expectation and found != expectation["equals"]:
        return f"{shown}, expected {brief(expectation['equals'])}"
    if "contains" in expectation:
        text = found if isinstance(found, str) else to_json(found)
        if expectation["contains"] not in text:
            return f"{shown}, expected it to contain {brief(expectation['contains'])}"
    items = found if isinstance(found, list) else []
    if missing := [item for item in expectation.get("includes", []) if item not in items]:
        return f"{shown}, missing {brief(missing)}"
    if unwanted := [item for item in expectation.get("excludes", []) if item in items]:
        return f"{shown}, unwanted {brief(unwanted)}"
    return None


def look_up(value: Any, path: str) -> Any:
    """Follows a dotted path; `*` stands for every item of a list and makes the value found a list."""
    parts = path.split(".") if path else []
    for index, part in enumerate(parts):
        if part == "*":
            rest = ".".join(parts[index + 1 :])
            return [look_up(item, rest) for item in value] if isinstance(value, list) else None
        if isinstance(value, list):
            value = value[int(part)] if part.isdigit() and int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def brief(value: Any) -> str:
    """A value in at most 300 characters: a detail is read by people."""
    text = value if isinstance(value, str) else to_json(value)
    return text if len(text) <= 300 else f"{text[:297]}..."
