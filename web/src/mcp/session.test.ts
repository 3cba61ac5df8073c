// @vitest-environment node
import { describe, expect, it } from "vitest";
import { ApiError } from "./failure";
import { type KeptSession, proof, Session, type SessionStore } from "./session";

function memoryStore(): SessionStore & { kept: KeptSession | null } {
  return {
    kept: null,
    load() {
      return Promise.resolve(this.kept);
    },
    save(session) {
      this.kept = session;
      return Promise.resolve();
    },
    clear() {
      this.kept = null;
      return Promise.resolve();
    },
  };
}

const ORIGIN = "http://127.0.0.1:7878";

interface Claims {
  htm: string;
  htu: string;
  iat: number;
  jti: string;
}

function claimsOf(dpop: string): Claims {
  const [, claims] = dpop.split(".");
  return JSON.parse(Buffer.from(claims ?? "", "base64url").toString()) as Claims;
}

function gateway(answers: Record<string, (dpop: string) => [number, unknown]>) {
  const asked: string[] = [];
  const fetcher = ((url: string, init: RequestInit) => {
    const dpop = new Headers(init.headers).get("dpop") ?? "";
    asked.push(url);
    const [status, body] = answers[new URL(url).pathname]?.(dpop) ?? [404, {}];
    return Promise.resolve(new Response(JSON.stringify(body), { status }));
  }) as typeof fetch;
  return { fetcher, asked };
}

const signedIn: [number, unknown] = [200, { session: "s1", user: "ana", role: "member", expires_at: null }];

describe("the session of a browser", () => {
  it("signs proofs with a key that cannot be read", async () => {
    const store = memoryStore();
    const { fetcher } = gateway({ "/ui/session": () => signedIn });
    await new Session(store, ORIGIN, fetcher).signIn("code", "browser");
    const keys = store.kept?.keys;
    if (!keys) throw new Error("nothing is kept");
    await expect(crypto.subtle.exportKey("jwk", keys.privateKey)).rejects.toThrow();
    const text = await proof(keys, "POST", `${ORIGIN}/ui/token`, 1_700_000_000_250);
    const [header, claims, signature] = text.split(".");
    const jwk = { ...(await crypto.subtle.exportKey("jwk", keys.publicKey)), key_ops: ["verify"] };
    const key = await crypto.subtle.importKey("jwk", jwk, { name: "ECDSA", namedCurve: "P-256" }, false, [
      "verify",
    ]);
    const isSigned = await crypto.subtle.verify(
      { name: "ECDSA", hash: "SHA-256" },
      key,
      Buffer.from(signature ?? "", "base64url"),
      new TextEncoder().encode(`${header}.${claims}`),
    );
    expect(isSigned).toBe(true);
    expect(claimsOf(text)).toMatchObject({ htm: "POST", htu: `${ORIGIN}/ui/token`, iat: 1_700_000_000.25 });
    expect(JSON.stringify(store.kept?.person)).not.toContain("code");
  });

  it("gets one access token for all who ask, and another one before it ends", async () => {
    let n = 0;
    const { fetcher, asked } = gateway({
      "/ui/session": () => signedIn,
      "/ui/token": () => [200, { access_token: `t${++n}`, expires_in_s: 300, role: "member" }],
    });
    let now = 0;
    const session = new Session(memoryStore(), ORIGIN, fetcher, () => now);
    await session.signIn("code", "browser");
    expect(await Promise.all([session.token(), session.token()])).toEqual(["t1", "t1"]);
    now = 239_000;
    expect(await session.token()).toBe("t1");
    now = 241_000;
    expect(await session.token()).toBe("t2");
    expect(await session.token("t2")).toBe("t3");
    expect(asked.filter(url => url.endsWith("/ui/token"))).toHaveLength(3);
  });

  it("corrects its clock by the gateway's, once", async () => {
    const times: number[] = [];
    const { fetcher } = gateway({
      "/ui/session": dpop => {
        times.push(claimsOf(dpop).iat);
        return times.length === 1
          ? [401, { error: { message: "late", data: { code: "unauthenticated", now_ms: 5_000_000 } } }]
          : signedIn;
      },
    });
    await new Session(memoryStore(), ORIGIN, fetcher, () => 1_000).signIn("code", "browser");
    expect(times).toEqual([1, 5_000]);
  });

  it("says what the gateway says, and when there is none", async () => {
    const refused = { error: { message: "no", data: { code: "unauthenticated", hint: "run it" } } };
    const { fetcher } = gateway({ "/ui/session": () => [401, refused] });
    const failing = new Session(memoryStore(), ORIGIN, fetcher).signIn("wrong", "browser");
    await expect(failing).rejects.toMatchObject({
      failure: { code: "unauthenticated", message: "no", hint: "run it" },
    });
    const offline = new Session(memoryStore(), ORIGIN, () => Promise.reject(new TypeError("failed")));
    await expect(offline.signIn("code", "browser")).rejects.toBeInstanceOf(ApiError);
    await expect(offline.signIn("code", "browser")).rejects.toMatchObject({
      failure: { code: "gateway_gone" },
    });
  });

  it("forgets everything", async () => {
    const store = memoryStore();
    const { fetcher } = gateway({ "/ui/session": () => signedIn });
    const session = new Session(store, ORIGIN, fetcher);
    await session.signIn("code", "browser");
    await session.forget();
    expect([store.kept, session.person]).toEqual([null, null]);
    await expect(session.token()).rejects.toMatchObject({ failure: { code: "unauthenticated" } });
  });
});
