// Replaces a few values of a frame in its bytes: everything between them is passed on as it came.
//
//   frame   {"jsonrpc":"2.0","id": 7 ,"method":"tools/call","params":{"_meta":{"progressToken": "p" },"name":"x"}}
//           |------- kept -------|^^^|------------------------- kept -------------------------|^^^^^|--- kept ---|
//
// Decoding and encoding again would cost more than all the rest of the way, and would lose what a router must not
// touch: the order of keys, the spelling of numbers, members it does not know.

import { invariant } from '../util/invariant.ts';
import type { Outbox } from './outbox.ts';

/** A request has its id, progress token and tool's name to change, what stands around its arguments, and its session. */
const MOST_CUTS = 6;

/** Filled again for each frame; one object serves a whole process. */
export class Splice {
  #count = 0;
  readonly #from = new Int32Array(MOST_CUTS);
  readonly #to = new Int32Array(MOST_CUTS);
  readonly #text: string[] = Array(MOST_CUTS).fill('');

  clear(): this {
    this.#count = 0;
    return this;
  }

  /** b[from, to) becomes `text`, of which each character is one byte. Cuts may come in any order, but not overlap. */
  replace(from: number, to: number, text: string): this {
    invariant(this.#count < MOST_CUTS, 'a splice has room for all its cuts');
    let i = this.#count++;
    for (; i > 0 && (this.#from[i - 1] as number) > from; i--) {
      this.#from[i] = this.#from[i - 1] as number;
      this.#to[i] = this.#to[i - 1] as number;
      this.#text[i] = this.#text[i - 1] as string;
    }
    this.#from[i] = from;
    this.#to[i] = to;
    this.#text[i] = text;
    return this;
  }

  /** Sends b[start, end) with the cuts made, as one frame. */
  send(outbox: Outbox, b: Buffer, start: number, end: number): void {
    this.write(outbox, b, start, end);
    outbox.endFrame();
  }

  /** The same as a part of a frame. */
  write(outbox: Outbox, b: Buffer, start: number, end: number): void {
    let at = start;
    for (let i = 0; i < this.#count; i++) {
      outbox.bytes(b, at, this.#from[i] as number);
      outbox.latin1(this.#text[i] as string);
      at = this.#to[i] as number;
    }
    outbox.bytes(b, at, end);
  }
}
