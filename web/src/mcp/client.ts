// The tab's side of the connection.

import { ApiError } from "./failure";
import type { ConnectionState, ToTab, ToWorker } from "./protocol";

/** How long a read waits for the stream of changes to cover it. What is read earlier is read again afterwards. */
const COVER_WAIT_MS = 150;
/** What is not shown any more stays watched for a while: people go back. */
const LINGER_MS = 30_000;

interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** What a tab learns of changes. */
export interface ChangeListener {
  updated(uri: string): void;
  /** The changes of this were not reported before. */
  uncovered(uri: string): void;
  stale(): void;
}

export class GatewayClient {
  readonly #port: MessagePort;
  readonly #pending = new Map<number, Pending>();
  readonly #watched = new Map<string, number>();
  readonly #covered = new Set<string>();
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #readEarly = new Set<string>();
  readonly #stateListeners = new Set<() => void>();
  #changes: ChangeListener | null = null;
  #nextId = 1;
  #state: ConnectionState = { kind: "starting" };

  constructor(port: MessagePort, lock: string | null) {
    this.#port = port;
    port.onmessage = event => this.#receive(event.data as ToTab);
    port.start();
    this.#send({ type: "hello", lock });
  }

  // Bound, so that React can subscribe to them as they are.
  readonly state = (): ConnectionState => this.#state;

  readonly onState = (listener: () => void): (() => void) => {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  };

  onChanges(listener: ChangeListener): void {
    this.#changes = listener;
  }

  call(name: string, args: unknown, signal?: AbortSignal): Promise<unknown> {
    return this.#ask(id => ({ type: "call", id, name, args }), signal);
  }

  async read(uri: string, signal?: AbortSignal): Promise<unknown> {
    if (this.#watched.has(uri) && !this.#covered.has(uri)) {
      await this.#cover(uri);
      if (!this.#covered.has(uri)) this.#readEarly.add(uri);
    }
    return this.#ask(id => ({ type: "read", id, uri }), signal);
  }

  async signIn(credential: string, label: string): Promise<void> {
    await this.#ask(id => ({ type: "sign_in", id, credential, label }));
  }

  async signOut(): Promise<void> {
    await this.#ask(id => ({ type: "sign_out", id }));
  }

  reconnect(): void {
    this.#send({ type: "reconnect" });
  }

  /** Reports changes of a resource until the returned function is called. */
  watch(uri: string): () => void {
    const count = this.#watched.get(uri) ?? 0;
    this.#watched.set(uri, count + 1);
    if (count === 0) this.#announce();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      setTimeout(() => this.#unwatch(uri), LINGER_MS);
    };
  }

  /** Ends the tab's part. */
  close(): void {
    this.#send({ type: "bye" });
  }

  #unwatch(uri: string): void {
    const count = (this.#watched.get(uri) ?? 1) - 1;
    if (count > 0) {
      this.#watched.set(uri, count);
      return;
    }
    this.#watched.delete(uri);
    // What changes from now on is not known when it is shown again.
    if (!this.#covered.delete(uri)) return;
    this.#changes?.uncovered(uri);
    this.#announce();
  }

  #announce(): void {
    this.#send({ type: "watch", uris: [...this.#watched.keys()] });
  }

  #cover(uri: string): Promise<void> {
    return new Promise(resolve => {
      const waiting = this.#waiting.get(uri) ?? new Set();
      this.#waiting.set(uri, waiting.add(resolve));
      setTimeout(() => {
        waiting.delete(resolve);
        resolve();
      }, COVER_WAIT_MS);
    });
  }

  #ask(message: (id: number) => ToWorker, signal?: AbortSignal): Promise<unknown> {
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      signal?.addEventListener("abort", () => this.#send({ type: "cancel", id }), { once: true });
      this.#send(message(id));
    });
  }

  #send(message: ToWorker): void {
    this.#port.postMessage(message);
  }

  #receive(message: ToTab): void {
    switch (message.type) {
      case "result":
        this.#take(message.id)?.resolve(message.value);
        return;
      case "failure":
        this.#take(message.id)?.reject(new ApiError(message.failure));
        return;
      case "state":
        this.#state = message.state;
        if (message.state.kind !== "live") this.#covered.clear();
        for (const listener of this.#stateListeners) listener();
        return;
      case "listening":
        this.#covers(new Set(message.uris));
        return;
      case "updated":
        this.#changes?.updated(message.uri);
        return;
      case "stale":
        this.#changes?.stale();
        return;
    }
  }

  #covers(uris: Set<string>): void {
    for (const uri of [...this.#covered].filter(uri => !uris.has(uri))) {
      this.#covered.delete(uri);
      this.#changes?.uncovered(uri);
      // It is read again once it is reported again.
      if (this.#watched.has(uri)) this.#readEarly.add(uri);
    }
    for (const uri of uris) this.#begins(uri);
  }

  #begins(uri: string): void {
    this.#covered.add(uri);
    for (const resolve of this.#waiting.get(uri) ?? []) resolve();
    this.#waiting.delete(uri);
    if (this.#readEarly.delete(uri)) this.#changes?.updated(uri);
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }
}
