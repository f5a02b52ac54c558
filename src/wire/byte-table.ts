// Looks up a short text in the bytes of a frame, without making a string.

import { byteAt } from './json-grammar.ts';

interface Entry<T> {
  readonly bytes: Uint8Array;
  readonly value: T;
}

const BUCKETS = 256;

function bucketOf(b: Uint8Array, from: number, to: number): number {
  const length = to - from;
  return (length * 31 + byteAt(b, to - 1) * 7 + byteAt(b, from + (length >> 1))) & (BUCKETS - 1);
}

export class ByteTable<T> {
  readonly #buckets: (Entry<T>[] | undefined)[] = Array(BUCKETS).fill(undefined);

  constructor(entries: Iterable<readonly [string, T]>) {
    for (const [text, value] of entries) {
      const bytes = Buffer.from(text);
      const bucket = bucketOf(bytes, 0, bytes.length);
      this.#buckets[bucket] = [...(this.#buckets[bucket] ?? []), { bytes, value }];
    }
  }

  find(b: Buffer, from: number, to: number): T | undefined {
    if (to <= from) return undefined;
    const bucket = this.#buckets[bucketOf(b, from, to)];
    if (bucket === undefined) return undefined;
    for (const { bytes, value } of bucket) if (bytes.length === to - from && isAt(b, from, bytes)) return value;
    return undefined;
  }
}

/** A loop, because for such a short text a call into Node takes longer. */
export function isAt(b: Uint8Array, from: number, text: Uint8Array): boolean {
  for (let i = 0; i < text.length; i++) if (b[from + i] !== text[i]) return false;
  return true;
}
