import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { GatewayClient } from "./client";
import { Freshness } from "./freshness";
import { RelistenPace } from "./pace";
import type { ToTab, ToWorker } from "./protocol";

function portPair() {
  const sent: ToWorker[] = [];
  const port = {
    onmessage: null as ((event: { data: ToTab }) => void) | null,
    start: () => undefined,
    postMessage: (message: ToWorker) => sent.push(message),
  };
  const receive = (message: ToTab) => port.onmessage?.({ data: message });
  return { port: port as unknown as MessagePort, sent, receive };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("the tab's side of the connection", () => {
  it("reads a watched resource once the stream covers it", async () => {
    const { port, sent, receive } = portPair();
    const client = new GatewayClient(port, null);
    client.watch("resource://a");
    const read = client.read("resource://a");
    expect(sent.map(message => message.type)).toEqual(["hello", "watch"]);
    receive({ type: "listening", uris: ["resource://a"] });
    await vi.advanceTimersByTimeAsync(0);
    expect(sent.at(-1)).toEqual({ type: "read", id: 1, uri: "resource://a" });
    receive({ type: "result", id: 1, value: 7 });
    expect(await read).toBe(7);
  });

  it("reads without it after a moment, and then once more", async () => {
    const { port, sent, receive } = portPair();
    const client = new GatewayClient(port, null);
    const updated = vi.fn();
    client.onChanges({ updated, uncovered: vi.fn(), stale: vi.fn() });
    client.watch("resource://a");
    void client.read("resource://a");
    await vi.advanceTimersByTimeAsync(150);
    expect(sent.at(-1)?.type).toBe("read");
    receive({ type: "listening", uris: ["resource://a"] });
    expect(updated).toHaveBeenCalledExactlyOnceWith("resource://a");
  });

  it("goes on watching for a while, and then knows nothing any more", async () => {
    const { port, sent, receive } = portPair();
    const client = new GatewayClient(port, null);
    const uncovered = vi.fn();
    client.onChanges({ updated: vi.fn(), uncovered, stale: vi.fn() });
    const [first, second] = [client.watch("resource://a"), client.watch("resource://a")];
    receive({ type: "listening", uris: ["resource://a"] });
    first();
    first();
    second();
    await vi.advanceTimersByTimeAsync(29_000);
    expect(uncovered).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(uncovered).toHaveBeenCalledExactlyOnceWith("resource://a");
    expect(sent.at(-1)).toEqual({ type: "watch", uris: [] });
  });

  it("notices what the gateway does not report any more", () => {
    const { port, receive } = portPair();
    const client = new GatewayClient(port, null);
    const uncovered = vi.fn();
    client.onChanges({ updated: vi.fn(), uncovered, stale: vi.fn() });
    client.watch("resource://a");
    receive({ type: "listening", uris: ["resource://a", "resource://b"] });
    receive({ type: "listening", uris: ["resource://b"] });
    expect(uncovered).toHaveBeenCalledExactlyOnceWith("resource://a");
  });

  it("passes failures and cancellations on", async () => {
    const { port, sent, receive } = portPair();
    const client = new GatewayClient(port, null);
    const abort = new AbortController();
    const call = client.call("servers_list", {}, abort.signal);
    abort.abort();
    expect(sent.at(-1)).toEqual({ type: "cancel", id: 1 });
    receive({ type: "failure", id: 1, failure: { code: "not_found", message: "no", details: {} } });
    await expect(call).rejects.toMatchObject({ failure: { code: "not_found" } });
  });
});

describe("reading again", () => {
  it("is at once for one change, and seldom for many", async () => {
    const read = vi.fn(() => Promise.resolve());
    const freshness = new Freshness(read);
    freshness.changed("a");
    expect(read).toHaveBeenCalledTimes(1);
    for (let n = 0; n < 100; n += 1) {
      freshness.changed("a");
      await vi.advanceTimersByTimeAsync(10);
    }
    expect(read.mock.calls.length).toBeGreaterThanOrEqual(4);
    expect(read.mock.calls.length).toBeLessThanOrEqual(6);
  });

  it("lets a slow read finish, and reads once more afterwards", async () => {
    let finish: () => void = () => undefined;
    const read = vi.fn(() => new Promise<void>(resolve => (finish = resolve)));
    const freshness = new Freshness(read);
    for (let n = 0; n < 5; n += 1) freshness.changed("a");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(read).toHaveBeenCalledTimes(1);
    finish();
    await vi.advanceTimersByTimeAsync(0);
    expect(read).toHaveBeenCalledTimes(2);
  });
});

describe("opening the stream again", () => {
  it("stays below the limit of the gateway", () => {
    const pace = new RelistenPace();
    let [now, n] = [1_000_000, 0];
    const end = now + 60_000;
    while (now < end) {
      now += pace.delay(now);
      pace.opened(now);
      n += 1;
    }
    // Each one counts for the stream and for what it watches: about a dozen.
    expect(n * 12).toBeLessThan(330);
  });
});
