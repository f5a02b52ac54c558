// Finds `id` and `method` at the top level of a JSON-RPC message by walking that whole level in its bytes.
// It takes for granted that the message is sound: it checks nothing that it does not need to get across.
// Part of the limit that the bridge is compared with; the result is one object, so that scanning allocates nothing.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const LETTER_I = 0x69;
const LETTER_D = 0x64;
const LETTER_M = 0x6d;

/** Where the last scan found them; -1 if it did not. The method's bounds leave out its quotes. */
export const found = { idFrom: -1, idTo: -1, methodFrom: -1, methodTo: -1 };

/** So far a quote is looked for in a loop; the native search is faster from there on, but costs something each time. */
const NEAR = 48;

/** `p` is just behind the opening quote; returns the index just behind the closing one. */
function skipString(b, p) {
  for (const far = p + NEAR; p < far; p++) {
    const c = b[p];
    if (c === QUOTE) return p + 1;
    if (c === BACKSLASH) p++;
  }
  for (;;) {
    const quote = b.indexOf(QUOTE, p);
    let back = quote;
    while (back > p && b[back - 1] === BACKSLASH) back--;
    p = quote + 1;
    if (((quote - back) & 1) === 0) return p;
  }
}

/** `p` is at the opening bracket; returns the index just behind the closing one. */
function skipNested(b, p) {
  for (let depth = 0; ; ) {
    const c = b[p++];
    if (c === QUOTE) p = skipString(b, p);
    else if (c === OPEN_BRACE || c === OPEN_BRACKET) depth++;
    else if ((c === CLOSE_BRACE || c === CLOSE_BRACKET) && --depth === 0) return p;
  }
}

function skipValue(b, p) {
  const c = b[p];
  if (c === QUOTE) return skipString(b, p + 1);
  if (c === OPEN_BRACE || c === OPEN_BRACKET) return skipNested(b, p);
  while (b[p] !== COMMA && b[p] !== CLOSE_BRACE && b[p] > 0x20) p++;
  return p;
}

function skipSpace(b, p) {
  while (b[p] <= 0x20) p++;
  return p;
}

/** Walks the message that begins at b[start]. */
export function scanTopLevel(b, start) {
  found.idFrom = found.methodFrom = -1;
  for (let p = skipSpace(b, start); b[p] !== CLOSE_BRACE; p = skipSpace(b, p)) {
    const key = skipSpace(b, p + 1) + 1; // p is at the opening brace or at a comma
    if (b[key - 1] !== QUOTE) return; // an object without members
    const behindKey = skipString(b, key);
    let value = skipSpace(b, behindKey);
    if (b[value] === COLON) value = skipSpace(b, value + 1);
    p = skipValue(b, value);
    const length = behindKey - 1 - key;
    if (length === 2 && b[key] === LETTER_I && b[key + 1] === LETTER_D) {
      found.idFrom = value;
      found.idTo = p;
    } else if (length === 6 && b[key] === LETTER_M) {
      found.methodFrom = value + 1;
      found.methodTo = p - 1;
    }
  }
}
