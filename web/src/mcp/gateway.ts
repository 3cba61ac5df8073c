// The connection to the gateway: one MCP client, and one stream of changes for everything that any tab shows.

import "./jitless";
import { Client, type McpSubscription, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { resources } from "../api/tables";
import { ApiError, type ApiFailure, failureFrom, failureOf, unreachable } from "./failure";
import { RelistenPace } from "./pace";
import type { ConnectionState } from "./protocol";
import type { Session } from "./session";

const VERSION = "2026-07-28";
/** A call may wait for a person. */
const CALL_TIMEOUT_MS = 15 * 60_000;
const READ_TIMEOUT_MS = 60_000;
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 10_000;

/** What a connection reports. */
export interface GatewayEvents {
  state(state: ConnectionState): void;
  listening(uris: string[]): void;
  updated(uri: string): void;
  stale(): void;
}

/**
 * Lists that most screens show are always watched, so that going from screen to screen seldom changes the stream. Not
 * all of them: each counts for the limit of new subscriptions, also when a page is loaded again.
 */
const ALWAYS: string[] = [
  resources.pendingApprovals.uri,
  resources.servers.uri,
  resources.heldPins.uri,
  resources.agents.uri,
  resources.tokens.uri,
];
/** What the gateway did not agree to report is asked for again after this time. */
const ASK_AGAIN_MS = 30_000;

export class Gateway {
  readonly #session: Session;
  readonly #events: GatewayEvents;
  readonly #url: string;
  #client: Promise<Client> | null = null;
  #wanted = new Set<string>();
  #listening: { subscription: McpSubscription; uris: Set<string> } | null = null;
  /** Grows with every sign-in and sign-out; what began before is over. */
  #generation = 0;
  #attempt = 0;
  #since = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOpening = false;
  #isPaused = false;
  readonly #pace = new RelistenPace();
  state: ConnectionState = { kind: "starting" };

  constructor(session: Session, origin: string, events: GatewayEvents) {
    this.#session = session;
    this.#url = `${origin}/mcp`;
    this.#events = events;
  }

  /** Takes up the session of an earlier visit, or waits for a sign-in. */
  async start(): Promise<void> {
    const person = await this.#session.restore();
    if (person) this.#begin();
    else this.#become({ kind: "signed_out" });
  }

  async signIn(credential: string, label: string): Promise<void> {
    await this.#session.signIn(credential, label);
    this.#begin();
  }

  /** Ends the session at the gateway, and forgets its key in any case. */
  async signOut(): Promise<void> {
    const person = this.#session.person;
    try {
      if (person) await this.call("tokens_revoke", { id: person.session });
    } catch (thrown) {
      const { code } = failureOf(thrown);
      // The answer to this call ends with the session.
      if (code === "gateway_gone") throw thrown;
    } finally {
      await this.#end();
    }
  }

  /** What all tabs show now. */
  watch(uris: Iterable<string>): void {
    this.#wanted = new Set(uris);
    // The first one, and one that is being opened, looks for what is shown by itself.
    if (!this.#listening || this.#isOpening || this.#covers()) return;
    this.#schedule(this.#pace.delay(Date.now()));
  }

  /** Closes the stream of changes while nobody looks, and opens it again. */
  pause(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    if (isPaused) {
      clearTimeout(this.#timer);
      void this.#stopListening();
    } else if (this.#session.person) {
      this.#schedule(0);
    }
  }

  /** Tries again at once. */
  reconnect(): void {
    if (this.state.kind === "reconnecting") this.#schedule(0);
  }

  async read(uri: string, signal?: AbortSignal): Promise<unknown> {
    const client = await this.#connected();
    const options = { cacheMode: "bypass" as const, timeout: READ_TIMEOUT_MS, ...(signal && { signal }) };
    const { contents } = await this.#guarded(() => client.readResource({ uri }, options));
    const texts = contents.map(content => ("text" in content ? content.text : ""));
    const entry = Object.values(resources).find(resource => matches(resource.uri, uri));
    switch (entry?.form) {
      case "text":
        return texts[0] ?? "";
      case "items":
        return texts.map(text => JSON.parse(text) as unknown);
      default:
        return JSON.parse(texts[0] ?? "null") as unknown;
    }
  }

  async call(name: string, args: unknown, signal?: AbortSignal): Promise<unknown> {
    const client = await this.#connected();
    const params = { name, arguments: (args ?? {}) as Record<string, unknown> };
    const options = { timeout: CALL_TIMEOUT_MS, ...(signal && { signal }) };
    const result = await this.#guarded(() => client.callTool(params, options));
    if (result.isError) {
      const first = result.content[0];
      const text = first?.type === "text" ? first.text : "it failed";
      const error = result._meta?.["octroi/error"] as { hint?: string } | undefined;
      // The text says the hint once more, in brackets.
      const hint = error?.hint ? ` (${error.hint})` : "";
      throw new ApiError(
        failureFrom(error, hint && text.endsWith(hint) ? text.slice(0, -hint.length) : text),
      );
    }
    return result.structuredContent;
  }

  #begin(): void {
    this.#generation += 1;
    const person = this.#session.person;
    if (!person) return;
    this.#attempt = 0;
    this.#become({ kind: "connecting", person });
    this.#schedule(0);
  }

  async #end(reason?: ApiFailure): Promise<void> {
    this.#generation += 1;
    clearTimeout(this.#timer);
    await this.#session.forget();
    this.#become(reason ? { kind: "signed_out", reason } : { kind: "signed_out" });
    await this.#stopListening();
    const client = this.#client;
    this.#client = null;
    await client?.then(client => client.close()).catch(() => undefined);
  }

  #become(state: ConnectionState): void {
    this.state = state;
    this.#events.state(state);
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#listen(), delayMs);
  }

  #filter(): Set<string> {
    return new Set([...ALWAYS, ...this.#wanted]);
  }

  #covers(): boolean {
    const uris = this.#listening?.uris;
    return uris !== undefined && [...this.#wanted].every(uri => uris.has(uri));
  }

  /** Opens the stream for what is shown now, and only then closes the one before, so that nothing is missed. */
  async #listen(): Promise<void> {
    if (this.#isOpening || this.#isPaused || !this.#session.person) return;
    const generation = this.#generation;
    this.#isOpening = true;
    this.#pace.opened(Date.now());
    const uris = this.#filter();
    try {
      const client = await this.#connected();
      const filter = { resourceSubscriptions: [...uris] };
      const subscription = await this.#guarded(() => client.listen(filter));
      if (generation !== this.#generation || this.#isPaused) {
        void subscription.close();
        return;
      }
      const before = this.#listening;
      this.#listening = { subscription, uris };
      void before?.subscription.close();
      void subscription.closed.then(how => this.#closed(subscription, how));
      this.#arrived(before === null);
      const honoured = subscription.honoredFilter.resourceSubscriptions ?? [];
      this.#events.listening(honoured);
      // There were too many new subscriptions in this minute, or something is gone.
      if (honoured.length < uris.size) this.#schedule(ASK_AGAIN_MS);
    } catch (thrown) {
      if (generation === this.#generation) this.#failed(failureOf(thrown));
    } finally {
      this.#isOpening = false;
      // Something else is shown by now.
      if (this.#listening && !this.#covers()) this.#schedule(this.#pace.delay(Date.now()));
    }
  }

  #arrived(isNew: boolean): void {
    const person = this.#session.person;
    if (!person) return;
    const wasAway = this.#attempt > 0 || (isNew && this.state.kind === "live");
    this.#attempt = 0;
    if (this.state.kind !== "live") this.#become({ kind: "live", person });
    if (wasAway) this.#events.stale();
  }

  #failed(failure: ApiFailure): void {
    const person = this.#session.person;
    if (!person) return;
    if (failure.code === "unauthenticated") {
      void this.#end(failure);
      return;
    }
    if (this.#attempt === 0) this.#since = Date.now();
    this.#attempt += 1;
    this.#become({ kind: "reconnecting", person, since: this.#since, attempt: this.#attempt });
    const longest = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#attempt - 1));
    // Browsers that lost the same gateway do not come back together.
    this.#schedule(longest * (0.5 + Math.random() / 2));
  }

  #closed(subscription: McpSubscription, how: "local" | "graceful" | "remote"): void {
    if (this.#listening?.subscription !== subscription || how === "local") return;
    this.#listening = null;
    this.#failed(unreachable());
  }

  async #stopListening(): Promise<void> {
    const listening = this.#listening;
    this.#listening = null;
    await listening?.subscription.close().catch(() => undefined);
  }

  async #connected(): Promise<Client> {
    if (this.#client === null) {
      const connecting = this.#connect();
      this.#client = connecting;
      connecting.catch(() => {
        if (this.#client === connecting) this.#client = null;
      });
    }
    try {
      return await this.#client;
    } catch (thrown) {
      throw new ApiError(this.#explained(failureOf(thrown)));
    }
  }

  async #connect(): Promise<Client> {
    const client = new Client(
      { name: "octroi-web", version: "0.1.0" },
      { versionNegotiation: { mode: { pin: VERSION } }, capabilities: {} },
    );
    client.setNotificationHandler("notifications/resources/updated", notification => {
      this.#events.updated(notification.params.uri);
    });
    const transport = new StreamableHTTPClientTransport(new URL(this.#url), {
      fetch: (input, init) => this.#send(input, init),
    });
    await client.connect(transport);
    return client;
  }

  /** Sends a request with an access token; once more with another one if that is refused. */
  async #send(input: URL | RequestInfo, init?: RequestInit): Promise<Response> {
    const attempt = async (token: string) => {
      const headers = new Headers(init?.headers);
      headers.set("authorization", `Bearer ${token}`);
      return fetch(input, { ...init, headers, cache: "no-store", credentials: "omit" });
    };
    const token = await this.#session.token();
    const response = await attempt(token);
    if (response.status !== 401) return response;
    return attempt(await this.#session.token(token));
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    const generation = this.#generation;
    try {
      return await work();
    } catch (thrown) {
      const failure = this.#explained(failureOf(thrown));
      if (failure.code === "unauthenticated" && generation === this.#generation) void this.#end(failure);
      throw new ApiError(failure);
    }
  }

  /** The SDK reports a refused or failed request in its own words. */
  #explained(failure: ApiFailure): ApiFailure {
    if (failure.code !== "internal_error") return failure;
    if (/failed to fetch|network|load failed|fetch failed/i.test(failure.message)) return unreachable();
    return failure;
  }
}

/** Whether a URI is of a template. */
function matches(template: string, uri: string): boolean {
  const [expected, given] = [template.split("/"), uri.split("/")];
  return (
    expected.length === given.length &&
    expected.every((part, place) => part === given[place] || (part.startsWith("{") && given[place] !== ""))
  );
}
