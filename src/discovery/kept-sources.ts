// The last valid contents of files, packed and handed from one discovery process to the next; only changes are sent.
// The holder in between cannot read them.

import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Aspect, SourceKeeper } from './source-memory.ts';

/** A key of this file; null if the content is no longer kept. */
export type KeptChange = readonly [key: string, packed: string | null];

const ASPECTS: readonly Aspect[] = ['json', 'toml', 'yaml', 'names', 'text'];

export class KeptSources implements SourceKeeper {
  readonly #packed: Map<string, string>;
  readonly #changes = new Map<string, string | null>();

  constructor(packed: Iterable<readonly [key: string, packed: string]> = []) {
    this.#packed = new Map(packed);
  }

  keep(aspect: Aspect, path: string, origin: unknown): void {
    this.keepAs(keyOf(aspect, path), origin);
  }

  keepAs(key: string, origin: unknown): void {
    const packed = origin === undefined ? undefined : deflateRawSync(JSON.stringify(origin)).toString('base64');
    if (packed === this.#packed.get(key)) return;
    if (packed === undefined) this.#packed.delete(key);
    else this.#packed.set(key, packed);
    this.#changes.set(key, packed ?? null);
  }

  kept(aspect: Aspect, path: string): unknown {
    return this.keptAs(keyOf(aspect, path));
  }

  keptAs(key: string): unknown {
    const packed = this.#packed.get(key);
    return packed === undefined ? undefined : JSON.parse(inflateRawSync(Buffer.from(packed, 'base64')).toString());
  }

  forget(path: string): void {
    for (const aspect of ASPECTS) this.keep(aspect, path, undefined);
  }

  /** Returns the changes since the last call. */
  takeChanges(): KeptChange[] {
    const changes = [...this.#changes];
    this.#changes.clear();
    return changes;
  }
}

function keyOf(aspect: Aspect, path: string): string {
  return `${aspect} ${path}`;
}
