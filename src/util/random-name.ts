// Random parts of names that nobody can guess. It uses the global `crypto`, which Node loads on first use: an import of
// node:crypto costs every `connect` a millisecond and half a MiB, and `connect` almost never needs a random name.

export function randomName(bytes: number, encoding: 'hex' | 'base64url' = 'hex'): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString(encoding);
}
