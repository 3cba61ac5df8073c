// Serves tabs over message ports: all of them share one gateway.

import { failureFrom, failureOf } from "./failure";
import { Gateway } from "./gateway";
import type { ToTab, ToWorker } from "./protocol";
import { Session } from "./session";
import { browserStore } from "./session-store";

interface Tab {
  port: MessagePort;
  uris: string[];
  running: Map<number, AbortController>;
}

export class Host {
  readonly #tabs = new Set<Tab>();
  readonly #gateway: Gateway;

  constructor(origin: string) {
    this.#gateway = new Gateway(new Session(browserStore, origin), origin, {
      state: state => this.#tell({ type: "state", state }),
      listening: uris => this.#tell({ type: "listening", uris }),
      updated: uri => this.#tell({ type: "updated", uri }),
      stale: () => this.#tell({ type: "stale" }),
    });
    void this.#gateway.start();
  }

  get gateway(): Gateway {
    return this.#gateway;
  }

  /** Serves one more tab. */
  add(port: MessagePort): void {
    const tab: Tab = { port, uris: [], running: new Map() };
    this.#tabs.add(tab);
    port.onmessage = event => void this.#receive(tab, event.data as ToWorker);
    port.start();
  }

  #tell(message: ToTab): void {
    for (const tab of this.#tabs) tab.port.postMessage(message);
  }

  async #receive(tab: Tab, message: ToWorker): Promise<void> {
    switch (message.type) {
      case "hello":
        tab.port.postMessage({ type: "state", state: this.#gateway.state } satisfies ToTab);
        // A tab holds the lock as long as it lives: a tab that crashes says no word.
        if (message.lock && navigator.locks) {
          void navigator.locks.request(message.lock, () => this.#remove(tab));
        }
        return;
      case "watch":
        tab.uris = message.uris;
        this.#watch();
        return;
      case "cancel":
        tab.running.get(message.id)?.abort();
        return;
      case "reconnect":
        this.#gateway.reconnect();
        return;
      case "bye":
        this.#remove(tab);
        return;
      case "read":
        return this.#answer(tab, message.id, signal => this.#gateway.read(message.uri, signal));
      case "call":
        return this.#answer(tab, message.id, signal =>
          this.#gateway.call(message.name, message.args, signal),
        );
      case "sign_in":
        return this.#answer(tab, message.id, () => this.#gateway.signIn(message.credential, message.label));
      case "sign_out":
        return this.#answer(tab, message.id, () => this.#gateway.signOut());
    }
  }

  async #answer(tab: Tab, id: number, work: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const abort = new AbortController();
    tab.running.set(id, abort);
    let answer: ToTab;
    try {
      answer = { type: "result", id, value: await work(abort.signal) };
    } catch (thrown) {
      const failure = abort.signal.aborted
        ? failureFrom({ code: "cancelled" }, "cancelled")
        : failureOf(thrown);
      answer = { type: "failure", id, failure };
    }
    tab.running.delete(id);
    tab.port.postMessage(answer);
  }

  #remove(tab: Tab): void {
    if (!this.#tabs.delete(tab)) return;
    for (const abort of tab.running.values()) abort.abort();
    tab.port.close();
    this.#watch();
  }

  #watch(): void {
    this.#gateway.watch([...this.#tabs].flatMap(tab => tab.uris));
  }
}
