// Replaces a few values of a frame in its bytes; everything between them is passed on unchanged.
//
//   frame   {"jsonrpc":"2.0","id": 7 ,"method":"tools/call","params":{"_meta":{"progressToken": "p" },"name":"x"}}
//           |------- kept -------|^^^|------------------------- kept -------------------------|^^^^^|--- kept ---|
//
// Decoding and encoding again would cost more than all the rest of the way. It would also change what a router must not
// touch: the order of keys, the spelling of numbers, unknown members.

import { invariant } from '../util/invariant.ts';
import type { Outbox } from './outbox.ts';

const NEWLINE = Buffer.from('\n');

/**
 * The usual number of cuts: a request of 2026 has about ten, a list one per item. Memory for more is freed after use.
 */
const USUAL_CUTS = 16;

/** Refilled for each frame; one object serves the whole process. */
export class Splice {
  #count = 0;
  #from = new Int32Array(USUAL_CUTS);
  #to = new Int32Array(USUAL_CUTS);
  #text: string[] = Array(USUAL_CUTS).fill('');

  clear(): this {
    this.#count = 0;
    if (this.#text.length > USUAL_CUTS) this.#resize(USUAL_CUTS);
    return this;
  }

  /**
   * Replaces b[from, to) by `text`, which is latin1. Cuts may come in any order but not overlap; many cost least in
   * frame order. A text added at a position comes before a cut that begins there.
   */
  replace(from: number, to: number, text: string): this {
    if (this.#count === this.#text.length) this.#resize(this.#count * 2);
    let i = this.#count++;
    for (; i > 0 && this.#isBehind(i - 1, from, to); i--) {
      this.#from[i] = this.#from[i - 1] as number;
      this.#to[i] = this.#to[i - 1] as number;
      this.#text[i] = this.#text[i - 1] as string;
    }
    this.#from[i] = from;
    this.#to[i] = to;
    this.#text[i] = text;
    return this;
  }

  /** True if the cut at `i` comes after a cut of b[from, to). */
  #isBehind(i: number, from: number, to: number): boolean {
    const other = this.#from[i] as number;
    return other > from || (other === from && to === from && (this.#to[i] as number) > other);
  }

  #resize(room: number): void {
    const from = new Int32Array(room);
    const to = new Int32Array(room);
    const text: string[] = Array(room).fill('');
    for (let i = 0; i < this.#count; i++) {
      from[i] = this.#from[i] as number;
      to[i] = this.#to[i] as number;
      text[i] = this.#text[i] as string;
    }
    this.#from = from;
    this.#to = to;
    this.#text = text;
  }

  /** Sends b[start, end) with all cuts applied, as one frame. */
  send(outbox: Outbox, b: Buffer, start: number, end: number): void {
    this.write(outbox, b, start, end);
    outbox.endFrame();
  }

  /** Copies b[start, end) with all cuts applied; a newline follows the copy. */
  bytes(b: Buffer, start: number, end: number): Buffer {
    const parts: Buffer[] = [];
    let at = start;
    for (let i = 0; i < this.#count; i++) {
      parts.push(b.subarray(at, this.#from[i] as number), Buffer.from(this.#text[i] as string, 'latin1'));
      at = this.#to[i] as number;
    }
    return Buffer.concat([...parts, b.subarray(at, end), NEWLINE]);
  }

  /** Writes b[start, end) with all cuts applied, as part of a frame. */
  write(outbox: Outbox, b: Buffer, start: number, end: number): void {
    let at = start;
    for (let i = 0; i < this.#count; i++) {
      invariant((this.#from[i] as number) >= at, 'cuts do not overlap');
      outbox.bytes(b, at, this.#from[i] as number);
      outbox.latin1(this.#text[i] as string);
      at = this.#to[i] as number;
    }
    outbox.bytes(b, at, end);
  }
}
