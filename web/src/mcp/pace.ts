// How often the stream of changes is opened again: at once a few times, then seldom. The gateway limits how many new
// subscriptions a person makes in a minute.

const BURST = 6;
const AFTER_MS = 3_000;
/** Tabs mount several things at once. */
const TOGETHER_MS = 10;

export class RelistenPace {
  #left = BURST;
  #at = 0;

  /** How long to wait before it is opened again. */
  delay(nowMs: number): number {
    this.#refill(nowMs);
    return this.#left >= 1 ? TOGETHER_MS : Math.max(TOGETHER_MS, Math.ceil((1 - this.#left) * AFTER_MS));
  }

  /** It is opened now. */
  opened(nowMs: number): void {
    this.#refill(nowMs);
    this.#left -= 1;
  }

  #refill(nowMs: number): void {
    this.#left = Math.min(BURST, this.#left + (nowMs - this.#at) / AFTER_MS);
    this.#at = nowMs;
  }
}
