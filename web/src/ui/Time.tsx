// Moments and durations. One clock ticks for the whole page.

import { useSyncExternalStore } from "react";
import { type Moment, toMs } from "../lib/time";
import { useFormat } from "../messages/format";

const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  if (document.visibilityState === "hidden") return;
  now = Date.now();
  for (const listener of listeners) listener();
}

/** The time now, to the second, or coarser: what changes seldom is rendered seldom. */
export function useNow(stepMs = 1_000): number {
  const read = () => {
    if (timer === undefined) now = Date.now();
    return Math.floor(now / stepMs) * stepMs;
  };
  return useSyncExternalStore(subscribe, read, read);
}

/** How long ago, or in how long; the exact moment on hover. */
export function TimeAgo({ at }: { at: Moment }) {
  const format = useFormat();
  const ms = toMs(at);
  const isNear = Math.abs(ms - Date.now()) < 3 * 60_000;
  const current = useNow(isNear ? 1_000 : 15_000);
  // A clock that is a moment ahead of ours is not in the future.
  const shown = ms > current && ms - current < 2_000 ? current : ms;
  return (
    <time
      className="nowrap"
      dateTime={Number.isNaN(ms) ? undefined : new Date(ms).toISOString()}
      title={format.exact(at)}
    >
      {format.relative(shown, current)}
    </time>
  );
}

/** The exact moment. */
export function Exact({ at }: { at: Moment }) {
  return <time className="nowrap">{useFormat().exact(at)}</time>;
}

export function Duration({ ms }: { ms: number }) {
  return <span className="nowrap">{useFormat().duration(ms)}</span>;
}

/** What is left until a moment, to the second; nothing once it has passed. */
export function TimeLeft({ until }: { until: Moment }) {
  const format = useFormat();
  const current = useNow();
  const left = Math.max(0, Math.ceil((toMs(until) - current) / 1_000) * 1_000);
  return (
    <time className="nowrap" title={format.exact(until)}>
      {format.duration(left)}
    </time>
  );
}
