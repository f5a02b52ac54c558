// Tells HTTP from lines of JSON by the first bytes of a connection. A JSON line begins with a brace, a bracket or a
// space; an HTTP request begins with its method.

const METHODS = ['POST ', 'GET ', 'DELETE ', 'OPTIONS ', 'HEAD ', 'PUT ', 'PATCH ', 'PRI * HTTP/2.0'].map((text) =>
  Buffer.from(text),
);
/** A request begins with a capital letter. */
const A = 0x41;
const Z = 0x5a;

/** True if HTTP begins here, false if not; undefined while there are too few bytes. */
export function beginsHttp(b: Buffer): boolean | undefined {
  const first = b[0];
  if (first === undefined) return undefined;
  if (first < A || first > Z) return false;
  let mayBe: undefined | false = false;
  for (const method of METHODS) {
    const length = Math.min(b.length, method.length);
    if (method.compare(b, 0, length, 0, length) !== 0) continue;
    if (length === method.length) return true;
    mayBe = undefined;
  }
  return mayBe;
}
