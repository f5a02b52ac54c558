// The keys of a bucket, as they are written and as they were before. What is written is heard as it is published: a consumer of JetStream may miss what is
// written while it begins, and notices that after 5 s. It never tells of what was there after something newer.

import type { Msg, NatsConnection, Subscription } from '@nats-io/nats-core';

/** Keys that are read at the same time. */
const AT_ONCE = 16;

export interface KeyWatch {
  /** The beginning of the subjects on which writes are heard; the key follows. */
  readonly begin: string;
  /** The beginning of the keys. */
  readonly prefix: string;
  readonly written: (key: string, message: Msg) => void;
  /** The keys that are there. */
  readonly keys: () => Promise<readonly string[]>;
  /** Reads a key. Resolves with what tells of it; undefined if there is nothing to tell. */
  readonly read: (key: string) => Promise<(() => void) | undefined>;
  /** The result of what is asked of the servers. Fails when the connection is lost. */
  readonly whileUp: <T>(asked: Promise<T>) => Promise<T>;
}

/** Resolves once all that was there was told of. */
export async function watchedKeys(
  connection: NatsConnection,
  { begin, prefix, written, keys, read, whileUp }: KeyWatch,
): Promise<Subscription> {
  /** The keys that were written since; undefined once what was there before is read. */
  let heard: Set<string> | undefined = new Set();
  const subscription = connection.subscribe(`${begin}${prefix}>`, {
    callback: (error, message) => {
      if (error !== null) return; // not permitted, which is told elsewhere
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

/** Does something for all of a list, for a few at a time. */
async function forEachOf<T>(all: readonly T[], task: (one: T) => Promise<void>): Promise<void> {
  const left = all.values();
  const work = async (): Promise<void> => {
    for (const one of left) await task(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
