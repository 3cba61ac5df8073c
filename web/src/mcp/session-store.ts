// Keeps the session of this browser in IndexedDB, which can hold a key without showing it to any script.

import type { KeptSession, SessionStore } from "./session";

const DATABASE = "octroi";
const TABLE = "session";
const CURRENT = "current";

function request<T>(asked: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
}

async function table(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(TABLE);
  const database = await request(opening);
  const transaction = database.transaction(TABLE, mode);
  transaction.oncomplete = () => database.close();
  transaction.onabort = () => database.close();
  return transaction.objectStore(TABLE);
}

export const browserStore: SessionStore = {
  async load() {
    try {
      return ((await request((await table("readonly")).get(CURRENT))) as KeptSession | undefined) ?? null;
    } catch {
      // Private windows of some browsers keep nothing.
      return null;
    }
  },
  async save(session) {
    await request((await table("readwrite")).put(session, CURRENT));
  },
  async clear() {
    await request((await table("readwrite")).delete(CURRENT));
  },
};
