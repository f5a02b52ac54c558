// Copies of bytes that are kept for long. Node cuts short buffers from shared blocks, so a kept one keeps its
// neighbours in memory too: for thousands of kept lists that was as much as the lists themselves.

/** A buffer of this length or more gets its own memory. */
const LEAST_OWN = 1024;
const BLOCK_BYTES = 8192;

let block = Buffer.alloc(0);
let used = 0;

/** Copies the bytes. The copy shares memory only with other lasting copies. */
export function lastingCopy(bytes: Buffer): Buffer {
  if (bytes.length >= LEAST_OWN) return copyInto(Buffer.allocUnsafeSlow(bytes.length), bytes);
  if (used + bytes.length > block.length) {
    block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    used = 0;
  }
  const room = block.subarray(used, used + bytes.length);
  used += bytes.length;
  return copyInto(room, bytes);
}

function copyInto(room: Buffer, bytes: Buffer): Buffer {
  bytes.copy(room);
  return room;
}
