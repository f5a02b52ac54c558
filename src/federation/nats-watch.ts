// Watches the keys of a bucket: their old values and each new write. It hears a write when it is published: a JetStream
// consumer may miss a write while it starts, and notices that only after 5 s. It never tells an old value after a newer
// one.

import type { Msg, NatsConnection, Subscription } from '@nats-io/nats-core';

/** The number of keys that are read at the same time. */
const AT_ONCE = 16;

export interface KeyWatch {
  /** The beginning of the subjects on which writes are heard; the key follows. */
  readonly begin: string;
  /** The beginning of the keys. */
  readonly prefix: string;
  readonly written: (key: string, message: Msg) => void;
  /** Returns the existing keys. */
  readonly keys: () => Promise<readonly string[]>;
  /** Reads a key. Resolves with a function that tells it; undefined if there is nothing to tell. */
  readonly read: (key: string) => Promise<(() => void) | undefined>;
  /** Passes on the result of a request to the servers. Fails when the connection is lost. */
  readonly whileUp: <T>(asked: Promise<T>) => Promise<T>;
}

/** Watches the keys; resolves once all existing ones were told. */
export async function watchedKeys(
  connection: NatsConnection,
  { begin, prefix, written, keys, read, whileUp }: KeyWatch,
): Promise<Subscription> {
  /** The keys that were written since the start; undefined once the existing keys are read. */
  let heard: Set<string> | undefined = new Set();
  const subscription = connection.subscribe(`${begin}${prefix}>`, {
    callback: (error, message) => {
      if (error !== null) return; // not permitted, which is reported elsewhere
      const key = message.subject.slice(begin.length);
      heard?.add(key);
      written(key, message);
    },
  });
  try {
    await whileUp(connection.flush());
    await forEachOf(await keys(), async (key) => {
      const tell = heard?.has(key) === true ? undefined : await read(key);
      if (heard?.has(key) === false) tell?.();
    });
  } catch (error) {
    subscription.unsubscribe();
    throw error;
  }
  heard = undefined;
  return subscription;
}

/** Runs a task for every item of a list, a few at a time. */
async function forEachOf<T>(all: readonly T[], task: (one: T) => Promise<void>): Promise<void> {
  const left = all.values();
  const work = async (): Promise<void> => {
    for (const one of left) await task(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
