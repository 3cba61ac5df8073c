// Resources that only say when something has changed; what they hold is asked for with an operation.

import type { ResourceRef } from "./uri";

const at = (kind: string, uri: string) => ({ kind, uri }) as unknown as ResourceRef;

export const RECENT_CALLS = at("recentCalls", "resource://calls/recent");
export const ATTENTION = at("attention", "resource://attention/list");
export const serverLog = (name: string) =>
  at("serverLogs", `resource://servers/${name.replaceAll("/", "%2F")}/logs`);
