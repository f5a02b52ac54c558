// One item of a joined list. It stays in the bytes of its server's list and is not copied for the view: the new name is
// inserted when the list is written.

import type { Outbox } from '../wire/outbox.ts';

export interface ListedItem {
  /** The bytes that hold it, usually together with the server's other items. */
  readonly b: Buffer;
  readonly from: number;
  readonly to: number;
  /** The place of its name or URI. */
  readonly keyFrom: number;
  readonly keyTo: number;
  /** Its name or URI in the joined list. */
  readonly key: string;
  /** True if `key` replaces the server's own name. */
  readonly isRenamed: boolean;
}

/** An item with bytes of its own, as it is. */
export function wholeItem(b: Buffer, key: string, keyFrom: number): ListedItem {
  return { b, from: 0, to: b.length, keyFrom, keyTo: keyFrom + JSON.stringify(key).length, key, isRenamed: false };
}

/** Its length in a list, or slightly less. */
export function lengthOf({ from, to, keyFrom, keyTo, key, isRenamed }: ListedItem): number {
  return isRenamed ? to - from - (keyTo - keyFrom) + key.length + 2 : to - from;
}

export function writeItems(outbox: Outbox, items: readonly ListedItem[]): void {
  for (const [i, item] of items.entries()) {
    if (i > 0) outbox.latin1(',');
    writeItem(outbox, item);
  }
}

const PLAIN = /^[\x20-\x7e]*$/;

function writeItem(outbox: Outbox, { b, from, to, keyFrom, keyTo, key, isRenamed }: ListedItem): void {
  if (!isRenamed) return outbox.bytes(b, from, to);
  outbox.bytes(b, from, keyFrom);
  const text = JSON.stringify(key);
  if (PLAIN.test(text)) outbox.latin1(text);
  else outbox.utf8(text);
  outbox.bytes(b, keyTo, to);
}
