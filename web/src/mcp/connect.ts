// Connects this tab: to the worker that all tabs share, or, in a browser without one, to the gateway itself.

import { GatewayClient } from "./client";
import workerUrl from "./worker?sharedworker&url";

/** Trusted types: the only text that becomes code is the address of the worker, which was built with this page. */
function scriptUrl(url: string): string {
  const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
  if (!types) return url;
  const policy = types.createPolicy("octroi", {
    createScriptURL: asked => {
      if (asked !== workerUrl) throw new TypeError("this is not the worker of the interface");
      return asked;
    },
  });
  return policy.createScriptURL(url) as unknown as string;
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (asked: string) => string },
  ): { createScriptURL(asked: string): object };
}

/** A lock that this tab holds as long as it lives, by which the worker notices its end. */
async function holdLock(): Promise<string | null> {
  if (!navigator.locks) return null;
  const name = `octroi-tab-${crypto.randomUUID()}`;
  // The worker asks for it too: the tab has to be first.
  await new Promise<void>(resolve => {
    void navigator.locks.request(name, () => {
      resolve();
      return new Promise<never>(() => undefined);
    });
  });
  return name;
}

export async function connect(): Promise<GatewayClient> {
  const client =
    typeof SharedWorker === "undefined"
      ? await connectInPage()
      : new GatewayClient(
          new SharedWorker(scriptUrl(workerUrl), { type: "module", name: "octroi" }).port,
          await holdLock(),
        );
  addEventListener("pagehide", event => {
    if (!event.persisted) client.close();
  });
  return client;
}

/** Without a shared worker each tab has a connection of its own, which it gives up while it is hidden. */
async function connectInPage(): Promise<GatewayClient> {
  const { Host } = await import("./host");
  const host = new Host(location.origin);
  const { port1, port2 } = new MessageChannel();
  host.add(port1);
  const follow = () => host.gateway.pause(document.visibilityState === "hidden");
  document.addEventListener("visibilitychange", follow);
  follow();
  return new GatewayClient(port2, null);
}
