// Finds the end of a long string and validates it with SIMD, about eight times faster than a loop in JavaScript
// (docs/adr/0002). The bytes pass through one small window of memory that the whole process shares.

import { STRING_BODY_WASM } from './string-body-wasm.ts';

const SMALLEST_WINDOW = 1024;
const LARGEST_WINDOW = 65536;
/** The number of bytes that the module reads beyond a window: the four digits of a \u at its very end. */
const LOOK_AHEAD = 4;
const UNFINISHED = -2;
const NEWLINE = 0x0a;

type Scan = (end: number, isFirst: boolean) => number;

let memory: Uint8Array | undefined;
let scan: Scan;

function load(): Uint8Array {
  const module = new WebAssembly.Module(Buffer.from(STRING_BODY_WASM, 'base64'));
  const { exports } = new WebAssembly.Instance(module, {});
  scan = exports.scan as Scan;
  return new Uint8Array((exports.memory as WebAssembly.Memory).buffer);
}

/**
 * Skips the rest of a string from `p`; returns the index after its closing quote, or a negative number if it is
 * invalid.
 */
export function skipLongString(b: Uint8Array, p: number): number {
  memory ??= load();
  let isFirst = true;
  for (let window = SMALLEST_WINDOW; ; ) {
    // The newline behind the frame is a control character, so the walk ends there at the latest, before it reaches
    // remains of an earlier string in the window. If the bytes end without a newline, one is added in the window.
    const part = b.subarray(p, p + window + LOOK_AHEAD);
    memory.set(part, 0);
    if (part.length < window + LOOK_AHEAD) memory[part.length] = NEWLINE;
    const found = scan(window, isFirst);
    if (found !== UNFINISHED) return found < 0 ? found : p + found;
    p += window;
    isFirst = false;
    window = Math.min(window * 4, LARGEST_WINDOW);
  }
}
