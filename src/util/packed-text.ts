// Texts that are kept for long and rarely read, deflated to between a tenth and a third of their size. Either direction
// takes 10 to 30 µs for 5 kB.

import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { lastingCopy } from './lasting-bytes.ts';

/**
 * Most texts have a few thousand characters: a higher level takes longer and saves little, and a larger window never
 * fills.
 */
const OPTIONS = { level: 3, memLevel: 5, windowBits: 13 } as const;

export function packedText(text: string): Buffer {
  return lastingCopy(deflateRawSync(text, OPTIONS));
}

export function unpackedText(packed: Buffer): string {
  return inflateRawSync(packed).toString();
}
