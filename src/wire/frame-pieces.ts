// Helpers for frames on their way: several frames in one buffer, or one frame in several pieces.

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Joins the pieces of a frame. */
export function joined(pieces: readonly Buffer[], bytes: number): Buffer {
  const whole = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const piece of pieces) at += piece.copy(whole, at);
  return whole;
}

/**
 * Calls back with each frame of b[start, end), which holds whole frames: without its newline, and the CR before that.
 */
export function eachFrame(
  b: Buffer,
  start: number,
  end: number,
  use: (b: Buffer, start: number, end: number) => void,
): void {
  for (let from = start; from < end; ) {
    const newline = b.indexOf(NEWLINE, from);
    const to = newline > from && b[newline - 1] === CARRIAGE_RETURN ? newline - 1 : newline;
    if (to > from) use(b, from, to);
    from = newline + 1;
  }
}
