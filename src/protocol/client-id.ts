// What a client may call itself, and be called by others: the same to whoever chooses an id and to the daemon.

const CLIENT_ID = /^[\x21-\x7e]{1,128}$/;

/** In words, for messages. */
export const CLIENT_ID_RULE = '1 to 128 printable ASCII characters, without spaces';

export function isClientId(value: unknown): value is string {
  return typeof value === 'string' && CLIENT_ID.test(value);
}
