// When what is shown is read again after a change: at once, but not more often than is useful, and never so often that
// no read ever finishes.

const SHORTEST_MS = 250;

interface Reading {
  isRunning: boolean;
  isDirty: boolean;
  at: number;
  timer?: ReturnType<typeof setTimeout>;
}

export class Freshness {
  readonly #read: (uri: string) => Promise<unknown>;
  readonly #readings = new Map<string, Reading>();

  /** `read` reads everything again that depends on a resource. */
  constructor(read: (uri: string) => Promise<unknown>) {
    this.#read = read;
  }

  /** A resource has changed. */
  changed(uri: string): void {
    const reading = this.#readings.get(uri) ?? {
      isRunning: false,
      isDirty: false,
      at: Number.NEGATIVE_INFINITY,
    };
    this.#readings.set(uri, reading);
    if (reading.isRunning || reading.timer !== undefined) {
      reading.isDirty = true;
      return;
    }
    const wait = reading.at + SHORTEST_MS - Date.now();
    if (wait > 0) {
      reading.timer = setTimeout(() => this.#start(uri, reading), wait);
      return;
    }
    this.#start(uri, reading);
  }

  #start(uri: string, reading: Reading): void {
    delete reading.timer;
    reading.isRunning = true;
    reading.isDirty = false;
    reading.at = Date.now();
    void this.#read(uri)
      .catch(() => undefined)
      .then(() => {
        reading.isRunning = false;
        if (reading.isDirty) this.changed(uri);
      });
  }
}
