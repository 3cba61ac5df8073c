// What went wrong, in the gateway's own words.

import type { errorCodes } from "../api/tables";

export type ErrorCode = (typeof errorCodes)[number];

/** A failure as data, which passes between the worker and its tabs. */
export interface ApiFailure {
  code: ErrorCode | "cancelled";
  message: string;
  hint?: string;
  details: Record<string, unknown>;
}

/** A failure as an error. */
export class ApiError extends Error {
  readonly failure: ApiFailure;

  constructor(failure: ApiFailure) {
    super(failure.message);
    this.name = "ApiError";
    this.failure = failure;
  }
}

/** The failure of a request that did not reach the gateway. */
export function unreachable(): ApiFailure {
  return { code: "gateway_gone", message: "the gateway cannot be reached", details: {} };
}

/** Whatever was thrown, as a failure. */
export function failureOf(thrown: unknown): ApiFailure {
  if (thrown instanceof ApiError) return thrown.failure;
  if (thrown instanceof DOMException && thrown.name === "AbortError") {
    return { code: "cancelled", message: "cancelled", details: {} };
  }
  if (thrown instanceof TypeError) return unreachable();
  const data = (thrown as { data?: unknown } | null)?.data;
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return failureFrom(data, text);
}

/** A failure from the data of an error, or of a result that is one. */
export function failureFrom(data: unknown, message: string): ApiFailure {
  const { code, hint, ...details } = (data ?? {}) as Record<string, unknown>;
  const failure: ApiFailure = {
    code: (typeof code === "string" ? code : "internal_error") as ErrorCode,
    message: message.replace(/^MCP error -?\d+: /, ""),
    details,
  };
  if (typeof hint === "string") failure.hint = hint;
  return failure;
}
