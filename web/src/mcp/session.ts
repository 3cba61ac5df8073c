// The session of this browser: a key that no script can read out, and the access tokens that it gets for proofs.
//
// The key is kept by the browser (IndexedDB holds a handle, not the key). Access tokens live in this object only.

import { ApiError, failureFrom, unreachable } from "./failure";
import type { Person } from "./protocol";

/** What is kept between visits. */
export interface KeptSession {
  keys: CryptoKeyPair;
  person: Person;
}

/** Where a session is kept. */
export interface SessionStore {
  load(): Promise<KeptSession | null>;
  save(session: KeptSession): Promise<void>;
  clear(): Promise<void>;
}

/** A token is replaced this long before it ends. */
const RENEW_BEFORE_MS = 60_000;
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;

interface AccessToken {
  text: string;
  endsAt: number;
}

export class Session {
  readonly #store: SessionStore;
  readonly #origin: string;
  readonly #fetch: typeof fetch;
  readonly #now: () => number;
  #kept: KeptSession | null = null;
  #access: AccessToken | null = null;
  #renewing: Promise<string> | null = null;
  /** How far the clock of the gateway is ahead of this machine's. */
  #clockOffsetMs = 0;

  constructor(
    store: SessionStore,
    origin: string,
    fetcher: typeof fetch = fetch,
    now: () => number = Date.now,
  ) {
    this.#store = store;
    this.#origin = origin;
    this.#fetch = (input, init) => fetcher(input, init);
    this.#now = now;
  }

  /** Who is signed in. */
  get person(): Person | null {
    return this.#kept?.person ?? null;
  }

  /** Takes up the session of an earlier visit. */
  async restore(): Promise<Person | null> {
    this.#kept = await this.#store.load();
    return this.person;
  }

  /** Exchanges a token or a one-time code for a session. */
  async signIn(credential: string, label: string): Promise<Person> {
    const keys = (await crypto.subtle.generateKey(ALGORITHM, false, ["sign"])) as CryptoKeyPair;
    const body = JSON.stringify({ credential, label });
    const answer = await this.#post("/ui/session", keys, body);
    const person: Person = {
      user: String(answer.user),
      role: answer.role === "admin" ? "admin" : "member",
      session: String(answer.session),
      sessionEndsAt: typeof answer.expires_at === "string" ? answer.expires_at : null,
    };
    this.#access = null;
    this.#kept = { keys, person };
    // A browser that keeps nothing is signed in until its last tab is closed.
    await this.#store.save(this.#kept).catch(() => undefined);
    return person;
  }

  /** Forgets the key. Nobody can use the session any more, even if it could not be ended. */
  async forget(): Promise<void> {
    this.#kept = null;
    this.#access = null;
    this.#renewing = null;
    await this.#store.clear().catch(() => undefined);
  }

  /** A valid access token; another one than `refused`. */
  async token(refused?: string): Promise<string> {
    const access = this.#access;
    if (access && access.text !== refused && this.#now() < access.endsAt - RENEW_BEFORE_MS)
      return access.text;
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  async #renew(): Promise<string> {
    const kept = this.#kept;
    if (!kept) throw new ApiError(failureFrom({ code: "unauthenticated" }, "this browser is not signed in"));
    const answer = await this.#post("/ui/token", kept.keys, null);
    const text = String(answer.access_token);
    this.#access = { text, endsAt: this.#now() + Number(answer.expires_in_s) * 1_000 };
    kept.person.role = answer.role === "admin" ? "admin" : "member";
    return text;
  }

  async #post(path: string, keys: CryptoKeyPair, body: string | null): Promise<Record<string, unknown>> {
    for (let attempt = 0; ; attempt += 1) {
      const url = `${this.#origin}${path}`;
      const made = this.#now() + this.#clockOffsetMs;
      const headers: Record<string, string> = { dpop: await proof(keys, "POST", url, made) };
      if (body !== null) headers["content-type"] = "application/json";
      let response: Response;
      try {
        response = await this.#fetch(url, {
          method: "POST",
          headers,
          body,
          cache: "no-store",
          credentials: "omit",
        });
      } catch {
        throw new ApiError(unreachable());
      }
      const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
      if (response.ok) return answer;
      if (response.status >= 502) throw new ApiError(unreachable());
      const error = (answer.error ?? {}) as { message?: string; data?: Record<string, unknown> };
      const now = error.data?.now_ms;
      if (typeof now === "number" && attempt === 0) {
        this.#clockOffsetMs = now - this.#now();
        continue;
      }
      throw new ApiError(failureFrom(error.data, error.message ?? `status ${response.status}`));
    }
  }
}

/** A proof for one request, in the form of DPoP (RFC 9449). */
export async function proof(
  keys: CryptoKeyPair,
  method: string,
  url: string,
  nowMs: number,
): Promise<string> {
  const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", keys.publicKey);
  const header = { typ: "dpop+jwt", alg: "ES256", jwk: { kty, crv, x, y } };
  const claims = { htm: method, htu: url, iat: nowMs / 1_000, jti: crypto.randomUUID() };
  const encode = (part: unknown) => base64url(new TextEncoder().encode(JSON.stringify(part)));
  const signed = `${encode(header)}.${encode(claims)}`;
  const algorithm = { name: "ECDSA", hash: "SHA-256" };
  const signature = await crypto.subtle.sign(algorithm, keys.privateKey, new TextEncoder().encode(signed));
  return `${signed}.${base64url(new Uint8Array(signature))}`;
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
}
