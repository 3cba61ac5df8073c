"""Runs a plan with one client and prints one JSON line per check.

A client is a class with:
    connected()                            async context manager, yields the text of the "connect" line
    request(method, params, progress)      -> result as on the wire; `progress` is called per notification
    watched({"resource"} | {"list"})       async context manager, reports to the inbox while entered
and it reports what the server sends through `inbox.push` and `elicitor.answer`.
Twin of ../node/runner.mjs.
"""

import math
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import anyio

from plan import Options, UsageError, brief, expectations, mismatch, read_options, to_json


class Inbox:
    """Notifications received since the current step began."""

    def __init__(self) -> None:
        self.seen: list[dict[str, str]] = []
        self.changed = anyio.Event()

    def begin(self) -> None:
        self.seen = []

    def push(self, event: dict[str, str]) -> None:
        self.seen.append(event)
        self.changed.set()

    async def wait(self, watch: dict[str, str]) -> None:
        # A server may send other changes first; only the watched one ends the wait.
        while watch not in self.seen:
            self.changed = anyio.Event()
            await self.changed.wait()


class Elicitor:
    """Answers elicitations with what the current step says, and remembers that it was asked."""

    def __init__(self) -> None:
        self.reply: dict[str, Any] | None = None
        self.asked: list[str] = []

    def begin(self, reply: dict[str, Any] | None) -> None:
        self.reply, self.asked = reply, []

    def answer(self, mode: str | None) -> dict[str, Any]:
        self.asked.append(mode or "form")
        if self.reply is None:
            return {"action": "cancel"}
        # URL mode has no content: the answer is given elsewhere.
        if self.reply["action"] == "accept" and mode != "url":
            return {"action": "accept", "content": self.reply.get("content", {})}
        return {"action": self.reply["action"]}

    def problem(self) -> str | None:
        if self.reply is None:
            return f"unexpected elicitation in {self.asked[0]} mode" if self.asked else None
        if not self.asked:
            return "the server asked nothing"
        mode = self.reply.get("mode")
        return f"asked in {self.asked[0]} mode, expected {mode}" if mode and self.asked[0] != mode else None


class Watchdog:
    """Ends the process when a peer blocks even the cancellation of a step, as a shielded shutdown can."""

    def __init__(self) -> None:
        self.timer: threading.Timer | None = None

    def feed(self, check: str, timeout_s: float) -> None:
        self.stop()
        # Well after the step's own deadline, which gives the better message.
        self.timer = threading.Timer(timeout_s + 15, self.bite, [check])
        self.timer.daemon = True
        self.timer.start()

    def stop(self) -> None:
        if self.timer:
            self.timer.cancel()

    def bite(self, check: str) -> None:
        report(check, False, "hangs and cannot be cancelled")
        os._exit(1)


def report(check: str, ok: bool, detail: str) -> None:
    sys.stdout.write(to_json({"check": check, "ok": ok, "detail": detail}) + "\n")
    sys.stdout.flush()


def main(eras: list[str], create: Callable[[Options, Inbox, Elicitor], Any]) -> None:
    """Entry point of a client script."""
    try:
        options = read_options(sys.argv[1:], eras)
    except UsageError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from None
    code = anyio.run(run_plan, options, create)
    sys.stderr.flush()
    # A thread or a child that a peer left behind must not keep the process alive.
    os._exit(code)


async def run_plan(options: Options, create: Callable[[Options, Inbox, Elicitor], Any]) -> int:
    inbox, elicitor, watchdog = Inbox(), Elicitor(), Watchdog()
    client = create(options, inbox, elicitor)
    failed = False
    phase, n_left = "connect", len(options.steps)
    watchdog.feed(phase, options.timeout_s)
    # One scope around the whole connection whose deadline moves: a scope around only the connecting
    # could not be left before the task groups that connecting opens inside it.
    scope = anyio.CancelScope(deadline=anyio.current_time() + options.timeout_s)
    try:
        with scope:
            async with client.connected() as text:
                report("connect", True, text)
                scope.deadline = math.inf
                for step in options.steps:
                    phase, timeout_s = step["check"], step.get("timeout_s", options.timeout_s)
                    n_left -= 1
                    watchdog.feed(phase, timeout_s)
                    try:
                        with anyio.fail_after(timeout_s):
                            report(phase, True, await repeat_step(client, step, timeout_s, inbox, elicitor))
                    except Exception as error:
                        failed = True
                        report(phase, False, describe(error, timeout_s))
                        # After a hang every further step would hang as well, each for its full time.
                        if isinstance(error, TimeoutError):
                            break
                phase = "close"
                watchdog.feed(phase, options.timeout_s)
                scope.deadline = anyio.current_time() + options.timeout_s
        if scope.cancelled_caught:
            raise TimeoutError
        report(phase, True, "closed")
    except Exception as error:
        failed = True
        report(phase, False, describe(error, options.timeout_s))
    if n_left > 0:
        report("rest of the plan", False, f"{n_left} steps not run")
    watchdog.stop()
    return 1 if failed else 0


async def repeat_step(client: Any, step: dict[str, Any], timeout_s: float, inbox: Inbox, elicitor: Elicitor) -> str:
    # Some effects have no notification, such as a cancellation seen by a server: asking again is the
    # only way to wait. Ends before the step's deadline, so that the last mismatch is reported and not a hang.
    end = anyio.current_time() + timeout_s * 0.8
    while True:
        try:
            return brief(await run_step(client, step, inbox, elicitor))
        except Exception:
            if not step.get("eventually") or anyio.current_time() > end:
                raise
            await anyio.sleep(0.2)


async def run_step(client: Any, step: dict[str, Any], inbox: Inbox, elicitor: Elicitor) -> str:
    inbox.begin()
    elicitor.begin(step.get("elicit"))
    watch = step.get("watch")
    if watch is None:
        return await perform(client, step, elicitor)
    async with client.watched(watch):
        detail = await perform(client, step, elicitor)
        await inbox.wait(watch)
    return f"notified of {watch.get('list') or watch.get('resource')}; {detail}"


async def perform(client: Any, step: dict[str, Any], elicitor: Elicitor) -> str:
    n_progress = 0

    async def count(*_: Any) -> None:
        nonlocal n_progress
        n_progress += 1

    params, progress = step.get("params", {}), count if "progress" in step else None
    after_ms, wanted = step.get("cancel_after_ms"), step.get("error")
    result = None
    with anyio.move_on_after(None if after_ms is None else after_ms / 1000) as scope:
        try:
            result = await client.request(step["method"], params, progress)
        except Exception as error:
            if wanted is None:
                raise
            return match_error(wanted, error)
    if scope.cancelled_caught:
        return "cancelled"
    if after_ms is not None:
        raise AssertionError(f"answered before it was cancelled: {brief(result)}")
    if wanted is not None:
        raise AssertionError(f"expected an error, got {brief(result)}")
    problems = [elicitor.problem(), *(mismatch(expectation, result) for expectation in expectations(step))]
    if n_progress < step.get("progress", 0):
        problems.append(f"{n_progress} progress notifications, expected {step['progress']}")
    if problem := "; ".join(filter(None, problems)):
        raise AssertionError(problem)
    notes = [f"{n_progress} progress" if progress else "", f"asked {len(elicitor.asked)}" if step.get("elicit") else ""]
    return ", ".join(filter(None, [*notes, brief(result)]))


def match_error(wanted: dict[str, Any], error: Exception) -> str:
    codes = wanted.get("code", [])
    codes = codes if isinstance(codes, list) else [codes]
    if codes and code_of(error) not in codes:
        raise AssertionError(f"wrong error: {describe(error)}") from error
    if wanted.get("contains", "") not in str(error):
        raise AssertionError(f"wrong error: {describe(error)}") from error
    return describe(error)


def code_of(error: BaseException) -> int | None:
    return getattr(getattr(error, "error", None), "code", None)


def describe(error: BaseException, timeout_s: float | None = None) -> str:
    # Task groups wrap the one error that matters.
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError) and timeout_s is not None:
        return f"no end after {timeout_s:g} s"
    code = code_of(error)
    name = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
    return brief(f"{name}{error}{'' if code is None else f' (code {code})'}")
