// What tabs and the worker that holds the connection say to each other.

import type { ApiFailure } from "./failure";

/** Who is signed in, in this browser. */
export interface Person {
  user: string;
  role: "admin" | "member";
  /** The session of this browser, as it stands in the list of tokens. */
  session: string;
  sessionEndsAt: string | null;
}

/** Whether the gateway is reached. */
export type ConnectionState =
  | { kind: "starting" }
  | { kind: "signed_out"; reason?: ApiFailure }
  | { kind: "connecting"; person: Person }
  | { kind: "live"; person: Person }
  | { kind: "reconnecting"; person: Person; since: number; attempt: number };

/** From a tab to the worker. */
export type ToWorker =
  | { type: "hello"; lock: string | null }
  | { type: "call"; id: number; name: string; args: unknown }
  | { type: "read"; id: number; uri: string }
  | { type: "cancel"; id: number }
  | { type: "watch"; uris: string[] }
  | { type: "sign_in"; id: number; credential: string; label: string }
  | { type: "sign_out"; id: number }
  | { type: "reconnect" }
  | { type: "bye" };

/** From the worker to a tab. */
export type ToTab =
  | { type: "result"; id: number; value: unknown }
  | { type: "failure"; id: number; failure: ApiFailure }
  | { type: "state"; state: ConnectionState }
  /** The gateway reports changes of these from now on. */
  | { type: "listening"; uris: string[] }
  /** This has changed. */
  | { type: "updated"; uri: string }
  /** Anything may have changed: the gateway was not heard for a while. */
  | { type: "stale" };
