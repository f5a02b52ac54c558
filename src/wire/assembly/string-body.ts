// The inside of a JSON string, 64 bytes at a time. AssemblyScript: `make wasm` compiles it into ../string-body-wasm.ts.
//
// For each block it builds a 64-bit word per question (where are quotes, backslashes, control characters …). A few
// operations on these words give the answers: which characters are escaped (an odd run of backslashes escapes the next
// character), whether each of them may be escaped, and where the first unescaped quote is.

/** The results of `scan` that are not an index. */
const INVALID: i32 = -1;
const UNFINISHED: i32 = -2;

const ODD_BITS: u64 = 0xaaaaaaaaaaaaaaaa;

/** 1 if the first character of the next block is escaped, else 0. */
let carry: u64 = 0;

// @ts-ignore: decorator
@inline
function isHex(c: u32): bool {
  return c - 0x30 <= 9 || (c | 0x20) - 0x61 <= 5;
}

/** Not zero for "\/bfnrtu, by a table for each half of the byte. */
// @ts-ignore: decorator
@inline
function escapable(v: v128): v128 {
  const byLowHalf = v128(0, 0, 13, 0, 8, 8, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1);
  const byHighHalf = v128(0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0);
  return v128.and(
    i8x16.swizzle(byLowHalf, v128.and(v, i8x16.splat(0x0f))),
    i8x16.swizzle(byHighHalf, i8x16.shr_u(v, 4)),
  );
}

/** One bit for each byte whose sign bit is set. */
// @ts-ignore: decorator
@inline
function bits(a: v128, b: v128, c: v128, d: v128): u64 {
  return (
    u64(<u32>i8x16.bitmask(a)) |
    (u64(<u32>i8x16.bitmask(b)) << 16) |
    (u64(<u32>i8x16.bitmask(c)) << 32) |
    (u64(<u32>i8x16.bitmask(d)) << 48)
  );
}

/**
 * Walks memory[0, end) from inside a string; `end` is a multiple of 64, and `isFirst` is true for its first window.
 * Reads up to four bytes beyond `end` after a \u. Returns the index after the closing quote.
 */
export function scan(end: i32, isFirst: bool): i32 {
  if (isFirst) carry = 0;
  const quote = i8x16.splat(0x22);
  const backslash = i8x16.splat(0x5c);
  const space = i8x16.splat(0x20);
  const letterU = i8x16.splat(0x75);
  const zero = i8x16.splat(0);
  for (let p = 0; p < end; p += 64) {
    const a = v128.load(p);
    const b = v128.load(p, 16);
    const c = v128.load(p, 32);
    const d = v128.load(p, 48);
    const slashes = bits(
      i8x16.eq(a, backslash),
      i8x16.eq(b, backslash),
      i8x16.eq(c, backslash),
      i8x16.eq(d, backslash),
    );
    let ends = bits(i8x16.eq(a, quote), i8x16.eq(b, quote), i8x16.eq(c, quote), i8x16.eq(d, quote));
    let bad = bits(i8x16.lt_u(a, space), i8x16.lt_u(b, space), i8x16.lt_u(c, space), i8x16.lt_u(d, space));
    let unicode: u64 = 0;
    if ((slashes | carry) != 0) {
      const starts = slashes & ~carry;
      const terminal = (((starts << 1) | ODD_BITS) - starts) ^ ODD_BITS;
      const escaped = terminal ^ (slashes | carry);
      carry = (terminal & slashes) >> 63;
      const allowed = bits(
        i8x16.ne(escapable(a), zero),
        i8x16.ne(escapable(b), zero),
        i8x16.ne(escapable(c), zero),
        i8x16.ne(escapable(d), zero),
      );
      bad |= escaped & ~allowed;
      ends &= ~escaped;
      unicode =
        escaped & bits(i8x16.eq(a, letterU), i8x16.eq(b, letterU), i8x16.eq(c, letterU), i8x16.eq(d, letterU));
    }
    if ((bad | ends | unicode) == 0) continue;
    const inside = ends == 0 ? ~(<u64>0) : (ends & (0 - ends)) - 1; // all bits below the closing quote
    if ((bad & inside) != 0) return INVALID;
    for (let left = unicode & inside; left != 0; left &= left - 1) {
      const at = p + i32(ctz(left));
      if (!isHex(load<u8>(at, 1)) || !isHex(load<u8>(at, 2)) || !isHex(load<u8>(at, 3)) || !isHex(load<u8>(at, 4)))
        return INVALID;
    }
    if (ends != 0) return p + i32(ctz(ends)) + 1;
  }
  return UNFINISHED;
}
