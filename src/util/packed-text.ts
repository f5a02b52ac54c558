// Texts that are kept for long and seldom read, deflated: a tenth to a third of their size. Takes 10 to 30 µs for 5 kB either way.

import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { lastingCopy } from './lasting-bytes.ts';

/** Most texts have a few thousand characters: a higher level takes longer and saves little, a larger window is never full. */
const OPTIONS = { level: 3, memLevel: 5, windowBits: 13 } as const;

export function packedText(text: string): Buffer {
  return lastingCopy(deflateRawSync(text, OPTIONS));
}

export function unpackedText(packed: Buffer): string {
  return inflateRawSync(packed).toString();
}
