// Random parts of names that nobody can guess. From the global `crypto`, which Node loads on its first use: importing
// node:crypto costs every `connect` a millisecond and half a MiB, and it needs a random name almost never.

export function randomName(bytes: number, encoding: 'hex' | 'base64url' = 'hex'): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString(encoding);
}
